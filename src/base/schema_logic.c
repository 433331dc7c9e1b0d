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

static bool tell_verdicts(struct schema_check *c, const struct schema_spot *at, const char *keyword,
	size_t n, struct verdicts *said)
{
	if (said->nearest.have && said->nearest.depth > said->depth) {
		if (!c->told.have || said->nearest.depth > c->told.depth)
			c->told = said->nearest;
		return false;
	}
	if (!said->joined.len)
		return brd_schema_fault(c, at, keyword, "none of the %zu alternatives fits", n);
	return brd_schema_fault(
		c, at, keyword, "none of the %zu alternatives fits: %s", n, said->joined.data);
}

/* All branches failed: again, listening to each. */
static bool explain(struct schema_check *c, const struct schema_list *l, struct jval v,
	const struct schema_spot *at, const char *keyword)
{
	struct verdicts said = { .depth = brd_schema_spot_depth(at) };
	struct schema_told before = c->told;

	brd_buf_init(&said.joined, JOINED_MAX);
	for (size_t i = 0; i < l->n && !c->stop; i++) {
		c->told.have = false;
		if (!brd_schema_eval(c, l->list[i], v, at, NULL) && !c->stop)
			hear(&said, &c->told);
	}
	if (!c->stop) {
		c->told = before;
		tell_verdicts(c, at, keyword, l->n, &said);
	}
	brd_buf_fini(&said.joined);
	return false;
}

static bool eval_all(struct schema_check *c, const struct schema_list *l, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	for (size_t i = 0; i < l->n; i++)
		if (!brd_schema_eval(c, l->list[i], v, at, m))
			return false;
	return true;
}

static bool eval_any(struct schema_check *c, const struct schema_list *l, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	bool fits = false;

	for (size_t i = 0; i < l->n && !c->stop; i++) {
		if (branch_quiet(c, l->list[i], v, at, m))
			fits = true;
		if (fits && !m)
			return true;
	}
	if (fits && !c->stop)
		return true;
	return c->tell ? explain(c, l, v, at, "anyOf") : false;
}

static bool eval_one(struct schema_check *c, const struct schema_list *l, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	size_t found = 0;

	for (size_t i = 0; i < l->n && !c->stop; i++) {
		if (!branch_quiet(c, l->list[i], v, at, m))
			continue;
		if (found)
			return brd_schema_fault(c, at, "oneOf",
				"only one of the %zu alternatives may fit, but numbers %zu and %zu "
				"do",
				l->n, found, i + 1);
		found = i + 1;
	}
	if (found && !c->stop)
		return true;
	return c->tell ? explain(c, l, v, at, "oneOf") : false;
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
	if (r->any.n && !eval_any(c, &r->any, v, at, m))
		return false;
	if (r->one.n && !eval_one(c, &r->one, v, at, m))
		return false;
	if (r->no && !eval_not(c, r->no, v, at))
		return false;
	return !r->cond || eval_if(c, r, v, at, m);
}
