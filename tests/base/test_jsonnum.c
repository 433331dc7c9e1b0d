/* SPDX-License-Identifier: MIT */
#include "test.h"
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/jsonnum.h"
#include "base/jsonw.h"

static struct buf out;

static const char *written(double v)
{
	brd_buf_fini(&out);
	brd_buf_init(&out, BUF_NO_LIMIT);
	brd_json_num_add(&out, v);
	return out.data;
}

/* Beside each number what JSON.stringify of Node 18 prints. */
static const struct {
	double v;
	const char *text;
} layouts[] = {
	{ 0, "0" },
	{ -0.0, "0" },
	{ 1, "1" },
	{ -1.5, "-1.5" },
	{ 0.1, "0.1" },
	{ 0.7, "0.7" },
	{ 4.35, "4.35" },
	{ 0.1 + 0.2, "0.30000000000000004" },
	{ 100, "100" },
	{ 1e15, "1000000000000000" },
	{ 1e20, "100000000000000000000" },
	{ 123456789012345680000.0, "123456789012345680000" },
	{ 1e21, "1e+21" },
	{ -1.25e25, "-1.25e+25" },
	{ 1e-6, "0.000001" },
	{ 1.5e-5, "0.000015" },
	{ 1e-7, "1e-7" },
	{ 1.25e-9, "1.25e-9" },
	{ 3.141592653589793, "3.141592653589793" },
	{ 9007199254740991.0, "9007199254740991" },
	{ 9007199254740992.0, "9007199254740992" },
	{ 123456789.125, "123456789.125" },
	{ DBL_MAX, "1.7976931348623157e+308" },
	{ DBL_MIN, "2.2250738585072014e-308" },
	{ 5e-324, "5e-324" },
	{ 1.5e-323, "1.5e-323" },
	{ 5.684341886080802e-14, "5.684341886080802e-14" }, /* 2^-44 */
	{ 4.35e-310, "4.35e-310" },
};

static void numbers_are_laid_out_as_in_javascript(void **state)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		assert_string_equal(written(layouts[i].v), layouts[i].text);
	assert_string_equal(written(NAN), "null");
	assert_string_equal(written(-INFINITY), "null");
}

static uint64_t noise(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void check_round_trip(double v)
{
	const char *text = written(v);
	char shorter[40];
	int digits = 0;

	assert_true(strtod(text, NULL) == v);
	assert_true(brd_jnum_double((struct bread_str){ text, strlen(text) }) == v);
	for (const char *p = text + strspn(text, "-0."); *p && *p != 'e'; p++)
		digits += *p != '.';
	for (int n = 1; n < digits && n < 17 && fabs(v) < 1e15 && v != floor(v); n++) {
		snprintf(shorter, sizeof(shorter), "%.*e", n - 1, v);
		assert_true(strtod(shorter, NULL) != v);
	}
}

static void any_double_comes_back_and_none_is_longer_than_needed(void **state)
{
	uint64_t seed = 88172645463325252u;

	for (int i = 0; i < 20000; i++) {
		uint64_t bits = noise(&seed);
		double v;

		memcpy(&v, &bits, sizeof(v));
		if (isfinite(v))
			check_round_trip(v);
		check_round_trip((double)(int64_t)(bits >> 20) / 1000);
		check_round_trip((double)(bits >> 11) / 9007199254740992.0);
	}
}

static void powers_of_two_come_back(void **state)
{
	for (int e = -1074; e < 1024; e++) {
		check_round_trip(ldexp(1, e));
		assert_true(strlen(written(ldexp(1, e))) <= 24);
	}
}

static void the_locale_does_not_matter(void **state)
{
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "de_DE"))
		skip();
	assert_string_equal(written(0.1 + 0.2), "0.30000000000000004");
	assert_true(brd_jnum_double((struct bread_str){ "0.30000000000000004", 19 }) == 0.1 + 0.2);
	setlocale(LC_NUMERIC, "C");
}

static struct bread_str str(const char *z)
{
	return (struct bread_str){ z, strlen(z) };
}

static const struct {
	const char *text;
	double v;
} doubles[] = {
	{ "0", 0 },
	{ "-0", -0.0 },
	{ "0.1", 0.1 },
	{ "-12.50", -12.5 },
	{ "9007199254740993", 9007199254740992.0 },
	{ "0.00000000000001", 1e-14 },
	{ "1e3", 1000 },
	{ "1E-400", 0 },
	{ "1e400", INFINITY },
	{ "-1e400", -INFINITY },
	{ "1797693134862315708145274237317043567980705675258449965989174768031572607800285387605895"
	  "58"
	  "6327668781715404589535143824642343213268894641827684675467035375169860499105765512820762"
	  "45"
	  "4900903893289440758685084551339423045832369032229481658085593321233479747978262041447231"
	  "68"
	  "738177180919299881250404026184124858368",
		DBL_MAX },
};

static void lexemes_are_read_to_the_nearest(void **state)
{
	for (size_t i = 0; i < sizeof(doubles) / sizeof(*doubles); i++) {
		double v = brd_jnum_double(str(doubles[i].text));

		assert_true(v == doubles[i].v && signbit(v) == signbit(doubles[i].v));
	}
}

static void integers_are_exact(void **state)
{
	static const struct {
		const char *text;
		int64_t v;
	} good[] = { { "0", 0 }, { "-0", 0 }, { "0.000e99", 0 }, { "1.0", 1 }, { "-1.50e1", -15 },
		{ "1e3", 1000 }, { "100e-2", 1 }, { "9223372036854775807", INT64_MAX },
		{ "-9223372036854775808", INT64_MIN }, { "9007199254740993", 9007199254740993 },
		{ "9.223372036854775807e18", INT64_MAX }, { "0.0001e4", 1 },
		{ "12300000000000000000000e-20", 123 } };
	static const char *const bad[] = { "1.5", "1e-1", "9223372036854775808",
		"-9223372036854775809", "1e19", "1e400", "1e99999999999999999999", "0.1",
		"1e-99999999999999999999", "123456789012345678901234567890" };
	int64_t v = 0;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_true(brd_jnum_int(str(good[i].text), &v));
		assert_true(v == good[i].v);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(brd_jnum_int(str(bad[i]), &v));
}

static void equality_is_by_value_and_exact(void **state)
{
	static const char *const equal[][2] = { { "1", "1.0" }, { "1", "10e-1" }, { "100", "1E2" },
		{ "0", "-0.00e7" }, { "0.001", "1e-3" }, { "-1.50", "-15e-1" },
		{ "123456789012345678901234567890", "1234567890123456789012345678.90e2" },
		{ "1.2", "0.12e1" }, { "10.01", "1001e-2" } };
	static const char *const differ[][2] = { { "1", "-1" }, { "1", "1.1" }, { "10", "1" },
		{ "9007199254740993", "9007199254740992" }, { "1e400", "1e401" }, { "0", "1e-400" },
		{ "101", "11" }, { "0.1", "0.01" } };

	for (size_t i = 0; i < sizeof(equal) / sizeof(*equal); i++) {
		assert_true(brd_jnum_equal(str(equal[i][0]), str(equal[i][1])));
		assert_true(brd_jnum_equal(str(equal[i][1]), str(equal[i][0])));
	}
	for (size_t i = 0; i < sizeof(differ) / sizeof(*differ); i++)
		assert_false(brd_jnum_equal(str(differ[i][0]), str(differ[i][1])));
}

static int drop_out(void **state)
{
	brd_buf_fini(&out);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_laid_out_as_in_javascript),
		cmocka_unit_test(any_double_comes_back_and_none_is_longer_than_needed),
		cmocka_unit_test(powers_of_two_come_back),
		cmocka_unit_test(the_locale_does_not_matter),
		cmocka_unit_test(lexemes_are_read_to_the_nearest),
		cmocka_unit_test(integers_are_exact),
		cmocka_unit_test(equality_is_by_value_and_exact),
	};

	return cmocka_run_group_tests(tests, NULL, drop_out);
}
