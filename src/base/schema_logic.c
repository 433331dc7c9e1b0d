/* SPDX-License-Identifier: MIT */
/* What looks at the same value again: references, allOf, anyOf, oneOf, not, if.
 *
 * Marks of a branch count only when the branch fits, so each branch that may fail
 * without harm gets a set of its own. While somebody wants marks, anyOf tries all
 * its branches; else the first that fits will do. */
#include "base/schema_check.h"
#include "base/str.h"

#define JOINED_MAX 400 /* bytes of what the branches of anyOf say */

/* A branch that may fail. Its marks go to m when it fits. */
static bool branch(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	struct schema_marks own;
	bool fits;

	if (!m)
		return brd_schema_eval(c, n, v, at, NULL);
	own = brd_schema_marks_push(c, v.tok->count);
	fits = schema_charge(c, at, own.words) && brd_schema_eval(c, n, v, at, &own);
	brd_schema_marks_pop(c, &own, fits ? m : NULL);
	return fits;
}

static bool branch_quiet(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	bool tell = c->tell, fits;

	c->tell = false;
	fits = branch(c, n, v, at, m);
	if (!c->stop)
		c->tell = tell;
	return fits;
}

/* What the branches said: the one that came furthest, and all that came nowhere. */
struct verdicts {
	struct schema_told nearest;
	struct buf joined;
	unsigned depth;
};

static void hear(struct verdicts *said, const struct schema_told *told)
{
	if (!told->have)
		return;
	if (!said->nearest.have || told->depth > said->nearest.depth ||
		(told->depth == said->nearest.depth && told->rank > said->nearest.rank))
		said->nearest = *told;
	if (told->depth > said->depth ||
		brd_str_find(brd_buf_str(&said->joined), told->fault.text) >= 0)
		return;
	if (said->joined.len)
		brd_buf_addz(&said->joined, "; or ");
	brd_buf_add(&said->joined, told->fault.text);
}

static void tell_verdicts(struct schema_check *c, const struct schema_spot *at, const char *keyword,
	size_t n, const struct verdicts *said)
{
	if (said->nearest.have && (n == 1 || said->nearest.depth > said->depth)) {
		if (!c->told.have)
			c->told = said->nearest;
		return;
	}
	brd_schema_fault(c, at, keyword, "none of the %zu alternatives fits%s%s", n,
		said->joined.len ? ": " : "", said->joined.data);
}

/* One of the alternatives; what it says is heard when said is not NULL. */
static bool listen(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m, struct verdicts *said)
{
	bool fits;

	c->told.have = false;
	fits = branch(c, n, v, at, m);
	if (!fits && said && !c->stop)
		hear(said, &c->told);
	return fits;
}

/* Numbers from 1 of the first two that fit, or 0; the second is looked for when only
 * one may fit. */
static void try_all(struct schema_check *c, const struct schema_list *l, struct jval v,
	const struct schema_spot *at, struct schema_marks *m, bool only_one, struct verdicts *said,
	size_t found[2])
{
	for (size_t i = 0; i < l->n && !c->stop; i++) {
		if (!listen(c, l->list[i], v, at, m, said))
			continue;
		if (!found[0])
			found[0] = i + 1;
		else if (only_one)
			found[1] = i + 1;
		if (found[1] || (!only_one && !m))
			return;
	}
}

/* anyOf and oneOf. */
static bool eval_alternatives(struct schema_check *c, const struct schema_list *l, struct jval v,
	const struct schema_spot *at, struct schema_marks *m, bool only_one)
{
	const char *keyword = only_one ? "oneOf" : "anyOf";
	struct schema_told before = c->told;
	size_t found[2] = { 0 };
	struct verdicts said;
	bool tell = c->tell;

	if (tell) {
		said = (struct verdicts){ .depth = brd_schema_spot_depth(at) };
		brd_buf_init(&said.joined, JOINED_MAX);
	}
	try_all(c, l, v, at, m, only_one, tell ? &said : NULL, found);
	if (!c->stop)
		c->told = before;
	if (found[1])
		brd_schema_fault(c, at, keyword,
			"only one of the %zu alternatives may fit, but numbers %zu and %zu do",
			l->n, found[0], found[1]);
	else if (tell && !found[0] && !c->stop)
		tell_verdicts(c, at, keyword, l->n, &said);
	if (tell)
		brd_buf_fini(&said.joined);
	return found[0] && !found[1] && !c->stop;
}

static bool eval_all(struct schema_check *c, const struct schema_list *l, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	for (size_t i = 0; i < l->n; i++)
		if (!brd_schema_eval(c, l->list[i], v, at, m))
			return false;
	return true;
}

static bool eval_not(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at)
{
	bool fits = brd_schema_eval_quiet(c, n, v, at, NULL);

	if (c->stop)
		return false;
	if (fits)
		return brd_schema_fault(c, at, "not", "the value fits what it must not fit");
	return true;
}

static bool eval_if(struct schema_check *c, const struct schema_logic *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	const struct schema_node *next;

	if (!r->then && !r->otherwise && !m)
		return true;
	next = branch_quiet(c, r->cond, v, at, m) ? r->then : r->otherwise;
	if (c->stop)
		return false;
	return !next || brd_schema_eval(c, next, v, at, m);
}

static bool eval_dynamic(struct schema_check *c, const struct schema_logic *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	const struct schema_node *target = r->dynamic;

	/* entering the target's own resource is what a plain reference would do */
	if (r->dynamic_name && c->bound[r->dynamic_name])
		target = c->bound[r->dynamic_name];
	return brd_schema_eval(c, target, v, at, m);
}

bool brd_schema_logic(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	const struct schema_logic *r = n->logic;

	if (r->ref && !brd_schema_eval(c, r->ref, v, at, m))
		return false;
	if (r->dynamic && !eval_dynamic(c, r, v, at, m))
		return false;
	if (r->all.n && !eval_all(c, &r->all, v, at, m))
		return false;
	if (r->any.n && !eval_alternatives(c, &r->any, v, at, m, false))
		return false;
	if (r->one.n && !eval_alternatives(c, &r->one, v, at, m, true))
		return false;
	if (r->no && !eval_not(c, r->no, v, at))
		return false;
	return !r->cond || eval_if(c, r, v, at, m);
}
