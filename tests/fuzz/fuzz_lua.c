/* SPDX-License-Identifier: MIT */
/* JSON that goes through Lua unchanged is equal to what it was; a text that is none of it is run as
 * a script, within small limits. */
#include <stdint.h>
#include <stdlib.h>
#include "base/mem.h"
#include "script/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static struct script_state *identity(const struct script_code *code)
{
	static struct script_state *state;
	struct bread_err err;

	if (state && state->bad) {
		brd_script_state_free(state);
		state = NULL;
	}
	if (!state)
		must(!brd_script_state_new(&state, code, NULL, &err));
	return state;
}

/* Objects that say a key twice keep the last one; so does a comparison of lookups, not of pairs. */
static bool says_twice(struct jval v)
{
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		struct arena a = { 0 };
		bool twice = brd_json_type(v) == JSON_OBJECT &&
			     brd_json_gets(v, brd_json_str(it.key, &a)).tok != it.value.tok;

		brd_arena_fini(&a);
		if (twice || says_twice(it.value))
			return true;
	}
	return false;
}

static void there_and_back(struct bread_str text, struct jval v)
{
	static const struct script_code code = { .name = (char *)"@same",
		.text = { "function run(v) return v end", 28 },
		.limits = { .memory = 64 << 20, .ms = 10000 } };
	struct arena a = { 0 };
	struct script_call c;
	struct jval again;

	brd_script_call_init(&c);
	c.function = "run";
	c.args[0] = text;
	c.arg_count = 1;
	brd_script_run(identity(&code), &c);
	if (!c.failed) {
		must(!brd_json_parse(&a, brd_buf_str(&c.value), 0, &again, NULL));
		must(says_twice(v) || brd_json_equal(v, again));
	}
	brd_script_call_fini(&c);
	brd_arena_fini(&a);
}

static void run(struct bread_str text)
{
	struct script_code code = { .name = (char *)"@fuzz",
		.text = text,
		.limits = { .memory = 1 << 20, .ms = 200, .instructions = 100000 } };
	struct script_state *s;
	struct bread_err err;

	if (!brd_script_state_new(&s, &code, NULL, &err))
		brd_script_state_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct bread_str text = { (const char *)data, n };
	struct arena a = { 0 };
	struct jval v;

	if (!brd_json_parse(&a, text, 0, &v, NULL))
		there_and_back(text, v);
	else
		run(text);
	brd_arena_fini(&a);
	return 0;
}
