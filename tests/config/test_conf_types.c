/* SPDX-License-Identifier: MIT */
/* Each type of field: what it takes, and what it says about everything else. */
#include <stdio.h>
#include "test.h"
#include "base/str.h"
#include "config/conf_value.h"
#include "config/sample.h"

static struct arena arena;
static struct sample sample;
static struct bread_err err;

static int fini(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

static int read_text(const char *text)
{
	struct yaml_doc d;

	memset(&sample, 0, sizeof(sample));
	memset(&err, 0, sizeof(err));
	if (brd_yaml_parse(&d, &arena, "a.yaml", brd_str(text), &err) < 0)
		fail_msg("%s: %s", err.where, err.text);
	return brd_conf_read(SAMPLE, d.root, &sample, &d, "", &arena, &err);
}

/* "key: value" is refused and the message ends as told. */
static void refuses(const char *key, const char *value, const char *want)
{
	char text[2000], message[2000];

	snprintf(text, sizeof(text), "%s: %s\n", key, value);
	snprintf(message, sizeof(message), "%s %s", key, want);
	if (read_text(text) != BREAD_E_INVALID || strcmp(err.text, message) != 0)
		fail_msg("%s: %s", err.where, err.text);
	assert_true(brd_str_starts(brd_str(err.where), BRD_STR("a.yaml:1:")));
}

static void takes(const char *text)
{
	if (read_text(text) < 0)
		fail_msg("%s: %s", err.where, err.text);
}

static void bool_is_true_or_false(void **state)
{
	refuses("on", "yes", "is \"yes\"; true or false is expected");
	refuses("on", "1", "is 1; true or false is expected");
	refuses("on", "'true'", "is \"true\"; true or false is expected");
	refuses("on", "[]", "is an empty list; true or false is expected");
	refuses("on", "{}", "is a mapping of keys; true or false is expected");
	refuses("on", "", "is empty; true or false is expected");
}

static void int_is_whole_and_within_bounds(void **state)
{
	refuses("steps", "many", "is \"many\"; a whole number from 1 to 1000 is expected");
	refuses("steps", "0", "is 0; a whole number from 1 to 1000 is expected");
	refuses("steps", "1001", "is 1001; a whole number from 1 to 1000 is expected");
	refuses("steps", "1.5", "is 1.5; a whole number from 1 to 1000 is expected");
	refuses("steps", "'5'", "is \"5\"; a whole number from 1 to 1000 is expected");
	refuses("steps", "99999999999999999999",
		"is 99999999999999999999; a whole number from 1 to 1000 is expected");
	refuses("steps", "[1]", "is a list; a whole number from 1 to 1000 is expected");
	refuses("steps", "true", "is true; a whole number from 1 to 1000 is expected");
	takes("steps: 0x10");
	assert_int_equal(sample.steps, 16);
	takes("steps: 1e2");
	assert_int_equal(sample.steps, 100);
}

static void num_is_finite_and_within_bounds(void **state)
{
	refuses("ratio", "1.01", "is 1.01; a number from 0 to 1 is expected");
	refuses("ratio", "1e999", "is 1e999; a number from 0 to 1 is expected");
	refuses("ratio", "half", "is \"half\"; a number from 0 to 1 is expected");
	takes("ratio: .25");
	assert_true(sample.ratio == 0.25);
}

static void str_is_described_and_not_shown(void **state)
{
	refuses("title", "12",
		"is a number; a text of 1 to 20 bytes is expected, so put it in quotes");
	refuses("title", "no-more-than-twenty-bytes",
		"is a text of 25 bytes; a text of 1 to 20 bytes is expected");
	refuses("title", "''", "is a text of 0 bytes; a text of 1 to 20 bytes is expected");
	refuses("title", "\"a\\0b\"", "has a NUL byte (\\0) in it; take it out");
	refuses("title", "[a]", "is a list; a text of 1 to 20 bytes is expected");
	refuses("title", "", "is empty; a text of 1 to 20 bytes is expected");
	refuses("title", "true",
		"is true; a text of 1 to 20 bytes is expected, so put it in quotes");
}

static void id_and_name_keep_to_their_letters(void **state)
{
	char value[300];

	refuses("id", "a b",
		"is \"a b\"; an id of 1 to 128 letters, digits and . _ : - is expected");
	refuses("id", "\"a\\0\"", "has a NUL byte (\\0) in it; take it out");
	memset(value, 'a', sizeof(value));
	value[129] = '\0';
	assert_int_equal(strlen(value), 129);
	refuses("id", value,
		"is \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\"; an id of 1 to 128 "
		"letters, "
		"digits and . _ : - is expected");
	refuses("id", "12", "is 12; an id of 1 to 128 letters, digits and . _ : - is expected");
	refuses("name", "Wheat",
		"is \"Wheat\"; a name of small letters, digits and _ that begins with a letter is "
		"expected");
	refuses("name", "''",
		"is \"\"; a name of small letters, digits and _ that begins with a letter is "
		"expected");
	refuses("name", value,
		"is \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\"; a name of small "
		"letters, "
		"digits and _ that begins with a letter is expected");
	takes("id: A:b.c-d_9\nname: a_9\n");
}

static void enum_is_one_of_its_words(void **state)
{
	refuses("mode", "quick", "is \"quick\"; slow, fast or auto is expected");
	refuses("mode", "''", "is \"\"; slow, fast or auto is expected");
	refuses("mode", "slow|fast", "is \"slow|fast\"; slow, fast or auto is expected");
	refuses("mode", "1", "is 1; slow, fast or auto is expected");
	takes("mode: slow");
	assert_int_equal(sample.mode, MODE_SLOW);
}

static void size_is(const char *text, int64_t want)
{
	char line[100];

	snprintf(line, sizeof(line), "server: {maxBodyBytes: %s}", text);
	takes(line);
	assert_int_equal(sample.server.body, want);
}

static void size_has_units(void **state)
{
	size_is("65536", 65536);
	size_is("\"65536\"", 65536);
	size_is("64k", 65536);
	size_is("64 KiB", 65536);
	size_is("64kb", 65536);
	size_is("1MiB", 1 << 20);
	size_is("2000b", 2000);
}

#define EXPECTED "; a size such as 65536, 64k or 1MiB from 1KiB to 16MiB is expected"

static void sizes_that_do_not_fit(void **state)
{
	static const char *const rows[][2] = {
		{ "1G", "\"1G\"" },
		{ "1k5", "\"1k5\"" },
		{ "k", "\"k\"" },
		{ "1.5M", "\"1.5M\"" },
		{ "-1", "-1" },
		{ "1023", "1023" },
		{ "2000.5", "2000.5" },
		{ "99999999999999999999k", "\"99999999999999999999k\"" },
		{ "9223372036854775807k", "\"9223372036854775807k\"" },
		{ "1x", "\"1x\"" },
		{ "''", "\"\"" },
		{ "[1]", "a list" },
		{ "\"64k\\0\"", "\"64k\\u0000\"" },
	};
	char text[200], want[300];

	for (size_t i = 0; i < CONF_COUNT(rows); i++) {
		snprintf(text, sizeof(text), "server: {maxBodyBytes: %s}", rows[i][0]);
		snprintf(want, sizeof(want), "server.maxBodyBytes is %s" EXPECTED, rows[i][1]);
		assert_int_equal(read_text(text), BREAD_E_INVALID);
		assert_string_equal(err.text, want);
		assert_string_equal(err.where, "a.yaml:1:24");
	}
}

static void time_is(const char *text, int64_t want)
{
	char line[100];

	snprintf(line, sizeof(line), "timeout: %s", text);
	takes(line);
	assert_int_equal(sample.timeout, want);
}

static void time_has_units(void **state)
{
	time_is("1500", 1500);
	time_is("500ms", 500);
	time_is("15s", 15000);
	time_is("2m", 120000);
	time_is("2 min", 120000);
	time_is("1h", 3600000);
	refuses("timeout", "7d",
		"is \"7d\"; a time such as 1500 (ms), 500ms, 15s, 1h or 7d from 100ms to 1h is "
		"expected");
	refuses("timeout", "soon",
		"is \"soon\"; a time such as 1500 (ms), 500ms, 15s, 1h or 7d from 100ms to 1h is "
		"expected");
	refuses("timeout", "99",
		"is 99; a time such as 1500 (ms), 500ms, 15s, 1h or 7d from 100ms to 1h is "
		"expected");
	refuses("timeout", "true",
		"is true; a time such as 1500 (ms), 500ms, 15s, 1h or 7d from 100ms to 1h is "
		"expected");
}

static void json_is_of_its_types(void **state)
{
	refuses("schema", "[a]", "is a list; of type object or boolean is expected");
	refuses("schema", "x", "is a text of 1 bytes; of type object or boolean is expected");
	refuses("schema", "", "is empty; of type object or boolean is expected");
	takes("schema: true\nany: [1, {a: \"b\\0\"}]\n");
	assert_str(brd_json_raw(sample.any), "[1,{\"a\":\"b\\u0000\"}]");
}

static void strs_name_the_member_that_is_wrong(void **state)
{
	refuses("tags", "a", "is a text of 1 bytes; a list of texts such as [a, b] is expected");
	refuses("tags", "{a: b}",
		"is a mapping of keys; a list of texts such as [a, b] is expected");
	refuses("tags", "", "is empty; a list of texts such as [a, b] is expected");
	assert_int_equal(read_text("tags: [a, 2]"), BREAD_E_INVALID);
	assert_string_equal(err.where, "a.yaml:1:11");
	assert_string_equal(
		err.text, "tags.1 is a number; a text is expected, so put it in quotes");
	assert_int_equal(read_text("tags:\n - a\n - [b]\n"), BREAD_E_INVALID);
	assert_string_equal(err.where, "a.yaml:3:4");
	assert_string_equal(err.text, "tags.1 is a list; a text is expected");
	assert_int_equal(read_text("tags: [\"\\0\"]"), BREAD_E_INVALID);
	assert_string_equal(err.text, "tags.0 has a NUL byte (\\0) in it; take it out");
	takes("tags: []");
	assert_int_equal(sample.tags.n, 0);
}

static void invalid_utf8_is_refused_by_the_reader(void **state)
{
	struct yaml_doc d;

	for (size_t i = 0; i < CONF_COUNT(sample_fields); i++) {
		char text[100];

		snprintf(text, sizeof(text), "%s: \"\xc3\x28\"", sample_fields[i].key);
		assert_int_equal(
			brd_yaml_parse(&d, &arena, "a.yaml", brd_str(text), &err), BREAD_E_INVALID);
		assert_non_null(strstr(err.text, "is not UTF-8"));
	}
}

static void half_of_a_surrogate_pair_is_no_text(void **state)
{
	assert_int_equal(read_text("{\"title\": \"\\ud800\"}"), BREAD_E_INVALID);
	assert_string_equal(err.text, "title has half of a surrogate pair in it; take it out");
	assert_int_equal(read_text("{\"\\ud800\": 1}"), BREAD_E_INVALID);
	assert_true(brd_str_starts(brd_str(err.text), BRD_STR("\"\\ud800\" is not known; ")));
	takes("{\"any\": \"\\ud800\"}");
	assert_str(brd_json_raw(sample.any), "\"\\ud800\"");
}

static void deep_values_are_refused_by_every_type(void **state)
{
	for (size_t i = 0; i < CONF_COUNT(sample_fields); i++) {
		const struct conf_field *f = &sample_fields[i];
		char text[200], deep[101] = { 0 };

		memset(deep, '[', 50);
		memset(deep + 50, ']', 50);
		snprintf(text, sizeof(text), "%s: %s", f->key, deep);
		assert_int_equal(read_text(text), f->key[0] == 'a' ? BREAD_OK : BREAD_E_INVALID);
	}
}

static void units_are_shown_in_their_shortest_form(void **state)
{
	struct buf b;

	brd_buf_init(&b, 1000);
	brd_conf_add_size(0, &b);
	brd_buf_addc(&b, ' ');
	brd_conf_add_size(1025, &b);
	brd_buf_addc(&b, ' ');
	brd_conf_add_size(INT64_C(3) << 30, &b);
	brd_buf_addc(&b, ' ');
	brd_conf_add_time(1500, &b);
	brd_buf_addc(&b, ' ');
	brd_conf_add_time(90 * 60 * 1000, &b);
	brd_buf_addc(&b, ' ');
	brd_conf_add_time(7 * 24 * 3600 * 1000, &b);
	assert_string_equal(b.data, "0 1025 3GiB 1500ms 90min 7d");
	brd_buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bool_is_true_or_false),
		cmocka_unit_test(int_is_whole_and_within_bounds),
		cmocka_unit_test(num_is_finite_and_within_bounds),
		cmocka_unit_test(str_is_described_and_not_shown),
		cmocka_unit_test(id_and_name_keep_to_their_letters),
		cmocka_unit_test(enum_is_one_of_its_words),
		cmocka_unit_test(size_has_units),
		cmocka_unit_test(sizes_that_do_not_fit),
		cmocka_unit_test(time_has_units),
		cmocka_unit_test(json_is_of_its_types),
		cmocka_unit_test(strs_name_the_member_that_is_wrong),
		cmocka_unit_test(invalid_utf8_is_refused_by_the_reader),
		cmocka_unit_test(half_of_a_surrogate_pair_is_no_text),
		cmocka_unit_test(deep_values_are_refused_by_every_type),
		cmocka_unit_test(units_are_shown_in_their_shortest_form),
	};

	return cmocka_run_group_tests(tests, NULL, fini);
}
