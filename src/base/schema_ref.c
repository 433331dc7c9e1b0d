/* SPDX-License-Identifier: MIT */
/* References and dialects: what a URI in a schema leads to.
 *
 * References are resolved after the walk. A URI is looked for among the resources
 * met so far, then among the meta-schemas, then by the caller's function. A JSON
 * pointer may lead to a place that no keyword makes a schema; it is compiled then. */
#include "base/schema_compile.h"
#include "base/err.h"
#include "base/str.h"

#define DRAFT "https://json-schema.org/draft/2020-12/"

static bool get_text(struct schema_compiler *c, struct bread_str uri, struct bread_str *ret)
{
	*ret = brd_schema_meta(&c->s->arena, uri);
	if (!ret->p && c->lookup) {
		*ret = c->lookup(uri, c->arg);
		if (ret->p && ret->n <= SCHEMA_BYTES)
			*ret = brd_arena_copy(&c->s->arena, *ret);
	}
	return ret->p != NULL;
}

/* The resource at uri; ref is the reference to it, for the error. */
static struct schema_res *find_resource(
	struct schema_compiler *c, struct bread_str uri, struct jval ref)
{
	struct schema_res *res = brd_map_get(&c->resources, uri);
	struct bread_str text;

	if (res)
		return res;
	if (get_text(c, uri, &text))
		return brd_schema_document(c, text, brd_arena_copy(&c->s->arena, uri));
	brd_schema_bad(c, ref,
		"nothing is known at \"%.*s\"; put that schema under $defs, or correct the "
		"reference",
		BRD_ARG(uri));
	return NULL;
}

/* One step of a JSON pointer, with its ~0 and ~1. */
static struct bread_str unescape(struct schema_compiler *c, struct bread_str step)
{
	char *out;
	size_t n = 0;

	if (!step.n || !memchr(step.p, '~', step.n))
		return step;
	out = brd_arena_alloc(&c->scratch, step.n);
	for (size_t i = 0; i < step.n; i++) {
		bool escaped = step.p[i] == '~' && i + 1 < step.n;

		if (escaped && (step.p[i + 1] == '0' || step.p[i + 1] == '1'))
			out[n++] = step.p[++i] == '0' ? '~' : '/';
		else
			out[n++] = step.p[i];
	}
	return (struct bread_str){ out, n };
}

static struct jval step_into(struct schema_compiler *c, struct jval v, struct bread_str step)
{
	int64_t i;

	if (brd_json_type(v) == JSON_OBJECT)
		return brd_json_gets(v, unescape(c, step));
	if (brd_json_type(v) == JSON_ARRAY && brd_str_int(step, &i) && i >= 0)
		return brd_json_at(v, (size_t)i);
	return (struct jval){ 0 };
}

static struct schema_node *node_at(struct schema_compiler *c, struct jval v)
{
	return brd_map_get(&c->nodes, (struct bread_str){ (const char *)&v.tok, sizeof(v.tok) });
}

/* pointer: "/$defs/a". The place belongs to the last resource on the way. */
static struct schema_node *follow_pointer(struct schema_compiler *c, struct schema_res *res,
	struct bread_str pointer, struct jval ref)
{
	struct jval v = res->root;
	struct bread_str rest = brd_sub(pointer, 1, pointer.n - 1);

	while (rest.p) {
		struct schema_node *n;

		c->passed += brd_json_count(v);
		if (c->passed > SCHEMA_PASSED) {
			brd_schema_too_large(c, "too many references into large parts");
			return NULL;
		}
		v = step_into(c, v, brd_str_split(&rest, '/'));
		if (!v.tok) {
			brd_schema_bad(c, ref, "there is nothing at %.*s", BRD_ARG(pointer));
			return NULL;
		}
		n = node_at(c, v);
		if (n)
			res = n->res;
	}
	return brd_schema_node(c, v, res);
}

static int resolve_anchor(struct schema_compiler *c, struct schema_pending *p,
	struct schema_res *res, struct bread_str name, struct schema_node **ret)
{
	struct schema_anchor *a =
		brd_map_get(&c->anchors, brd_schema_anchor_key(&c->scratch, res, name));

	if (!a)
		return brd_schema_bad(
			c, p->ref, "no schema has the anchor \"%.*s\"", BRD_ARG(name));
	*ret = a->node;
	if (p->dynamic && a->dynamic) {
		uintptr_t number = (uintptr_t)brd_map_get(&c->dynamics, name);

		p->node->logic->dynamic_name = (unsigned)number;
		c->s->has_dynamic = true;
	}
	return 0;
}

static int resolve_one(struct schema_compiler *c, struct schema_pending *p)
{
	struct bread_str uri = schema_str(p->ref, &c->scratch), fragment;
	struct schema_res *res = p->node->res;
	struct schema_node *target = NULL;
	int r = 0;

	if (uri.n && uri.p[0] != '#') {
		if (uri.n > SCHEMA_URI)
			return brd_schema_too_large(c, "a reference that is too long");
		uri = brd_schema_uri(&c->scratch, res->uri, uri);
		fragment = brd_schema_uri_cut(&uri);
		res = find_resource(c, uri, p->ref);
		if (!res)
			return c->err->code;
	} else {
		fragment = brd_schema_uri_cut(&uri);
	}
	if (fragment.n)
		fragment = brd_schema_uri_decode(&c->scratch, fragment);
	if (!fragment.n)
		target = res->node;
	else if (fragment.p[0] == '/')
		target = follow_pointer(c, res, fragment, p->ref);
	else
		r = resolve_anchor(c, p, res, fragment, &target);
	if (!target)
		return r ? r : c->err->code;
	*(p->dynamic ? &p->node->logic->dynamic : &p->node->logic->ref) = target;
	return 0;
}

int brd_schema_resolve_all(struct schema_compiler *c)
{
	while (c->pending) {
		struct schema_pending *p = c->pending;
		int r;

		c->pending = p->next;
		r = resolve_one(c, p);
		brd_arena_reset(&c->scratch);
		if (r)
			return r;
	}
	return 0;
}

static const struct {
	const char *name;
	unsigned bit;
} vocabularies[] = {
	{ DRAFT "vocab/core", VOCAB_CORE },
	{ DRAFT "vocab/applicator", VOCAB_APPLICATOR },
	{ DRAFT "vocab/unevaluated", VOCAB_UNEVALUATED },
	{ DRAFT "vocab/validation", VOCAB_VALIDATION },
	{ DRAFT "vocab/meta-data", VOCAB_META },
	{ DRAFT "vocab/format-annotation", VOCAB_NONE },
	{ DRAFT "vocab/content", VOCAB_NONE },
};

static unsigned vocabulary_named(struct jval key)
{
	for (size_t i = 0; i < sizeof(vocabularies) / sizeof(vocabularies[0]); i++)
		if (brd_json_is(key, vocabularies[i].name))
			return vocabularies[i].bit;
	return 0;
}

/* Reads $vocabulary of a meta-schema. */
static int read_vocabulary(
	struct schema_compiler *c, struct jval meta, struct jval dialect, unsigned *ret)
{
	struct jval v = brd_json_get(meta, "$vocabulary");
	struct json_iter it = brd_json_each(v);

	*ret = VOCAB_ALL;
	if (brd_json_type(v) != JSON_OBJECT)
		return 0;
	*ret = VOCAB_CORE;
	while (brd_json_next(&it)) {
		unsigned bit = vocabulary_named(it.key);

		if (!bit && brd_json_bool(it.value, false))
			return brd_schema_bad(c, dialect,
				"the meta-schema demands the vocabulary %.*s, which is not known "
				"here",
				BRD_ARG(schema_raw(it.key)));
		*ret |= bit;
	}
	return 0;
}

/* What came before: close enough that tools in the wild, which rarely use more
 * than both have, are understood. */
static bool is_older(struct bread_str uri)
{
	static const char *const older[] = { "http://json-schema.org/draft-03/schema",
		"http://json-schema.org/draft-04/schema", "http://json-schema.org/draft-06/schema",
		"http://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft/2019-09/schema" };

	for (size_t i = 0; i < sizeof(older) / sizeof(older[0]); i++) {
		struct bread_str name = brd_str(older[i]);

		if (brd_str_eq(uri, name))
			return true;
		/* with the other of http and https */
		if (brd_str_starts(uri, BRD_STR("https:")) && name.p[4] == ':' &&
			brd_str_eq(brd_sub(uri, 5, uri.n - 5), brd_sub(name, 4, name.n - 4)))
			return true;
	}
	return false;
}

static int custom_dialect(struct schema_compiler *c, struct schema_res *res, struct bread_str uri,
	struct jval dialect)
{
	struct bread_str text;
	struct jval meta;

	if (!get_text(c, uri, &text))
		return brd_schema_bad(c, dialect,
			"the meta-schema \"%.*s\" is not known; use \"" DRAFT
			"schema\" or leave $schema out",
			BRD_ARG(uri));
	c->bytes += text.n > SCHEMA_BYTES ? SCHEMA_BYTES : text.n;
	if (c->bytes > SCHEMA_BYTES)
		return brd_schema_too_large(c, "too many bytes, with its meta-schemas");
	if (brd_json_parse(&c->s->arena, text, 0, &meta, NULL))
		return brd_schema_bad(
			c, dialect, "the meta-schema \"%.*s\" is not JSON", BRD_ARG(uri));
	return read_vocabulary(c, meta, dialect, &res->vocab);
}

int brd_schema_dialect(struct schema_compiler *c, struct schema_res *res, struct jval dialect,
	const struct schema_res *parent)
{
	struct bread_str uri;

	res->vocab = parent ? parent->vocab : VOCAB_ALL;
	res->legacy = parent && parent->legacy;
	if (!dialect.tok)
		return 0;
	if (brd_json_type(dialect) != JSON_STRING)
		return brd_schema_bad(c, dialect, "$schema must be a string");
	uri = schema_text(c, dialect);
	brd_schema_uri_cut(&uri);
	res->vocab = VOCAB_ALL;
	res->legacy = false;
	if (brd_str_is(uri, DRAFT "schema"))
		return 0;
	if (brd_str_is(uri, "http://json-schema.org/schema") ||
		brd_str_is(uri, "https://json-schema.org/schema"))
		return 0;
	if (is_older(uri)) {
		res->legacy = true;
		return 0;
	}
	return custom_dialect(c, res, uri, dialect);
}
