/* SPDX-License-Identifier: MIT */
/* See template.h. A value knows both faces of itself: its text, and its JSON
 * where it came from JSON; {{json …}} asks for the second. */
#include "model/scripted/template.h"
#include <ctype.h>
#include <stdlib.h>
#include "base/jsonw.h"
#include "base/str.h"

struct tval {
	bool found;
	struct bread_str text;
	struct bread_str json; /* empty: it came from no JSON */
};

static struct tval lookup(const struct tmpl *t, struct bread_str name);

static struct tval of_text(struct bread_str s)
{
	return (struct tval){ true, s, { 0 } };
}

static struct tval of_int(const struct tmpl *t, int64_t v)
{
	struct bread_str s = brd_arena_printf(t->a, "%lld", (long long)v);

	return (struct tval){ true, s, s };
}

static struct tval of_json(const struct tmpl *t, struct jval v)
{
	struct tval r = { brd_json_type(v) != JSON_NONE, { 0 }, brd_json_raw(v) };
	struct buf b;

	if (brd_json_type(v) == JSON_STRING) {
		r.text = brd_json_str(v, t->a);
	} else if (r.found) {
		brd_buf_init(&b, BUF_NO_LIMIT);
		brd_json_compact(v, &b);
		r.text = r.json = brd_arena_copy(t->a, brd_buf_str(&b));
		brd_buf_fini(&b);
	}
	return r;
}

/* name is word, or word and something behind a blank: *ret_rest. */
static bool begins(struct bread_str name, const char *word, struct bread_str *ret_rest)
{
	size_t n = strlen(word);

	if (!brd_str_starts(name, brd_str(word)) || (name.n > n && name.p[n] != ' '))
		return false;
	*ret_rest = brd_str_trim(brd_sub(name, n, name.n - n));
	return true;
}

static bool next_word(struct bread_str *rest, struct bread_str *ret)
{
	*rest = brd_str_trim(*rest);
	if (!rest->n)
		return false;
	ret->p = rest->p;
	ret->n = 0;
	while (ret->n < rest->n && !isspace((unsigned char)ret->p[ret->n]))
		ret->n++;
	*rest = brd_sub(*rest, ret->n, rest->n - ret->n);
	return true;
}

static bool next_number(struct bread_str *rest, struct bread_str *ret)
{
	size_t i = 0, from;

	while (i < rest->n && !isdigit((unsigned char)rest->p[i]))
		i++;
	if (i == rest->n)
		return false;
	from = i && rest->p[i - 1] == '-' && (i == 1 || !isalnum((unsigned char)rest->p[i - 2]))
		       ? i - 1
		       : i;
	while (i < rest->n && isdigit((unsigned char)rest->p[i]))
		i++;
	if (i + 1 < rest->n && rest->p[i] == '.' && isdigit((unsigned char)rest->p[i + 1]))
		for (i++; i < rest->n && isdigit((unsigned char)rest->p[i]);)
			i++;
	*ret = brd_sub(*rest, from, i - from);
	*rest = brd_sub(*rest, i, rest->n - i);
	return true;
}

/* The nth (from 1; "": the first) of what next finds in the input. */
static struct tval nth(const struct tmpl *t, struct bread_str which,
	bool (*next)(struct bread_str *rest, struct bread_str *ret))
{
	struct bread_str rest = brd_input_text(t->req, t->a), found;
	int64_t n = 1;

	if (which.n && (!brd_str_int(which, &n) || n < 1))
		return (struct tval){ 0 };
	while (next(&rest, &found))
		if (--n == 0)
			return of_text(found);
	return (struct tval){ 0 };
}

/* A word NAME=value of the input. */
static struct tval key_value(const struct tmpl *t, struct bread_str key)
{
	struct bread_str rest = brd_input_text(t->req, t->a), word;

	while (key.n && next_word(&rest, &word))
		if (word.n > key.n && word.p[key.n] == '=' && brd_str_starts(word, key))
			return of_text(brd_sub(word, key.n + 1, word.n - key.n - 1));
	return (struct tval){ 0 };
}

static struct tval captured(const struct tmpl *t, struct bread_str name)
{
	for (size_t i = 0; i < t->capture_count; i++)
		if (brd_str_eq(t->captures[i].name, name))
			return of_text(t->captures[i].value);
	return (struct tval){ 0 };
}

static const struct bread_part *pick_result(const struct tmpl *t, struct bread_str which)
{
	size_t count = brd_result_count(t->req);
	int64_t n;

	if (!which.n)
		return count ? brd_last_result(t->req, count - 1) : NULL;
	if (brd_str_starts(which, BRD_STR("of ")))
		return brd_result_of(t->req, brd_str_trim(brd_sub(which, 3, which.n - 3)));
	if (brd_str_int(which, &n) && n >= 1)
		return brd_last_result(t->req, (size_t)n - 1);
	return NULL;
}

/* result, result.a.b, result 2, result 2.a, result of NAME, result of NAME.a */
static struct tval result(const struct tmpl *t, struct bread_str spec)
{
	struct bread_str path = spec, which = brd_str_split(&path, '.');
	const struct bread_part *p = pick_result(t, brd_str_trim(which));

	if (!p)
		return (struct tval){ 0 };
	if (path.p)
		return of_json(
			t, brd_json_path(brd_result_json(p, t->a), brd_arena_strz(t->a, path)));
	return (struct tval){ true, brd_result_text(p, t->a), p->json };
}

static struct tval slug(const struct tmpl *t, struct tval v)
{
	char *s = brd_arena_strz(t->a, v.text);

	for (size_t i = 0; i < v.text.n; i++)
		if (!isalnum((unsigned char)s[i]))
			s[i] = '-';
	v.text.p = s;
	v.json.n = 0;
	return v;
}

static struct tval as_json(const struct tmpl *t, struct tval v)
{
	struct buf b;
	struct jval parsed;

	if (!v.found)
		return v;
	if (!v.json.n && brd_json_parse(t->a, v.text, 0, &parsed, NULL) == BREAD_OK)
		v.json = v.text;
	if (!v.json.n) {
		brd_buf_init(&b, BUF_NO_LIMIT);
		brd_json_quote(&b, v.text);
		v.json = brd_arena_copy(t->a, brd_buf_str(&b));
		brd_buf_fini(&b);
	}
	v.text = v.json;
	return v;
}

static struct tval lookup_word(const struct tmpl *t, struct bread_str name)
{
	struct tval v;

	if (brd_str_is(name, "input"))
		return of_text(brd_input_text(t->req, t->a));
	if (brd_str_is(name, "last"))
		return of_text(brd_last_text(t->req, t->a));
	if (brd_str_is(name, "model"))
		return of_text(t->model);
	if (brd_str_is(name, "count"))
		return of_int(t, (int64_t)t->req->message_count);
	if (brd_str_is(name, "call"))
		return of_int(t, t->call);
	if (brd_str_is(name, "i") && t->i)
		return of_int(t, t->i);
	v = captured(t, name);
	return v.found ? v : key_value(t, name);
}

static struct tval lookup(const struct tmpl *t, struct bread_str name)
{
	struct bread_str rest;

	if (begins(name, "json", &rest))
		return as_json(t, lookup(t, rest));
	if (begins(name, "slug", &rest))
		return slug(t, lookup(t, rest));
	if (begins(name, "word", &rest))
		return nth(t, rest, next_word);
	if (begins(name, "number", &rest))
		return nth(t, rest, next_number);
	if (brd_str_starts(name, BRD_STR("key=")))
		return key_value(t, brd_sub(name, 4, name.n - 4));
	if (begins(name, "result", &rest))
		return result(t, rest);
	if (brd_str_starts(name, BRD_STR("result.")))
		return result(t, brd_sub(name, 6, name.n - 6));
	return lookup_word(t, name);
}

/* What stands between the braces, default and all. */
static struct tval evaluate(const struct tmpl *t, struct bread_str inner)
{
	struct bread_str dflt = inner, name = brd_str_split(&dflt, '|');
	struct bread_str word = brd_str_trim(name), rest;
	struct tval v = lookup(t, word);

	if (v.found || !dflt.p)
		return v;
	return begins(word, "json", &rest) ? as_json(t, of_text(dflt)) : of_text(dflt);
}

/* The next {{…}} of in: where it begins, and what is between. */
static bool next_braces(struct bread_str in, size_t *ret_at, struct bread_str *ret_inner)
{
	ptrdiff_t at = brd_str_find(in, BRD_STR("{{")), end;

	if (at < 0)
		return false;
	end = brd_str_find(brd_sub(in, (size_t)at, in.n - (size_t)at), BRD_STR("}}"));
	if (end < 0)
		return false;
	*ret_at = (size_t)at;
	*ret_inner = brd_sub(in, (size_t)at + 2, (size_t)end - 2);
	return true;
}

struct bread_str brd_tmpl_text(const struct tmpl *t, struct bread_str in)
{
	struct bread_str inner, ret;
	struct buf b;
	size_t at;

	if (brd_str_find(in, BRD_STR("{{")) < 0)
		return in;
	brd_buf_init(&b, TMPL_TEXT_MAX);
	while (next_braces(in, &at, &inner)) {
		size_t whole = inner.n + 4;
		struct tval v = evaluate(t, inner);

		brd_buf_add(&b, brd_sub(in, 0, at));
		brd_buf_add(&b, v.found ? v.text : brd_sub(in, at, whole));
		in = brd_sub(in, at + whole, in.n - at - whole);
	}
	brd_buf_add(&b, in);
	ret = brd_arena_copy(t->a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return ret;
}

static void fill_string(const struct tmpl *t, struct bread_str s, struct buf *out)
{
	struct bread_str inner, rest;
	size_t at;

	if (next_braces(s, &at, &inner) && at == 0 && inner.n + 4 == s.n &&
		begins(brd_str_trim(inner), "json", &rest)) {
		struct tval v = evaluate(t, inner);

		if (v.found) {
			brd_buf_add(out, v.text);
			return;
		}
	}
	brd_json_quote(out, brd_tmpl_text(t, s));
}

void brd_tmpl_json(const struct tmpl *t, struct jval v, struct buf *out)
{
	bool object = brd_json_type(v) == JSON_OBJECT, first = true;

	if (brd_json_type(v) == JSON_STRING) {
		fill_string(t, brd_json_str(v, t->a), out);
		return;
	}
	if (!object && brd_json_type(v) != JSON_ARRAY) {
		brd_buf_add(out, brd_json_raw(v));
		return;
	}
	brd_buf_addc(out, object ? '{' : '[');
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it); first = false) {
		if (!first)
			brd_buf_addc(out, ',');
		if (object) {
			brd_json_quote(out, brd_tmpl_text(t, brd_json_str(it.key, t->a)));
			brd_buf_addc(out, ':');
		}
		brd_tmpl_json(t, it.value, out);
	}
	brd_buf_addc(out, object ? '}' : ']');
}

double brd_tmpl_num(const struct tmpl *t, struct jval v, double dflt)
{
	char *z, *end;
	double d;

	if (brd_json_type(v) != JSON_STRING)
		return brd_json_num(v, dflt);
	z = brd_arena_strz(t->a, brd_tmpl_text(t, brd_json_str(v, t->a)));
	d = strtod(z, &end);
	return end == z || *end ? dflt : d;
}
