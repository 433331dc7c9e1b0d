/* SPDX-License-Identifier: MIT */
#include "test.h"
#include <stdlib.h>
#include <time.h>
#include "base/clock.h"

static void the_wall_clock_is_the_systems(void **state)
{
	assert_true(llabs((long long)brd_clock_wall() - (long long)time(NULL) * 1000) < 5000);
	assert_false(brd_clock_frozen());
}

static void a_frozen_clock_moves_by_hand(void **state)
{
	int64_t mono;

	brd_clock_freeze(1000);
	mono = brd_clock_mono_us();
	assert_true(brd_clock_frozen());
	assert_true(brd_clock_wall() == 1000);
	brd_clock_turn(250);
	assert_true(brd_clock_wall() == 1250 && brd_clock_wall_us() == 1250000);
	assert_true(brd_clock_mono_us() == mono + 250000);
	brd_clock_thaw();
}

static void mono_never_goes_back(void **state)
{
	int64_t before = brd_clock_mono_us(), turned;

	brd_clock_freeze(0);
	assert_true(brd_clock_mono_us() >= before);
	brd_clock_turn(3600000);
	turned = brd_clock_mono_us();
	brd_clock_thaw();
	assert_true(brd_clock_mono_us() >= turned);
	brd_clock_thaw(); /* twice does nothing */
	assert_true(brd_clock_mono_us() >= turned);
	assert_true(brd_clock_wall() > 1000000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wall_clock_is_the_systems),
		cmocka_unit_test(a_frozen_clock_moves_by_hand),
		cmocka_unit_test(mono_never_goes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
