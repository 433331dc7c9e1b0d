/* SPDX-License-Identifier: MIT */
#include "test.h"
#include <stdlib.h>
#include "base/buf.h"
#include "base/str.h"

static void starts_empty_and_terminated(void **state)
{
	struct buf b, zeroed = { 0 };

	brd_buf_init(&b, 10);
	assert_string_equal(b.data, "");
	brd_buf_fini(&b);
	brd_buf_fini(&zeroed);
}

static void adds_all_kinds(void **state)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_add(&b, BRD_STR("a"));
	brd_buf_add(&b, (struct bread_str){ NULL, 0 });
	brd_buf_addz(&b, "bc");
	brd_buf_addc(&b, ' ');
	brd_buf_addu(&b, UINT64_MAX);
	brd_buf_addc(&b, ' ');
	brd_buf_addi(&b, INT64_MIN);
	brd_buf_addi(&b, 0);
	brd_buf_addf(&b, " %s=%d", "x", 1);
	assert_str(brd_buf_str(&b), "abc 18446744073709551615 -92233720368547758080 x=1");
	assert_int_equal(b.data[b.len], 0);
	brd_buf_fini(&b);
}

static void formats_what_is_long(void **state)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addf(&b, "%5000d!", 7);
	assert_int_equal(b.len, 5001);
	assert_int_equal(b.data[5000], '!');
	assert_int_equal(b.data[5001], 0);
	brd_buf_fini(&b);
}

static void keeps_its_limit_and_remembers(void **state)
{
	struct buf b;

	brd_buf_init(&b, 4);
	brd_buf_addz(&b, "abc");
	brd_buf_addz(&b, "de");
	assert_true(b.bad);
	brd_buf_addc(&b, 'd'); /* would fit */
	assert_str(brd_buf_str(&b), "abc");
	brd_buf_clear(&b);
	assert_false(b.bad);
	brd_buf_addz(&b, "abcd");
	assert_false(b.bad);
	brd_buf_addf(&b, "%d", 1);
	assert_true(b.bad);
	assert_null(brd_buf_take(&b, NULL));
	assert_int_equal(b.len, 0);
	brd_buf_fini(&b);
}

static void drops_from_the_front(void **state)
{
	struct buf b;

	brd_buf_init(&b, 10);
	brd_buf_drop(&b, 0);
	brd_buf_addz(&b, "abcdef");
	brd_buf_drop(&b, 2);
	assert_string_equal(b.data, "cdef");
	brd_buf_drop(&b, 4);
	assert_string_equal(b.data, "");
	brd_buf_addz(&b, "0123456789"); /* the room is there again */
	assert_false(b.bad);
	brd_buf_fini(&b);
}

static void gives_its_bytes_away(void **state)
{
	struct buf b;
	size_t n = 9;
	char *p;

	brd_buf_init(&b, 10);
	brd_buf_addz(&b, "abc");
	p = brd_buf_take(&b, &n);
	assert_string_equal(p, "abc");
	assert_int_equal(n, 3);
	assert_string_equal(b.data, "");
	free(p);
	p = brd_buf_take(&b, &n); /* an empty one, too */
	assert_string_equal(p, "");
	free(p);
	brd_buf_fini(&b);
}

static void grows_without_losing(void **state)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (int i = 0; i < 100000; i++)
		brd_buf_addc(&b, (char)('a' + i % 26));
	assert_int_equal(b.len, 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	brd_buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_empty_and_terminated),
		cmocka_unit_test(adds_all_kinds),
		cmocka_unit_test(formats_what_is_long),
		cmocka_unit_test(keeps_its_limit_and_remembers),
		cmocka_unit_test(drops_from_the_front),
		cmocka_unit_test(gives_its_bytes_away),
		cmocka_unit_test(grows_without_losing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
