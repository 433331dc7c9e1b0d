/* SPDX-License-Identifier: MIT */
/* What a failed check says: one fault, in words for the person or the model that
 * made the value. It names what was expected and, where that helps, what is there.
 *
 * Among alternatives the fault that lies deepest explains most; at one depth, one
 * that is not about the kind of the value. Only the branches of anyOf and oneOf
 * compete (schema_logic.c); elsewhere the first fault ends the check. */
#include "base/schema_check.h"
#include <stdarg.h>
#include <stdio.h>
#include "base/jsonw.h"
#include "base/str.h"

#define TEXT_MAX 1000 /* bytes */
#define LIST_MAX 300  /* of listed values or names */

unsigned brd_schema_spot_depth(const struct schema_spot *at)
{
	unsigned n = 0;

	for (; at; at = at->outer)
		n++;
	return n;
}

static void add_key(struct buf *b, struct bread_str key)
{
	for (size_t i = 0; i < key.n; i++)
		if (key.p[i] == '~')
			brd_buf_addz(b, "~0");
		else if (key.p[i] == '/')
			brd_buf_addz(b, "~1");
		else
			brd_buf_addc(b, key.p[i]);
}

static void add_pointer(struct schema_check *c, struct buf *b, const struct schema_spot *at)
{
	if (!at)
		return;
	if (at->outer)
		add_pointer(c, b, at->outer);
	brd_buf_addc(b, '/');
	if (at->key.tok)
		add_key(b, schema_decoded(c, at->key));
	else
		brd_buf_addu(b, at->index);
}

/* What tells alternatives apart says least about the one that was meant. */
static unsigned rank_of(const char *keyword)
{
	struct bread_str k = brd_str(keyword);

	if (brd_str_is(k, "const") || brd_str_is(k, "enum"))
		return 0;
	return brd_str_is(k, "type") ? 1 : 2;
}

static void tell(struct schema_check *c, const struct schema_spot *at, const char *keyword,
	struct bread_str text)
{
	struct schema_told *told = &c->told;
	struct buf b;

	told->have = true;
	told->depth = brd_schema_spot_depth(at);
	told->rank = rank_of(keyword);
	brd_buf_init(&b, BUF_NO_LIMIT);
	add_pointer(c, &b, at);
	told->fault.at = brd_arena_copy(c->out, brd_buf_str(&b));
	brd_buf_fini(&b);
	told->fault.keyword = brd_arena_copy(c->out, brd_str(keyword));
	text.n = brd_utf8_cut(text, TEXT_MAX);
	told->fault.text = brd_arena_copy(c->out, text);
}

bool brd_schema_fault(struct schema_check *c, const struct schema_spot *at, const char *keyword,
	const char *fmt, ...)
{
	char text[TEXT_MAX + 64];
	va_list ap;
	int n;

	if (!c->tell || c->told.have)
		return false;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	tell(c, at, keyword, (struct bread_str){ text, n > 0 ? (size_t)n : 0 });
	return false;
}

static const char *kind(enum json_type t)
{
	static const char *const kinds[] = { "nothing", "null", "a boolean", "a number", "a string",
		"an array", "an object" };

	return kinds[t];
}

/* ", " or " or " before the next of a list, of which left are to come. */
static void add_separator(struct buf *b, size_t left)
{
	if (b->len)
		brd_buf_addz(b, left ? ", " : " or ");
}

bool brd_schema_fault_type(
	struct schema_check *c, const struct schema_spot *at, unsigned types, struct jval v)
{
	unsigned left = types & ~1u;
	struct buf b;

	if (!c->tell)
		return false;
	if (types & 1u << JSON_NUMBER)
		left &= ~SCHEMA_INTEGER;
	brd_buf_init(&b, TEXT_MAX);
	for (int t = JSON_NULL; t <= JSON_OBJECT; t++)
		if (left & 1u << t) {
			left &= ~(1u << t);
			add_separator(&b, left);
			brd_buf_addz(&b, kind(t));
		}
	if (left & SCHEMA_INTEGER) {
		add_separator(&b, 0);
		brd_buf_addz(&b, "an integer");
	}
	if ((types & SCHEMA_INTEGER) && v.tok->type == JSON_NUMBER)
		brd_schema_fault(c, at, "type", "%s was expected, here is %.*s", b.data,
			v.tok->len < 60 ? (int)v.tok->len : 60, schema_raw(v).p);
	else
		brd_schema_fault(
			c, at, "type", "%s was expected, here is %s", b.data, kind(v.tok->type));
	brd_buf_fini(&b);
	return false;
}

bool brd_schema_fault_values(struct schema_check *c, const struct schema_spot *at,
	const char *keyword, const struct schema_values *values)
{
	struct buf b;

	if (!c->tell)
		return false;
	brd_buf_init(&b, BUF_NO_LIMIT);
	for (size_t i = 0; i < values->n; i++) {
		struct bread_str raw = schema_raw(values->list[i].v);

		if (b.len + raw.n > LIST_MAX && i > 0) {
			brd_buf_addf(&b, " or one of %zu more", values->n - i);
			break;
		}
		add_separator(&b, values->n - i - 1);
		raw.n = brd_utf8_cut(raw, LIST_MAX);
		brd_buf_add(&b, raw);
	}
	if (values->n)
		brd_schema_fault(c, at, keyword, "%s was expected", b.data);
	else
		brd_schema_fault(c, at, keyword, "no value is allowed here");
	brd_buf_fini(&b);
	return false;
}

/* The known name that name was probably meant to be; p NULL when none is near. */
static struct bread_str nearest(const struct schema_object *r, struct bread_str name)
{
	struct bread_str best = { 0 };
	unsigned least = 3;

	for (size_t i = 0; i < r->n_props && i < 1000; i++) {
		struct bread_str known = r->props[i].name;
		unsigned d;

		if (known.n + 2 < name.n || name.n + 2 < known.n || known.n > 100 || !known.n)
			continue;
		d = brd_str_distance(known, name);
		if (d < least && d < known.n) {
			least = d;
			best = known;
		}
	}
	return best;
}

bool brd_schema_fault_extra(struct schema_check *c, const struct schema_spot *at,
	const struct schema_object *r, const char *keyword, struct bread_str name)
{
	struct bread_str meant;
	struct buf b;
	size_t i;

	if (!c->tell)
		return false;
	name.n = brd_utf8_cut(name, 100);
	meant = nearest(r, name);
	if (meant.p)
		return brd_schema_fault(c, at, keyword,
			"the property \"%.*s\" is not allowed; did you mean \"%.*s\"?",
			BRD_ARG(name), BRD_ARG(meant));
	brd_buf_init(&b, BUF_NO_LIMIT);
	for (i = 0; i < r->n_props && b.len < LIST_MAX; i++) {
		struct bread_str known = r->props[i].name;

		known.n = brd_utf8_cut(known, 100);
		brd_buf_addf(&b, "%s\"%.*s\"", i ? ", " : "", BRD_ARG(known));
	}
	if (i < r->n_props)
		brd_buf_addz(&b, ", ...");
	brd_schema_fault(c, at, keyword, "the property \"%.*s\" is not allowed%s%s", BRD_ARG(name),
		b.len ? "; allowed are " : "", b.data);
	brd_buf_fini(&b);
	return false;
}
