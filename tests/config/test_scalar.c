/* SPDX-License-Identifier: MIT */
/* Plain scalars get the types of the YAML 1.2 core schema, numbers keep their
 * lexeme where it is JSON, and the environment is put in as written. */
#include <stdlib.h>
#include "test.h"
#include "base/str.h"
#include "config/scalar.h"

struct row {
	const char *text;
	enum scalar_type type;
	const char *json;
};

static void check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *why = NULL;
		struct buf num;
		enum scalar_type type;

		brd_buf_init(&num, 1000);
		type = brd_scalar_type(brd_str(rows[i].text), &num, &why);
		if (type != rows[i].type || strcmp(num.data, rows[i].json ? rows[i].json : "") != 0)
			fail_msg("%s: type %d, json %s", rows[i].text, type, num.data);
		assert_int_equal(type == SCALAR_BAD, why != NULL);
		brd_buf_fini(&num);
	}
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

static void numbers_that_are_json_keep_their_lexeme(void **state)
{
	static const struct row rows[] = {
		{ "0", SCALAR_NUMBER, "0" },
		{ "-0", SCALAR_NUMBER, "-0" },
		{ "0.1", SCALAR_NUMBER, "0.1" },
		{ "0.10", SCALAR_NUMBER, "0.10" },
		{ "1e5", SCALAR_NUMBER, "1e5" },
		{ "1E+05", SCALAR_NUMBER, "1E+05" },
		{ "-12.50e-3", SCALAR_NUMBER, "-12.50e-3" },
		{ "123456789012345678901234567890", SCALAR_NUMBER,
			"123456789012345678901234567890" },
		{ "1e999", SCALAR_NUMBER, "1e999" },
	};

	CHECK(rows);
}

static void other_numbers_become_json(void **state)
{
	static const struct row rows[] = {
		{ "+5", SCALAR_NUMBER, "5" },
		{ ".5", SCALAR_NUMBER, "0.5" },
		{ "-.5", SCALAR_NUMBER, "-0.5" },
		{ "5.", SCALAR_NUMBER, "5" },
		{ "5.e3", SCALAR_NUMBER, "5e3" },
		{ "+.5e1", SCALAR_NUMBER, "0.5e1" },
		{ "007", SCALAR_NUMBER, "7" },
		{ "00", SCALAR_NUMBER, "0" },
		{ "0x1F", SCALAR_NUMBER, "31" },
		{ "0xff", SCALAR_NUMBER, "255" },
		{ "0o17", SCALAR_NUMBER, "15" },
		{ "0xFFFFFFFFFFFFFFFF", SCALAR_NUMBER, "18446744073709551615" },
	};

	CHECK(rows);
}

static void what_only_looks_like_a_number_is_a_text(void **state)
{
	static const struct row rows[] = {
		{ "-", SCALAR_TEXT, NULL },
		{ "+", SCALAR_TEXT, NULL },
		{ ".", SCALAR_TEXT, NULL },
		{ "1e", SCALAR_TEXT, NULL },
		{ "1e+", SCALAR_TEXT, NULL },
		{ "1.2.3", SCALAR_TEXT, NULL },
		{ "0x", SCALAR_TEXT, NULL },
		{ "0xG", SCALAR_TEXT, NULL },
		{ "0o8", SCALAR_TEXT, NULL },
		{ "-0x1F", SCALAR_TEXT, NULL },
		{ "0b11", SCALAR_TEXT, NULL },
		{ "1_000", SCALAR_TEXT, NULL },
		{ "12:30", SCALAR_TEXT, NULL },
		{ "2026-01-01", SCALAR_TEXT, NULL },
	};

	CHECK(rows);
}

static void words_follow_the_core_schema(void **state)
{
	static const struct row rows[] = {
		{ "", SCALAR_NULL, NULL },
		{ "~", SCALAR_NULL, NULL },
		{ "Null", SCALAR_NULL, NULL },
		{ "nULL", SCALAR_TEXT, NULL },
		{ "true", SCALAR_TRUE, NULL },
		{ "TRUE", SCALAR_TRUE, NULL },
		{ "False", SCALAR_FALSE, NULL },
		{ "yes", SCALAR_TEXT, NULL },
		{ "no", SCALAR_TEXT, NULL },
		{ "on", SCALAR_TEXT, NULL },
		{ "y", SCALAR_TEXT, NULL },
	};

	CHECK(rows);
}

static void numbers_that_json_cannot_say_are_faults(void **state)
{
	static const struct row rows[] = {
		{ ".inf", SCALAR_BAD, NULL },
		{ "-.Inf", SCALAR_BAD, NULL },
		{ "+.INF", SCALAR_BAD, NULL },
		{ ".nan", SCALAR_BAD, NULL },
		{ ".NaN", SCALAR_BAD, NULL },
		{ "0x10000000000000000", SCALAR_BAD, NULL },
		{ "inf", SCALAR_TEXT, NULL },
		{ "-.nan", SCALAR_TEXT, NULL },
	};

	CHECK(rows);
}

static void expands_to(const char *text, const char *want)
{
	struct bread_err err = { 0 };
	struct buf out;

	brd_buf_init(&out, 1000);
	assert_int_equal(brd_scalar_expand(brd_str(text), &out, &err), 0);
	assert_string_equal(out.data, want);
	brd_buf_fini(&out);
}

static void expand_fails(const char *text, const char *want)
{
	struct bread_err err = { 0 };
	struct buf out;

	brd_buf_init(&out, 1000);
	assert_int_equal(brd_scalar_expand(brd_str(text), &out, &err), BREAD_E_INVALID);
	assert_string_equal(err.text, want);
	brd_buf_fini(&out);
}

static void variables_are_put_in(void **state)
{
	setenv("T_NAME", "wheat", 1);
	setenv("T_EMPTY", "", 1);
	unsetenv("T_NONE");
	expands_to("no variables, $HOME and {a}", "no variables, $HOME and {a}");
	expands_to("${T_NAME}", "wheat");
	expands_to("a-${T_NAME}-${T_NAME}b", "a-wheat-wheatb");
	expands_to("${T_NONE:-rye}", "rye");
	expands_to("${T_NONE:-}", "");
	expands_to("${T_NONE:-a:-b}", "a:-b");
	expands_to("${T_NAME:-rye}", "wheat");
	expands_to("${T_EMPTY:-rye}", "rye");
	expands_to("[${T_EMPTY}]", "[]");
	expands_to("$${T_NAME} $$${T_NAME}", "${T_NAME} $${T_NAME}");
}

static void what_a_variable_holds_is_not_expanded_again(void **state)
{
	setenv("T_NAME", "${HOME}", 1);
	expands_to("${T_NAME}", "${HOME}");
}

static void a_variable_that_is_not_set_is_named(void **state)
{
	unsetenv("T_NONE");
	expand_fails("${T_NONE}", "the environment variable T_NONE is not set; set it, or write "
				  "${T_NONE:-text} to have a default");
	expand_fails("${a.b}", "${a.b} names no environment variable; write $${ for a literal ${");
	expand_fails("${}", "${} names no environment variable; write $${ for a literal ${");
	expand_fails("${1A}", "${1A} names no environment variable; write $${ for a literal ${");
	expand_fails("x ${T_NAME", "${T_NAME has no closing brace; write $${ for a literal ${");
	setenv("T_BAD", "\xff", 1);
	expand_fails("${T_BAD}", "the environment variable T_BAD is not UTF-8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_that_are_json_keep_their_lexeme),
		cmocka_unit_test(other_numbers_become_json),
		cmocka_unit_test(what_only_looks_like_a_number_is_a_text),
		cmocka_unit_test(words_follow_the_core_schema),
		cmocka_unit_test(numbers_that_json_cannot_say_are_faults),
		cmocka_unit_test(variables_are_put_in),
		cmocka_unit_test(what_a_variable_holds_is_not_expanded_again),
		cmocka_unit_test(a_variable_that_is_not_set_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
