/* SPDX-License-Identifier: MIT */
/* Objects: one walk over the pairs for all keywords that look at them.
 *
 * A key that is there twice is checked twice, so that whichever value a reader
 * takes, it fits; it counts once. */
#include "base/schema_check.h"
#include "base/str.h"

static bool same(const struct schema_prop *p, struct bread_str name)
{
	return p->name.n == name.n && memcmp(p->name.p, name.p, name.n) == 0;
}

/* Objects mostly come in the order of their schema: *hint is where to look first. */
static const struct schema_prop *find(
	const struct schema_object *r, struct bread_str name, size_t *hint)
{
	size_t i = *hint;

	if (r->by_name) {
		uintptr_t at = 0;

		if (!same(&r->props[i], name)) {
			at = (uintptr_t)brd_map_get(r->by_name, name);
			if (!at)
				return NULL;
			i = at - 1;
		}
		*hint = i + 1 == r->n_props ? 0 : i + 1;
		return &r->props[i];
	}
	for (size_t left = r->n_props; left > 0; left--) {
		const struct schema_prop *p = &r->props[i];

		i = i + 1 == r->n_props ? 0 : i + 1;
		if (same(p, name)) {
			*hint = i;
			return p;
		}
	}
	return NULL;
}

/* The key itself against propertyNames. */
static bool name_fits(struct schema_check *c, const struct schema_node *names, struct jval key,
	const struct schema_spot *at)
{
	struct schema_told before = c->told, inner;
	struct bread_str raw = schema_raw(key);

	if (brd_schema_eval_quiet(c, names, key, at, NULL))
		return true;
	if (c->stop || !c->tell)
		return false;
	c->told.have = false;
	brd_schema_eval(c, names, key, at, NULL);
	if (c->stop)
		return false;
	inner = c->told;
	c->told = before;
	return brd_schema_fault(c, at, "propertyNames", "the name %.*s is not allowed: %.*s",
		(int)brd_utf8_cut(raw, 100), raw.p, inner.have ? (int)inner.fault.text.n : 0,
		inner.have ? inner.fault.text.p : "");
}

/* patternProperties; *known is set when one of them is for this name. */
static bool eval_patterns(struct schema_check *c, const struct schema_object *r,
	struct bread_str name, struct jval value, const struct schema_spot *spot, bool *known)
{
	for (size_t i = 0; i < r->n_patterns; i++) {
		const struct schema_pattern_prop *p = &r->patterns[i];

		switch (brd_schema_match(&c->matcher, p->pattern, name, &c->steps)) {
		case SCHEMA_MATCH_GAVE_UP:
			return brd_schema_give_up(c, spot->outer,
				"a property's name takes the pattern too many steps");
		case SCHEMA_MATCH_YES:
			*known = true;
			if (!brd_schema_eval(c, p->node, value, spot, NULL))
				return false;
			break;
		case SCHEMA_MATCH_NO:
			break;
		}
	}
	return true;
}

static bool eval_additional(struct schema_check *c, const struct schema_object *r,
	struct bread_str name, struct jval value, const struct schema_spot *spot)
{
	if (r->additional->never)
		return brd_schema_fault_extra(c, spot->outer, r, "additionalProperties", name);
	return brd_schema_eval(c, r->additional, value, spot, NULL);
}

/* One pair. p is its row in the table of properties, or NULL. *known is set when
 * a keyword looked at the value. */
static bool eval_pair(struct schema_check *c, const struct schema_object *r,
	const struct schema_prop *p, struct bread_str name, struct jval value,
	const struct schema_spot *spot, bool *known)
{
	if (p && p->node) {
		*known = true;
		if (!brd_schema_eval(c, p->node, value, spot, NULL))
			return false;
	}
	if (r->n_patterns && !eval_patterns(c, r, name, value, spot, known))
		return false;
	if (!*known && r->additional) {
		*known = true;
		if (!eval_additional(c, r, name, value, spot))
			return false;
	}
	return !r->names || name_fits(c, r->names, spot->key, spot->outer);
}

static bool eval_pairs(struct schema_check *c, const struct schema_object *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m, struct schema_marks *there)
{
	struct schema_spot spot = { .outer = at };
	struct jval key = schema_first(v);
	size_t hint = 0;

	for (size_t i = 0; i < v.tok->count; i++) {
		struct bread_str name = schema_decoded(c, key);
		struct jval value = schema_next(key);
		const struct schema_prop *p = find(r, name, &hint);
		bool known = false;

		spot.key = key;
		if (!schema_charge(c, at, 1 + name.n / 64))
			return false;
		if (p && p->required)
			schema_mark(c, there, p->required - 1);
		if (!eval_pair(c, r, p, name, value, &spot, &known))
			return false;
		if (known)
			schema_mark(c, m, i);
		key = schema_next(value);
	}
	return true;
}

static bool fault_missing(struct schema_check *c, const struct schema_object *r,
	const struct schema_spot *at, const struct schema_marks *there)
{
	for (size_t i = 0; i < r->n_props; i++) {
		const struct schema_prop *p = &r->props[i];

		if (p->required && !schema_marked(c, there, p->required - 1))
			return brd_schema_fault(c, at, "required",
				"the property \"%.*s\" is missing", (int)brd_utf8_cut(p->name, 200),
				p->name.p);
	}
	return true;
}

static bool all_there(const struct schema_check *c, const struct schema_object *r,
	const struct schema_marks *there)
{
	for (size_t i = 0; i < r->n_required; i++)
		if (!schema_marked(c, there, i))
			return false;
	return true;
}

static bool eval_table(struct schema_check *c, const struct schema_object *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	struct schema_marks there = brd_schema_marks_push(c, r->n_required);
	bool fits = schema_charge(c, at, there.words) && eval_pairs(c, r, v, at, m, &there);

	if (fits && r->n_required && !all_there(c, r, &there))
		fits = fault_missing(c, r, at, &there);
	brd_schema_marks_pop(c, &there, NULL);
	return fits;
}

static size_t distinct(struct schema_check *c, struct jval v)
{
	struct map seen = { 0 };
	struct jval key = schema_first(v);
	size_t n;

	for (size_t i = 0; i < v.tok->count; i++, key = schema_next(schema_next(key)))
		brd_map_put(&seen, schema_decoded(c, key), c);
	n = seen.count;
	brd_map_fini(&seen);
	return n;
}

static bool eval_counts(struct schema_check *c, const struct schema_object *r, struct jval v,
	const struct schema_spot *at)
{
	size_t n = v.tok->count;

	if (n > r->max || (r->min > 1 && n >= r->min)) { /* else repeated keys change nothing */
		if (!schema_charge(c, at, 2 * n))
			return false;
		n = distinct(c, v);
	}
	if (n < r->min)
		return brd_schema_fault(c, at, "minProperties",
			"at least %ju properties were expected, here are %zu", (uintmax_t)r->min,
			n);
	if (n > r->max)
		return brd_schema_fault(c, at, "maxProperties",
			"at most %ju properties were expected, here are %zu", (uintmax_t)r->max, n);
	return true;
}

static bool eval_dependent(struct schema_check *c, const struct schema_dependent *d, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	for (size_t i = 0; i < d->n_required; i++) {
		struct bread_str name = d->required[i];

		if (!schema_charge(c, at, 1 + v.tok->count))
			return false;
		if (!brd_json_gets(v, name).tok)
			return brd_schema_fault(c, at, "dependentRequired",
				"the property \"%.*s\" is missing, which \"%.*s\" needs beside it",
				(int)brd_utf8_cut(name, 200), name.p,
				(int)brd_utf8_cut(d->name, 200), d->name.p);
	}
	return !d->node || brd_schema_eval(c, d->node, v, at, m);
}

static bool eval_dependents(struct schema_check *c, const struct schema_object *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	for (size_t i = 0; i < r->n_dependents; i++) {
		const struct schema_dependent *d = &r->dependents[i];

		if (!schema_charge(c, at, 1 + v.tok->count))
			return false;
		if (brd_json_gets(v, d->name).tok && !eval_dependent(c, d, v, at, m))
			return false;
	}
	return true;
}

bool brd_schema_object(struct schema_check *c, const struct schema_object *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	bool walk = r->n_props || r->n_patterns || r->additional || r->names;

	if ((r->min || r->max != UINT64_MAX) && !eval_counts(c, r, v, at))
		return false;
	if (walk && !eval_table(c, r, v, at, m))
		return false;
	return eval_dependents(c, r, v, at, m);
}
