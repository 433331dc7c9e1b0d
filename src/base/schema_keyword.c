/* SPDX-License-Identifier: MIT */
/* The keywords: what each must look like, and where it goes in a node.
 *
 * One row a keyword. A keyword that is not in the table, or whose vocabulary the
 * schema's dialect has not, is an annotation and is not looked into. */
#include "base/schema_compile.h"
#include <assert.h>
#include <stdlib.h>
#include "base/str.h"

#define MANY_STRINGS 16 /* from here on a map beats looking through a list */

struct keyword {
	const char *name;
	unsigned vocab;
	int (*compile)(struct schema_compiler *c, struct schema_node *n, const struct keyword *k,
		struct jval v);
	size_t group; /* offset in the node */
	size_t slot;  /* offset in the group */
};

/* The node's group that the keyword belongs to, made when it is the first. */
static void *group_of(struct schema_compiler *c, struct schema_node *n, size_t group)
{
	switch (group) {
	case offsetof(struct schema_node, logic):
		if (!n->logic)
			n->logic = schema_alloc(c, sizeof(*n->logic));
		return n->logic;
	case offsetof(struct schema_node, number):
		if (!n->number)
			n->number = schema_alloc(c, sizeof(*n->number));
		return n->number;
	case offsetof(struct schema_node, string):
		if (!n->string) {
			n->string = schema_alloc(c, sizeof(*n->string));
			n->string->max = UINT64_MAX;
		}
		return n->string;
	case offsetof(struct schema_node, array):
		if (!n->array) {
			n->array = schema_alloc(c, sizeof(*n->array));
			n->array->max = n->array->max_contains = UINT64_MAX;
			n->array->min_contains = 1;
		}
		return n->array;
	default:
		if (!n->object) {
			n->object = schema_alloc(c, sizeof(*n->object));
			n->object->max = UINT64_MAX;
		}
		return n->object;
	}
}

static void *slot_of(struct schema_compiler *c, struct schema_node *n, const struct keyword *k)
{
	return (char *)group_of(c, n, k->group) + k->slot;
}

static int must_be(
	struct schema_compiler *c, const struct keyword *k, struct jval v, enum json_type type)
{
	if (brd_json_type(v) == type)
		return 0;
	return brd_schema_bad(c, v, "%s must be of type %s, here is %s", k->name,
		brd_json_type_name(type), brd_json_type_name(brd_json_type(v)));
}

/* A map that is freed with the schema. */
static struct map *map_new(struct schema_compiler *c)
{
	struct schema_map *m = schema_alloc(c, sizeof(*m));

	m->next = c->s->maps;
	c->s->maps = m;
	return &m->map;
}

static int compile_one(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct schema_node *sub = brd_schema_node(c, v, n->res);

	if (!sub)
		return BREAD_E_INVALID;
	*(struct schema_node **)slot_of(c, n, k) = sub;
	return 0;
}

static int compile_unevaluated(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	n->unevaluated = true;
	return compile_one(c, n, k, v);
}

static int compile_list(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct schema_list *l = slot_of(c, n, k);
	struct json_iter it = brd_json_each(v);
	int r = must_be(c, k, v, JSON_ARRAY);

	if (r)
		return r;
	if (brd_json_count(v) == 0)
		return brd_schema_bad(c, v, "%s must have a schema in it", k->name);
	l->list = brd_arena_array(&c->s->arena, brd_json_count(v), sizeof(struct schema_node *));
	while (brd_json_next(&it)) {
		struct schema_node *sub = brd_schema_node(c, it.value, n->res);

		if (!sub)
			return BREAD_E_INVALID;
		l->list[l->n++] = sub;
	}
	return 0;
}

static int compile_items(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	static const struct keyword as_prefix = { "items", 0, NULL,
		offsetof(struct schema_node, array), offsetof(struct schema_array, prefix) };

	if (brd_json_type(v) != JSON_ARRAY)
		return compile_one(c, n, k, v);
	if (!n->res->legacy)
		return brd_schema_bad(c, v,
			"items must be one schema; a list of schemas is prefixItems since draft "
			"2020-12");
	return brd_json_count(v) ? compile_list(c, n, &as_prefix, v) : 0;
}

/* Of older drafts: what items is now, beside items that are a list. */
static int compile_additional_items(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct jval self = { n->tok, v.text };

	if (!n->res->legacy || brd_json_type(brd_json_get(self, "items")) != JSON_ARRAY)
		return 0;
	return compile_one(c, n, k, v);
}

static int compile_count(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct schema_decimal d = { 0 };
	int64_t value = INT64_MAX; /* what is larger no value reaches */

	if (brd_json_type(v) == JSON_NUMBER)
		d = brd_schema_decimal(schema_raw(v));
	if (!brd_json_int(v, &value) && (!d.n || d.last < 0))
		return brd_schema_bad(c, v, "%s must be a whole number", k->name);
	if (d.negative)
		return brd_schema_bad(c, v, "%s must not be negative", k->name);
	*(uint64_t *)slot_of(c, n, k) = (uint64_t)value;
	return 0;
}

/* Draft 4 wrote "exclusiveMinimum": true beside minimum. */
static struct jval legacy_bound(struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct jval self = { n->tok, v.text };

	if (!n->res->legacy || brd_json_type(v) != JSON_BOOL)
		return v;
	if (!brd_json_bool(v, false))
		return (struct jval){ 0 };
	return brd_json_get(self, k->slot == BOUND_ABOVE ? "minimum" : "maximum");
}

static int compile_bound(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct schema_number *number;
	struct jval bound = legacy_bound(n, k, v);
	int r;

	if (!bound.tok)
		return 0;
	r = must_be(c, k, bound, JSON_NUMBER);
	if (r)
		return r;
	number = group_of(c, n, k->group);
	number->bound[k->slot] = brd_schema_decimal(schema_raw(bound));
	number->lexeme[k->slot] = schema_raw(bound);
	return 0;
}

static int compile_multiple(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct schema_divisor *m = schema_alloc(c, sizeof(*m));
	int r = must_be(c, k, v, JSON_NUMBER);

	if (r)
		return r;
	if (!brd_schema_divisor(schema_raw(v), m))
		return brd_schema_bad(c, v, "multipleOf may have %d digits", SCHEMA_DIVISOR_DIGITS);
	if (m->digits == 0 || schema_raw(v).p[0] == '-')
		return brd_schema_bad(c, v, "multipleOf must be greater than 0");
	*(struct schema_divisor **)slot_of(c, n, k) = m;
	return 0;
}

static bool type_named(struct jval v, unsigned *bits)
{
	static const struct {
		const char *name;
		unsigned bit;
	} names[] = {
		{ "null", 1u << JSON_NULL },
		{ "boolean", 1u << JSON_BOOL },
		{ "number", 1u << JSON_NUMBER },
		{ "string", 1u << JSON_STRING },
		{ "array", 1u << JSON_ARRAY },
		{ "object", 1u << JSON_OBJECT },
		{ "integer", SCHEMA_INTEGER },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (brd_json_is(v, names[i].name)) {
			*bits |= names[i].bit;
			return true;
		}
	return false;
}

static int compile_type(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	static const char allowed[] = "null, boolean, integer, number, string, array, object";
	struct json_iter it = brd_json_each(v);
	unsigned bits = 0;

	if (brd_json_type(v) == JSON_STRING) {
		if (!type_named(v, &bits))
			return brd_schema_bad(c, v, "%.*s is no type; there are %s",
				BRD_ARG(schema_raw(v)), allowed);
	} else if (brd_json_type(v) != JSON_ARRAY || !brd_json_count(v)) {
		return brd_schema_bad(c, v, "%s must be one or a list of %s", k->name, allowed);
	}
	while (brd_json_type(v) == JSON_ARRAY && brd_json_next(&it))
		if (!type_named(it.value, &bits))
			return brd_schema_bad(c, it.value, "%.*s is no type; there are %s",
				BRD_ARG(schema_raw(it.value)), allowed);
	n->types = bits;
	return 0;
}

static struct schema_value value_of(struct schema_compiler *c, struct jval v)
{
	struct schema_value value = { .v = v };

	if (brd_json_type(v) == JSON_STRING)
		value.str = schema_text(c, v);
	else if (brd_json_type(v) == JSON_NUMBER)
		value.num = brd_schema_decimal(schema_raw(v));
	return value;
}

static int compile_const(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	n->constant = schema_alloc(c, sizeof(*n->constant));
	n->constant->list = schema_alloc(c, sizeof(struct schema_value));
	n->constant->list[0] = value_of(c, v);
	n->constant->n = 1;
	return 0;
}

static int compile_enum(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct schema_values *values = schema_alloc(c, sizeof(*values));
	struct json_iter it = brd_json_each(v);
	int r = must_be(c, k, v, JSON_ARRAY);

	if (r)
		return r;
	values->list = brd_arena_array(&c->s->arena, brd_json_count(v) + 1, sizeof(*values->list));
	while (brd_json_next(&it))
		values->list[values->n++] = value_of(c, it.value);
	if (values->n > MANY_STRINGS) {
		values->by_str = map_new(c);
		for (size_t i = 0; i < values->n; i++)
			if (values->list[i].str.p)
				brd_map_put(values->by_str, values->list[i].str, &values->list[i]);
	}
	n->choice = values;
	return 0;
}

static int make_regex(struct schema_compiler *c, struct jval v, struct schema_regex **ret)
{
	char why[128] = "";

	*ret = brd_schema_regex(c->s, schema_text(c, v), why, sizeof(why));
	if (*ret)
		return 0;
	return brd_schema_bad(c, v, "not a regular expression: %s", why);
}

static int compile_pattern(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	int r = must_be(c, k, v, JSON_STRING);

	return r ? r : make_regex(c, v, slot_of(c, n, k));
}

static int compile_flag(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	int r = must_be(c, k, v, JSON_BOOL);

	if (!r && brd_json_bool(v, false))
		*(bool *)slot_of(c, n, k) = true;
	return r;
}

static void grow_props(struct schema_compiler *c, struct schema_object *o)
{
	size_t cap = o->cap_props ? o->cap_props * 2 : 8;
	struct schema_prop *more = brd_arena_array(&c->s->arena, cap, sizeof(*more));

	if (o->n_props)
		memcpy(more, o->props, o->n_props * sizeof(*more));
	o->props = more;
	o->cap_props = cap;
}

static void index_prop(struct schema_object *o, size_t i)
{
	brd_map_put(o->by_name, o->props[i].name, (void *)(uintptr_t)(i + 1));
}

static struct schema_prop *find_prop(struct schema_object *o, struct bread_str name)
{
	uintptr_t at;

	if (o->by_name) {
		at = (uintptr_t)brd_map_get(o->by_name, name);
		return at ? &o->props[at - 1] : NULL;
	}
	for (size_t i = 0; i < o->n_props; i++)
		if (brd_str_eq(o->props[i].name, name))
			return &o->props[i];
	return NULL;
}

/* The entry for name in the table of properties. */
static struct schema_prop *prop_of(
	struct schema_compiler *c, struct schema_object *o, struct bread_str name)
{
	struct schema_prop *p = find_prop(o, name);

	if (p)
		return p;
	if (o->n_props == o->cap_props)
		grow_props(c, o);
	p = &o->props[o->n_props++];
	p->name = name;
	if (o->by_name) {
		index_prop(o, o->n_props - 1);
	} else if (o->n_props > MANY_STRINGS) {
		o->by_name = map_new(c);
		for (size_t i = 0; i < o->n_props; i++)
			index_prop(o, i);
	}
	return p;
}

static int compile_properties(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct schema_object *o = group_of(c, n, k->group);
	struct json_iter it = brd_json_each(v);
	int r = must_be(c, k, v, JSON_OBJECT);

	while (!r && brd_json_next(&it)) {
		struct schema_node *sub = brd_schema_node(c, it.value, n->res);

		if (!sub)
			return BREAD_E_INVALID;
		prop_of(c, o, schema_text(c, it.key))->node = sub;
	}
	return r;
}

static int compile_required(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct schema_object *o = group_of(c, n, k->group);
	struct json_iter it = brd_json_each(v);
	int r;

	if (n->res->legacy && brd_json_type(v) == JSON_BOOL)
		return 0; /* of draft 3, still seen in the wild */
	r = must_be(c, k, v, JSON_ARRAY);
	while (!r && brd_json_next(&it)) {
		struct schema_prop *p;

		if (brd_json_type(it.value) != JSON_STRING)
			return brd_schema_bad(c, it.value, "required lists names; this is none");
		p = prop_of(c, o, schema_text(c, it.value));
		if (!p->required)
			p->required = (unsigned)++o->n_required;
	}
	return r;
}

static int compile_pattern_properties(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct schema_object *o = group_of(c, n, k->group);
	struct json_iter it = brd_json_each(v);
	int r = must_be(c, k, v, JSON_OBJECT);

	if (r)
		return r;
	o->patterns = brd_arena_array(&c->s->arena, brd_json_count(v) + 1, sizeof(*o->patterns));
	while (brd_json_next(&it)) {
		struct schema_pattern_prop *p = &o->patterns[o->n_patterns];

		r = make_regex(c, it.key, &p->pattern);
		if (r)
			return r;
		p->node = brd_schema_node(c, it.value, n->res);
		if (!p->node)
			return BREAD_E_INVALID;
		o->n_patterns++;
	}
	return 0;
}

static int names_of(struct schema_compiler *c, struct jval v, struct schema_dependent *d)
{
	struct json_iter it = brd_json_each(v);

	d->required = brd_arena_array(&c->s->arena, brd_json_count(v) + 1, sizeof(*d->required));
	while (brd_json_next(&it)) {
		if (brd_json_type(it.value) != JSON_STRING)
			return brd_schema_bad(c, it.value, "the name of a property is expected");
		d->required[d->n_required++] = schema_text(c, it.value);
	}
	return 0;
}

/* dependentRequired, dependentSchemas and, in older drafts, dependencies: a list
 * of names or a schema for each name. */
static int compile_dependents(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	bool lists = k->slot != 'S', schemas = k->slot != 'R';
	struct schema_object *o = group_of(c, n, k->group);
	struct json_iter it = brd_json_each(v);
	struct schema_dependent *all;
	int r;

	if (k->slot == 'B' && !n->res->legacy)
		return 0;
	r = must_be(c, k, v, JSON_OBJECT);
	if (r)
		return r;
	all = brd_arena_array(&c->s->arena, o->n_dependents + brd_json_count(v) + 1, sizeof(*all));
	if (o->n_dependents)
		memcpy(all, o->dependents, o->n_dependents * sizeof(*all));
	o->dependents = all;
	while (brd_json_next(&it)) {
		struct schema_dependent *d = &all[o->n_dependents++];
		bool list = brd_json_type(it.value) == JSON_ARRAY;

		d->name = schema_text(c, it.key);
		if (list ? !lists : !schemas)
			return brd_schema_bad(c, it.value, "%s gives each name %s", k->name,
				lists ? "a list of names" : "a schema");
		if (list && names_of(c, it.value, d))
			return BREAD_E_INVALID;
		if (!list && !(d->node = brd_schema_node(c, it.value, n->res)))
			return BREAD_E_INVALID;
	}
	return 0;
}

/* Only walked, so that ids and anchors in them are known. */
static int compile_defs(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct json_iter it = brd_json_each(v);
	int r = must_be(c, k, v, JSON_OBJECT);

	while (!r && brd_json_next(&it))
		if (!brd_schema_node(c, it.value, n->res))
			return BREAD_E_INVALID;
	return r;
}

static int compile_content(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	return brd_schema_node(c, v, n->res) ? 0 : BREAD_E_INVALID;
}

static int compile_ref(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	struct schema_pending *p = schema_alloc(c, sizeof(*p));
	int r = must_be(c, k, v, JSON_STRING);

	if (r)
		return r;
	group_of(c, n, k->group);
	*p = (struct schema_pending){ c->pending, n, v, k->slot != 0 };
	c->pending = p;
	return 0;
}

static int compile_default(
	struct schema_compiler *c, struct schema_node *n, const struct keyword *k, struct jval v)
{
	n->dflt = v;
	c->s->has_default = true;
	return 0;
}

#define IN(what) offsetof(struct schema_node, what)
#define LOGIC(member) IN(logic), offsetof(struct schema_logic, member)
#define ARRAY(member) IN(array), offsetof(struct schema_array, member)
#define OBJECT(member) IN(object), offsetof(struct schema_object, member)
#define STRING(member) IN(string), offsetof(struct schema_string, member)

/* Sorted by name. */
static const struct keyword keywords[] = {
	{ "$defs", VOCAB_CORE, compile_defs },
	{ "$dynamicRef", VOCAB_CORE, compile_ref, IN(logic), true },
	{ "$ref", VOCAB_CORE, compile_ref, IN(logic), false },
	{ "additionalItems", VOCAB_APPLICATOR, compile_additional_items, ARRAY(items) },
	{ "additionalProperties", VOCAB_APPLICATOR, compile_one, OBJECT(additional) },
	{ "allOf", VOCAB_APPLICATOR, compile_list, LOGIC(all) },
	{ "anyOf", VOCAB_APPLICATOR, compile_list, LOGIC(any) },
	{ "const", VOCAB_VALIDATION, compile_const },
	{ "contains", VOCAB_APPLICATOR, compile_one, ARRAY(contains) },
	{ "contentSchema", VOCAB_NONE, compile_content },
	{ "default", VOCAB_META, compile_default },
	{ "definitions", VOCAB_CORE, compile_defs },
	{ "dependencies", VOCAB_APPLICATOR, compile_dependents, IN(object), 'B' },
	{ "dependentRequired", VOCAB_VALIDATION, compile_dependents, IN(object), 'R' },
	{ "dependentSchemas", VOCAB_APPLICATOR, compile_dependents, IN(object), 'S' },
	{ "else", VOCAB_APPLICATOR, compile_one, LOGIC(otherwise) },
	{ "enum", VOCAB_VALIDATION, compile_enum },
	{ "exclusiveMaximum", VOCAB_VALIDATION, compile_bound, IN(number), BOUND_BELOW },
	{ "exclusiveMinimum", VOCAB_VALIDATION, compile_bound, IN(number), BOUND_ABOVE },
	{ "if", VOCAB_APPLICATOR, compile_one, LOGIC(cond) },
	{ "items", VOCAB_APPLICATOR, compile_items, ARRAY(items) },
	{ "maxContains", VOCAB_VALIDATION, compile_count, ARRAY(max_contains) },
	{ "maxItems", VOCAB_VALIDATION, compile_count, ARRAY(max) },
	{ "maxLength", VOCAB_VALIDATION, compile_count, STRING(max) },
	{ "maxProperties", VOCAB_VALIDATION, compile_count, OBJECT(max) },
	{ "maximum", VOCAB_VALIDATION, compile_bound, IN(number), BOUND_MAX },
	{ "minContains", VOCAB_VALIDATION, compile_count, ARRAY(min_contains) },
	{ "minItems", VOCAB_VALIDATION, compile_count, ARRAY(min) },
	{ "minLength", VOCAB_VALIDATION, compile_count, STRING(min) },
	{ "minProperties", VOCAB_VALIDATION, compile_count, OBJECT(min) },
	{ "minimum", VOCAB_VALIDATION, compile_bound, IN(number), BOUND_MIN },
	{ "multipleOf", VOCAB_VALIDATION, compile_multiple, IN(number),
		offsetof(struct schema_number, multiple) },
	{ "not", VOCAB_APPLICATOR, compile_one, LOGIC(no) },
	{ "oneOf", VOCAB_APPLICATOR, compile_list, LOGIC(one) },
	{ "pattern", VOCAB_VALIDATION, compile_pattern, STRING(pattern) },
	{ "patternProperties", VOCAB_APPLICATOR, compile_pattern_properties, IN(object) },
	{ "prefixItems", VOCAB_APPLICATOR, compile_list, ARRAY(prefix) },
	{ "properties", VOCAB_APPLICATOR, compile_properties, IN(object) },
	{ "propertyNames", VOCAB_APPLICATOR, compile_one, OBJECT(names) },
	{ "required", VOCAB_VALIDATION, compile_required, IN(object) },
	{ "then", VOCAB_APPLICATOR, compile_one, LOGIC(then) },
	{ "type", VOCAB_VALIDATION, compile_type },
	{ "unevaluatedItems", VOCAB_UNEVALUATED, compile_unevaluated, ARRAY(unevaluated) },
	{ "unevaluatedProperties", VOCAB_UNEVALUATED, compile_unevaluated, OBJECT(unevaluated) },
	{ "uniqueItems", VOCAB_VALIDATION, compile_flag, ARRAY(unique) },
};

static int compare_name(const void *key, const void *row)
{
	return brd_str_cmp(
		*(const struct bread_str *)key, brd_str(((const struct keyword *)row)->name));
}

int brd_schema_keyword(struct schema_compiler *c, struct schema_node *n, struct bread_str name,
	struct jval v, uint64_t *seen)
{
	static_assert(sizeof(keywords) / sizeof(keywords[0]) <= 64, "a bit each");
	const struct keyword *k;
	uint64_t bit;

	k = bsearch(&name, keywords, sizeof(keywords) / sizeof(keywords[0]), sizeof(keywords[0]),
		compare_name);
	if (!k || !(k->vocab & n->res->vocab))
		return 0;
	bit = (uint64_t)1 << (k - keywords);
	if (*seen & bit)
		return brd_schema_bad(c, v, "%s is there twice", k->name);
	*seen |= bit;
	return k->compile(c, n, k, v);
}
