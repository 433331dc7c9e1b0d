/* SPDX-License-Identifier: MIT */
/* Objects into structs, by tables of fields.
 *
 * A struct is filled whole: what the object does not give has its default. The
 * first fault ends the reading, unless all of them are asked for. Relies on the composer for keys
 * that are given twice; in an object that a program made the last one counts. */
#include "config/conf.h"
#include <stdio.h>
#include "base/err.h"
#include "config/conf_value.h"
#include "config/fault.h"

#define VALUE_MAX 64 /* bytes of the largest value that a field's slot holds, and more */

struct reader {
	const struct yaml_doc *doc;
	struct arena *arena;
	struct bread_err *err;
	conf_heard *heard; /* NULL: the first fault ends the reading */
	void *arg;
	unsigned faults;
};

/* A fault that somebody has heard of is none any more. */
static int told(struct reader *rd, int r)
{
	if (!r || !rd->heard)
		return r;
	rd->faults++;
	rd->heard(rd->err, rd->arg);
	return 0;
}

static int read_group(struct reader *rd, const struct conf_field *fields, size_t n, struct jval obj,
	char *out, const char *base, bool given);

int brd_conf_fault(struct bread_err *err, const struct yaml_doc *doc, struct jval at,
	const char *key, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = brd_yaml_vfault(err, doc ? doc->file : "configuration", brd_yaml_place(doc, at), key,
		BREAD_E_INVALID, fmt, ap);
	va_end(ap);
	return r;
}

/* What is there of a path in dots: its last part; JSON_NONE: nothing of it. */
static struct jval reached(struct jval v, const char *path, struct arena *a)
{
	size_t n = strlen(path);
	struct jval at = { 0 };

	while (n && brd_json_type(at) == JSON_NONE) {
		at = brd_json_path(v, brd_arena_strz(a, (struct bread_str){ path, n }));
		while (n && path[--n] != '.')
			;
	}
	return at;
}

bool brd_conf_place(struct bread_err *err, const struct yaml_doc *doc)
{
	struct arena a = { 0 };
	struct bread_err cause = *err;
	struct jval at = reached(doc->root, cause.where, &a);
	bool there = brd_json_type(at) != JSON_NONE;

	if (there) {
		brd_conf_fault(err, doc, at, "", "%s", cause.text);
		err->code = cause.code;
		memcpy(err->name, cause.name, sizeof(err->name));
		memcpy(err->context, cause.context, sizeof(err->context));
	}
	brd_arena_fini(&a);
	return there;
}

static int misfit(struct reader *rd, const struct conf_field *f, struct jval v, struct jval at,
	const char *key, enum conf_fit fit)
{
	static const struct conf_field member = { .type = CONF_STR };
	struct buf shown, expected;
	int r;

	if (at.tok != v.tok) { /* a member of a list */
		size_t i = 0;

		while (brd_json_at(v, i).tok != at.tok)
			i++;
		key = (char *)brd_arena_printf(rd->arena, "%s.%zu", key, i).p;
		f = &member;
	}
	if (fit == CONF_HAS_NUL)
		return brd_conf_fault(
			rd->err, rd->doc, at, key, "has a NUL byte (\\0) in it; take it out");
	if (fit == CONF_HAS_HALF)
		return brd_conf_fault(rd->err, rd->doc, at, key,
			"has half of a surrogate pair in it; take it out");
	brd_buf_init(&shown, BUF_NO_LIMIT);
	brd_buf_init(&expected, BUF_NO_LIMIT);
	brd_conf_shown(f, at, &shown);
	brd_conf_expected(f, &expected);
	r = brd_conf_fault(rd->err, rd->doc, at, key, "is %s; %s is expected%s", shown.data,
		expected.data,
		f->type == CONF_STR && brd_json_type(at) <= JSON_NUMBER &&
				brd_json_type(at) > JSON_NULL
			? ", so put it in quotes"
			: "");
	brd_buf_fini(&shown);
	brd_buf_fini(&expected);
	return r;
}

static int take_default(struct reader *rd, const struct conf_field *f, void *slot)
{
	/* a default that does not fit its own field is a fault of the table */
	if (f->dflt)
		brd_assert(brd_conf_take_text(f, brd_str(f->dflt), slot, rd->arena) == CONF_FITS);
	return 0;
}

/* The items of a list, which its owner reads later, one by one. */
static int check_items(struct reader *rd, const struct conf_field *f, struct jval list, char *key)
{
	char *out = brd_arena_alloc(rd->arena, brd_conf_span(f->sub, f->sub_count));
	int r = 0;

	for (struct json_iter it = brd_json_each(list); !r && brd_json_next(&it);) {
		const char *base = brd_arena_printf(rd->arena, "%s.%zu", key, it.index).p;

		r = told(rd, read_group(rd, f->sub, f->sub_count, it.value, out, base, true));
	}
	return r;
}

static int read_field(struct reader *rd, const struct conf_field *f, struct jval obj, char *out,
	const char *base, bool given)
{
	struct jval v = brd_json_get(obj, f->key), at;
	bool there = brd_json_type(v) != JSON_NONE;
	char *key = brd_conf_key(base, f->key, rd->arena);
	enum conf_fit fit;

	if (!there && given && f->required)
		return brd_conf_fault(rd->err, rd->doc, obj, key, "is missing%s%s%s",
			f->doc ? " (" : "", f->doc ? f->doc : "", f->doc ? ")" : "");
	if (f->type == CONF_GROUP)
		return read_group(rd, f->sub, f->sub_count, v, out + f->offset, key, there);
	if (!there)
		return take_default(rd, f, out + f->offset);
	fit = brd_conf_take(f, v, out + f->offset, rd->arena, &at);
	if (fit != CONF_FITS)
		return misfit(rd, f, v, at, key, fit);
	return f->sub ? check_items(rd, f, v, key) : 0;
}

/* Lower case, without - and _: max_body_bytes and maxBodyBytes are then the same. */
static struct bread_str folded(struct bread_str s, struct arena *a)
{
	char *p = brd_arena_alloc(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '_' && s.p[i] != '-')
			p[n++] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] | 0x20) : s.p[i];
	return (struct bread_str){ p, n };
}

/* The known key that looks most like the unknown one, or NULL. */
static const char *nearest(
	const struct conf_field *fields, size_t n, struct bread_str key, struct arena *a)
{
	struct bread_str want = folded(key, a);
	unsigned best = want.n < 4 ? 2 : want.n < 12 ? 3 : 4; /* this far is too far */
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		unsigned d = brd_str_distance(want, folded(brd_str(fields[i].key), a));

		if (d < best) {
			best = d;
			found = fields[i].key;
		}
	}
	return found;
}

/* The key in a group below: port was meant to be server.port. */
static const char *below(const struct conf_field *fields, size_t n, struct bread_str key,
	const char *base, struct arena *a)
{
	for (size_t i = 0; i < n; i++) {
		const char *path = fields[i].key ? brd_conf_key(base, fields[i].key, a) : base,
			   *deeper;

		if (brd_str_is(key, fields[i].key))
			return path;
		if (fields[i].type != CONF_GROUP)
			continue;
		deeper = below(fields[i].sub, fields[i].sub_count, key, path, a);
		if (deeper)
			return deeper;
	}
	return NULL;
}

static struct bread_str known_keys(const struct conf_field *fields, size_t n, struct arena *a)
{
	enum { SHOWN = 200 };
	struct bread_str known;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (size_t i = 0; i < n && b.len < SHOWN; i++)
		brd_buf_addf(&b, "%s%s", i ? ", " : "", fields[i].key);
	known = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return known;
}

/* A key from a file as a message may show it: bare if it is a plain word. */
static const char *shown_key(struct bread_str key, struct arena *a)
{
	if (!brd_utf8_ok(key))
		return brd_arena_strz(a, brd_yaml_show(key, a));
	for (size_t i = 0; i < key.n; i++)
		if ((unsigned char)key.p[i] <= ' ' || key.p[i] == '"' || key.p[i] == '\\' ||
			key.p[i] == 0x7f || key.n > 48)
			return brd_arena_strz(a, brd_yaml_show(key, a));
	return key.n ? brd_arena_strz(a, key) : "\"\"";
}

static int unknown_key(struct reader *rd, const struct conf_field *fields, size_t n, struct jval at,
	const char *base)
{
	struct bread_str key = brd_json_str(at, rd->arena), known;
	char *name = brd_conf_key(base, shown_key(key, rd->arena), rd->arena);
	const char *meant = nearest(fields, n, key, rd->arena);

	if (meant)
		meant = brd_conf_key(base, meant, rd->arena);
	else
		meant = below(fields, n, key, base, rd->arena);
	if (meant)
		return brd_conf_fault(
			rd->err, rd->doc, at, name, "is not known; did you mean %s?", meant);
	known = known_keys(fields, n, rd->arena);
	return brd_conf_fault(
		rd->err, rd->doc, at, name, "is not known; the keys here are %.*s", BRD_ARG(known));
}

static int check_keys(struct reader *rd, const struct conf_field *fields, size_t n, struct jval obj,
	const char *base)
{
	int r = 0;

	for (struct json_iter it = brd_json_each(obj); !r && brd_json_next(&it);) {
		struct bread_str key = brd_json_str(it.key, rd->arena);
		bool known = brd_str_starts(key, BRD_STR("x-"));

		for (size_t i = 0; i < n && !known; i++)
			known = brd_str_is(key, fields[i].key);
		if (!known)
			r = told(rd, unknown_key(rd, fields, n, it.key, base));
	}
	return r;
}

/* given: the group itself is there, so what it requires must be, too. */
static int read_group(struct reader *rd, const struct conf_field *fields, size_t n, struct jval obj,
	char *out, const char *base, bool given)
{
	static const struct conf_field group = { .type = CONF_GROUP };
	enum json_type type = brd_json_type(obj);
	int r = 0;

	/* "server:" with every key below it commented out is an empty group */
	if (type != JSON_OBJECT && type != JSON_NONE && type != JSON_NULL)
		return misfit(rd, &group, obj, obj, *base ? base : "the document", CONF_MISFIT);
	if (type == JSON_OBJECT)
		r = check_keys(rd, fields, n, obj, base);
	for (size_t i = 0; i < n && r == 0; i++)
		r = told(rd, read_field(rd, &fields[i], obj, out, base, given));
	return r;
}

int brd_conf_read(const struct conf_field *fields, size_t n, struct jval obj, void *out,
	const struct yaml_doc *doc, const char *base, struct arena *a, struct bread_err *err)
{
	bool given = doc || brd_json_type(obj) != JSON_NONE;

	return read_group(&(struct reader){ .doc = doc, .arena = a, .err = err }, fields, n, obj,
		out, base, given);
}

size_t brd_conf_span(const struct conf_field *fields, size_t n)
{
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t end = fields[i].offset +
			     (fields[i].type == CONF_GROUP
					     ? brd_conf_span(fields[i].sub, fields[i].sub_count)
					     : VALUE_MAX);

		most = end > most ? end : most;
	}
	return most;
}

unsigned brd_conf_check(const struct conf_field *fields, size_t n, struct jval obj,
	const struct yaml_doc *doc, const char *base, conf_heard *heard, void *arg)
{
	struct arena a = { 0 };
	struct bread_err err = { 0 };
	struct reader rd = { .doc = doc, .arena = &a, .err = &err, .heard = heard, .arg = arg };

	told(&rd, read_group(&rd, fields, n, obj, brd_arena_alloc(&a, brd_conf_span(fields, n)),
			  base, true));
	brd_arena_fini(&a);
	return rd.faults;
}
