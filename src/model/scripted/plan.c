/* SPDX-License-Identifier: MIT */
/* See plan.h. What an answer does not say is taken from the model's defaults. */
#include "model/scripted/plan.h"
#include <stdlib.h>
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/str.h"

#define MS_MAX (24 * 3600 * 1000.0)

struct planner {
	struct plan *p;
	const struct tmpl *t;
	struct jval defaults;
	struct action spare; /* for what is beyond the limits, and not played */
};

static struct action *add(struct planner *pl, enum act act)
{
	struct plan *p = pl->p;

	if (p->count == PLAN_ACTIONS_MAX || p->bytes > PLAN_BYTES_MAX) {
		p->too_large = true;
		return &pl->spare;
	}
	if (p->count == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 4;
		p->actions = brd_realloc(p->actions, p->cap * sizeof(*p->actions));
	}
	p->actions[p->count] = (struct action){ .act = act };
	return &p->actions[p->count++];
}

static void add_text(struct planner *pl, enum act act, struct bread_str text)
{
	pl->p->bytes += text.n;
	add(pl, act)->text = text;
}

static int64_t ms_of(struct planner *pl, struct jval v)
{
	double ms = brd_tmpl_num(pl->t, v, 0);

	return ms >= 1 ? (int64_t)(ms < MS_MAX ? ms : MS_MAX) : 0;
}

static void add_delay(struct planner *pl, int64_t ms)
{
	if (ms > 0)
		add(pl, ACT_DELAY)->ms = ms;
}

static struct bread_str json_of(struct planner *pl, struct jval v)
{
	struct buf b;
	struct bread_str s;

	brd_buf_init(&b, PLAN_BYTES_MAX);
	brd_tmpl_json(pl->t, v, &b);
	s = brd_arena_copy(pl->t->a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return s;
}

static struct bread_str text_of(struct planner *pl, struct jval v)
{
	if (brd_json_type(v) == JSON_STRING)
		return brd_tmpl_text(pl->t, brd_json_str(v, pl->t->a));
	return json_of(pl, v);
}

/* ---- pieces ---- */

static size_t word_len(struct bread_str s)
{
	size_t n = 0;

	while (n < s.n && strchr(" \t\r\n", s.p[n]) && s.p[n])
		n++; /* blanks in front belong to the first word */
	while (n < s.n && !(strchr(" \t\r\n", s.p[n]) && s.p[n]))
		n++;
	while (n < s.n && strchr(" \t\r\n", s.p[n]) && s.p[n])
		n++;
	return n;
}

static size_t char_len(struct bread_str s)
{
	size_t n = brd_utf8_char(s.p, s.n, NULL);

	return n ? n : 1;
}

static size_t line_len(struct bread_str s)
{
	const char *nl = memchr(s.p, '\n', s.n);

	return nl ? (size_t)(nl - s.p) + 1 : s.n;
}

/* After half its characters, rounded up. */
static size_t half_len(struct bread_str s)
{
	size_t chars = 0, at = 0;

	for (size_t i = 0; i < s.n; i += char_len(brd_sub(s, i, s.n - i)))
		chars++;
	for (size_t i = 0; i < (chars + 1) / 2; i++)
		at += char_len(brd_sub(s, at, s.n - at));
	return at;
}

static size_t piece_len(struct jval each, struct bread_str s, bool first)
{
	if (brd_json_is(each, "word"))
		return word_len(s);
	if (brd_json_is(each, "char"))
		return char_len(s);
	if (brd_json_is(each, "line"))
		return line_len(s);
	return brd_json_is(each, "half") && first ? half_len(s) : s.n;
}

static void add_pieces(
	struct planner *pl, enum act act, struct bread_str text, struct jval each, int64_t ms)
{
	size_t at = 0;

	while (at < text.n && !pl->p->too_large) {
		struct bread_str rest = brd_sub(text, at, text.n - at);
		size_t n = piece_len(each, rest, at == 0);

		add_delay(pl, ms);
		add_text(pl, act, brd_sub(rest, 0, n));
		at += n;
	}
}

static struct jval or_default(struct planner *pl, struct jval step, const char *key)
{
	struct jval v = brd_json_get(step, key);

	return brd_json_type(v) != JSON_NONE ? v : brd_json_get(pl->defaults, key);
}

/* ---- steps ---- */

/* text, filled in n times with {{i}} from 1. */
static struct bread_str repeated(struct planner *pl, struct jval step, struct jval text)
{
	double n = brd_tmpl_num(pl->t, brd_json_get(step, "repeat"), 1);
	struct bread_str between = text_of(pl, brd_json_get(step, "between")), s;
	struct tmpl t = *pl->t;
	struct buf b;

	brd_buf_init(&b, PLAN_BYTES_MAX);
	for (t.i = 1; t.i <= n && !b.bad && t.i <= PLAN_ACTIONS_MAX; t.i++) {
		if (t.i > 1)
			brd_buf_add(&b, between);
		brd_buf_add(&b, brd_tmpl_text(&t, brd_json_str(text, t.a)));
	}
	pl->p->too_large |= b.bad || n > PLAN_ACTIONS_MAX;
	s = brd_arena_copy(t.a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return s;
}

static void plan_text(struct planner *pl, struct jval step, struct jval text, enum act act)
{
	bool many = brd_json_type(brd_json_get(step, "repeat")) != JSON_NONE;
	struct bread_str s = many ? repeated(pl, step, text) : text_of(pl, text);

	add_pieces(pl, act, s, or_default(pl, step, "each"),
		ms_of(pl, or_default(pl, step, "delay_ms")));
	if (brd_json_type(brd_json_get(step, "signature")) == JSON_STRING)
		add_text(pl, ACT_SIGN, text_of(pl, brd_json_get(step, "signature")));
}

static struct bread_str call_id(struct planner *pl, struct jval call)
{
	struct jval id = brd_json_get(call, "id");

	if (brd_json_type(id) == JSON_STRING)
		return text_of(pl, id);
	return brd_arena_printf(pl->t->a, "call_%lld_%zu", (long long)pl->t->call, pl->p->count);
}

static struct bread_str call_args(struct planner *pl, struct jval call)
{
	struct jval raw = brd_json_get(call, "raw_args"), args = brd_json_get(call, "args");

	if (brd_json_type(raw) != JSON_NONE)
		return text_of(pl, raw);
	if (brd_json_type(args) == JSON_NONE)
		return BRD_STR("{}");
	return json_of(pl, args); /* a string, too: "{{json …}}" is a value of its own */
}

static void plan_call(struct planner *pl, struct jval call)
{
	struct bread_str args = call_args(pl, call);
	struct action *a;

	pl->p->bytes += args.n;
	a = add(pl, ACT_CALL);
	a->text = args;
	a->id = call_id(pl, call);
	a->name = text_of(pl, brd_json_get(call, "name"));
}

static void plan_input(struct planner *pl, struct jval call)
{
	struct jval chunks = brd_json_get(call, "chunks");
	int64_t ms = ms_of(pl, brd_json_get(call, "delay_ms"));
	struct action *a = add(pl, ACT_INPUT);

	a->id = call_id(pl, call);
	a->name = text_of(pl, brd_json_get(call, "name"));
	for (struct json_iter it = brd_json_each(chunks); brd_json_next(&it);) {
		add_delay(pl, ms);
		add_text(pl, ACT_PIECE, text_of(pl, it.value));
	}
	if (brd_json_type(chunks) != JSON_ARRAY)
		add_pieces(pl, ACT_PIECE, call_args(pl, call), brd_json_get(call, "each"), ms);
	add(pl, ACT_INPUT_END);
}

static enum bread_model_fault fault_named(struct jval kind)
{
	for (int f = BREAD_FAULT_RATE_LIMIT; f <= BREAD_FAULT_ABORTED; f++)
		if (brd_json_is(kind, bread_model_fault_name((enum bread_model_fault)f)))
			return (enum bread_model_fault)f;
	return BREAD_FAULT_SERVER;
}

/* from: where kind, retryable and status may stand. */
static void plan_error(struct planner *pl, struct jval message, struct jval from)
{
	struct action *a = add(pl, ACT_ERROR);

	a->text = text_of(pl, message);
	a->fault = (struct fault){ .kind = fault_named(brd_json_get(from, "kind")),
		.retryable = brd_json_bool(brd_json_get(from, "retryable"), false),
		.status = (int)brd_json_int_or(brd_json_get(from, "status"), 0),
		.retry_after_ms = -1,
		.text = a->text };
}

static void plan_load(struct planner *pl, struct jval load)
{
	struct action *a = add(pl, ACT_LOAD);
	double n = brd_tmpl_num(pl->t, brd_json_get(load, "n"), 1);
	double rate = brd_tmpl_num(pl->t, brd_json_get(load, "rate"), 0);

	a->load.n = n >= 0 && n < 1e7 ? (int64_t)n : 9999999; /* the counter has seven digits */
	a->load.rate = rate > 0 && rate < 1e9 ? rate : 0;
	a->load.hold_ms = ms_of(pl, brd_json_get(load, "hold"));
	a->load.tool = brd_str_is(text_of(pl, brd_json_get(load, "kind")), "tool");
}

static bool has(struct jval step, const char *verb, struct jval *ret)
{
	*ret = brd_json_get(step, verb);
	return brd_json_type(*ret) != JSON_NONE;
}

static void plan_file(struct planner *pl, struct jval file)
{
	struct action *a = add(pl, ACT_FILE);

	a->name = text_of(pl, brd_json_get(file, "media_type"));
	a->text = text_of(pl, brd_json_get(file, "base64"));
}

static void plan_each(struct planner *pl, struct jval step)
{
	struct bread_str input = brd_input_text(pl->t->req, pl->t->a);

	add_pieces(pl, ACT_TEXT, input, brd_json_get(step, "each"),
		ms_of(pl, or_default(pl, step, "delay_ms")));
}

static void plan_step(struct planner *pl, struct jval step)
{
	struct jval v;

	if (has(step, "text", &v))
		plan_text(pl, step, v, ACT_TEXT);
	else if (has(step, "reasoning", &v))
		plan_text(pl, step, v, ACT_REASONING);
	else if (has(step, "tool_call", &v))
		plan_call(pl, v);
	else if (has(step, "tool_input", &v))
		plan_input(pl, v);
	else if (has(step, "file", &v))
		plan_file(pl, v);
	else if (has(step, "load", &v))
		plan_load(pl, v);
	else if (has(step, "hang", &v))
		add(pl, ACT_HANG);
	else if (has(step, "error", &v) && brd_json_type(v) == JSON_OBJECT)
		plan_error(pl, brd_json_get(v, "message"), v);
	else if (has(step, "error", &v))
		plan_error(pl, v, step);
	else if (has(step, "each", &v))
		plan_each(pl, step);
	else if (has(step, "delay_ms", &v))
		add_delay(pl, ms_of(pl, v));
}

/* ---- the whole ---- */

static void read_usage(struct planner *pl, struct jval u)
{
	struct bread_usage *to = &pl->p->usage;

	to->input = (int64_t)brd_tmpl_num(pl->t, brd_json_get(u, "input"), 0);
	to->output = (int64_t)brd_tmpl_num(pl->t, brd_json_get(u, "output"), 0);
	to->cache_read = (int64_t)brd_tmpl_num(pl->t, brd_json_get(u, "cache_read"), 0);
	to->cache_write = (int64_t)brd_tmpl_num(pl->t, brd_json_get(u, "cache_write"), 0);
}

static void plan_body(struct planner *pl, struct jval answer)
{
	struct jval v;

	if (has(answer, "throw", &v))
		plan_error(pl, v, answer);
	for (struct json_iter it = brd_json_each(brd_json_get(answer, "stream"));
		brd_json_next(&it);)
		plan_step(pl, it.value);
	if (has(answer, "generate_text", &v))
		add_text(pl, ACT_TEXT, text_of(pl, v));
	else if (has(answer, "generate", &v))
		add_text(pl, ACT_TEXT, json_of(pl, v));
}

void brd_plan_make(
	struct plan *p, const struct tmpl *t, const struct scripted_model *m, struct jval answer)
{
	struct planner pl = { .p = p, .t = t, .defaults = m->defaults };

	*p = (struct plan){ .finish = BREAD_STOP_STOP };
	add_delay(&pl, ms_of(&pl, or_default(&pl, answer, "before_ms")));
	read_usage(&pl, or_default(&pl, answer, "usage"));
	if (brd_json_is(brd_json_get(answer, "finish"), "length"))
		p->finish = BREAD_STOP_LENGTH;
	if (brd_json_type(or_default(&pl, answer, "id")) == JSON_STRING)
		p->id = text_of(&pl, or_default(&pl, answer, "id"));
	plan_body(&pl, answer);
	if (p->too_large) {
		p->count = 0;
		plan_error(&pl, (struct jval){ 0 }, (struct jval){ 0 });
		p->actions[0].text = p->actions[0].fault.text =
			BRD_STR("the scripted answer is over a million pieces or 64 MiB");
	}
}

void brd_plan_fini(struct plan *p)
{
	free(p->actions);
	*p = (struct plan){ 0 };
}
