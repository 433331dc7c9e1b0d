/* SPDX-License-Identifier: MIT */
#include "test.h"
#include "base/clock.h"
#include "loop/loop.h"

#define MANY 500

struct probe {
	struct timer t;
	int id;
	struct probe *other;
};

static struct loop *loop;
static int fired[4 * MANY], fires;

static int setup(void **state)
{
	brd_clock_freeze(0);
	fires = 0;
	return brd_loop_new(&loop, NULL);
}

static int teardown(void **state)
{
	brd_loop_free(loop);
	brd_clock_thaw();
	return 0;
}

static void turns(void)
{
	while (brd_loop_turn(loop, 0))
		;
}

static void note(struct timer *t)
{
	assert_false(brd_timer_active(t));
	fired[fires++] = brd_list_of(t, struct probe, t)->id;
}

static void fires_when_the_clock_is_turned(void **state)
{
	struct probe p = { .id = 7 };

	brd_timer_start(&p.t, loop, 60000, note);
	assert_true(brd_timer_active(&p.t));
	turns();
	assert_int_equal(fires, 0);
	assert_int_equal(brd_loop_next_timer(loop), 60000);
	brd_clock_turn(59999);
	turns();
	assert_int_equal(fires, 0);
	brd_clock_turn(1);
	turns();
	assert_int_equal(fires, 1);
	assert_int_equal(brd_loop_next_timer(loop), -1);
}

static void equal_dues_fire_in_order_of_starting(void **state)
{
	static struct probe p[MANY];

	for (int i = 0; i < MANY; i++) {
		p[i].id = i;
		brd_timer_start(&p[i].t, loop, 5, note);
	}
	brd_clock_turn(5);
	turns();
	assert_int_equal(fires, MANY);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(fired[i], i);
}

/* Starts, moves and stops at random, then checks the order of what is left. */
static void heap_keeps_its_order(void **state)
{
	static struct probe p[MANY];
	unsigned r = 12345, active = 0;

	for (int i = 0; i < 20 * MANY; i++) {
		struct probe *x = &p[(r = r * 1103515245 + 12345) / 65536 % MANY];

		x->id = (int)((r / 7) % 1000);
		if (r % 3 == 0)
			brd_timer_stop(&x->t);
		else
			brd_timer_start(&x->t, loop, x->id, note);
	}
	for (int i = 0; i < MANY; i++)
		active += brd_timer_active(&p[i].t);
	for (int i = 0; i < MANY; i++)
		if (brd_timer_active(&p[i].t))
			p[i].id = (int)p[i].t.due;
	brd_clock_turn(1000);
	turns();
	assert_int_equal(fires, active);
	for (int i = 1; i < fires; i++)
		assert_true(fired[i - 1] <= fired[i]);
}

static void stopped_does_not_fire(void **state)
{
	struct probe p = { .id = 1 };

	brd_timer_stop(&p.t);
	brd_timer_start(&p.t, loop, 1, note);
	brd_timer_stop(&p.t);
	brd_timer_stop(&p.t);
	brd_clock_turn(10);
	turns();
	assert_int_equal(fires, 0);
}

static void stop_other(struct timer *t)
{
	note(t);
	brd_timer_stop(&brd_list_of(t, struct probe, t)->other->t);
}

static void one_may_stop_another_that_is_due(void **state)
{
	struct probe a = { .id = 1 }, b = { .id = 2 };

	a.other = &b;
	brd_timer_start(&a.t, loop, 1, stop_other);
	brd_timer_start(&b.t, loop, 1, note);
	brd_clock_turn(1);
	turns();
	assert_int_equal(fires, 1);
	assert_int_equal(fired[0], 1);
}

static void again(struct timer *t)
{
	note(t);
	if (fires < 10)
		brd_timer_start(t, loop, 0, again);
}

static void restarted_at_zero_fires_in_a_later_pass(void **state)
{
	struct probe p = { .id = 1 };

	brd_timer_start(&p.t, loop, 0, again);
	assert_int_equal(fires, 0);
	brd_loop_turn(loop, 0);
	assert_true(fires >= 1 && fires <= 2);
	turns();
	assert_int_equal(fires, 10);
}

static void moving_moves(void **state)
{
	struct probe p = { .id = 1 };

	brd_timer_start(&p.t, loop, 10, note);
	brd_timer_start(&p.t, loop, 100, note);
	brd_clock_turn(50);
	turns();
	assert_int_equal(fires, 0);
	brd_timer_start(&p.t, loop, 10, note);
	brd_clock_turn(10);
	turns();
	assert_int_equal(fires, 1);
}

static void endless_wait_does_not_overflow(void **state)
{
	struct probe p = { .id = 1 };

	brd_timer_start(&p.t, loop, INT64_MAX, note);
	turns();
	assert_true(brd_loop_next_timer(loop) > (int64_t)1 << 40);
	brd_timer_stop(&p.t);
}

static void real_time_passes_too(void **state)
{
	struct probe p = { .id = 1 };
	int64_t t0;

	brd_clock_thaw();
	t0 = brd_clock_mono();
	brd_timer_start(&p.t, loop, 20, note);
	while (!fires)
		brd_loop_turn(loop, -1);
	assert_true(brd_clock_mono() - t0 >= 20);
	brd_clock_freeze(0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(fires_when_the_clock_is_turned),
		T(equal_dues_fire_in_order_of_starting),
		T(heap_keeps_its_order),
		T(stopped_does_not_fire),
		T(one_may_stop_another_that_is_due),
		T(restarted_at_zero_fires_in_a_later_pass),
		T(moving_moves),
		T(endless_wait_does_not_overflow),
		T(real_time_passes_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
