/* SPDX-License-Identifier: MIT */
#include "base/err.h"
#include "base/err_context.h"
#include "test.h"

static void say(struct bread_err *err, struct bread_str id)
{
	struct err_context c;

	brd_fail(err, BREAD_E_INVALID, "here", "no");
	brd_jw_kstr(brd_err_context(&c), "id", id);
	brd_err_context_end(&c, err);
}

static void it_is_an_object_of_the_facts(void **state)
{
	struct bread_err err;

	say(&err, BRD_STR("a\"b"));
	assert_string_equal(err.context, "{\"id\":\"a\\\"b\"}");
	say(NULL, BRD_STR("nobody asks"));
}

/* At each length about the limit: all of it, or nothing. */
static void what_does_not_fit_is_left_out(void **state)
{
	static char id[sizeof(((struct bread_err *)0)->context) + 8];
	const size_t frame = strlen("{\"id\":\"\"}");

	memset(id, 'x', sizeof(id));
	for (size_t n = sizeof(id) - 32; n <= sizeof(id); n++) {
		struct bread_err err;

		say(&err, (struct bread_str){ id, n });
		assert_int_equal(
			strlen(err.context), n + frame < sizeof(err.context) ? n + frame : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_an_object_of_the_facts),
		cmocka_unit_test(what_does_not_fit_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
