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

/* So that a sanitizer's allocator gives NULL, too. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static jmp_buf back;
static size_t missed;

static void on_empty(size_t wanted)
{
	missed = wanted;
	longjmp(back, 1);
}

static void the_handler_hears_what_was_wanted(void **state)
{
	volatile size_t too_much = SIZE_MAX / 4;

	brd_mem_handler(on_empty);
	if (setjmp(back) == 0) {
		free(brd_alloc(too_much));
		fail();
	}
	brd_mem_handler(NULL);
	assert_true(missed == too_much);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed),
		cmocka_unit_test(copies_end_in_a_nul),
		cmocka_unit_test(the_handler_hears_what_was_wanted),
		cmocka_unit_test(growing_keeps_what_was_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
