/* SPDX-License-Identifier: MIT */
#include "test.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/str.h"
#include "base/uuid.h"

static void has_the_form_of_version_7(void **state)
{
	char id[UUID_LEN + 1];

	brd_uuid7(id);
	assert_int_equal(strlen(id), UUID_LEN);
	assert_int_equal(strspn(id, "0123456789abcdef-"), UUID_LEN);
	assert_int_equal(id[8], '-');
	assert_int_equal(id[13], '-');
	assert_int_equal(id[14], '7');
	assert_int_equal(id[18], '-');
	assert_non_null(strchr("89ab", id[19]));
	assert_int_equal(id[23], '-');
}

static void begins_with_the_time(void **state)
{
	char id[UUID_LEN + 1], want[32];
	int64_t later = brd_clock_wall() + 86400000;

	brd_clock_freeze(later);
	brd_uuid7(id);
	brd_clock_thaw();
	snprintf(want, sizeof(want), "%08llx-%04llx", (unsigned long long)later >> 16,
		(unsigned long long)later & 0xffff);
	assert_memory_equal(id, want, 13);
}

static void sorts_in_the_order_of_making(void **state)
{
	char last[UUID_LEN + 1] = "", id[UUID_LEN + 1];

	brd_clock_freeze(brd_clock_wall());
	for (int i = 0; i < 20000; i++) { /* more than a millisecond's counter holds */
		brd_uuid7(id);
		assert_true(strcmp(id, last) > 0);
		memcpy(last, id, sizeof(id));
	}
	brd_clock_freeze(1000); /* the clock goes back, the ids do not */
	brd_uuid7(id);
	assert_true(strcmp(id, last) > 0);
	brd_clock_thaw();
}

#define PER_THREAD 5000

static void *make_some(void *to)
{
	char(*ids)[UUID_LEN + 1] = to;

	for (int i = 0; i < PER_THREAD; i++)
		brd_uuid7(ids[i]);
	return NULL;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void threads_never_make_the_same(void **state)
{
	static char ids[4 * PER_THREAD][UUID_LEN + 1];
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, make_some, ids[i * PER_THREAD]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	qsort(ids, 4 * PER_THREAD, sizeof(ids[0]), by_text);
	for (int i = 1; i < 4 * PER_THREAD; i++)
		assert_string_not_equal(ids[i - 1], ids[i]);
}

static void ids_from_outside_are_checked(void **state)
{
	char text[130];

	memset(text, 'a', sizeof(text));
	assert_true(brd_id_ok(BRD_STR("Az09._:-")));
	assert_true(brd_id_ok((struct bread_str){ text, 128 }));
	assert_false(brd_id_ok((struct bread_str){ text, 129 }));
	assert_false(brd_id_ok(BRD_STR("")));
	assert_false(brd_id_ok(BRD_STR("a b")));
	assert_false(brd_id_ok(BRD_STR("a/b")));
	assert_false(brd_id_ok(BRD_STR("a\0b")));
	assert_false(brd_id_ok(BRD_STR("\xc3\xa9")));
}

static void random_bytes_fill_all(void **state)
{
	unsigned char a[1000] = { 0 }, b[1000] = { 0 };

	brd_random(a, sizeof(a));
	brd_random(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	assert_memory_not_equal(a + 984, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_the_form_of_version_7),
		cmocka_unit_test(sorts_in_the_order_of_making),
		cmocka_unit_test(begins_with_the_time),
		cmocka_unit_test(threads_never_make_the_same),
		cmocka_unit_test(ids_from_outside_are_checked),
		cmocka_unit_test(random_bytes_fill_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
