/* SPDX-License-Identifier: MIT */
/* Arrays: counts, members, contains, uniqueness; and what was not looked at. */
#include "base/schema_check.h"
#include "base/str.h"

static bool eval_counts(struct schema_check *c, const struct schema_array *r, struct jval v,
	const struct schema_spot *at)
{
	size_t n = v.tok->count, twins[2];

	if (n < r->min)
		return brd_schema_fault(c, at, "minItems",
			"at least %ju members were expected, here are %zu", (uintmax_t)r->min, n);
	if (n > r->max)
		return brd_schema_fault(c, at, "maxItems",
			"at most %ju members were expected, here are %zu", (uintmax_t)r->max, n);
	if (r->unique && !brd_schema_unique(c, v, at, twins))
		return brd_schema_fault(c, at, "uniqueItems",
			"members must differ, but numbers %zu and %zu (from 0) are equal", twins[0],
			twins[1]);
	return !c->stop;
}

static bool eval_members(struct schema_check *c, const struct schema_array *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	struct schema_spot spot = { .outer = at };
	struct jval member = schema_first(v);

	for (size_t i = 0; i < v.tok->count; i++, member = schema_next(member)) {
		const struct schema_node *n = i < r->prefix.n ? r->prefix.list[i] : r->items;

		if (!n)
			return true;
		spot.index = i;
		if (n->never && i >= r->prefix.n && r->prefix.n)
			return brd_schema_fault(c, at, "items",
				"at most %zu members are allowed, here are %zu", r->prefix.n,
				(size_t)v.tok->count);
		if (!schema_charge(c, at, 1) || !brd_schema_eval(c, n, member, &spot, NULL))
			return false;
		schema_mark(c, m, i);
	}
	return true;
}

static bool eval_contains(struct schema_check *c, const struct schema_array *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	struct schema_spot spot = { .outer = at };
	struct jval member = schema_first(v);
	uint64_t found = 0;

	for (size_t i = 0; i < v.tok->count; i++, member = schema_next(member)) {
		spot.index = i;
		if (!schema_charge(c, at, 1))
			return false;
		if (!brd_schema_eval_quiet(c, r->contains, member, &spot, NULL))
			continue;
		schema_mark(c, m, i);
		found++;
		if (!m && found >= r->min_contains && r->max_contains == UINT64_MAX)
			return true;
	}
	if (c->stop)
		return false;
	if (found < r->min_contains && r->min_contains == 1)
		return brd_schema_fault(
			c, at, "contains", "no member is of the kind that must be among them");
	if (found < r->min_contains)
		return brd_schema_fault(c, at, "minContains",
			"at least %ju members of a kind were expected, here are %ju",
			(uintmax_t)r->min_contains, (uintmax_t)found);
	if (found > r->max_contains)
		return brd_schema_fault(c, at, "maxContains",
			"at most %ju members of a kind were expected, here are %ju",
			(uintmax_t)r->max_contains, (uintmax_t)found);
	return true;
}

bool brd_schema_array(struct schema_check *c, const struct schema_array *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	if (!eval_counts(c, r, v, at))
		return false;
	if ((r->items || r->prefix.n) && !eval_members(c, r, v, at, m))
		return false;
	return !r->contains || eval_contains(c, r, v, at, m);
}

static bool unevaluated_items(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, const struct schema_marks *seen)
{
	struct schema_spot spot = { .outer = at };
	struct jval member = schema_first(v);

	for (size_t i = 0; i < v.tok->count; i++, member = schema_next(member)) {
		if (schema_marked(c, seen, i))
			continue;
		spot.index = i;
		if (n->never)
			return brd_schema_fault(c, &spot, "unevaluatedItems",
				"this member is not allowed; nothing says what it may be");
		if (!schema_charge(c, at, 1) || !brd_schema_eval(c, n, member, &spot, NULL))
			return false;
	}
	return true;
}

static bool unevaluated_properties(struct schema_check *c, const struct schema_object *r,
	struct jval v, const struct schema_spot *at, const struct schema_marks *seen)
{
	struct schema_spot spot = { .outer = at };
	struct jval key = schema_first(v);

	for (size_t i = 0; i < v.tok->count; i++) {
		struct jval value = schema_next(key);

		spot.key = key;
		key = schema_next(value);
		if (schema_marked(c, seen, i))
			continue;
		if (r->unevaluated->never)
			return brd_schema_fault_extra(
				c, at, r, "unevaluatedProperties", schema_decoded(c, spot.key));
		if (!schema_charge(c, at, 1) ||
			!brd_schema_eval(c, r->unevaluated, value, &spot, NULL))
			return false;
	}
	return true;
}

bool brd_schema_unevaluated(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, const struct schema_marks *seen)
{
	if (v.tok->type == JSON_ARRAY && n->array && n->array->unevaluated)
		return unevaluated_items(c, n->array->unevaluated, v, at, seen);
	if (v.tok->type == JSON_OBJECT && n->object && n->object->unevaluated)
		return unevaluated_properties(c, n->object, v, at, seen);
	return true;
}
