/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include "../tool/tooltest.h"
#include "base/jsonw.h"
#include "script/format.h"

static struct loop *loop;

static void begin_lua(struct called *t, const char *source, const char *more, const char *args)
{
	struct arena a = { 0 };
	struct bread_err err = { 0 };
	struct buf def;
	struct jval v;

	brd_buf_init(&def, BUF_NO_LIMIT);
	brd_buf_addz(&def, "{\"lua\":{\"source\":");
	brd_json_quote(&def, brd_str(source));
	brd_buf_addf(&def, "%s}}", more);
	assert_int_equal(brd_json_parse(&a, brd_buf_str(&def), 0, &v, NULL), 0);
	if (brd_tool_open(&t->tool, v, NULL, &err))
		fail_msg("%s", err.text);
	begin_call(t, loop, args);
	brd_arena_fini(&a);
	brd_buf_fini(&def);
}

static void call_lua(struct called *t, const char *source, const char *args)
{
	begin_lua(t, source, "", args);
	await_call(t, loop);
}

static void the_result_is_what_run_returns(void **state)
{
	struct called t;

	call_lua(&t, "function run(args) return args.a + args.b end", "{\"a\":1,\"b\":2}");
	assert_int_equal(t.call.op.code, BREAD_OK);
	assert_str(result_of(&t), "3");
	called_fini(&t);
	call_lua(&t, "return function(args, c) return {args, c.runId} end", "{}");
	assert_str(result_of(&t), "[{},\"run-1\"]");
	called_fini(&t);
	call_lua(&t, "return {run = function() return bread.null end}", "{}");
	assert_str(result_of(&t), "null");
	called_fini(&t);
	call_lua(&t, "function run() end", "{}");
	assert_int_equal(t.call.op.code, BREAD_OK);
	assert_null(t.call.result);
	called_fini(&t);
}

static void declared_credentials_are_in_the_context(void **state)
{
	static const char *const names[] = { "KEY", "NONE", NULL };
	static const char *const values[] = { "s3cret", NULL };
	struct called t;
	struct arena a = { 0 };
	struct bread_err err;
	struct jval v;

	assert_int_equal(brd_json_parse(&a,
				 BRD_STR("{\"lua\":{\"source\":\"return function(args, c) "
					 "return c.credentials end\"}}"),
				 0, &v, NULL),
		0);
	assert_int_equal(brd_tool_open(&t.tool, v, NULL, &err), 0);
	t.call = (struct bread_tool_call){ .args = BRD_STR("{}"),
		.loop = loop,
		.credential_names = names,
		.credential_values = values };
	t.ended = false;
	brd_buf_init(&t.partials, BUF_NO_LIMIT);
	bread_op_init(&t.call.op, loop, on_called, &t);
	brd_tool_start(t.tool, &t.call);
	await_call(&t, loop);
	assert_str(result_of(&t), "{\"KEY\":\"s3cret\"}");
	called_fini(&t);
	brd_arena_fini(&a);
}

static void errors_have_the_scripts_words(void **state)
{
	struct called t;

	call_lua(&t, "function run() error{code='QUOTA', message='no more', context={n=1}} end",
		"{}");
	assert_int_equal(t.call.op.code, BREAD_E_UPSTREAM);
	assert_string_equal(t.call.error_code, "QUOTA");
	assert_string_equal(t.call.error_text, "no more");
	assert_string_equal(t.call.error_context, "{\"n\":1}");
	assert_null(t.call.result);
	called_fini(&t);
	call_lua(&t, "function run() error('plain', 0) end", "{}");
	assert_null(t.call.error_code);
	assert_string_equal(t.call.error_text, "plain");
	called_fini(&t);
}

static void values_on_the_way_come_in_order(void **state)
{
	struct called t;

	call_lua(&t,
		"function run(args, context) for i = 1, args.n do context.yield(i) end "
		"return 'end' end",
		"{\"n\":5}");
	assert_str(brd_buf_str(&t.partials), "1\n2\n3\n4\n5\n");
	assert_str(result_of(&t), "\"end\"");
	called_fini(&t);
}

/* They wait in memory until the loop takes them. */
static void values_on_the_way_are_bounded(void **state)
{
	struct called t;

	begin_lua(&t,
		"function run(a, c) local s = ('x'):rep(1000000) for i = 1, 100 do c.yield(s) end "
		"end",
		"", "{}");
	for (int i = 0; i < 1000 && t.partials.len == 0 && !t.ended; i++)
		brd_loop_turn(loop, 1);
	await_call(&t, loop);
	assert_true(t.call.op.code == BREAD_OK || strstr(t.call.error_text, "too many values"));
	called_fini(&t);
}

static void a_cancelled_script_ends(void **state)
{
	struct called t;

	begin_lua(&t, "function run(a, c) while true do end end", ",\"time\":\"1h\"", "{}");
	brd_loop_turn(loop, 5);
	bread_op_cancel(&t.call.op);
	await_call(&t, loop);
	assert_int_equal(t.call.op.code, BREAD_E_CANCELED);
	called_fini(&t);
	begin_lua(&t, "function run() while true do end end", ",\"time\":\"1h\"", "{}");
	bread_op_deadline(&t.call.op, 20);
	await_call(&t, loop);
	assert_int_equal(t.call.op.code, BREAD_E_TIMEOUT);
	called_fini(&t);
}

static void a_script_has_its_own_time(void **state)
{
	struct called t;

	begin_lua(&t, "function run() while true do end end", ",\"time\":\"500ms\"", "{}");
	await_call(&t, loop);
	assert_string_equal(t.call.error_text, "the script took too long");
	called_fini(&t);
}

static void refuses(const char *def, const char *words)
{
	struct bread_tool *t;
	struct arena a = { 0 };
	struct bread_err err = { 0 };
	struct jval v;

	assert_int_equal(brd_json_parse(&a, brd_str(def), 0, &v, NULL), 0);
	assert_int_equal(brd_tool_open(&t, v, "/tmp", &err), BREAD_E_INVALID);
	if (!strstr(err.text, words))
		fail_msg("%s", err.text);
	brd_arena_fini(&a);
}

static void faults_are_found_when_it_is_opened(void **state)
{
	refuses("{\"lua\":{\"source\":\"x = 1\"}}", "needs a function run");
	refuses("{\"lua\":{\"source\":\"return {run = 5}\"}}", "needs a function run");
	refuses("{\"lua\":{\"source\":\"x = = 1\"}}", "source:1:");
	refuses("{\"lua\":\"no-such.lua\"}", "/tmp/no-such.lua");
	refuses("{\"lua\":{\"file\":\"a\",\"source\":\"b\"}}", "one of");
	refuses("{\"lua\":{\"file\":\"a\",\"tme\":1}}", "time");
	refuses("{\"lua\":\"x\",\"http\":\"y\"}", "take one of them away");
}

/* ---- output formats ---- */

static void on_end(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

static struct format_call format(const char *source, const char *text)
{
	struct format_call c = { .text = brd_str(text) };
	struct format_lua *f;
	struct bread_err err = { 0 };
	bool ended = false;
	char options[500];

	snprintf(options, sizeof(options), "{\"source\":\"%s\",\"instructions\":1000000}", source);
	if (brd_format_lua_open(&f, brd_str(options), NULL, &err))
		fail_msg("%s", err.text);
	bread_op_init(&c.op, loop, on_end, &ended);
	brd_format_lua_start(f, &c);
	while (!ended)
		brd_loop_turn(loop, 1000);
	brd_format_lua_close(f);
	return c;
}

static void a_format_reshapes_a_text(void **state)
{
	struct format_call c = format("function format(t) return {words = select(2, t:gsub('%S+', "
				      "''))} end",
		"one two three");

	assert_int_equal(c.op.code, BREAD_OK);
	assert_string_equal(c.json, "{\"words\":3}");
	free(c.json);
	c = format("function format(t) end", "x");
	assert_int_equal(c.op.code, BREAD_E_UPSTREAM);
	assert_non_null(strstr(c.op.err.text, "no value"));
	c = format("function format(t) while true do end end", "x");
	assert_int_equal(c.op.code, BREAD_E_UPSTREAM);
	assert_non_null(strstr(c.op.err.text, "too many"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_result_is_what_run_returns),
		cmocka_unit_test(declared_credentials_are_in_the_context),
		cmocka_unit_test(errors_have_the_scripts_words),
		cmocka_unit_test(values_on_the_way_come_in_order),
		cmocka_unit_test(values_on_the_way_are_bounded),
		cmocka_unit_test(a_cancelled_script_ends),
		cmocka_unit_test(a_script_has_its_own_time),
		cmocka_unit_test(faults_are_found_when_it_is_opened),
		cmocka_unit_test(a_format_reshapes_a_text),
	};
	struct bread_err err;
	int r;

	if (brd_loop_new(&loop, &err))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	brd_loop_free(loop);
	return r;
}
