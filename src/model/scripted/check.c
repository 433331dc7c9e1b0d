/* SPDX-License-Identifier: MIT */
/* Is it a script? So that a slip of the pen is an error at start and not an odd
 * answer in the middle of a test. */
#include "base/err.h"
#include "base/str.h"
#include "model/scripted/script.h"

struct checker {
	const char *where;
	struct bread_err *err;
	struct bread_str model;
	struct arena arena;
};

static int fault(struct checker *c, const char *what, struct jval at)
{
	struct bread_str raw = brd_json_raw(at);

	return brd_fail(c->err, BREAD_E_INVALID, c->where, "model %.*s: %s: %.*s",
		BRD_ARG(c->model), what, (int)(raw.n < 80 ? raw.n : 80), raw.p ? raw.p : "");
}

static bool listed(struct bread_str word, const char *words)
{
	struct bread_str rest = brd_str(words);

	while (rest.p)
		if (brd_str_eq(brd_str_split(&rest, ' '), word))
			return true;
	return false;
}

/* Every key of v is one of words. */
static int check_keys(struct checker *c, struct jval v, const char *words, const char *what)
{
	if (brd_json_type(v) != JSON_OBJECT)
		return fault(c, what, v);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
		if (!listed(brd_json_str(it.key, &c->arena), words))
			return fault(c, "an unknown key", it.key);
	return BREAD_OK;
}

static int check_call(struct checker *c, struct jval v)
{
	int r = check_keys(
		c, v, "id name args raw_args chunks each delay_ms", "a call is an object");

	if (!r && brd_json_type(brd_json_get(v, "name")) != JSON_STRING)
		r = fault(c, "a call needs a name", v);
	return r;
}

static int check_each(struct checker *c, struct jval step)
{
	struct jval each = brd_json_get(step, "each");

	if (brd_json_type(each) == JSON_NONE ||
		(brd_json_type(each) == JSON_STRING &&
			listed(brd_json_str(each, &c->arena), "word char line half whole")))
		return BREAD_OK;
	return fault(c, "each is word, char, line, half or whole, not", each);
}

static int check_step(struct checker *c, struct jval step)
{
	static const struct {
		const char *verb, *keys;
	} verbs[] = {
		{ "text", "text each delay_ms repeat between" },
		{ "reasoning", "reasoning each delay_ms repeat between signature" },
		{ "tool_call", "tool_call" },
		{ "tool_input", "tool_input" },
		{ "file", "file" },
		{ "error", "error" },
		{ "load", "load" },
		{ "hang", "hang" },
		{ "each", "each delay_ms" },
		{ "delay_ms", "delay_ms" },
	};

	if (brd_json_type(step) != JSON_OBJECT)
		return fault(c, "a step is an object", step);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		struct jval v = brd_json_get(step, verbs[i].verb);
		int r;

		if (brd_json_type(v) == JSON_NONE)
			continue;
		r = check_keys(c, step, verbs[i].keys, "a step is an object");
		if (!r && (!strcmp(verbs[i].verb, "tool_call") ||
				  !strcmp(verbs[i].verb, "tool_input")))
			r = check_call(c, v);
		if (!r && !strcmp(verbs[i].verb, "file"))
			r = check_keys(c, v, "media_type base64", "a file is an object");
		if (!r && !strcmp(verbs[i].verb, "load"))
			r = check_keys(c, v, "n rate hold kind", "load is an object");
		return r ? r : check_each(c, step);
	}
	return fault(c, "a step does nothing that is known", step);
}

#define ANSWER_KEYS \
	"stream generate generate_text throw before_ms usage finish id retryable kind status"

static int check_answer(struct checker *c, struct jval v, const char *keys)
{
	struct jval stream = brd_json_get(v, "stream");
	int r = check_keys(c, v, keys, "an answer is an object");

	if (!r && brd_json_type(stream) != JSON_NONE && brd_json_type(stream) != JSON_ARRAY)
		r = fault(c, "stream is a list of steps", stream);
	for (struct json_iter it = brd_json_each(stream); !r && brd_json_next(&it);)
		r = check_step(c, it.value);
	return r;
}

static int check_rule(struct checker *c, struct jval rule)
{
	struct jval match = brd_json_get(rule, "match");
	int r = check_answer(c, rule, "match " ANSWER_KEYS);

	if (!r && brd_json_type(match) != JSON_NONE)
		r = check_keys(c, match,
			"role contains equals regex count min_count max_count failed tool json "
			"call",
			"match is an object");
	return r;
}

static int check_model(struct checker *c, struct jval v)
{
	struct jval calls = brd_json_get(v, "calls"), when = brd_json_get(v, "when");
	int r = check_keys(c, v, "calls when defaults", "a model is an object with calls or when");

	if (!r && brd_json_type(calls) != JSON_NONE && brd_json_type(calls) != JSON_ARRAY)
		r = fault(c, "calls is a list of answers", calls);
	if (!r && brd_json_type(when) != JSON_NONE && brd_json_type(when) != JSON_ARRAY)
		r = fault(c, "when is a list of rules", when);
	if (!r && brd_json_type(brd_json_get(v, "defaults")) != JSON_NONE)
		r = check_keys(c, brd_json_get(v, "defaults"), "each delay_ms before_ms usage id",
			"defaults is an object");
	for (struct json_iter it = brd_json_each(calls); !r && brd_json_next(&it);)
		if (brd_json_type(it.value) != JSON_NULL)
			r = check_answer(c, it.value, ANSWER_KEYS);
	for (struct json_iter it = brd_json_each(when); !r && brd_json_next(&it);)
		r = check_rule(c, it.value);
	return r;
}

int brd_script_check(struct jval models, const char *where, struct bread_err *err)
{
	struct checker c = { .where = where, .err = err };
	int r = BREAD_OK;

	if (brd_json_type(models) != JSON_OBJECT)
		r = brd_fail(err, BREAD_E_INVALID, where,
			"models is an object of model ids, not %s",
			brd_json_type_name(brd_json_type(models)));
	for (struct json_iter it = brd_json_each(models); !r && brd_json_next(&it);) {
		c.model = brd_json_str(it.key, &c.arena);
		r = check_model(&c, it.value);
	}
	brd_arena_fini(&c.arena);
	return r;
}
