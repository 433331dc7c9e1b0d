/* SPDX-License-Identifier: MIT */
#include "test.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"

static void memory_is_zeroed(void **state)
{
	char *p = brd_alloc(100), *q = brd_array(10, 10), *none = brd_alloc(0);
	static const char zeros[100];

	assert_memory_equal(p, zeros, 100);
	assert_memory_equal(q, zeros, 100);
	assert_non_null(none);
	free(p);
	free(q);
	free(none);
}

static void copies_end_in_a_nul(void **state)
{
	char *p = brd_strndup(brd_sub(BRD_STR("hello"), 1, 3)), *q = brd_strdup("abc");
	char *empty = brd_strndup((struct bread_str){ NULL, 0 });

	assert_string_equal(p, "ell");
	assert_string_equal(q, "abc");
	assert_string_equal(empty, "");
	free(p);
	free(q);
	free(empty);
}

static void growing_keeps_what_was_there(void **state)
{
	char *p = brd_realloc(NULL, 4);

	memcpy(p, "abc", 4);
	p = brd_realloc(p, 100000);
	assert_string_equal(p, "abc");
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed),
		cmocka_unit_test(copies_end_in_a_nul),
		cmocka_unit_test(growing_keeps_what_was_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
