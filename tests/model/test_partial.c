/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "model/partial.h"
#include "test.h"

static void check(const char *raw, bool whole, const char *expected)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	assert_int_equal(brd_args_finish(brd_str(raw), &b), whole);
	assert_string_equal(b.data, expected);
	brd_buf_fini(&b);
}

static void blank_is_an_empty_object(void **state)
{
	check("", true, "{}");
	check(" \n", true, "{}");
}

static void whole_json_is_kept_compact(void **state)
{
	check("{ \"a\" : [1, 2.50] }", true, "{\"a\":[1,2.50]}");
}

static void what_is_no_object_becomes_one(void **state)
{
	check("[1]", true, "{}");
	check("\"a\"", true, "{}");
	check("12", true, "{}");
}

static void strings_keep_their_readable_part(void **state)
{
	check("{\"a\":\"b", false, "{\"a\":\"b\"}");
	check("{\"a\":\"b\\", false, "{\"a\":\"b\"}");
	check("{\"a\":\"b\\u00", false, "{\"a\":\"b\"}");
	check("{\"a\":\"b\\n", false, "{\"a\":\"b\\n\"}");
}

static void numbers_are_kept_if_they_are_some(void **state)
{
	check("{\"a\":12", false, "{\"a\":12}");
	check("{\"a\":-", false, "{}");
	check("{\"a\":3.", false, "{}");
	check("{\"a\":1e", false, "{\"a\":1}");
	check("{\"a\":[1,-", false, "{\"a\":[1]}");
}

static void literals_are_completed(void **state)
{
	check("{\"a\":tr", false, "{\"a\":true}");
	check("{\"a\":n", false, "{\"a\":null}");
	check("{\"a\":[fals", false, "{\"a\":[false]}");
}

static void a_key_without_value_goes(void **state)
{
	check("{\"a\":1,\"b", false, "{\"a\":1}");
	check("{\"a\":1,\"b\"", false, "{\"a\":1}");
	check("{\"a\":1,\"b\":", false, "{\"a\":1}");
	check("{\"a\":1,", false, "{\"a\":1}");
	check("{\"a\":{\"b\":", false, "{\"a\":{}}");
}

static void raw_control_characters_are_mended(void **state)
{
	check("{\"a\":\"x\ny\"}", true, "{\"a\":\"x\\ny\"}");
	check("{\"a\":\"C:\\Users\"}", true, "{\"a\":\"C:\\\\Users\"}");
	check("{\"a\":\"x\ty", false, "{\"a\":\"x\\ty\"}");
}

static void nonsense_is_an_empty_object(void **state)
{
	check("hello", false, "{}");
	check("{a:1}", false, "{}");
	check("{\"a\" 1}", false, "{}");
}

/* Every prefix of a document gives an object that is JSON, and no text is lost on the way. */
static void every_prefix_gives_json(void **state)
{
	static const char doc[] = "{\"path\":\"a\\\"b\\\\\\u00e4\",\"n\":[-1.5e+3,true,null,{\"x\":"
				  "{}}],\"z\":[[],[[\"\"]]]}";
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (size_t n = 1; n <= sizeof(doc) - 1; n++) {
		brd_buf_clear(&b);
		assert_int_equal(
			brd_args_finish((struct bread_str){ doc, n }, &b), n == sizeof(doc) - 1);
		assert_int_equal(b.data[0], '{');
		assert_int_equal(b.data[b.len - 1], '}');
	}
	brd_buf_fini(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(blank_is_an_empty_object),
		cmocka_unit_test(whole_json_is_kept_compact),
		cmocka_unit_test(what_is_no_object_becomes_one),
		cmocka_unit_test(strings_keep_their_readable_part),
		cmocka_unit_test(numbers_are_kept_if_they_are_some),
		cmocka_unit_test(literals_are_completed),
		cmocka_unit_test(a_key_without_value_goes),
		cmocka_unit_test(raw_control_characters_are_mended),
		cmocka_unit_test(nonsense_is_an_empty_object),
		cmocka_unit_test(every_prefix_gives_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
