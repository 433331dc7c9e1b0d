/* SPDX-License-Identifier: MIT */
/* Equality of JSON values.
 *
 * Two values are equal when many pairs of values below them are, in whatever
 * order these are looked at: pairs of containers wait on a list instead of on the
 * C stack. Large objects are compared through maps, so that the work grows with
 * the texts and not with their square. */
#include "base/json.h"
#include <stdlib.h>
#include "base/jsonnum.h"
#include "base/map.h"
#include "base/mem.h"

#define FEW 8 /* pairs that are looked up one by one */

struct pair {
	struct jval a, b;
};

struct work {
	struct pair *pairs;
	size_t n, cap;
	struct arena arena; /* decoded keys and strings */
};

static void push(struct work *w, struct jval a, struct jval b)
{
	if (w->n == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 32;
		w->pairs = brd_realloc(w->pairs, w->cap * sizeof(*w->pairs));
	}
	w->pairs[w->n++] = (struct pair){ a, b };
}

/* false: not equal. true: equal, if the pairs are that were pushed. */
static bool compare(struct work *w, struct jval a, struct jval b)
{
	enum json_type type = brd_json_type(a);

	if (type != brd_json_type(b))
		return false;
	switch (type) {
	case JSON_NONE:
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		return a.tok->len == b.tok->len;
	case JSON_NUMBER:
		return brd_jnum_equal(brd_json_raw(a), brd_json_raw(b));
	case JSON_STRING:
		return brd_json_iss(b, brd_json_str(a, &w->arena));
	case JSON_ARRAY:
	case JSON_OBJECT:
		push(w, a, b);
	}
	return true;
}

static bool compare_arrays(struct work *w, struct jval a, struct jval b)
{
	struct json_iter x = brd_json_each(a), y = brd_json_each(b);

	if (x.left != y.left)
		return false;
	while (brd_json_next(&x) && brd_json_next(&y)) {
		if (!compare(w, x.value, y.value))
			return false;
	}
	return true;
}

/* Pairs that no later one of the same key hides. */
static size_t distinct(struct work *w, struct jval obj)
{
	size_t n = 0;

	for (struct json_iter it = brd_json_each(obj); brd_json_next(&it);)
		n += brd_json_gets(obj, brd_json_str(it.key, &w->arena)).tok == it.value.tok;
	return n;
}

static bool compare_few(struct work *w, struct jval a, struct jval b)
{
	if (distinct(w, a) != distinct(w, b))
		return false;
	for (struct json_iter it = brd_json_each(a); brd_json_next(&it);) {
		struct bread_str key = brd_json_str(it.key, &w->arena);
		struct jval shown = brd_json_gets(a, key);

		if (shown.tok == it.value.tok && !compare(w, shown, brd_json_gets(b, key)))
			return false;
	}
	return true;
}

static void map_object(struct work *w, struct map *m, struct jval obj)
{
	for (struct json_iter it = brd_json_each(obj); brd_json_next(&it);)
		brd_map_put(m, brd_json_str(it.key, &w->arena), (void *)it.value.tok);
}

static bool compare_many(struct work *w, struct jval a, struct jval b)
{
	struct map x = { 0 }, y = { 0 };
	struct map_slot *s;
	size_t at = 0;
	bool equal;

	map_object(w, &x, a);
	map_object(w, &y, b);
	equal = x.count == y.count;
	while (equal && brd_map_next(&x, &at, &s)) {
		struct jval theirs = { brd_map_get(&y, s->key), b.text };

		equal = compare(w, (struct jval){ s->value, a.text }, theirs);
	}
	brd_map_fini(&x);
	brd_map_fini(&y);
	return equal;
}

static bool compare_objects(struct work *w, struct jval a, struct jval b)
{
	if (brd_json_count(a) > FEW || brd_json_count(b) > FEW)
		return compare_many(w, a, b);
	return compare_few(w, a, b);
}

bool brd_json_equal(struct jval a, struct jval b)
{
	struct work w = { 0 };
	bool equal;

	if (brd_json_type(a) == brd_json_type(b) && brd_str_eq(brd_json_raw(a), brd_json_raw(b)))
		return true;
	equal = compare(&w, a, b);
	while (equal && w.n > 0) {
		struct pair p = w.pairs[--w.n];

		if (brd_json_type(p.a) == JSON_ARRAY)
			equal = compare_arrays(&w, p.a, p.b);
		else
			equal = compare_objects(&w, p.a, p.b);
	}
	free(w.pairs);
	brd_arena_fini(&w.arena);
	return equal;
}
