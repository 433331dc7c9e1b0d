/* SPDX-License-Identifier: MIT */
#include "test.h"
#include "base/jsonw.h"

static struct buf out;

static int set_up(void **state)
{
	brd_buf_init(&out, BUF_NO_LIMIT);
	return 0;
}

static int tear_down(void **state)
{
	brd_buf_fini(&out);
	return 0;
}

static void puts_the_commas(void **state)
{
	struct jsonw w = brd_jsonw(&out);

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "s", BRD_STR("x"));
	brd_jw_kint(&w, "i", -5);
	brd_jw_kbool(&w, "b", true);
	brd_jw_kraw(&w, "r", BRD_STR("[1]"));
	brd_jw_kraw(&w, "left out", BRD_STR(""));
	brd_jw_key(&w, "a");
	brd_jw_arr(&w);
	brd_jw_int(&w, 1);
	brd_jw_num(&w, 2.5);
	brd_jw_null(&w);
	brd_jw_bool(&w, false);
	brd_jw_strz(&w, "z");
	brd_jw_strz(&w, NULL);
	brd_jw_obj(&w);
	brd_jw_end_obj(&w);
	brd_jw_arr(&w);
	brd_jw_end_arr(&w);
	brd_jw_raw(&w, BRD_STR("{\"x\":1}"));
	brd_jw_end_arr(&w);
	brd_jw_keys(&w, BRD_STR("k\"\n"));
	brd_jw_str(&w, BRD_STR(""));
	brd_jw_end_obj(&w);
	assert_str(brd_buf_str(&out), "{\"s\":\"x\",\"i\":-5,\"b\":true,\"r\":[1],\"a\":[1,2.5,"
				      "null,false,\"z\",null,{},[],"
				      "{\"x\":1}],\"k\\\"\\n\":\"\"}");
	assert_int_equal(out.data[out.len], 0);
	assert_true(brd_json_ok(brd_buf_str(&out), 0));
}

static void keys_leave_a_terminated_buf(void **state)
{
	struct jsonw w = brd_jsonw(&out);

	brd_jw_obj(&w);
	brd_jw_key(&w, "a");
	assert_string_equal(out.data, "{\"a\":");
}

#define QUOTED(s, want) \
	{ \
		{ (s), sizeof(s) - 1 }, (want) \
	}

static const struct {
	struct bread_str s;
	const char *want;
} quoted[] = {
	QUOTED("", "\"\""),
	QUOTED("plain text of more than eight", "\"plain text of more than eight\""),
	QUOTED("\"\\/", "\"\\\"\\\\/\""),
	QUOTED("\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\""),
	QUOTED("\x01\x0b\x0e\x1f\x7f", "\"\\u0001\\u000b\\u000e\\u001f\x7f\""),
	QUOTED("a\0b", "\"a\\u0000b\""),
	QUOTED("\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80", "\"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\""),
	QUOTED("\xe2\x80\xa8", "\"\xe2\x80\xa8\""), /* U+2028 stays */
	QUOTED("\xed\xa0\xbd", "\"\\ud83d\""),
	QUOTED("\xed\xb8\x80x", "\"\\ude00x\""),
	QUOTED("\xed\xa0", "\"\xef\xbf\xbd\xef\xbf\xbd\""),
	QUOTED("a\xff\xfe", "\"a\xef\xbf\xbd\xef\xbf\xbd\""),
	QUOTED("\xe6\x97", "\"\xef\xbf\xbd\""), /* one for a character that was cut */
	QUOTED("\xf0\x9f\x98z", "\"\xef\xbf\xbdz\""),
	QUOTED("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""),
};

static void quotes_with_only_the_escapes_needed(void **state)
{
	for (size_t i = 0; i < sizeof(quoted) / sizeof(*quoted); i++) {
		brd_buf_clear(&out);
		brd_json_quote(&out, quoted[i].s);
		assert_str(brd_buf_str(&out), quoted[i].want);
		assert_true(brd_json_ok(brd_buf_str(&out), 0));
	}
	brd_buf_clear(&out);
	brd_json_quote(&out, (struct bread_str){ NULL, 0 });
	assert_str(brd_buf_str(&out), "\"\"");
}

static void what_was_read_is_written_back(void **state)
{
	static const char *const texts[] = { "\"a\\nb\"", "\"\\ud83d\"", "\"\\ude00\\ud83d\"",
		"\"\xf0\x9f\x98\x80\"", "\"\\u0000\\u001f\"", "\"\\\\\\\"\"" };
	struct arena arena = { 0 };
	struct jval v;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		brd_buf_clear(&out);
		assert_int_equal(brd_json_parse(&arena, brd_str(texts[i]), 0, &v, NULL), BREAD_OK);
		brd_json_quote(&out, brd_json_str(v, &arena));
		assert_str(brd_buf_str(&out), texts[i]);
	}
	brd_arena_fini(&arena);
}

/* Every byte at every place of a word: the scanner of eight at a time. */
static void every_byte_at_every_place(void **state)
{
	char text[20];
	struct arena arena = { 0 };
	struct jval v;

	for (unsigned c = 0; c < 0x80; c++) {
		for (size_t at = 0; at < sizeof(text); at++) {
			memset(text, 'a', sizeof(text));
			text[at] = (char)c;
			brd_buf_clear(&out);
			brd_json_quote(&out, (struct bread_str){ text, sizeof(text) });
			assert_int_equal(
				brd_json_parse(&arena, brd_buf_str(&out), 0, &v, NULL), BREAD_OK);
			assert_true(brd_json_iss(v, (struct bread_str){ text, sizeof(text) }));
		}
	}
	brd_arena_fini(&arena);
}

static void a_limit_sticks(void **state)
{
	struct buf small;
	struct jsonw w = brd_jsonw(&small);

	brd_buf_init(&small, 10);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "key", BRD_STR("a long value\n"));
	brd_jw_kint(&w, "n", 1);
	brd_jw_end_obj(&w);
	assert_true(small.bad);
	assert_true(small.len <= 10);
	brd_buf_fini(&small);
}

static void an_object_ends_in_an_arena(void **state)
{
	struct arena a = { 0 };
	struct buf b;
	struct jsonw w = brd_jw_begin(&b);
	struct bread_str s;

	brd_jw_kint(&w, "n", 1);
	s = brd_jw_finish(&w, &a);
	assert_str(s, "{\"n\":1}");
	w = brd_jw_begin(&b);
	s = brd_jw_finish(&w, &a);
	assert_str(s, "{}");
	brd_arena_fini(&a);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(puts_the_commas),
		test(keys_leave_a_terminated_buf),
		test(quotes_with_only_the_escapes_needed),
		test(what_was_read_is_written_back),
		test(every_byte_at_every_place),
		test(a_limit_sticks),
		test(an_object_ends_in_an_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
