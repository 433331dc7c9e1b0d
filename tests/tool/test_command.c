/* SPDX-License-Identifier: MIT */
#include "tooltest.h"

static struct loop *loop;

static void gives_arguments_in_and_takes_the_last_line(void **state)
{
	struct called c;

	call_tool(&c, loop, "{\"command\":[\"sh\",\"-c\",\"echo 1; cat\"]}", "{\"a\":[1]}");
	assert_int_equal(c.call.op.code, BREAD_OK);
	assert_str(result_of(&c), "{\"a\":[1]}");
	assert_str(brd_buf_str(&c.partials), "1\n{\"a\":[1]}\n");
	called_fini(&c);
}

static void no_line_is_no_value(void **state)
{
	struct called c;

	call_tool(&c, loop, "{\"command\":\"true\"}", "{}");
	assert_int_equal(c.call.op.code, BREAD_OK);
	assert_null(c.call.result);
	called_fini(&c);
}

static void variables_of_the_file_replace_ours(void **state)
{
	struct called c;

	setenv("BREAD_TEST_VALUE", "1", 1);
	call_tool(&c, loop,
		"{\"command\":{\"run\":[\"printenv\",\"BREAD_TEST_VALUE\"],"
		"\"env\":{\"BREAD_TEST_VALUE\":\"2\"}}}",
		"{}");
	assert_str(brd_buf_str(&c.partials), "2\n"); /* once */
	called_fini(&c);
}

static void a_call_is_told_what_it_belongs_to(void **state)
{
	struct called c;

	setenv("BREAD_RUN_ID", "another", 1);
	call_tool(&c, loop,
		"{\"command\":[\"sh\",\"-c\",\"echo \\\\\\\"$(printenv BREAD_RUN_ID)\\\\\\\"\"]}",
		"{}");
	assert_str(result_of(&c), "\"run-1\"");
	called_fini(&c);
}

static void a_failure_is_told_by_the_last_line(void **state)
{
	struct called c;

	call_tool(&c, loop,
		"{\"command\":[\"sh\",\"-c\",\"echo '{\\\"error\\\":{\\\"code\\\":\\\"QUOTA\\\","
		"\\\"message\\\":\\\"no more\\\"}}'; exit 3\"]}",
		"{}");
	assert_int_equal(c.call.op.code, BREAD_E_UPSTREAM);
	assert_string_equal(c.call.error_code, "QUOTA");
	assert_string_equal(c.call.error_text, "no more");
	assert_int_equal(c.partials.len, 0);
	called_fini(&c);
}

static void a_failure_without_words_has_the_status(void **state)
{
	struct called c;

	call_tool(&c, loop, "{\"command\":[\"sh\",\"-c\",\"exit 3\"]}", "{}");
	assert_string_equal(c.call.error_text, "the program ended with status 3");
	called_fini(&c);
}

static void a_line_that_is_no_json_is_a_failure(void **state)
{
	struct called c;

	call_tool(&c, loop, "{\"command\":[\"echo\",\"hello\"]}", "{}");
	assert_int_equal(c.call.op.code, BREAD_E_UPSTREAM);
	assert_string_equal(c.call.error_text, "the result is not JSON");
	called_fini(&c);
}

static void a_line_over_the_limit_is_a_failure(void **state)
{
	struct called c;

	call_tool(&c, loop,
		"{\"command\":[\"sh\",\"-c\",\"head -c 9000000 /dev/zero | tr '\\\\000' 1\"]}",
		"{}");
	assert_int_equal(c.call.op.code, BREAD_E_UPSTREAM);
	assert_string_equal(c.call.error_text, "the result is over 8 MiB");
	called_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_arguments_in_and_takes_the_last_line),
		cmocka_unit_test(no_line_is_no_value),
		cmocka_unit_test(variables_of_the_file_replace_ours),
		cmocka_unit_test(a_call_is_told_what_it_belongs_to),
		cmocka_unit_test(a_failure_is_told_by_the_last_line),
		cmocka_unit_test(a_failure_without_words_has_the_status),
		cmocka_unit_test(a_line_that_is_no_json_is_a_failure),
		cmocka_unit_test(a_line_over_the_limit_is_a_failure),
	};
	struct bread_err err;
	int r;

	if (brd_loop_new(&loop, &err))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	brd_loop_free(loop);
	return r;
}
