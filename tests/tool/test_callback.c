/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include "tooltest.h"
#include "base/clock.h"

static struct loop *loop;
static struct bread_tool_call *kept; /* by keep */

static void echo(struct bread_tool_call *call, void *arg)
{
	bread_tool_return_text(call, bread_tool_arg(call, "text"));
}

static void keep(struct bread_tool_call *call, void *arg)
{
	kept = call;
}

static void stream(struct bread_tool_call *call, void *arg)
{
	bread_tool_partial(call, BRD_STR("1"));
	bread_tool_partial(call, BRD_STR("no JSON"));
	bread_tool_return(call, bread_tool_args(call));
}

static void begin(struct called *c, bread_tool_fn *fn, const char *args)
{
	assert_int_equal(brd_tool_open_callback(&c->tool, fn, NULL), 0);
	begin_call(c, loop, args);
}

static void an_answer_at_once_ends_the_call_later(void **state)
{
	struct called c;

	begin(&c, echo, "{\"text\":\"a \\\"word\\\"\"}");
	assert_false(c.ended);
	await_call(&c, loop);
	assert_int_equal(c.call.op.code, BREAD_OK);
	assert_str(result_of(&c), "\"a \\\"word\\\"\"");
	called_fini(&c);
}

static void *answer(void *arg)
{
	bread_tool_return(kept, BRD_STR("[1]"));
	return NULL;
}

static void a_thread_may_answer(void **state)
{
	struct called c;
	pthread_t thread;

	begin(&c, keep, "{}");
	assert_str(bread_tool_run_id(kept), "run-1");
	assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
	await_call(&c, loop);
	pthread_join(thread, NULL);
	assert_str(result_of(&c), "[1]");
	called_fini(&c);
}

static void values_on_the_way_are_json(void **state)
{
	struct called c;

	begin(&c, stream, "{\"a\":2}");
	await_call(&c, loop);
	assert_str(brd_buf_str(&c.partials), "1\n");
	assert_str(result_of(&c), "{\"a\":2}");
	called_fini(&c);
}

static void a_failure_has_the_functions_words(void **state)
{
	struct called c;

	begin(&c, keep, "{}");
	bread_tool_fail(kept, "QUOTA", "no more");
	await_call(&c, loop);
	assert_int_equal(c.call.op.code, BREAD_E_UPSTREAM);
	assert_string_equal(c.call.error_code, "QUOTA");
	assert_string_equal(c.call.error_text, "no more");
	called_fini(&c);
}

static void a_result_that_is_no_json_is_a_failure(void **state)
{
	struct called c;

	begin(&c, keep, "{}");
	bread_tool_return(kept, BRD_STR("{"));
	await_call(&c, loop);
	assert_string_equal(c.call.error_text, "the result is not JSON");
	called_fini(&c);
}

static void a_cancelled_call_does_not_wait_for_ever(void **state)
{
	struct called c;

	brd_clock_freeze(0);
	begin(&c, keep, "{}");
	bread_op_cancel(&c.call.op);
	brd_loop_turn(loop, 0);
	assert_true(bread_tool_canceled(kept));
	brd_clock_turn(1999);
	brd_loop_turn(loop, 0);
	assert_false(c.ended);
	brd_clock_turn(1);
	while (!c.ended)
		brd_loop_turn(loop, 0);
	assert_int_equal(c.call.op.code, BREAD_E_CANCELED);
	called_fini(&c);
	bread_tool_return(kept, BRD_STR("1")); /* late, and dropped */
	brd_loop_turn(loop, 0);
	brd_clock_thaw();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_at_once_ends_the_call_later),
		cmocka_unit_test(a_thread_may_answer),
		cmocka_unit_test(values_on_the_way_are_json),
		cmocka_unit_test(a_failure_has_the_functions_words),
		cmocka_unit_test(a_result_that_is_no_json_is_a_failure),
		cmocka_unit_test(a_cancelled_call_does_not_wait_for_ever),
	};
	struct bread_err err;
	int r;

	if (brd_loop_new(&loop, &err))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	brd_loop_free(loop);
	return r;
}
