/* SPDX-License-Identifier: MIT */
/* The environment overrides what a file said, under names made from the keys. */
#include <stdlib.h>
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

static void name_is(const char *key, const char *want)
{
	struct buf b;

	brd_buf_init(&b, 1000);
	brd_conf_env_name(key, &b);
	assert_string_equal(b.data, want);
	brd_buf_fini(&b);
}

static void names_follow_from_the_keys(void **state)
{
	name_is("server.port", "BREAD_SERVER_PORT");
	name_is("server.maxBodyBytes", "BREAD_SERVER_MAX_BODY_BYTES");
	name_is("baseURL", "BREAD_BASE_URL");
	name_is("URLPath", "BREAD_URL_PATH");
	name_is("s3.accessKey", "BREAD_S3_ACCESS_KEY");
	name_is("http2Max", "BREAD_HTTP2_MAX");
	name_is("a-b.c_d", "BREAD_A_B_C_D");
}

/* Reads the defaults and then the environment, with one variable set. */
static int with(const char *name, const char *value)
{
	int r;

	memset(&sample, 0, sizeof(sample));
	memset(&err, 0, sizeof(err));
	assert_int_equal(
		brd_conf_read(SAMPLE, (struct jval){ 0 }, &sample, NULL, "", &arena, &err), 0);
	setenv(name, value, 1);
	r = brd_conf_env(SAMPLE, &sample, "", &arena, &err);
	unsetenv(name);
	return r;
}

static void refuses(const char *name, const char *value, const char *want)
{
	assert_int_equal(with(name, value), BREAD_E_INVALID);
	assert_string_equal(err.where, "environment");
	assert_string_equal(err.text, want);
}

static void every_type_can_be_set(void **state)
{
	assert_int_equal(with("BREAD_SERVER_PORT", "80"), 0);
	assert_int_equal(sample.server.port, 80);
	assert_int_equal(with("BREAD_SERVER_MAX_BODY_BYTES", "2MiB"), 0);
	assert_int_equal(sample.server.body, 2 << 20);
	assert_int_equal(with("BREAD_SERVER_TLS_STRICT", "0"), 0);
	assert_false(sample.server.tls.strict);
	assert_int_equal(with("BREAD_ON", "true"), 0);
	assert_true(sample.on);
	assert_int_equal(with("BREAD_RATIO", ".75"), 0);
	assert_true(sample.ratio == 0.75);
	assert_int_equal(with("BREAD_TITLE", "12 \"x\""), 0);
	assert_string_equal(sample.title, "12 \"x\"");
	assert_int_equal(with("BREAD_ID", "a.b"), 0);
	assert_string_equal(sample.id, "a.b");
	assert_int_equal(with("BREAD_MODE", "slow"), 0);
	assert_int_equal(sample.mode, MODE_SLOW);
	assert_int_equal(with("BREAD_TIMEOUT", "1500"), 0);
	assert_int_equal(sample.timeout, 1500);
	assert_int_equal(with("BREAD_SCHEMA", "{\"type\":\"string\"}"), 0);
	assert_true(brd_json_is(brd_json_get(sample.schema, "type"), "string"));
}

static void lists_are_commas_or_json(void **state)
{
	assert_int_equal(with("BREAD_TAGS", "x, y,z"), 0);
	assert_int_equal(sample.tags.n, 3);
	assert_string_equal(sample.tags.v[1], "y");
	assert_int_equal(with("BREAD_TAGS", "[\"x, y\"]"), 0);
	assert_int_equal(sample.tags.n, 1);
	assert_string_equal(sample.tags.v[0], "x, y");
}

static void an_empty_variable_changes_nothing(void **state)
{
	assert_int_equal(with("BREAD_SERVER_PORT", ""), 0);
	assert_int_equal(sample.server.port, 8080);
}

static void what_does_not_fit_is_named(void **state)
{
	refuses("BREAD_SERVER_PORT", "70000",
		"BREAD_SERVER_PORT is \"70000\"; a whole number from 0 to 65535 is expected");
	refuses("BREAD_SERVER_PORT", "80 ",
		"BREAD_SERVER_PORT is \"80 \"; a whole number from 0 to 65535 is expected");
	refuses("BREAD_STEPS", "many",
		"BREAD_STEPS is \"many\"; a whole number from 1 to 1000 is expected");
	refuses("BREAD_ON", "yes", "BREAD_ON is \"yes\"; true or false is expected");
	refuses("BREAD_RATIO", ".inf", "BREAD_RATIO is \".inf\"; a number from 0 to 1 is expected");
	refuses("BREAD_MODE", "quick", "BREAD_MODE is \"quick\"; slow, fast or auto is expected");
	refuses("BREAD_SCHEMA", "{",
		"BREAD_SCHEMA does not fit; of type object or boolean is expected");
	refuses("BREAD_TAGS", "[1]",
		"BREAD_TAGS does not fit; a list of texts such as [a, b] is expected");
	refuses("BREAD_TAGS", "[\"\\u0000\"]", "BREAD_TAGS has a NUL (\\u0000) in it");
	refuses("BREAD_MODE", "a\nb\xc3\xa9",
		"BREAD_MODE is \"a\\nb\xc3\xa9\"; slow, fast or auto is expected");
	refuses("BREAD_MODE", "\xff", "BREAD_MODE is not UTF-8");
}

static void a_secret_is_not_shown(void **state)
{
	refuses("BREAD_TITLE", "sk-0123456789-0123456789",
		"BREAD_TITLE does not fit; a text of 1 to 20 bytes is expected");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_follow_from_the_keys),
		cmocka_unit_test(every_type_can_be_set),
		cmocka_unit_test(lists_are_commas_or_json),
		cmocka_unit_test(an_empty_variable_changes_nothing),
		cmocka_unit_test(what_does_not_fit_is_named),
		cmocka_unit_test(a_secret_is_not_shown),
	};

	return cmocka_run_group_tests(tests, NULL, fini);
}
