/* SPDX-License-Identifier: MIT */
/* The parser: what it takes, what it refuses and where it says the fault is. */
#include "test.h"
#include <stdlib.h>
#include "base/json.h"

static struct arena arena;

static int drop_arena(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

static struct bread_str compact(struct bread_str text, unsigned depth)
{
	struct jval v;
	struct buf b;
	struct bread_str s = { NULL, 0 };

	if (brd_json_parse(&arena, text, depth, &v, NULL) != BREAD_OK)
		return s;
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_compact(v, &b);
	s = brd_arena_copy(&arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return s;
}

/* Compact already: they must come out as they went in. */
static const char *const same[] = { "0.1", "1.0", "1e400", "9007199254740993",
	"9223372036854775808", "123456789012345678901234567890", "-0", "1E5", "1e-7", "0", "-1",
	"0e0", "1.5E+10", "true", "false", "null", "\"\"", "[]", "{}", "[[]]", "[1,2]",
	"{\"a\":1,\"b\":[true,null]}", "{\"a\":1,\"a\":2}", "\"\\ud800\"", "\"\\udfff\\ud800x\"",
	"{\"\\ud800\":1}", "\"\\u0000\"", "{\"a\\u0000b\":1}", "\"\\/\"",
	"\"\\u00e9\\n\\\"\\\\\\b\\f\\r\\t\"", "\"\xc3\xa9\"", "\"\xf0\x9f\x98\x80\"", "\"\x7f\"",
	"\"\xef\xbf\xbf\xe2\x80\xa8\"", "[{},[],\"\",0]", "{\"\":{\"\":{\"\":[]}}}" };

static void passes_through_what_json_allows(void **state)
{
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		assert_str(compact(brd_str(same[i]), 0), same[i]);
		assert_true(brd_json_ok(brd_str(same[i]), 0));
	}
}

static void blanks_are_allowed_between_tokens(void **state)
{
	assert_str(
		compact(BRD_STR(" \t\r\n{ \"a b\" : [ 1 , 2 ] , \"c\" : { } , \"d\":[ ] } \n"), 0),
		"{\"a b\":[1,2],\"c\":{},\"d\":[]}");
}

#define BAD(text, at, what) \
	{ \
		{ (text), sizeof(text) - 1 }, (at), (what) \
	}

static const struct {
	struct bread_str text;
	size_t at;
	const char *what;
} refused[] = {
	BAD("", 0, "a value was expected"),
	BAD("  ", 2, "a value was expected"),
	BAD("\xef\xbb\xbf{}", 0, "a value was expected"), /* a byte-order mark */
	BAD("NaN", 0, "a value was expected"),
	BAD("Infinity", 0, "a value was expected"),
	BAD("-Infinity", 1, "a digit was expected"),
	BAD("nul", 0, "a value was expected"),
	BAD("nulls", 4, "the text should end here"),
	BAD("True", 0, "a value was expected"),
	BAD("'a'", 0, "a value was expected"),
	BAD("01", 1, "the text should end here"),
	BAD("-01", 2, "the text should end here"),
	BAD("1.", 2, "a digit was expected behind the point"),
	BAD("1.e5", 2, "a digit was expected behind the point"),
	BAD(".5", 0, "a value was expected"),
	BAD("+1", 0, "a value was expected"),
	BAD("-", 1, "a digit was expected"),
	BAD("1e", 2, "a digit was expected in the exponent"),
	BAD("1e+", 3, "a digit was expected in the exponent"),
	BAD("0x10", 1, "the text should end here"),
	BAD("1 2", 2, "the text should end here"),
	BAD("\"a", 2, "the string does not end"),
	BAD("\"\\", 1, "this is no escape"),
	BAD("\"\\\"", 3, "the string does not end"),
	BAD("\"\\x41\"", 1, "this is no escape"),
	BAD("\"\\u12\"", 1, "this is no escape"),
	BAD("\"\\u12g4\"", 1, "this is no escape"),
	BAD("\"\\u123", 1, "this is no escape"),
	BAD("\"a\nb\"", 2, "a control character must be escaped"),
	BAD("\"a\0b\"", 2, "a control character must be escaped"),
	BAD("\"\x1f\"", 1, "a control character must be escaped"),
	BAD("\"\xff\"", 1, "this byte is no UTF-8"),
	BAD("\"ab\x80\"", 3, "this byte is no UTF-8"),
	BAD("\"\xc0\xaf\"", 1, "this byte is no UTF-8"),
	BAD("\"\xed\xa0\x80\"", 1, "this byte is no UTF-8"),
	BAD("\"\xf4\x90\x80\x80\"", 1, "this byte is no UTF-8"),
	BAD("\"12345678\xe6\x97\"", 9, "this byte is no UTF-8"),
	BAD("[", 1, "a value was expected"),
	BAD("[1", 2, "a comma or ] was expected"),
	BAD("[1,", 3, "a value was expected"),
	BAD("[1,]", 3, "a value was expected"),
	BAD("[,1]", 1, "a value was expected"),
	BAD("[1 2]", 3, "a comma or ] was expected"),
	BAD("[1}", 2, "a comma or ] was expected"),
	BAD("[1]]", 3, "the text should end here"),
	BAD("]", 0, "a value was expected"),
	BAD("{", 1, "a key was expected"),
	BAD("{1:2}", 1, "a key was expected"),
	BAD("{a:2}", 1, "a key was expected"),
	BAD("{\"a\"}", 4, "a colon was expected"),
	BAD("{\"a\" 1}", 5, "a colon was expected"),
	BAD("{\"a\":}", 5, "a value was expected"),
	BAD("{\"a\":1", 6, "a comma or } was expected"),
	BAD("{\"a\":1,}", 7, "a key was expected"),
	BAD("{\"a\":1]", 6, "a comma or } was expected"),
	BAD("{\"a\":1,,\"b\":2}", 7, "a key was expected"),
	BAD("[1,\v2]", 3, "a value was expected"),
	BAD("[\xc2\xa0]", 1, "a value was expected"), /* a blank, but not JSON's */
	BAD("// c\n1", 0, "a value was expected"),
};

static void refuses_all_else_and_says_where(void **state)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct json_where where = { 0 };
		struct jval v;

		assert_int_equal(
			brd_json_parse(&arena, refused[i].text, 0, &v, &where), BREAD_E_INVALID);
		assert_int_equal(brd_json_type(v), JSON_NONE);
		assert_int_equal(where.at, refused[i].at);
		assert_string_equal(where.what, refused[i].what);
		assert_false(brd_json_ok(refused[i].text, 0));
	}
}

/* The text ends with its length and not with a NUL: every prefix is read where
 * the sanitizer sees one byte too many. */
static void never_reads_behind_the_end(void **state)
{
	static const char text[] =
		"{\"a\\u00e9\":[-1.5e+3,true,false,null,\"\xe6\x97\xa5\"],\"b\":{}}";

	for (size_t n = 0; n < sizeof(text); n++) {
		char *exact = malloc(n ? n : 1);

		memcpy(exact, text, n);
		assert_int_equal(
			brd_json_ok((struct bread_str){ exact, n }, 0), n == sizeof(text) - 1);
		free(exact);
	}
}

/* open and close, n times each */
static struct bread_str nested(const char *open, const char *close, size_t n)
{
	size_t o = strlen(open), c = strlen(close);
	char *p = brd_arena_alloc(&arena, (o + c) * n);

	for (size_t i = 0; i < n; i++) {
		memcpy(p + i * o, open, o);
		memcpy(p + n * o + i * c, close, c);
	}
	return (struct bread_str){ p, (o + c) * n };
}

static void depth_is_limited(void **state)
{
	struct json_where where;
	struct jval v;

	assert_int_equal(brd_json_parse(&arena, nested("[", "]", 512), 0, &v, NULL), BREAD_OK);
	assert_int_equal(
		brd_json_parse(&arena, nested("[", "]", 513), 0, &v, &where), BREAD_E_TOO_LARGE);
	assert_int_equal(where.at, 512);
	assert_false(brd_json_ok(nested("[", "]", 513), 0));
	assert_int_equal(brd_json_parse(&arena, BRD_STR("[[]]"), 1, &v, NULL), BREAD_E_TOO_LARGE);
	assert_int_equal(brd_json_parse(&arena, BRD_STR("[[],[]]"), 2, &v, NULL), BREAD_OK);
	assert_int_equal(brd_json_parse(&arena, BRD_STR("1"), 1, &v, NULL), BREAD_OK);
}

static void depth_costs_no_stack(void **state)
{
	size_t n = 1000000;
	struct bread_str arrays = nested("[", "]", n);
	struct jval v;

	assert_int_equal(compact(arrays, 1000000).n, arrays.n);
	assert_true(brd_json_ok(arrays, 1000000));
	assert_int_equal(brd_json_parse(&arena, arrays, 1000000, &v, NULL), BREAD_OK);
	assert_int_equal(v.tok->skip, n);
	assert_int_equal(brd_json_parse(&arena, nested("{\"a\":[", "]}", 1000), 1999, &v, NULL),
		BREAD_E_TOO_LARGE);
	assert_int_equal(
		brd_json_parse(&arena, nested("{\"a\":[", "]}", 1000), 2000, &v, NULL), BREAD_OK);
}

static void a_long_text_comes_back(void **state)
{
	struct buf b;
	struct jval v;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (int i = 0; i < 50000; i++)
		brd_buf_addf(&b, "%s{\"n\":%d,\"s\":\"%0*d\"}", i ? "," : "[", i, i % 40 + 1, i);
	brd_buf_addc(&b, ']');
	assert_int_equal(brd_json_parse(&arena, brd_buf_str(&b), 0, &v, NULL), BREAD_OK);
	assert_int_equal(brd_json_count(v), 50000);
	assert_int_equal(brd_json_int_or(brd_json_get(brd_json_at(v, 49999), "n"), -1), 49999);
	assert_string_equal(compact(brd_buf_str(&b), 0).p, b.data);
	brd_buf_fini(&b);
}

static void tokens_point_into_the_text(void **state)
{
	struct bread_str text = BRD_STR(" {\"key\" : [1, \"x\\n\"]} ");
	struct jval v;

	assert_int_equal(brd_json_parse(&arena, text, 0, &v, NULL), BREAD_OK);
	assert_ptr_equal(v.text, text.p);
	assert_int_equal(v.tok->at, 1);
	assert_int_equal(v.tok->len, text.n - 2);
	assert_int_equal(v.tok->skip, 5);
	assert_int_equal(v.tok->count, 1);
	assert_int_equal(v.tok[1].plain, 1);
	assert_int_equal(v.tok[2].skip, 3);
	assert_int_equal(v.tok[2].count, 2);
	assert_int_equal(v.tok[4].plain, 0);
	assert_str(brd_json_raw((struct jval){ v.tok + 4, v.text }), "\"x\\n\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(passes_through_what_json_allows, drop_arena),
		cmocka_unit_test_teardown(blanks_are_allowed_between_tokens, drop_arena),
		cmocka_unit_test_teardown(refuses_all_else_and_says_where, drop_arena),
		cmocka_unit_test_teardown(never_reads_behind_the_end, drop_arena),
		cmocka_unit_test_teardown(depth_is_limited, drop_arena),
		cmocka_unit_test_teardown(depth_costs_no_stack, drop_arena),
		cmocka_unit_test_teardown(a_long_text_comes_back, drop_arena),
		cmocka_unit_test_teardown(tokens_point_into_the_text, drop_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
