/* SPDX-License-Identifier: MIT */
#include "test.h"
#include "base/json.h"

static struct arena arena;

static int drop_arena(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

static struct jval parse(const char *text)
{
	struct jval v;

	assert_int_equal(brd_json_parse(&arena, brd_str(text), 0, &v, NULL), BREAD_OK);
	return v;
}

static void missing_values_are_values(void **state)
{
	struct jval v = parse("{\"a\":{\"b\":5}}"), none = brd_json_get(brd_json_get(v, "x"), "b");

	assert_int_equal(brd_json_type(none), JSON_NONE);
	assert_int_equal(brd_json_raw(none).n, 0);
	assert_int_equal(brd_json_count(none), 0);
	assert_int_equal(brd_json_str(none, &arena).n, 0);
	assert_null(brd_json_strz(none, &arena));
	assert_false(brd_json_is(none, ""));
	assert_true(brd_json_bool(none, true));
	assert_true(brd_json_num(none, 2.5) == 2.5);
	assert_int_equal(brd_json_int_or(none, 7), 7);
	assert_int_equal(brd_json_type(brd_json_at(none, 0)), JSON_NONE);
	for (struct json_iter it = brd_json_each(none); brd_json_next(&it);)
		fail();
	assert_int_equal(brd_json_int_or(brd_json_get(brd_json_get(v, "a"), "b"), 0), 5);
}

static void types_have_names(void **state)
{
	assert_string_equal(brd_json_type_name(brd_json_type(parse("{}"))), "object");
	assert_string_equal(brd_json_type_name(brd_json_type(parse("[]"))), "array");
	assert_string_equal(brd_json_type_name(brd_json_type(parse("\"\""))), "string");
	assert_string_equal(brd_json_type_name(brd_json_type(parse("1"))), "number");
	assert_string_equal(brd_json_type_name(brd_json_type(parse("true"))), "boolean");
	assert_string_equal(brd_json_type_name(brd_json_type(parse("null"))), "null");
	assert_string_equal(brd_json_type_name(JSON_NONE), "none");
}

static void the_last_of_equal_keys_is_found(void **state)
{
	struct jval v = parse("{\"a\":1,\"b\":[{\"a\":9}],\"a\":2,\"\\u0061\":3,\"aa\":4}");

	assert_int_equal(brd_json_int_or(brd_json_get(v, "a"), 0), 3);
	assert_int_equal(brd_json_int_or(brd_json_gets(v, BRD_STR("aa")), 0), 4);
	assert_int_equal(brd_json_type(brd_json_get(v, "")), JSON_NONE);
	assert_int_equal(brd_json_count(v), 5);
}

static void keys_may_hold_a_nul(void **state)
{
	struct jval v = parse("{\"a\\u0000b\":1,\"a\":2}");

	assert_int_equal(brd_json_int_or(brd_json_gets(v, BRD_STR("a\0b")), 0), 1);
	assert_int_equal(brd_json_int_or(brd_json_get(v, "a"), 0), 2);
}

static void members_are_counted_from_zero(void **state)
{
	struct jval v = parse("[[1,2],{\"a\":0},3]");

	assert_int_equal(brd_json_type(brd_json_at(v, 0)), JSON_ARRAY);
	assert_int_equal(brd_json_type(brd_json_at(v, 1)), JSON_OBJECT);
	assert_int_equal(brd_json_int_or(brd_json_at(v, 2), 0), 3);
	assert_int_equal(brd_json_type(brd_json_at(v, 3)), JSON_NONE);
	assert_int_equal(brd_json_type(brd_json_at(brd_json_at(v, 1), 0)), JSON_NONE);
}

static void paths_lead_through_both(void **state)
{
	struct jval v = parse("{\"a\":{\"b\":[7,{\"c\":8}]},\"0\":1,\"\":2}");

	assert_int_equal(brd_json_int_or(brd_json_path(v, "a.b.0"), 0), 7);
	assert_int_equal(brd_json_int_or(brd_json_path(v, "a.b.1.c"), 0), 8);
	assert_int_equal(brd_json_int_or(brd_json_path(v, "0"), 0), 1);
	assert_int_equal(brd_json_int_or(brd_json_path(v, ""), 0), 2);
	assert_int_equal(brd_json_type(brd_json_path(v, "a.b.2")), JSON_NONE);
	assert_int_equal(brd_json_type(brd_json_path(v, "a.b.x")), JSON_NONE);
	assert_int_equal(brd_json_type(brd_json_path(v, "a.b.-1")), JSON_NONE);
	assert_int_equal(brd_json_type(brd_json_path(v, "a.x.y.z")), JSON_NONE);
}

static void walks_keep_the_order_and_the_duplicates(void **state)
{
	struct jval v = parse("{\"b\":[1,[2]],\"a\":{\"x\":{}},\"b\":3}");
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		struct bread_str key = brd_json_str(it.key, &arena), raw = brd_json_raw(it.value);

		brd_buf_addf(&b, "%d%.*s=%.*s ", (int)it.index, BRD_ARG(key), BRD_ARG(raw));
	}
	assert_str(brd_buf_str(&b), "0b=[1,[2]] 1a={\"x\":{}} 2b=3 ");
	brd_buf_clear(&b);
	for (struct json_iter it = brd_json_each(parse("[[],{},5]")); brd_json_next(&it);) {
		struct bread_str raw = brd_json_raw(it.value);

		assert_int_equal(brd_json_type(it.key), JSON_NONE);
		brd_buf_addf(&b, "%d=%.*s ", (int)it.index, BRD_ARG(raw));
	}
	assert_str(brd_buf_str(&b), "0=[] 1={} 2=5 ");
	brd_buf_fini(&b);
	for (struct json_iter it = brd_json_each(parse("\"ab\"")); brd_json_next(&it);)
		fail();
}

static const struct {
	const char *text;
	struct bread_str value;
} strings[] = {
	{ "\"\"", { "", 0 } },
	{ "\"plain\"", { "plain", 5 } },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", { "\"\\/\b\f\n\r\t", 8 } },
	{ "\"x\\u0000y\"", { "x\0y", 3 } },
	{ "\"\\u00E9\\u65e5\"", { "\xc3\xa9\xe6\x97\xa5", 5 } },
	{ "\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"",
		{ "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 11 } },
	{ "\"a\\ud83d\\ude00b\"", { "a\xf0\x9f\x98\x80"
				    "b",
					  6 } },
	{ "\"\\uDBFF\\uDFFF\"", { "\xf4\x8f\xbf\xbf", 4 } },
	{ "\"\\ud83d\"", { "\xed\xa0\xbd", 3 } },
	{ "\"\\ude00\\ud83d\"", { "\xed\xb8\x80\xed\xa0\xbd", 6 } },
	{ "\"\\ud83d\\ud83d\\ude00\"", { "\xed\xa0\xbd\xf0\x9f\x98\x80", 7 } },
	{ "\"\\ud83d\\n\"", { "\xed\xa0\xbd\n", 4 } },
	{ "\"\\ud83dude00\"", { "\xed\xa0\xbd"
				"ude00",
				      8 } },
	{ "\"\\ud83d\\u0041\"", { "\xed\xa0\xbd"
				  "A",
					4 } },
};

static void strings_are_decoded(void **state)
{
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		struct jval v = parse(strings[i].text);
		struct bread_str want = strings[i].value;
		struct buf b;

		brd_buf_init(&b, BUF_NO_LIMIT);
		brd_json_str_add(v, &b);
		assert_true(brd_str_eq(brd_json_str(v, &arena), want));
		assert_true(brd_str_eq(brd_buf_str(&b), want));
		assert_true(brd_json_iss(v, want));
		assert_memory_equal(brd_json_strz(v, &arena), want.p, want.n);
		assert_int_equal(brd_json_strz(v, &arena)[want.n], 0);
		brd_buf_fini(&b);
	}
}

static void strings_compare_with_their_escapes(void **state)
{
	struct jval v = parse("\"a\\u0062c\"");

	assert_true(brd_json_is(v, "abc"));
	assert_false(brd_json_is(v, "ab"));
	assert_false(brd_json_is(v, "abcd"));
	assert_false(brd_json_is(v, ""));
	assert_false(brd_json_is(parse("1"), "1"));
	assert_true(brd_json_is(parse("\"\""), ""));
	assert_false(brd_json_is(parse("\"\\n\""), "n"));
}

static void plain_strings_are_not_copied(void **state)
{
	struct jval v = parse("\"plain\"");

	assert_ptr_equal(brd_json_str(v, NULL).p, v.text + 1);
}

static void booleans_are_only_booleans(void **state)
{
	assert_true(brd_json_bool(parse("true"), false));
	assert_false(brd_json_bool(parse("false"), true));
	assert_true(brd_json_bool(parse("0"), true));
	assert_false(brd_json_bool(parse("\"true\""), false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(missing_values_are_values, drop_arena),
		cmocka_unit_test_teardown(types_have_names, drop_arena),
		cmocka_unit_test_teardown(the_last_of_equal_keys_is_found, drop_arena),
		cmocka_unit_test_teardown(keys_may_hold_a_nul, drop_arena),
		cmocka_unit_test_teardown(members_are_counted_from_zero, drop_arena),
		cmocka_unit_test_teardown(paths_lead_through_both, drop_arena),
		cmocka_unit_test_teardown(walks_keep_the_order_and_the_duplicates, drop_arena),
		cmocka_unit_test_teardown(strings_are_decoded, drop_arena),
		cmocka_unit_test_teardown(strings_compare_with_their_escapes, drop_arena),
		cmocka_unit_test_teardown(plain_strings_are_not_copied, drop_arena),
		cmocka_unit_test_teardown(booleans_are_only_booleans, drop_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
