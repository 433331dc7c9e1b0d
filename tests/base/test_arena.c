/* SPDX-License-Identifier: MIT */
#include "test.h"
#include "base/arena.h"
#include "base/str.h"

static void pieces_are_zeroed_and_aligned(void **state)
{
	struct arena a = { 0 };
	static const char zeros[5000];

	for (size_t n = 0; n < 5000; n = n * 2 + 1) {
		char *p = brd_arena_alloc(&a, n);

		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		assert_memory_equal(p, zeros, n);
		memset(p, 'x', n);
	}
	brd_arena_fini(&a);
	assert_null(a.block);
}

static void a_reset_gives_zeroed_memory_again(void **state)
{
	struct arena a = { 0 };
	static const char zeros[1000];

	for (int i = 0; i < 50; i++)
		memset(brd_arena_alloc(&a, 1000), 'x', 1000);
	brd_arena_reset(&a);
	assert_non_null(a.block);
	for (int i = 0; i < 50; i++)
		assert_memory_equal(brd_arena_alloc(&a, 1000), zeros, 1000);
	brd_arena_reset(&a);
	brd_arena_reset(&a);
	brd_arena_fini(&a);
	brd_arena_reset(&a);
}

static void a_large_piece_leaves_the_newest_block_in_use(void **state)
{
	struct arena a = { 0 };
	char *first = brd_arena_alloc(&a, 16), *large, *second;

	large = brd_arena_alloc(&a, 1 << 20);
	second = brd_arena_alloc(&a, 16);
	assert_ptr_equal(second, first + 16);
	memset(large, 'x', 1 << 20);
	assert_true(a.total >= 1 << 20);
	brd_arena_fini(&a);
	assert_int_equal(a.total, 0);
}

static void a_large_block_is_not_kept(void **state)
{
	struct arena a = { 0 };

	brd_arena_alloc(&a, 1 << 20);
	brd_arena_reset(&a);
	assert_true(a.total < 1 << 17);
	brd_arena_fini(&a);
}

static void copies_and_prints(void **state)
{
	struct arena a = { 0 };
	struct bread_str s = brd_arena_copy(&a, BRD_STR("abc"));

	assert_string_equal(s.p, "abc");
	assert_int_equal(brd_arena_copy(&a, (struct bread_str){ NULL, 0 }).n, 0);
	assert_string_equal(brd_arena_strz(&a, brd_sub(s, 1, 1)), "b");
	assert_str(brd_arena_printf(&a, "%s/%d", "x", 5), "x/5");
	s = brd_arena_printf(&a, "%5000d", 7);
	assert_int_equal(s.n, 5000);
	assert_int_equal(strlen(s.p), 5000);
	assert_int_equal(s.p[4999], '7');
	brd_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_zeroed_and_aligned),
		cmocka_unit_test(a_reset_gives_zeroed_memory_again),
		cmocka_unit_test(a_large_piece_leaves_the_newest_block_in_use),
		cmocka_unit_test(a_large_block_is_not_kept),
		cmocka_unit_test(copies_and_prints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
