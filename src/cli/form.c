/* SPDX-License-Identifier: MIT */
/* Asking the person in front of us for what a run waits for.
 *
 * Where the answer's schema is an object of texts, numbers, switches and choices, each of them is
 * asked by itself; else the answer is one line, JSON or text. What does not fit is said, and asked
 * again, so that what is given at the end fits. A first line that is a JSON object is the whole
 * answer: scripts need not go through the fields. */
#include <stdlib.h>
#include "base/jsonw.h"
#include "base/schema.h"
#include "cli/cli.h"
#include "cli/line.h"

#define FIELDS_MAX 32

struct form {
	struct cli_lines *lines;
	struct arena *arena;
	struct jval schema; /* of the answer */
	struct schema *compiled;
	struct bread_str whole; /* the first line was all of it */
};

/* ---- what is said once, for those who type and those who do not ---- */

/* y, n, and a reason behind them. */
static bool as_approval(struct bread_str text, struct arena *a, struct bread_str *ret)
{
	struct bread_str rest = text, word = brd_str_split(&rest, ' ');
	bool yes = brd_str_ieq(word, BRD_STR("y")) || brd_str_ieq(word, BRD_STR("yes"));
	bool no = brd_str_ieq(word, BRD_STR("n")) || brd_str_ieq(word, BRD_STR("no"));

	if (!yes && !no)
		return false;
	rest = brd_str_trim(rest);
	*ret = rest.n ? brd_arena_printf(a, "{\"approved\":%s,\"reason\":%.*s}",
				yes ? "true" : "false", BRD_ARG(cli_quote(rest, a)))
		      : brd_str(yes ? "{\"approved\":true}" : "{\"approved\":false}");
	return true;
}

struct bread_str cli_answer(
	const struct bread_checkpoint_row *c, struct bread_str text, struct arena *a)
{
	struct bread_str answer;

	text = brd_str_trim(text);
	if (brd_str_is(c->kind, "approval") && as_approval(text, a, &answer))
		return answer;
	return brd_json_ok(text, 0) ? text : cli_quote(text, a);
}

bool cli_answer_is_one(
	const struct bread_checkpoint_row *c, struct bread_str answer, struct arena *a)
{
	struct jval v;

	return !brd_str_is(c->kind, "approval") ||
	       (!brd_json_parse(a, answer, 0, &v, NULL) && brd_json_type(v) == JSON_OBJECT);
}

/* ---- one field ---- */

static bool is_scalar(struct jval v)
{
	enum json_type t = brd_json_type(v);

	return t == JSON_STRING || t == JSON_NUMBER || t == JSON_BOOL;
}

static bool is_field(struct jval schema)
{
	struct jval type = brd_json_get(schema, "type"), choices = brd_json_get(schema, "enum");

	if (brd_json_type(choices) == JSON_ARRAY) {
		for (struct json_iter it = brd_json_each(choices); brd_json_next(&it);)
			if (!is_scalar(it.value))
				return false;
		return true;
	}
	return brd_json_is(type, "string") || brd_json_is(type, "number") ||
	       brd_json_is(type, "integer") || brd_json_is(type, "boolean");
}

static bool is_flat(struct jval schema)
{
	struct jval properties = brd_json_get(schema, "properties");
	size_t n = brd_json_count(properties);

	if (!brd_json_is(brd_json_get(schema, "type"), "object") || n == 0 || n > FIELDS_MAX)
		return false;
	for (struct json_iter it = brd_json_each(properties); brd_json_next(&it);)
		if (!is_field(it.value))
			return false;
	return true;
}

static bool is_required(const struct form *f, struct bread_str name)
{
	struct jval list = brd_json_get(f->schema, "required");

	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);)
		if (brd_json_iss(it.value, name))
			return true;
	return false;
}

/* "colour (red, green; optional) ▸ " */
static const char *prompt_of(
	struct form *f, struct bread_str name, struct jval schema, bool required)
{
	struct jval choices = brd_json_get(schema, "enum");
	struct bread_str type = brd_json_str(brd_json_get(schema, "type"), f->arena);
	struct bread_str dflt = brd_json_raw(brd_json_get(schema, "default"));
	struct buf b;
	const char *prompt;

	brd_buf_init(&b, 4096);
	brd_buf_addf(&b, "  %.*s (", BRD_ARG(name));
	for (struct json_iter it = brd_json_each(choices); brd_json_next(&it);)
		brd_buf_addf(&b, "%s%.*s", it.index ? ", " : "",
			BRD_ARG(brd_json_type(it.value) == JSON_STRING
					? brd_json_str(it.value, f->arena)
					: brd_json_raw(it.value)));
	if (brd_json_type(choices) != JSON_ARRAY)
		brd_buf_addf(
			&b, "%.*s", BRD_ARG(brd_str_is(type, "boolean") ? BRD_STR("y/n") : type));
	if (dflt.n)
		brd_buf_addf(&b, "; default %.*s", BRD_ARG(dflt));
	else if (!required)
		brd_buf_addz(&b, "; optional");
	brd_buf_addz(&b, ") ▸ ");
	prompt = brd_arena_strz(f->arena, b.bad ? BRD_STR("  ▸ ") : brd_buf_str(&b));
	brd_buf_fini(&b);
	return prompt;
}

/* The text as a value of that schema; a text that stays one is found out by the check. */
static struct bread_str value_of(struct form *f, struct jval schema, struct bread_str text)
{
	struct jval choices = brd_json_get(schema, "enum"), type = brd_json_get(schema, "type");
	bool yes = brd_str_ieq(text, BRD_STR("y")) || brd_str_ieq(text, BRD_STR("yes"));
	bool no = brd_str_ieq(text, BRD_STR("n")) || brd_str_ieq(text, BRD_STR("no"));

	for (struct json_iter it = brd_json_each(choices); brd_json_next(&it);)
		if (brd_json_iss(it.value, text) || brd_str_eq(brd_json_raw(it.value), text))
			return brd_json_raw(it.value);
	if (brd_json_is(type, "boolean") && (yes || no))
		return brd_str(yes ? "true" : "false");
	if (!brd_json_is(type, "string") && brd_json_ok(text, 0))
		return text;
	return cli_quote(text, f->arena);
}

/* true: it fits, or cannot be checked here. Else it was said why not. */
static bool fits(struct form *f, struct schema *s, struct bread_str json, const char *what)
{
	struct schema_fault fault;
	struct jval v;

	if (!s || brd_json_parse(f->arena, json, 0, &v, NULL) ||
		brd_schema_check(s, v, f->arena, &fault))
		return true;
	cli_dim(stderr, "  %s%.*s: %.*s", what, BRD_ARG(fault.at), BRD_ARG(fault.text));
	return false;
}

/* false: the input has ended, or f->whole is all. *ret empty: left out. */
static bool ask_field(struct form *f, struct bread_str name, struct jval schema, bool first,
	struct bread_str *ret)
{
	bool required = is_required(f, name);
	const char *prompt = prompt_of(f, name, schema, required), *line;
	const char *what = brd_arena_strz(f->arena, name);
	struct bread_str dflt = brd_json_raw(brd_json_get(schema, "default")), text;
	struct schema *s = NULL;
	bool ok = false;

	if (brd_schema_new(&s, brd_json_raw(schema), NULL))
		s = NULL; /* it refers to others: the whole is checked */
	while (!ok && (line = cli_lines_read(f->lines, prompt))) {
		text = brd_arena_copy(f->arena, brd_str_trim(brd_str(line)));
		if (first && text.n && text.p[0] == '{' && brd_json_ok(text, 0)) {
			f->whole = text;
			break;
		}
		*ret = text.n ? value_of(f, schema, text) : dflt;
		ok = ret->n ? fits(f, s, *ret, what) : !required;
		if (!ok && !ret->n)
			cli_dim(stderr, "  %s must be given", what);
	}
	brd_schema_unref(s);
	return ok;
}

static bool ask_fields(struct form *f, struct bread_str *ret)
{
	struct jval properties = brd_json_get(f->schema, "properties");
	bool more = true;
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	for (struct json_iter it = brd_json_each(properties); more && brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.key, f->arena), value = { 0 };
		struct bread_str about =
			brd_json_str(brd_json_get(it.value, "description"), f->arena);

		if (about.n)
			cli_dim(stderr, "  %.*s", BRD_ARG(about));
		more = ask_field(f, name, it.value, it.index == 0, &value);
		if (more && value.n) {
			brd_jw_keys(&w, name);
			brd_jw_raw(&w, value);
		}
	}
	brd_jw_end_obj(&w);
	*ret = f->whole.n ? f->whole : brd_arena_copy(f->arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return more || f->whole.n;
}

/* ---- the whole ---- */

static bool ask_line(struct form *f, const struct bread_checkpoint_row *c, struct bread_str *ret)
{
	const char *line = cli_lines_read(f->lines, "▸ ");

	if (line)
		*ret = cli_answer(c, brd_arena_copy(f->arena, brd_str(line)), f->arena);
	return line;
}

static bool good(struct form *f, const struct bread_checkpoint_row *c, struct bread_str answer)
{
	if (!brd_str_is(c->kind, "approval"))
		return fits(f, f->compiled, answer, "the answer");
	if (cli_answer_is_one(c, answer, f->arena))
		return true;
	cli_dim(stderr, "  y or n, and a reason behind it if you like");
	return false;
}

bool cli_form(struct cli_lines *lines, const struct bread_checkpoint_row *c, const char *agent,
	struct arena *a, struct bread_str *ret)
{
	struct form f = { .lines = lines, .arena = a };
	bool approval = brd_str_is(c->kind, "approval");
	bool flat, given;

	cli_dim(stderr, "\n↳ %.*s%s%.*s needs %s %.*s",
		BRD_ARG(brd_str_is(c->agent_id, agent) ? BRD_STR("") : c->agent_id),
		brd_str_is(c->agent_id, agent) ? "" : ": ", BRD_ARG(c->tool_name),
		approval ? "approval (y/n)" : "input", BRD_ARG(c->schema));
	if (c->answer_schema.n && (brd_schema_new(&f.compiled, c->answer_schema, NULL) ||
					  brd_json_parse(a, c->answer_schema, 0, &f.schema, NULL)))
		f.schema = (struct jval){ 0 };
	flat = is_flat(f.schema);
	do {
		f.whole = (struct bread_str){ 0 };
		given = flat ? ask_fields(&f, ret) : ask_line(&f, c, ret);
	} while (given && !good(&f, c, *ret));
	brd_schema_unref(f.compiled);
	return given;
}
