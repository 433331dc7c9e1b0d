/* SPDX-License-Identifier: MIT */
/* Chains of hooks: who is asked, in what order, and what becomes of the answers. */
#include <pthread.h>
#include <stdio.h>
#include "test.h"
#include "base/clock.h"
#include "base/str.h"
#include "loop/work.h"
#include "run/hooks.h"

static struct loop *loop;

/* ---- a chain and its end ---- */

struct asked {
	struct hook_run *h;
	bool ended;
};

static void on_end(struct bread_op *op)
{
	((struct asked *)op->arg)->ended = true;
}

static void prepare(struct asked *t, const struct hook_chain *c, enum bread_hook_scope scope,
	enum bread_hook_point point)
{
	t->ended = false;
	t->h = brd_hook_run_new(c, scope, point);
	t->h->about.run_id = BRD_STR("r1");
	t->h->about.session_id = BRD_STR("s1");
	t->h->input = BRD_STR("\"in\"");
	if (point == BREAD_HOOK_AFTER_RUN || point >= BREAD_HOOK_LOOP_ROUND_END)
		t->h->output = BRD_STR("\"out\"");
	if (point == BREAD_HOOK_ON_ERROR) {
		t->h->error_code = BRD_STR("TOOL_ERROR");
		t->h->error_message = BRD_STR("broken");
	}
	bread_op_init(&t->h->op, loop, on_end, t);
}

static void await(struct asked *t)
{
	while (!t->ended)
		brd_loop_turn(loop, 1000);
}

static void ask(struct asked *t, const struct hook_chain *c, enum bread_hook_scope scope,
	enum bread_hook_point point)
{
	prepare(t, c, scope, point);
	brd_hooks_start(t->h);
	assert_false(t->ended);
	await(t);
}

static struct hook_set *opened(const char *json, enum bread_hook_scope home)
{
	struct hook_set *s;
	struct bread_err err = { 0 };

	if (brd_hooks_open(&s, brd_str(json), home, NULL, &err))
		fail_msg("%s", err.text);
	return s;
}

/* A set with one file of Lua, whose text has no double quotes. */
static struct hook_set *in_lua(const char *source, enum bread_hook_scope home)
{
	char json[2000];

	snprintf(json, sizeof(json), "{\"lua\":{\"source\":\"%s\",\"instructions\":2000000}}",
		source);
	return opened(json, home);
}

/* One own hook of Lua at that point. answer and value as they should come. */
static void lua_answers(enum bread_hook_scope scope, enum bread_hook_point point, const char *body,
	enum bread_hook_answer answer, const char *value)
{
	char source[1000];
	struct hook_chain c = { 0 };
	struct asked t;

	snprintf(source, sizeof(source), "return { %s = function(ctx, v) %s end }",
		brd_hook_point_name(point), body);
	c.own = in_lua(source, scope);
	assert_true(brd_hooks_hear(&c, scope, point));
	ask(&t, &c, scope, point);
	if (t.h->op.code)
		fail_msg("%s", t.h->op.err.text);
	assert_int_equal(t.h->answer, answer);
	if (value)
		assert_str(t.h->value, value);
	brd_hook_run_free(t.h);
	brd_hook_set_unref(c.own);
}

static void lua_breaks(enum bread_hook_scope scope, enum bread_hook_point point, const char *body,
	const char *words)
{
	char source[1000];
	struct hook_chain c = { 0 };
	struct asked t;

	snprintf(source, sizeof(source), "return { %s = function(ctx, v) %s end }",
		brd_hook_point_name(point), body);
	c.own = in_lua(source, scope);
	ask(&t, &c, scope, point);
	assert_int_equal(t.h->op.code, BREAD_E_UPSTREAM);
	if (!strstr(t.h->op.err.text, words))
		fail_msg("%s", t.h->op.err.text);
	brd_hook_run_free(t.h);
	brd_hook_set_unref(c.own);
}

/* ---- tests ---- */

static void nothing_is_asked_when_nobody_hears(void **state)
{
	struct hook_table table = { 0 };
	struct hook_chain c = { .table = &table, .agent_id = BRD_STR("a") };
	struct asked t;

	assert_false(brd_hooks_hear(&c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN));
	ask(&t, &c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);
	assert_int_equal(t.h->op.code, BREAD_OK);
	assert_int_equal(t.h->answer, BREAD_HOOK_NOTHING);
	brd_hook_run_free(t.h);
}

static void each_point_knows_its_answers(void **state)
{
	static const enum bread_hook_scope scopes[] = { BREAD_HOOK_AGENT, BREAD_HOOK_TASK,
		BREAD_HOOK_TOOL };

	for (size_t i = 0; i < 3; i++) {
		enum bread_hook_scope s = scopes[i];

		lua_answers(s, BREAD_HOOK_BEFORE_RUN, "", BREAD_HOOK_NOTHING, NULL);
		lua_answers(s, BREAD_HOOK_BEFORE_RUN, "return {}", BREAD_HOOK_NOTHING, NULL);
		lua_answers(s, BREAD_HOOK_BEFORE_RUN, "return {input = v .. '!'}", BREAD_HOOK_INPUT,
			"\"in!\"");
		lua_answers(s, BREAD_HOOK_BEFORE_RUN, "return {output = {1}}", BREAD_HOOK_OUTPUT,
			"[1]");
		lua_answers(s, BREAD_HOOK_AFTER_RUN, "return {output = ctx.input .. v}",
			BREAD_HOOK_OUTPUT, "\"inout\"");
		lua_answers(s, BREAD_HOOK_AFTER_RUN, "return {output = bread.null}",
			BREAD_HOOK_OUTPUT, "null");
		lua_answers(s, BREAD_HOOK_ON_ERROR, "return {recover = v.code .. v.message}",
			BREAD_HOOK_OUTPUT, "\"TOOL_ERRORbroken\"");
		lua_answers(s, BREAD_HOOK_ON_ERROR, "return {output = 1}", BREAD_HOOK_OUTPUT, "1");
		lua_answers(
			s, BREAD_HOOK_ON_ERROR, "return {retry = true}", BREAD_HOOK_RETRY, NULL);
		lua_answers(
			s, BREAD_HOOK_ON_ERROR, "return {retry = false}", BREAD_HOOK_NOTHING, NULL);
		lua_answers(s, BREAD_HOOK_ON_ERROR, "return {fail = {code = 'X'}}", BREAD_HOOK_FAIL,
			NULL);
	}
	lua_answers(BREAD_HOOK_AGENT, BREAD_HOOK_ON_SUSPEND, "", BREAD_HOOK_NOTHING, NULL);
	lua_answers(BREAD_HOOK_LOOP, BREAD_HOOK_LOOP_INIT, "", BREAD_HOOK_NOTHING, NULL);
	lua_answers(BREAD_HOOK_LOOP, BREAD_HOOK_LOOP_ROUND_START, "", BREAD_HOOK_NOTHING, NULL);
	lua_answers(BREAD_HOOK_LOOP, BREAD_HOOK_LOOP_ROUND_END, "return {output = v .. '+'}",
		BREAD_HOOK_OUTPUT, "\"out+\"");
	lua_answers(BREAD_HOOK_LOOP, BREAD_HOOK_LOOP_FINISH, "", BREAD_HOOK_NOTHING, NULL);
}

static void other_answers_are_failures(void **state)
{
	static const char unknown[] = "does not know";

	lua_breaks(BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN, "return {retry = true}", unknown);
	lua_breaks(BREAD_HOOK_AGENT, BREAD_HOOK_AFTER_RUN, "return {input = 1}", unknown);
	lua_breaks(BREAD_HOOK_AGENT, BREAD_HOOK_ON_ERROR, "return {input = 1}", unknown);
	lua_breaks(BREAD_HOOK_AGENT, BREAD_HOOK_ON_SUSPEND, "return {output = 1}", unknown);
	lua_breaks(BREAD_HOOK_LOOP, BREAD_HOOK_LOOP_INIT, "return {input = 1}", unknown);
	lua_breaks(BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN, "return 5", "a hook returns");
	lua_breaks(BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN, "return {ouput = 1}", "a hook returns");
	lua_breaks(BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN, "return {input = 1, output = 2}",
		"a hook returns");
	lua_breaks(BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN, "return {input = print}", "JSON");
	lua_breaks(BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN, "while true do end", "too many");
}

static void a_hook_that_throws_has_its_words(void **state)
{
	struct hook_chain c = { 0 };
	struct asked t;

	c.own = in_lua("return { beforeRun = function() error{code = 'NO', message = 'not now', "
		       "context = {why = 1}} end }",
		BREAD_HOOK_AGENT);
	ask(&t, &c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);
	assert_int_equal(t.h->op.code, BREAD_E_UPSTREAM);
	assert_string_equal(t.h->op.err.name, "NO");
	assert_string_equal(t.h->op.err.text, "not now");
	assert_string_equal(t.h->op.err.context, "{\"why\":1}");
	brd_hook_run_free(t.h);
	brd_hook_set_unref(c.own);
}

static void a_failure_is_put_in_other_words(void **state)
{
	struct hook_chain c = { 0 };
	struct asked t;

	c.own = in_lua("return { onError = function(ctx, e) return {fail = {code = 'NICE', "
		       "message = 'nicer than ' .. ctx.error.message}} end }",
		BREAD_HOOK_TOOL);
	ask(&t, &c, BREAD_HOOK_TOOL, BREAD_HOOK_ON_ERROR);
	assert_int_equal(t.h->answer, BREAD_HOOK_FAIL);
	assert_string_equal(t.h->error_code_out, "NICE");
	assert_string_equal(t.h->error_text_out, "nicer than broken");
	brd_hook_run_free(t.h);
	brd_hook_set_unref(c.own);
}

static void hooks_are_told_where_they_stand(void **state)
{
	struct hook_chain c = { .agent_id = BRD_STR("a") };
	struct asked t;

	c.of_agent = in_lua("return { tool = { afterRun = function(ctx) return {output = ctx} end "
			    "} }",
		BREAD_HOOK_AGENT);
	prepare(&t, &c, BREAD_HOOK_TOOL, BREAD_HOOK_AFTER_RUN);
	t.h->about.name = BRD_STR("tool_add");
	t.h->about.skill = BRD_STR("sums");
	t.h->duration_ms = 7;
	brd_hooks_start(t.h);
	await(&t);
	assert_str(t.h->value,
		"{\"agentId\":\"a\",\"durationMs\":7,\"input\":\"in\",\"output\":\"out\","
		"\"runId\":\"r1\",\"scope\":\"tool\",\"sessionId\":\"s1\",\"skill\":\"sums\","
		"\"toolName\":\"tool_add\"}");
	brd_hook_run_free(t.h);
	brd_hook_set_unref(c.of_agent);
}

/* ---- order, with hooks in C that append their letter ---- */

struct letter {
	char letter;
	enum bread_hook_answer answer;
	unsigned calls;
};

static struct bread_str appended(struct bread_str s, char letter, char *to)
{
	snprintf(to, 100, "%.*s%c\"", (int)s.n - 1, s.p, letter);
	return brd_str(to);
}

static void append(struct bread_hook_call *call, const struct bread_hook_info *i, void *arg)
{
	struct letter *l = arg;
	char text[100];

	l->calls++;
	switch (l->answer) {
	case BREAD_HOOK_INPUT:
		bread_hook_input(call, appended(i->input, l->letter, text));
		break;
	case BREAD_HOOK_OUTPUT:
		bread_hook_output(
			call, appended(i->output.n ? i->output : i->input, l->letter, text));
		break;
	case BREAD_HOOK_RETRY:
		bread_hook_retry(call);
		break;
	case BREAD_HOOK_FAIL:
		bread_hook_fail(call, NULL, "other words");
		break;
	default:
		bread_hook_pass(call);
	}
}

static void add(struct hook_table *t, enum hook_place place, const char *agent,
	enum bread_hook_point point, struct letter *l)
{
	brd_hook_table_add(t, place, agent, brd_hook_fn_new(BREAD_HOOK_AGENT, point, append, l));
}

static void chain_gives(enum bread_hook_point point, struct letter l[4],
	enum bread_hook_answer answer, const char *value)
{
	struct hook_table table = { 0 };
	struct hook_chain c = { .table = &table, .agent_id = BRD_STR("a") };
	struct asked t;

	add(&table, HOOK_OF_INSTANCE, NULL, point, &l[3]);
	add(&table, HOOK_OF_PLUGIN, NULL, point, &l[1]);
	add(&table, HOOK_OF_PLUGIN, NULL, point, &l[2]);
	add(&table, HOOK_OF_AGENT, "other", point, &l[0]);
	add(&table, HOOK_OF_AGENT, "a", point, &l[0]);
	ask(&t, &c, BREAD_HOOK_AGENT, point);
	assert_int_equal(t.h->op.code, BREAD_OK);
	assert_int_equal(t.h->answer, answer);
	if (value)
		assert_str(t.h->value, value);
	brd_hook_run_free(t.h);
	brd_hook_table_fini(&table);
}

static void inputs_are_fed_on(void **state)
{
	struct letter l[] = { { '1', BREAD_HOOK_INPUT }, { '2', BREAD_HOOK_INPUT },
		{ '3', BREAD_HOOK_NOTHING }, { '4', BREAD_HOOK_INPUT } };

	chain_gives(BREAD_HOOK_BEFORE_RUN, l, BREAD_HOOK_INPUT, "\"in124\"");
	assert_int_equal(l[2].calls, 1);
}

static void an_output_before_ends_the_chain(void **state)
{
	struct letter l[] = { { '1', BREAD_HOOK_INPUT }, { '2', BREAD_HOOK_OUTPUT },
		{ '3', BREAD_HOOK_INPUT }, { '4', BREAD_HOOK_INPUT } };

	chain_gives(BREAD_HOOK_BEFORE_RUN, l, BREAD_HOOK_OUTPUT, "\"in12\"");
	assert_int_equal(l[2].calls + l[3].calls, 0);
}

static void outputs_are_fed_on(void **state)
{
	struct letter l[] = { { '1', BREAD_HOOK_OUTPUT }, { '2', BREAD_HOOK_NOTHING },
		{ '3', BREAD_HOOK_OUTPUT }, { '4', BREAD_HOOK_OUTPUT } };

	chain_gives(BREAD_HOOK_AFTER_RUN, l, BREAD_HOOK_OUTPUT, "\"out134\"");
}

static void the_first_answer_to_an_error_wins(void **state)
{
	struct letter l[] = { { '1', BREAD_HOOK_NOTHING }, { '2', BREAD_HOOK_RETRY },
		{ '3', BREAD_HOOK_FAIL }, { '4', BREAD_HOOK_OUTPUT } };

	chain_gives(BREAD_HOOK_ON_ERROR, l, BREAD_HOOK_RETRY, NULL);
	l[1].answer = BREAD_HOOK_NOTHING;
	chain_gives(BREAD_HOOK_ON_ERROR, l, BREAD_HOOK_FAIL, NULL);
	l[2].answer = BREAD_HOOK_NOTHING;
	chain_gives(BREAD_HOOK_ON_ERROR, l, BREAD_HOOK_OUTPUT, "\"in4\"");
}

static void all_hear_of_a_suspension(void **state)
{
	struct letter l[] = { { '1' }, { '2' }, { '3' }, { '4' } };

	chain_gives(BREAD_HOOK_ON_SUSPEND, l, BREAD_HOOK_NOTHING, NULL);
	for (int i = 0; i < 4; i++)
		assert_int_equal(l[i].calls, 1);
}

static void an_answer_in_c_must_fit_too(void **state)
{
	struct letter l = { '1', BREAD_HOOK_RETRY };
	struct hook_table table = { 0 };
	struct hook_chain c = { .table = &table };
	struct asked t;

	add(&table, HOOK_OF_INSTANCE, NULL, BREAD_HOOK_BEFORE_RUN, &l);
	ask(&t, &c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);
	assert_int_equal(t.h->op.code, BREAD_E_UPSTREAM);
	assert_non_null(strstr(t.h->op.err.text, "beforeRun"));
	brd_hook_run_free(t.h);
	brd_hook_table_fini(&table);
}

/* ---- late answers and cancels ---- */

static struct bread_hook_call *kept;

static void keep(struct bread_hook_call *call, const struct bread_hook_info *i, void *arg)
{
	kept = call;
}

static void throw(struct bread_hook_call * call, const struct bread_hook_info *i, void *arg)
{
	bread_hook_error(call, "NO", "not now");
}

static void *answer_late(void *arg)
{
	bread_hook_output(kept, BRD_STR("[1]"));
	return NULL;
}

static void with_function(struct asked *t, struct hook_table *table, bread_hook_fn *fn)
{
	struct hook_chain c = { .table = table };

	brd_hook_table_add(table, HOOK_OF_INSTANCE, NULL,
		brd_hook_fn_new(BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN, fn, NULL));
	prepare(t, &c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);
	brd_hooks_start(t->h);
}

static void a_thread_may_answer(void **state)
{
	struct hook_table table = { 0 };
	struct asked t;
	pthread_t thread;

	with_function(&t, &table, keep);
	pthread_create(&thread, NULL, answer_late, NULL);
	await(&t);
	pthread_join(thread, NULL);
	assert_str(t.h->value, "[1]");
	brd_hook_run_free(t.h);
	brd_hook_table_fini(&table);
}

static void a_function_may_fail(void **state)
{
	struct hook_table table = { 0 };
	struct asked t;

	with_function(&t, &table, throw);
	await(&t);
	assert_string_equal(t.h->op.err.name, "NO");
	brd_hook_run_free(t.h);
	brd_hook_table_fini(&table);
}

static void a_cancel_does_not_wait_for_a_function_for_ever(void **state)
{
	struct hook_table table = { 0 };
	struct asked t;

	brd_clock_freeze(0);
	with_function(&t, &table, keep);
	bread_op_cancel(&t.h->op);
	assert_true(bread_hook_canceled(kept));
	brd_clock_turn(2000);
	await(&t);
	assert_int_equal(t.h->op.code, BREAD_E_CANCELED);
	brd_hook_run_free(t.h);
	bread_hook_output(kept, BRD_STR("1")); /* late, and dropped */
	brd_loop_turn(loop, 0);
	brd_clock_thaw();
	brd_hook_table_fini(&table);
}

static void a_cancel_stops_a_script(void **state)
{
	struct hook_chain c = { 0 };
	struct asked t[5];

	c.own = opened("{\"lua\":{\"source\":\"return { beforeRun = function() while true do end "
		       "end }\",\"time\":\"1h\",\"instructions\":0,\"states\":2}}",
		BREAD_HOOK_AGENT);
	for (int i = 0; i < 5; i++) { /* three of them wait for a state */
		prepare(&t[i], &c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);
		brd_hooks_start(t[i].h);
	}
	brd_loop_turn(loop, 20);
	for (int i = 4; i >= 0; i--) {
		bread_op_cancel(&t[i].h->op);
		await(&t[i]);
		assert_int_equal(t[i].h->op.code, BREAD_E_CANCELED);
		brd_hook_run_free(t[i].h);
	}
	brd_hook_set_unref(c.own);
}

static enum bread_code do_nothing(struct work *w, struct bread_err *err)
{
	return BREAD_OK;
}

static void on_work(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

static void endless_scripts_leave_the_workers_alone(void **state)
{
	struct hook_set *sets[12];
	struct asked t[12];
	struct work work = { .run = do_nothing };
	struct bread_op op;
	bool done = false;

	for (int i = 0; i < 12; i++) { /* more than libuv has workers */
		sets[i] = opened("{\"lua\":{\"source\":\"return { beforeRun = function() "
				 "while true do end end }\",\"time\":\"1h\",\"instructions\":0}}",
			BREAD_HOOK_AGENT);
		prepare(&t[i], &(struct hook_chain){ .own = sets[i] }, BREAD_HOOK_AGENT,
			BREAD_HOOK_BEFORE_RUN);
		brd_hooks_start(t[i].h);
	}
	bread_op_init(&op, loop, on_work, &done);
	brd_work_start(&work, &op);
	while (!done)
		brd_loop_turn(loop, 1000);
	for (int i = 0; i < 12; i++) {
		bread_op_cancel(&t[i].h->op);
		await(&t[i]);
		brd_hook_run_free(t[i].h);
		brd_hook_set_unref(sets[i]);
	}
}

static void calls_take_turns(void **state)
{
	struct hook_chain c = { 0 };
	struct asked t[20];

	c.own = in_lua("return { beforeRun = function(ctx, v) return {input = {v}} end }",
		BREAD_HOOK_AGENT);
	for (int i = 0; i < 20; i++) {
		prepare(&t[i], &c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);
		brd_hooks_start(t[i].h);
	}
	bread_op_cancel(&t[10].h->op);
	for (int i = 0; i < 20; i++) {
		await(&t[i]);
		if (i == 10)
			assert_int_equal(t[i].h->op.code, BREAD_E_CANCELED);
		else
			assert_str(t[i].h->value, "[\"in\"]");
		brd_hook_run_free(t[i].h);
	}
	brd_hook_set_unref(c.own);
}

static void a_script_goes_on_after_one_call_was_ended(void **state)
{
	struct hook_chain c = { 0 };
	struct asked t;

	c.own = in_lua("return { beforeRun = function(ctx, v) if v == 'in' then "
		       "while true do end end return {input = 1} end }",
		BREAD_HOOK_AGENT);
	ask(&t, &c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);
	assert_int_equal(t.h->op.code, BREAD_E_UPSTREAM);
	brd_hook_run_free(t.h);
	prepare(&t, &c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);
	t.h->input = BRD_STR("2");
	brd_hooks_start(t.h);
	await(&t);
	assert_str(t.h->value, "1");
	brd_hook_run_free(t.h);
	brd_hook_set_unref(c.own);
}

/* ---- what does not open ---- */

static void refuses(const char *json, const char *words)
{
	struct hook_set *s;
	struct bread_err err = { 0 };

	assert_int_equal(
		brd_hooks_open(&s, brd_str(json), BREAD_HOOK_AGENT, NULL, &err), BREAD_E_INVALID);
	assert_null(s);
	if (!strstr(err.text, words))
		fail_msg("%s", err.text);
}

#define LUA(source) "{\"lua\":{\"source\":\"" source "\"}}"

static void faults_are_found_when_it_is_opened(void **state)
{
	refuses("5", "hooks must be an object");
	refuses("{\"js\":\"x\"}", "hooks.js is not known");
	refuses("{\"lua\":5}", "lua must be");
	refuses("{\"lua\":{}}", "one of `file` and `source`");
	refuses("{\"lua\":\"/no/such.lua\"}", "/no/such.lua");
	refuses("{\"lua\":{\"source\":\"return {}\",\"memory\":\"1k\"}}", "lua.memory");
	refuses(LUA("return 5"), "returns a table");
	refuses(LUA("return {beforeRum = print}"), "`beforeRum` is no hook of agent; beforeRun,");
	refuses(LUA("return {beforeRun = 5}"), "must be a function");
	refuses(LUA("return {tool = {onSuspend = print}}"), "`onSuspend` is no hook of tool");
	refuses(LUA("return {loop = {beforeRun = print}}"), "is no hook of loop");
	refuses(LUA("return {tool = 5}"), "`tool` must be a table");
	refuses("{\"lua\":{\"source\":\"while true do end\",\"time\":20}}", "too long");
}

static void a_set_may_have_several(void **state)
{
	struct hook_chain c = { 0 };
	struct asked t;

	c.own = opened(
		"[" LUA("return {beforeRun = function(c, v) return {input = v .. 1} end}") "," LUA(
			"return {beforeRun = function(c, v) return {input = v .. 2} end}") "]",
		BREAD_HOOK_AGENT);
	ask(&t, &c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);
	assert_str(t.h->value, "\"in12\"");
	brd_hook_run_free(t.h);
	brd_hook_set_unref(c.own);
}

static void names_without_a_scope_are_of_the_owners(void **state)
{
	struct hook_set *s =
		in_lua("return {afterRun = print, loop = {onInit = print}}", BREAD_HOOK_TOOL);
	struct hook_chain c = { .own = s };

	assert_true(brd_hooks_hear(&c, BREAD_HOOK_TOOL, BREAD_HOOK_AFTER_RUN));
	assert_false(brd_hooks_hear(&c, BREAD_HOOK_AGENT, BREAD_HOOK_AFTER_RUN));
	assert_false(brd_hooks_hear(&c, BREAD_HOOK_TOOL, BREAD_HOOK_BEFORE_RUN));
	assert_true(brd_hooks_hear(&c, BREAD_HOOK_LOOP, BREAD_HOOK_LOOP_INIT));
	brd_hook_set_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_asked_when_nobody_hears),
		cmocka_unit_test(each_point_knows_its_answers),
		cmocka_unit_test(other_answers_are_failures),
		cmocka_unit_test(a_hook_that_throws_has_its_words),
		cmocka_unit_test(a_failure_is_put_in_other_words),
		cmocka_unit_test(hooks_are_told_where_they_stand),
		cmocka_unit_test(inputs_are_fed_on),
		cmocka_unit_test(an_output_before_ends_the_chain),
		cmocka_unit_test(outputs_are_fed_on),
		cmocka_unit_test(the_first_answer_to_an_error_wins),
		cmocka_unit_test(all_hear_of_a_suspension),
		cmocka_unit_test(an_answer_in_c_must_fit_too),
		cmocka_unit_test(a_thread_may_answer),
		cmocka_unit_test(a_function_may_fail),
		cmocka_unit_test(a_cancel_does_not_wait_for_a_function_for_ever),
		cmocka_unit_test(a_cancel_stops_a_script),
		cmocka_unit_test(endless_scripts_leave_the_workers_alone),
		cmocka_unit_test(calls_take_turns),
		cmocka_unit_test(a_script_goes_on_after_one_call_was_ended),
		cmocka_unit_test(faults_are_found_when_it_is_opened),
		cmocka_unit_test(a_set_may_have_several),
		cmocka_unit_test(names_without_a_scope_are_of_the_owners),
	};
	struct bread_err err;
	int r;

	if (brd_loop_new(&loop, &err))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	brd_loop_free(loop);
	return r;
}
