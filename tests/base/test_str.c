/* SPDX-License-Identifier: MIT */
#include "test.h"
#include "base/str.h"

#define NOTHING ((struct bread_str){ NULL, 0 })

static void compares_ascii_of_either_case(void **state)
{
	assert_true(brd_str_ieq(BRD_STR("Content-Type"), BRD_STR("content-TYPE")));
	assert_false(brd_str_ieq(BRD_STR("a"), BRD_STR("ab")));
	assert_false(brd_str_ieq(BRD_STR("@"), BRD_STR("`")));
	assert_false(brd_str_ieq(BRD_STR("["), BRD_STR("{")));
	assert_true(brd_str_ieq(NOTHING, BRD_STR("")));
}

static void finds_prefixes_and_suffixes(void **state)
{
	assert_true(brd_str_starts(BRD_STR("abc"), BRD_STR("ab")));
	assert_true(brd_str_starts(BRD_STR("abc"), NOTHING));
	assert_false(brd_str_starts(BRD_STR("ab"), BRD_STR("abc")));
	assert_true(brd_str_ends(BRD_STR("a.yaml"), BRD_STR(".yaml")));
	assert_true(brd_str_ends(NOTHING, NOTHING));
	assert_false(brd_str_ends(BRD_STR("yaml"), BRD_STR(".yaml")));
}

static void trims_both_ends(void **state)
{
	assert_str(brd_str_trim(BRD_STR(" \t a b\r\n")), "a b");
	assert_int_equal(brd_str_trim(BRD_STR(" \n ")).n, 0);
	assert_int_equal(brd_str_trim(NOTHING).n, 0);
}

static void finds_a_part(void **state)
{
	assert_int_equal(brd_str_find(BRD_STR("hello"), BRD_STR("llo")), 2);
	assert_int_equal(brd_str_find(BRD_STR("hello"), BRD_STR("lol")), -1);
	assert_int_equal(brd_str_find(BRD_STR("hello"), NOTHING), 0);
	assert_int_equal(brd_str_find(NOTHING, BRD_STR("a")), -1);
}

static void splits_to_the_end(void **state)
{
	struct bread_str rest = BRD_STR("a,,b"), part;

	part = brd_str_split(&rest, ',');
	assert_str(part, "a");
	part = brd_str_split(&rest, ',');
	assert_str(part, "");
	assert_non_null(rest.p);
	part = brd_str_split(&rest, ',');
	assert_str(part, "b");
	assert_null(rest.p);
	rest = BRD_STR("a,");
	brd_str_split(&rest, ',');
	assert_non_null(rest.p); /* there is one more, and it is empty */
	part = brd_str_split(&rest, ',');
	assert_int_equal(part.n, 0);
	assert_null(rest.p);
}

static void reads_whole_numbers_only(void **state)
{
	static const char *const bad[] = { "", "-", "+1", " 1", "1 ", "1.0", "0x1", "--1",
		"9223372036854775808", "-9223372036854775809", "99999999999999999999999" };
	int64_t v = 7;

	assert_true(brd_str_int(BRD_STR("9223372036854775807"), &v));
	assert_true(v == INT64_MAX);
	assert_true(brd_str_int(BRD_STR("-9223372036854775808"), &v));
	assert_true(v == INT64_MIN);
	assert_true(brd_str_int(BRD_STR("007"), &v));
	assert_true(v == 7);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(brd_str_int(brd_str(bad[i]), &v));
	assert_true(v == 7);
}

static void hashes_as_fnv_1a(void **state)
{
	assert_true(brd_str_hash(NOTHING) == 0xcbf29ce484222325u);
	assert_true(brd_str_hash(BRD_STR("a")) == 0xaf63dc4c8601ec8cu);
	assert_true(brd_str_hash(BRD_STR("foobar")) == 0x85944171f73967e8u);
}

static void counts_edits(void **state)
{
	char much[1000];

	memset(much, 'x', sizeof(much));
	assert_int_equal(brd_str_distance(BRD_STR("kitten"), BRD_STR("sitting")), 3);
	assert_int_equal(brd_str_distance(NOTHING, BRD_STR("abc")), 3);
	assert_int_equal(brd_str_distance(BRD_STR("abc"), NOTHING), 3);
	assert_int_equal(brd_str_distance(BRD_STR("same"), BRD_STR("same")), 0);
	assert_int_equal(brd_str_distance((struct bread_str){ much, 1000 }, NOTHING), 255);
}

static const struct {
	const char *text;
	bool ok;
} utf8[] = {
	{ "", true },
	{ "plain ascii that is longer than eight", true },
	{ "\xc3\xa9", true },
	{ "\xe6\x97\xa5\xe6\x9c\xac", true },
	{ "\xf0\x9f\x98\x80", true },
	{ "\xf4\x8f\xbf\xbf", true },
	{ "\xef\xbf\xbf", true },
	{ "\xf4\x90\x80\x80", false }, /* over U+10FFFF */
	{ "\xed\xa0\x80", false },     /* a surrogate */
	{ "\xed\xbf\xbf", false },
	{ "\xc0\x80", false }, /* overlong */
	{ "\xc1\xbf", false },
	{ "\xe0\x9f\xbf", false },
	{ "\xf0\x8f\xbf\xbf", false },
	{ "\x80", false },
	{ "a\xc3", false },
	{ "12345678\xe6\x97", false },
	{ "\xff", false },
	{ "\xf8\x88\x80\x80\x80", false },
	{ "\xc3(", false },
};

static void knows_utf8(void **state)
{
	for (size_t i = 0; i < sizeof(utf8) / sizeof(*utf8); i++)
		assert_int_equal(brd_utf8_ok(brd_str(utf8[i].text)), utf8[i].ok);
	assert_true(brd_utf8_ok(NOTHING));
}

static void wide_characters_are_skipped_as_a_run(void **state)
{
	assert_int_equal(brd_utf8_wide("\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80z", 10), 9);
	assert_int_equal(brd_utf8_wide("\xc3\xa9\xed\xa0\x80", 5), 2);
	assert_int_equal(brd_utf8_wide("\xc3\xa9\xe6\x97", 4), 2);
	assert_int_equal(brd_utf8_wide("a", 1), 0);
	assert_int_equal(brd_utf8_wide("", 0), 0);
}

static size_t bad_at(const char *z)
{
	size_t bad = 0;

	assert_int_equal(brd_utf8_char(z, strlen(z), &bad), 0);
	return bad;
}

static void says_what_one_replacement_stands_for(void **state)
{
	assert_int_equal(bad_at("\xff"), 1);
	assert_int_equal(bad_at("\x80\x80"), 1);
	assert_int_equal(bad_at("\xe6\x97"), 2);
	assert_int_equal(bad_at("\xe6\x97(x"), 2);
	assert_int_equal(bad_at("\xf0\x9f\x98"), 3);
	assert_int_equal(bad_at("\xed\xa0\x80"), 1);
	assert_int_equal(bad_at("\xf0\x80\x80"), 1);
}

static void cuts_between_characters(void **state)
{
	struct bread_str s = BRD_STR("a\xe6\x97\xa5"
				     "b");

	assert_int_equal(brd_utf8_cut(s, 9), 5);
	assert_int_equal(brd_utf8_cut(s, 4), 4);
	assert_int_equal(brd_utf8_cut(s, 3), 1);
	assert_int_equal(brd_utf8_cut(s, 2), 1);
	assert_int_equal(brd_utf8_cut(s, 1), 1);
	assert_int_equal(brd_utf8_cut(s, 0), 0);
}

static void finds_what_is_not_finished(void **state)
{
	assert_int_equal(brd_utf8_open(BRD_STR("ab")), 0);
	assert_int_equal(brd_utf8_open(BRD_STR("a\xc3")), 1);
	assert_int_equal(brd_utf8_open(BRD_STR("a\xe6\x97")), 2);
	assert_int_equal(brd_utf8_open(BRD_STR("\xf0\x9f\x98")), 3);
	assert_int_equal(brd_utf8_open(BRD_STR("\xf0\x9f\x98\x80")), 0);
	assert_int_equal(brd_utf8_open(BRD_STR("\x80\x80\x80\x80")), 0);
	assert_int_equal(brd_utf8_open(BRD_STR("\xff")), 0);
	assert_int_equal(brd_utf8_open(BRD_STR("\xe0\x80")), 0); /* no character begins so */
	assert_int_equal(brd_utf8_open(NOTHING), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares_ascii_of_either_case),
		cmocka_unit_test(finds_prefixes_and_suffixes),
		cmocka_unit_test(trims_both_ends),
		cmocka_unit_test(finds_a_part),
		cmocka_unit_test(splits_to_the_end),
		cmocka_unit_test(reads_whole_numbers_only),
		cmocka_unit_test(hashes_as_fnv_1a),
		cmocka_unit_test(counts_edits),
		cmocka_unit_test(knows_utf8),
		cmocka_unit_test(wide_characters_are_skipped_as_a_run),
		cmocka_unit_test(says_what_one_replacement_stands_for),
		cmocka_unit_test(cuts_between_characters),
		cmocka_unit_test(finds_what_is_not_finished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
