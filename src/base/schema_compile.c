/* SPDX-License-Identifier: MIT */
/* Compiling: documents, resources and nodes.
 *
 * A document is walked once, depth first, along the keywords that hold schemas;
 * each schema met becomes a node, each $id a resource, each anchor an entry. Only
 * then are references resolved (schema_ref.c), as they may point forward; that
 * may load more documents, which are walked the same way.
 *
 * Depth is bounded by the JSON reader, size by SCHEMA_BYTES over all documents. */
#include "base/schema_compile.h"
#include <stdio.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define PLACE_MAX 100 /* bytes of a place in an error's text */

/* Below the container at v, adds the steps of a JSON pointer that lead to target. */
static void add_steps(struct buf *b, struct jval v, const struct json_tok *target)
{
	while (v.tok != target) {
		bool object = v.tok->type == JSON_OBJECT;
		struct jval next = schema_first(v);
		size_t left = v.tok->count, index = 0;

		for (; left > 0; left--, index++) {
			struct jval key = next, value = object ? schema_next(key) : key;

			next = schema_next(value);
			if (target >= next.tok)
				continue;
			brd_buf_addc(b, '/');
			if (object)
				brd_buf_add(b, brd_sub(schema_raw(key), 1, key.tok->len - 2));
			else
				brd_buf_addu(b, index);
			v = value;
			break;
		}
		if (left == 0 || target < v.tok)
			return; /* a key: its object's place will do */
	}
}

static void add_place(struct schema_compiler *c, struct buf *b, struct jval v)
{
	struct schema_doc *d = c->docs;

	while (d && !(v.tok >= d->root.tok && v.tok < d->root.tok + d->root.tok->skip))
		d = d->next;
	if (!d)
		return;
	if (d->uri.n)
		brd_buf_addf(b, "%.*s#", BRD_ARG(d->uri));
	if (v.tok == d->root.tok)
		brd_buf_addz(b, d->uri.n ? "" : "the top");
	else
		add_steps(b, d->root, v.tok);
}

int brd_schema_bad(struct schema_compiler *c, struct jval v, const char *fmt, ...)
{
	char text[384];
	struct buf place;
	va_list ap;
	int code;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text[brd_utf8_cut(brd_str(text), sizeof(text) - 4)] = 0;
	brd_buf_init(&place, BUF_NO_LIMIT);
	add_place(c, &place, v);
	code = brd_fail(c->err, BREAD_E_INVALID, "json schema", "at %.*s: %s",
		(int)brd_utf8_cut(brd_buf_str(&place), PLACE_MAX), place.data, text);
	brd_buf_fini(&place);
	return code;
}

int brd_schema_too_large(struct schema_compiler *c, const char *what)
{
	return brd_fail(c->err, BREAD_E_TOO_LARGE, "json schema", "the schema has %s", what);
}

static struct schema_res *resource_new(
	struct schema_compiler *c, struct jval root, struct bread_str uri)
{
	struct schema_res *res = schema_alloc(c, sizeof(*res));

	*res = (struct schema_res){ .uri = uri, .root = root, .index = c->s->n_res++ };
	if (!brd_map_get(&c->resources, uri))
		brd_map_put(&c->resources, uri, res);
	return res;
}

/* The URI that "$id" in v gives, against base. */
static int id_of(
	struct schema_compiler *c, struct jval id, struct bread_str base, struct bread_str *ret)
{
	struct bread_str fragment;

	if (brd_json_type(id) != JSON_STRING)
		return brd_schema_bad(c, id, "$id must be a string");
	if (id.tok->len > SCHEMA_URI || base.n > SCHEMA_URI)
		return brd_schema_too_large(c, "an $id that is too long");
	if (c->s->n_res >= SCHEMA_RESOURCES)
		return brd_schema_too_large(c, "too many parts with an $id");
	*ret = brd_schema_uri(&c->s->arena, base, schema_text(c, id));
	fragment = brd_schema_uri_cut(ret);
	if (fragment.n)
		return brd_schema_bad(c, id,
			"$id must not have a fragment; use $anchor for \"%.*s\"",
			BRD_ARG(fragment));
	return 0;
}

/* A schema with "$id" below the top of its document: a resource of its own. */
static int enter_resource(struct schema_compiler *c, struct jval v, struct schema_res **res)
{
	struct jval id = brd_json_get(v, "$id");
	struct schema_res *parent = *res;
	struct bread_str uri;
	int r;

	if (!id.tok || v.tok == parent->root.tok)
		return 0;
	r = id_of(c, id, parent->uri, &uri);
	if (r || brd_str_eq(uri, parent->uri))
		return r;
	*res = resource_new(c, v, uri);
	return brd_schema_dialect(c, *res, brd_json_get(v, "$schema"), parent);
}

static bool anchor_ok(struct bread_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char ch = s.p[i];
		bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
		bool other = (ch >= '0' && ch <= '9') || ch == '-' || ch == '.';

		if (!letter && (i == 0 || !other))
			return false;
	}
	return s.n > 0;
}

struct bread_str brd_schema_anchor_key(
	struct arena *a, const struct schema_res *res, struct bread_str name)
{
	char *p = brd_arena_alloc(a, sizeof(res->index) + name.n);

	memcpy(p, &res->index, sizeof(res->index));
	if (name.n)
		memcpy(p + sizeof(res->index), name.p, name.n);
	return (struct bread_str){ p, sizeof(res->index) + name.n };
}

/* The number of a dynamic anchor's name, the same in all resources. */
static unsigned dynamic_number(struct schema_compiler *c, struct bread_str name)
{
	uintptr_t number = (uintptr_t)brd_map_get(&c->dynamics, name);

	if (!number) {
		number = ++c->s->n_dynamic;
		brd_map_put(&c->dynamics, name, (void *)number);
	}
	return (unsigned)number;
}

static int add_anchor(struct schema_compiler *c, struct schema_node *n, struct jval v, bool dynamic)
{
	struct schema_anchor *a;
	struct bread_str name, key;

	if (!v.tok)
		return 0;
	name = brd_json_type(v) == JSON_STRING ? schema_text(c, v) : (struct bread_str){ 0 };
	if (!anchor_ok(name))
		return brd_schema_bad(c, v,
			"an anchor is a string of letters, digits, '-', '_' and '.' that begins "
			"with a letter or '_'");
	a = schema_alloc(c, sizeof(*a));
	*a = (struct schema_anchor){ n, dynamic };
	key = brd_schema_anchor_key(&c->s->arena, n->res, name);
	if (!brd_map_get(&c->anchors, key))
		brd_map_put(&c->anchors, key, a);
	if (dynamic) {
		struct schema_dynamic *d = schema_alloc(c, sizeof(*d));

		*d = (struct schema_dynamic){ n->res->dynamics, dynamic_number(c, name), n };
		n->res->dynamics = d;
	}
	return 0;
}

static struct schema_node *node_new(
	struct schema_compiler *c, struct jval v, struct schema_res *res)
{
	struct schema_node *n = schema_alloc(c, sizeof(*n));

	*n = (struct schema_node){ .tok = v.tok, .res = res, .types = SCHEMA_ANY };
	brd_map_put(&c->nodes, (struct bread_str){ (const char *)&n->tok, sizeof(n->tok) }, n);
	c->s->n_nodes++;
	if (res->root.tok == v.tok)
		res->node = n;
	return n;
}

static bool asks_nothing(const struct schema_node *n)
{
	return n->types == SCHEMA_ANY && !n->constant && !n->choice && !n->logic && !n->number &&
	       !n->string && !n->array && !n->object && !n->never;
}

static int compile_object(struct schema_compiler *c, struct schema_node *n, struct jval v)
{
	struct json_iter it = brd_json_each(v);
	uint64_t seen = 0;
	int r;

	r = add_anchor(c, n, brd_json_get(v, "$anchor"), false);
	if (!r)
		r = add_anchor(c, n, brd_json_get(v, "$dynamicAnchor"), true);
	while (!r && brd_json_next(&it))
		r = brd_schema_keyword(c, n, schema_text(c, it.key), it.value, &seen);
	n->always = asks_nothing(n);
	return r;
}

struct schema_node *brd_schema_node(
	struct schema_compiler *c, struct jval v, struct schema_res *res)
{
	struct schema_node *n =
		brd_map_get(&c->nodes, (struct bread_str){ (const char *)&v.tok, sizeof(v.tok) });

	if (n)
		return n;
	if (brd_json_type(v) == JSON_BOOL) {
		n = node_new(c, v, res);
		n->always = brd_json_bool(v, true);
		n->never = !n->always;
		return n;
	}
	if (brd_json_type(v) != JSON_OBJECT) {
		brd_schema_bad(c, v, "a schema is an object, true or false; here is %s",
			brd_json_type_name(brd_json_type(v)));
		return NULL;
	}
	if (enter_resource(c, v, &res))
		return NULL;
	n = node_new(c, v, res);
	return compile_object(c, n, v) ? NULL : n;
}

/* Parses; the text and its tape then live in the schema's arena. */
static struct schema_doc *parse(
	struct schema_compiler *c, struct bread_str text, struct bread_str uri)
{
	struct schema_doc *d = schema_alloc(c, sizeof(*d));
	struct json_where where = { 0 };

	c->bytes += text.n;
	if (c->bytes > SCHEMA_BYTES) {
		brd_schema_too_large(c, "too many bytes, with all that it refers to");
		return NULL;
	}
	d->uri = uri;
	if (brd_json_parse(&c->s->arena, text, 0, &d->root, &where)) {
		brd_fail(c->err, BREAD_E_INVALID, "json schema", "%.*s%snot JSON: %s at byte %zu",
			BRD_ARG(uri), uri.n ? " is " : "", where.what, where.at);
		return NULL;
	}
	d->next = c->docs;
	c->docs = d;
	return d;
}

struct schema_res *brd_schema_document(
	struct schema_compiler *c, struct bread_str text, struct bread_str uri)
{
	struct schema_doc *d = parse(c, text, uri);
	struct schema_res *res;
	struct bread_str own = uri;
	struct jval id;

	if (!d)
		return NULL;
	id = brd_json_get(d->root, "$id");
	if (id.tok && id_of(c, id, uri, &own))
		return NULL;
	res = resource_new(c, d->root, own);
	if (!brd_map_get(&c->resources, uri))
		brd_map_put(&c->resources, uri, res);
	if (brd_schema_dialect(c, res, brd_json_get(d->root, "$schema"), NULL))
		return NULL;
	return brd_schema_node(c, d->root, res) ? res : NULL;
}

static void compiler_fini(struct schema_compiler *c)
{
	brd_map_fini(&c->resources);
	brd_map_fini(&c->anchors);
	brd_map_fini(&c->dynamics);
	brd_map_fini(&c->nodes);
	brd_arena_fini(&c->scratch);
}

int brd_schema_new_with(struct schema **ret, struct bread_str text, schema_lookup lookup, void *arg,
	struct bread_err *err)
{
	struct schema_compiler c = { .lookup = lookup, .arg = arg, .err = err };
	struct bread_err own;
	struct schema_res *top = NULL;
	int r;

	if (!err)
		c.err = &own;
	if (text.n > SCHEMA_BYTES)
		return brd_schema_too_large(&c, "too many bytes");
	c.s = brd_alloc(sizeof(*c.s));
	c.s->refs = 1;
	top = brd_schema_document(
		&c, brd_arena_copy(&c.s->arena, text), (struct bread_str){ "", 0 });
	r = top ? brd_schema_resolve_all(&c) : c.err->code;
	if (!r) {
		c.s->root = top->node;
		*ret = c.s;
		c.s = NULL;
	}
	compiler_fini(&c);
	brd_schema_unref(c.s);
	return r;
}

int brd_schema_new(struct schema **ret, struct bread_str text, struct bread_err *err)
{
	return brd_schema_new_with(ret, text, NULL, NULL, err);
}
