/* SPDX-License-Identifier: MIT */
#include "test.h"
#include <stdio.h>
#include "base/map.h"
#include "base/str.h"

#define MANY 5000

static char names[MANY][16];

static int name_all(void **state)
{
	for (int i = 0; i < MANY; i++)
		snprintf(names[i], sizeof(names[i]), "k%d", i);
	return 0;
}

static void an_empty_map_has_nothing(void **state)
{
	struct map m = { 0 };
	struct map_slot *s;
	size_t at = 0;

	assert_null(brd_map_get(&m, BRD_STR("a")));
	assert_null(brd_map_del(&m, BRD_STR("a")));
	assert_false(brd_map_next(&m, &at, &s));
	brd_map_fini(&m);
}

static void put_gives_what_was_there(void **state)
{
	struct map m = { 0 };

	assert_null(brd_map_put(&m, BRD_STR("a"), names[0]));
	assert_ptr_equal(brd_map_put(&m, BRD_STR("a"), names[1]), names[0]);
	assert_ptr_equal(brd_map_get(&m, BRD_STR("a")), names[1]);
	assert_int_equal(m.count, 1);
	assert_ptr_equal(brd_map_del(&m, BRD_STR("a")), names[1]);
	assert_null(brd_map_get(&m, BRD_STR("a")));
	assert_int_equal(m.count, 0);
	brd_map_fini(&m);
}

static void the_empty_key_is_a_key(void **state)
{
	struct map m = { 0 };

	brd_map_put(&m, (struct bread_str){ NULL, 0 }, names[0]);
	assert_ptr_equal(brd_map_get(&m, BRD_STR("")), names[0]);
	assert_ptr_equal(brd_map_del(&m, (struct bread_str){ NULL, 0 }), names[0]);
	brd_map_fini(&m);
}

static void a_put_takes_over_the_new_key(void **state)
{
	struct map m = { 0 };
	char old[] = "key", new[] = "key";

	brd_map_put(&m, brd_str(old), names[0]);
	brd_map_put(&m, brd_str(new), names[1]);
	old[0] = 'x';
	assert_ptr_equal(brd_map_get(&m, BRD_STR("key")), names[1]);
	brd_map_fini(&m);
}

static void many_are_found_and_removed(void **state)
{
	struct map m = { 0 };

	for (int i = 0; i < MANY; i++)
		assert_null(brd_map_put(&m, brd_str(names[i]), names[i]));
	for (int i = 0; i < MANY; i += 2)
		assert_ptr_equal(brd_map_del(&m, brd_str(names[i])), names[i]);
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(brd_map_get(&m, brd_str(names[i])), i % 2 ? names[i] : NULL);
	assert_int_equal(m.count, MANY / 2);
	brd_map_fini(&m);
}

static void a_walk_meets_each_once(void **state)
{
	struct map m = { 0 };
	struct map_slot *s;
	char seen[MANY] = { 0 };
	size_t at = 0, n = 0;

	for (int i = 0; i < MANY; i++)
		brd_map_put(&m, brd_str(names[i]), &seen[i]);
	for (; brd_map_next(&m, &at, &s); n++)
		assert_int_equal(++*(char *)s->value, 1);
	assert_int_equal(n, MANY);
	brd_map_fini(&m);
}

static void coming_and_going_does_not_grow_it(void **state)
{
	struct map m = { 0 };

	for (int i = 0; i < MANY; i++) {
		brd_map_put(&m, brd_str(names[i]), names[i]);
		if (i >= 4)
			brd_map_del(&m, brd_str(names[i - 4]));
	}
	assert_int_equal(m.count, 4);
	assert_true(m.cap <= 32);
	brd_map_fini(&m);
}

static void keys_of_all_lengths(void **state)
{
	struct map m = { 0 };
	char text[64];

	memset(text, 'a', sizeof(text));
	for (size_t n = 0; n <= sizeof(text); n++)
		brd_map_put(&m, (struct bread_str){ text, n }, names[n]);
	for (size_t n = 0; n <= sizeof(text); n++)
		assert_ptr_equal(brd_map_get(&m, (struct bread_str){ text, n }), names[n]);
	brd_map_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(put_gives_what_was_there),
		cmocka_unit_test(the_empty_key_is_a_key),
		cmocka_unit_test(a_put_takes_over_the_new_key),
		cmocka_unit_test(many_are_found_and_removed),
		cmocka_unit_test(a_walk_meets_each_once),
		cmocka_unit_test(coming_and_going_does_not_grow_it),
		cmocka_unit_test(keys_of_all_lengths),
	};

	return cmocka_run_group_tests(tests, name_all, NULL);
}
