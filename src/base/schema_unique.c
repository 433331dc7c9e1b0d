/* SPDX-License-Identifier: MIT */
/* uniqueItems: hashes that are equal for equal values, then a comparison of those
 * that share one. So the work is about linear, unless somebody makes collisions;
 * then the steps of the check end it. */
#include "base/schema_check.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"

#define FEW 6 /* up to here comparing each with each is quicker */

struct hashed {
	uint64_t hash;
	size_t index;
	struct jval v;
};

static uint64_t hash_value(struct schema_check *c, struct jval v);

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static int by_hash(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static uint64_t hash_array(struct schema_check *c, struct jval v)
{
	struct jval member = schema_first(v);
	uint64_t h = 3;

	for (size_t i = 0; i < v.tok->count; i++, member = schema_next(member))
		h = mix(h, hash_value(c, member));
	return h;
}

/* true when a later pair has the same key: then this one's value does not count. */
static bool overridden(struct schema_check *c, const struct hashed *keys, size_t i, size_t n)
{
	struct bread_str name = schema_decoded(c, keys[i].v);

	for (size_t k = i + 1; k < n && keys[k].hash == keys[i].hash; k++) {
		c->steps--;
		if (c->steps < 0 || brd_str_eq(schema_decoded(c, keys[k].v), name))
			return true;
	}
	return false;
}

static uint64_t hash_object(struct schema_check *c, struct jval v)
{
	size_t n = v.tok->count;
	struct hashed *keys = brd_array(n ? n : 1, sizeof(*keys));
	struct jval key = schema_first(v);
	uint64_t h = 5;

	for (size_t i = 0; i < n; i++, key = schema_next(schema_next(key)))
		keys[i] = (struct hashed){ brd_str_hash(schema_decoded(c, key)), i, key };
	qsort(keys, n, sizeof(*keys), by_hash);
	for (size_t i = 0; i < n; i++)
		if (!overridden(c, keys, i, n))
			h = mix(h, mix(keys[i].hash, hash_value(c, schema_next(keys[i].v))));
	free(keys);
	return h;
}

static uint64_t hash_value(struct schema_check *c, struct jval v)
{
	struct schema_decimal d;

	c->steps -= 1 + v.tok->len / 64;
	if (c->steps < 0)
		return 0;
	switch (v.tok->type) {
	case JSON_NUMBER:
		d = brd_schema_decimal(schema_raw(v));
		return brd_schema_decimal_hash(&d);
	case JSON_STRING:
		return mix(2, brd_str_hash(schema_decoded(c, v)));
	case JSON_ARRAY:
		return hash_array(c, v);
	case JSON_OBJECT:
		return hash_object(c, v);
	default:
		return mix(7, v.tok->len); /* null and true are of one length: seldom, no harm */
	}
}

static bool equal(struct schema_check *c, const struct hashed *a, const struct hashed *b)
{
	c->steps -= (int64_t)(a->v.tok->skip < b->v.tok->skip ? a->v.tok->skip : b->v.tok->skip);
	return c->steps >= 0 && a->v.tok->type == b->v.tok->type && brd_json_equal(a->v, b->v);
}

/* Compares those that share a hash. With all hashes 0 that is each with each. */
static bool no_twins(
	struct schema_check *c, const struct hashed *all, size_t n, size_t ret_twins[2])
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n && all[k].hash == all[i].hash && c->steps >= 0; k++)
			if (equal(c, &all[i], &all[k])) {
				ret_twins[0] = all[i].index;
				ret_twins[1] = all[k].index;
				return false;
			}
	return true;
}

bool brd_schema_unique(
	struct schema_check *c, struct jval v, const struct schema_spot *at, size_t ret_twins[2])
{
	size_t n = v.tok->count;
	struct hashed *all;
	struct jval member = schema_first(v);
	bool unique;

	if (n < 2 || !schema_charge(c, at, n))
		return true;
	all = brd_array(n, sizeof(*all));
	for (size_t i = 0; i < n; i++, member = schema_next(member))
		all[i] = (struct hashed){ n > FEW ? hash_value(c, member) : 0, i, member };
	if (n > FEW)
		qsort(all, n, sizeof(*all), by_hash);
	unique = no_twins(c, all, n, ret_twins);
	free(all);
	if (c->steps < 0) {
		schema_charge(c, at, 0);
		return true;
	}
	return unique;
}
