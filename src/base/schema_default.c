/* SPDX-License-Identifier: MIT */
/* Filling in defaults.
 *
 * Follows what surely applies: properties, additionalProperties, items, and to the
 * same value $ref and allOf. Branches that may not hold (anyOf, if, ...) give no
 * defaults, and a default is taken as it is, without defaults inside of it.
 *
 * The value is written anew with what is missing; past a limit on its size or on
 * the steps it is left as it was. */
#include "base/schema_impl.h"
#include "base/jsonw.h"
#include "base/str.h"

#define GROWTH_MAX ((size_t)16 * 1024 * 1024) /* bytes that defaults may add */
#define STEPS 1000000
#define APPLY_MAX 32 /* schemas that apply to one value */

struct filler {
	struct buf *b;
	struct arena *a;
	int64_t steps;
	bool changed;
};

struct applying { /* to one value */
	const struct schema_node *list[APPLY_MAX];
	size_t n;
};

/* n and what it refers to. */
static void apply(struct filler *f, struct applying *to, const struct schema_node *n)
{
	if (!n || to->n == APPLY_MAX || (n->always && !n->dflt.tok))
		return;
	for (size_t i = 0; i < to->n; i++)
		if (to->list[i] == n)
			return;
	f->steps--;
	to->list[to->n++] = n;
	if (!n->logic)
		return;
	apply(f, to, n->logic->ref);
	apply(f, to, n->logic->dynamic);
	for (size_t i = 0; i < n->logic->all.n; i++)
		apply(f, to, n->logic->all.list[i]);
}

static const struct schema_prop *find(const struct schema_object *o, struct bread_str name)
{
	if (o->by_name) {
		uintptr_t at = (uintptr_t)brd_map_get(o->by_name, name);

		return at ? &o->props[at - 1] : NULL;
	}
	for (size_t i = 0; i < o->n_props; i++)
		if (brd_str_eq(o->props[i].name, name))
			return &o->props[i];
	return NULL;
}

/* The default of n, or of what it refers to. */
static struct jval default_of(struct filler *f, const struct schema_node *n)
{
	struct applying to = { .n = 0 };

	apply(f, &to, n);
	for (size_t i = 0; i < to.n; i++)
		if (to.list[i]->dflt.tok)
			return to.list[i]->dflt;
	return (struct jval){ 0 };
}

static void write_value(struct filler *f, const struct applying *to, struct jval v);

static void write_pair(
	struct filler *f, const struct applying *to, struct jval key, struct jval value)
{
	struct bread_str name = schema_str(key, f->a);
	struct applying inner = { .n = 0 };

	for (size_t i = 0; i < to->n; i++) {
		const struct schema_object *o = to->list[i]->object;
		const struct schema_prop *p = o ? find(o, name) : NULL;

		f->steps--;
		if (p && p->node)
			apply(f, &inner, p->node);
		else if (o && !o->n_patterns)
			apply(f, &inner, o->additional);
	}
	brd_buf_add(f->b, schema_raw(key));
	brd_buf_addc(f->b, ':');
	write_value(f, &inner, value);
}

/* true when an earlier schema of the list has a default for name too. */
static bool given_before(
	struct filler *f, const struct applying *to, size_t i, struct bread_str name)
{
	for (size_t k = 0; k < i; k++) {
		const struct schema_object *o = to->list[k]->object;
		const struct schema_prop *p = o ? find(o, name) : NULL;

		if (p && default_of(f, p->node).tok)
			return true;
	}
	return false;
}

/* What to->list[i] has a default for and v has not. */
static void write_missing(
	struct filler *f, const struct applying *to, size_t i, struct jval v, bool *comma)
{
	const struct schema_object *o = to->list[i]->object;

	for (size_t k = 0; o && k < o->n_props && f->steps > 0; k++) {
		const struct schema_prop *p = &o->props[k];
		struct jval dflt = default_of(f, p->node);

		f->steps--;
		if (!dflt.tok)
			continue;
		f->steps -= 1 + v.tok->count;
		if (brd_json_gets(v, p->name).tok || given_before(f, to, i, p->name))
			continue;
		if (*comma)
			brd_buf_addc(f->b, ',');
		brd_json_quote(f->b, p->name);
		brd_buf_addc(f->b, ':');
		brd_buf_add(f->b, schema_raw(dflt));
		*comma = true;
		f->changed = true;
	}
}

static void write_object(struct filler *f, const struct applying *to, struct jval v)
{
	struct jval key = schema_first(v);
	bool comma = false;

	brd_buf_addc(f->b, '{');
	for (size_t i = 0; i < v.tok->count && f->steps > 0; i++) {
		struct jval value = schema_next(key);

		if (comma)
			brd_buf_addc(f->b, ',');
		write_pair(f, to, key, value);
		comma = true;
		key = schema_next(value);
	}
	for (size_t i = 0; i < to->n; i++)
		write_missing(f, to, i, v, &comma);
	brd_buf_addc(f->b, '}');
}

static void write_array(struct filler *f, const struct applying *to, struct jval v)
{
	struct jval member = schema_first(v);

	brd_buf_addc(f->b, '[');
	for (size_t i = 0; i < v.tok->count && f->steps > 0; i++, member = schema_next(member)) {
		struct applying inner = { .n = 0 };

		for (size_t k = 0; k < to->n; k++) {
			const struct schema_array *r = to->list[k]->array;

			if (r)
				apply(f, &inner, i < r->prefix.n ? r->prefix.list[i] : r->items);
		}
		f->steps--;
		if (i)
			brd_buf_addc(f->b, ',');
		write_value(f, &inner, member);
	}
	brd_buf_addc(f->b, ']');
}

static void write_value(struct filler *f, const struct applying *to, struct jval v)
{
	if (to->n && v.tok->type == JSON_OBJECT)
		write_object(f, to, v);
	else if (to->n && v.tok->type == JSON_ARRAY)
		write_array(f, to, v);
	else
		brd_buf_add(f->b, schema_raw(v));
}

struct jval brd_schema_defaults(const struct schema *s, struct jval v, struct arena *a)
{
	struct applying to = { .n = 0 };
	struct jval filled = v;
	struct filler f;
	struct buf b;

	if (!s->has_default || !v.tok)
		return v;
	brd_buf_init(&b, v.tok->len + GROWTH_MAX);
	f = (struct filler){ &b, a, STEPS + (int64_t)v.tok->skip * 64, false };
	apply(&f, &to, s->root);
	write_value(&f, &to, v);
	if (f.changed && !b.bad && f.steps > 0) {
		struct bread_str text = brd_arena_copy(a, brd_buf_str(&b));

		if (brd_json_parse(a, text, 0, &filled, NULL))
			filled = v;
	}
	brd_buf_fini(&b);
	return filled;
}
