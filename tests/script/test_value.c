/* SPDX-License-Identifier: MIT */
#include "scripttest.h"

static const char same[] = "function run(v) return v end";

static void what_goes_in_comes_out(void **state)
{
	static const char *const values[] = { "true", "\"\"", "0", "-1", "9223372036854775807",
		"-9223372036854775808", "9223372036854775808", "123456789012345678901234567890",
		"0.1", "1e400", "0.12345678901234567890123", "[]", "{}", "[[],{},null]",
		"{\"a\":null,\"b\":[1,2],\"c\":{\"\":1}}", "\"\\ud800\"", "\"a\\u0000b\"",
		"{\"1\":\"one\"}", "[null]", "null" };

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		script_gives(same, values[i], values[i]);
}

static void equal_values_may_be_written_anew(void **state)
{
	script_gives(same, "1.50", "1.5");
	script_gives(same, "{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}");
	script_gives(same, "{\"a\":1,\"a\":2}", "{\"a\":2}");
	script_gives(same, "1E2", "100");
}

static void tables_are_lists_or_objects(void **state)
{
	expression_gives("{}", "{}");
	expression_gives("bread.array()", "[]");
	expression_gives("bread.array({})", "[]");
	expression_gives("{1, 'x', false}", "[1,\"x\",false]");
	expression_gives("{1, bread.null, 3}", "[1,null,3]");
	expression_gives("{b = 1, a = {}}", "{\"a\":{},\"b\":1}");
	expression_gives("{x = bread.null}", "{\"x\":null}");
}

static void what_is_no_json_is_refused(void **state)
{
	script_fails("function run() return {1, nil, 3} end", "holes");
	script_fails("function run() return {1, a = 2} end", "no place");
	script_fails("function run() return {[10] = 2} end", "no strings");
	script_fails("function run() return print end", "function");
	script_fails("function run() return {run} end", "function");
	script_fails("function run() return 0/0 end", "infinite or none");
	script_fails("function run() return 1/0 end", "infinite or none");
	script_fails("function run() local t = {} t.t = t return t end", "inside itself");
	script_fails("function run() local t = ('x'):rep(1000000) "
		     "return {t, t, t, t, t, t, t, t, t, t} end",
		"over 8388608 bytes");
	script_fails("function run() local t = {} for i = 1, 60 do t = {t, t} end return t end",
		"over 8388608 bytes");
}

static void depth_is_bounded(void **state)
{
	struct buf deep;
	struct scripted t;
	struct bread_err err;

	brd_buf_init(&deep, BUF_NO_LIMIT);
	for (int i = 0; i < 600; i++)
		brd_buf_addc(&deep, '[');
	for (int i = 0; i < 600; i++)
		brd_buf_addc(&deep, ']');
	assert_int_equal(script_open(&t, same, &err), 0);
	script_call(&t, deep.data);
	assert_true(t.call.failed);
	scripted_fini(&t);
	deep.data[deep.len - 100] = 0;
	script_gives(same, deep.data + 100, deep.data + 100);
	brd_buf_fini(&deep);
	script_fails("function run() local t = 1 for i = 1, 600 do t = {t} end return t end",
		"too deep");
}

static void exact_numbers_count_as_their_nearest(void **state)
{
	script_gives("function run(v) return {tostring(v), v + 0 == 1e30, v > 1, v == v, -v} end",
		"1000000000000000000000000000001",
		"[\"1000000000000000000000000000001\",true,true,true,-1e+30]");
}

static void json_is_read_and_written(void **state)
{
	expression_gives("bread.json.encode({a = {1, 2}})", "\"{\\\"a\\\":[1,2]}\"");
	expression_gives("bread.json.decode('[1,{\"a\":null}]')", "[1,{\"a\":null}]");
	expression_gives("bread.json.decode('null') == bread.null", "true");
	script_fails("function run() return bread.json.decode('{') end", "not JSON");
	script_fails("function run() return bread.json.encode(run) end", "no value of JSON");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(equal_values_may_be_written_anew),
		cmocka_unit_test(tables_are_lists_or_objects),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(exact_numbers_count_as_their_nearest),
		cmocka_unit_test(json_is_read_and_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
