/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include "test.h"
#include "base/clock.h"
#include "base/err.h"
#include "loop/loop.h"

static struct loop *loop;
static struct bread_op op;
static int ends, cancels;
static enum bread_code when_cancelled; /* what on_cancel ends it with; OK: it does not */

static int setup(void **state)
{
	brd_clock_freeze(1000);
	ends = cancels = 0;
	when_cancelled = BREAD_E_CANCELED;
	return brd_loop_new(&loop, NULL);
}

static int teardown(void **state)
{
	brd_loop_free(loop);
	brd_clock_thaw();
	return 0;
}

static void on_end(struct bread_op *o)
{
	assert_ptr_equal(o, &op);
	assert_false(bread_op_running(o));
	ends++;
}

static void on_cancel(struct bread_op *o, void *by)
{
	cancels++;
	assert_ptr_equal(by, &cancels);
	if (when_cancelled != BREAD_OK)
		bread_op_end(o, when_cancelled, NULL);
}

static void begin(void)
{
	bread_op_init(&op, loop, on_end, NULL);
	bread_op_begin(&op, on_cancel, &cancels);
}

static void turns(void)
{
	while (brd_loop_turn(loop, 0))
		;
}

static void ends_once_and_later(void **state)
{
	begin();
	bread_op_end(&op, BREAD_OK, NULL);
	assert_int_equal(ends, 0);
	assert_true(bread_op_running(&op));
	turns();
	assert_int_equal(ends, 1);
	assert_int_equal(op.code, BREAD_OK);
}

static void error_is_copied(void **state)
{
	struct bread_err e = { 0 };

	begin();
	brd_fail_as(&e, BREAD_E_UPSTREAM, "refused", "test", "nobody listens");
	bread_op_end(&op, BREAD_E_UPSTREAM, &e);
	turns();
	assert_int_equal(op.err.code, BREAD_E_UPSTREAM);
	assert_string_equal(op.err.text, "nobody listens");
	assert_string_equal(op.err.name, "refused");
}

static void error_of_a_first_life_is_forgotten(void **state)
{
	struct bread_err e = { .name = "SLOW", .where = "test", .text = "no", .context = "{}" };

	begin();
	bread_op_end(&op, BREAD_E_UPSTREAM, &e);
	turns();
	begin();
	bread_op_end(&op, BREAD_E_UPSTREAM, NULL);
	turns();
	assert_string_equal(op.err.name, "");
	assert_string_equal(op.err.where, "");
	assert_string_equal(op.err.context, "");
}

static void error_without_text_gets_one(void **state)
{
	begin();
	bread_op_end(&op, BREAD_E_BUSY, NULL);
	turns();
	assert_true(op.err.text[0] != '\0');
}

static void cancel_asks_once(void **state)
{
	when_cancelled = BREAD_OK;
	begin();
	bread_op_cancel(&op);
	bread_op_cancel(&op);
	assert_int_equal(cancels, 1);
	bread_op_end(&op, BREAD_E_UPSTREAM, NULL);
	turns();
	assert_int_equal(op.code, BREAD_E_CANCELED);
	assert_int_equal(ends, 1);
}

static void cancelled_but_done_is_ok(void **state)
{
	when_cancelled = BREAD_OK;
	begin();
	bread_op_cancel(&op);
	bread_op_end(&op, BREAD_OK, NULL);
	turns();
	assert_int_equal(op.code, BREAD_OK);
}

static void cancel_after_end_is_nothing(void **state)
{
	begin();
	bread_op_end(&op, BREAD_E_UPSTREAM, NULL);
	bread_op_cancel(&op);
	assert_int_equal(cancels, 0);
	turns();
	assert_int_equal(op.code, BREAD_E_UPSTREAM);
	bread_op_cancel(&op);
	assert_int_equal(ends, 1);
}

static void cancel_before_begin_is_nothing(void **state)
{
	bread_op_init(&op, loop, on_end, NULL);
	bread_op_cancel(&op);
	bread_op_begin(&op, on_cancel, &cancels);
	assert_int_equal(cancels, 0);
	bread_op_end(&op, BREAD_OK, NULL);
	turns();
}

static void cancel_inside_cancel_ends_later(void **state)
{
	begin();
	bread_op_cancel(&op);
	assert_int_equal(ends, 0);
	turns();
	assert_int_equal(ends, 1);
	assert_int_equal(op.code, BREAD_E_CANCELED);
}

static void deadline_times_out(void **state)
{
	begin();
	bread_op_deadline(&op, 100);
	brd_clock_turn(99);
	turns();
	assert_int_equal(cancels, 0);
	brd_clock_turn(1);
	turns();
	assert_int_equal(cancels, 1);
	assert_int_equal(ends, 1);
	assert_int_equal(op.code, BREAD_E_TIMEOUT);
	assert_non_null(strstr(op.err.text, "deadline"));
}

static void end_takes_the_deadline_away(void **state)
{
	begin();
	bread_op_deadline(&op, 100);
	bread_op_end(&op, BREAD_OK, NULL);
	turns();
	brd_clock_turn(1000);
	turns();
	assert_int_equal(ends, 1);
	assert_int_equal(cancels, 0);
}

static void deadline_after_cancel_is_nothing(void **state)
{
	when_cancelled = BREAD_OK;
	begin();
	bread_op_deadline(&op, 100);
	bread_op_cancel(&op);
	brd_clock_turn(100);
	turns();
	assert_int_equal(cancels, 1);
	bread_op_end(&op, BREAD_E_UPSTREAM, NULL);
	turns();
	assert_int_equal(op.code, BREAD_E_CANCELED);
}

static void deadline_in_the_turn_of_the_end_is_nothing(void **state)
{
	begin();
	bread_op_deadline(&op, 100);
	bread_op_end(&op, BREAD_E_UPSTREAM, NULL);
	brd_clock_turn(100);
	turns();
	assert_int_equal(cancels, 0);
	assert_int_equal(op.code, BREAD_E_UPSTREAM);
}

static void deadline_that_passes_before_begin_comes_after_it(void **state)
{
	bread_op_init(&op, loop, on_end, NULL);
	bread_op_deadline(&op, 10);
	brd_clock_turn(10);
	turns();
	bread_op_begin(&op, on_cancel, &cancels);
	assert_int_equal(cancels, 0);
	turns();
	assert_int_equal(op.code, BREAD_E_TIMEOUT);
	assert_int_equal(ends, 1);
}

static void deadline_of_zero_takes_it_away(void **state)
{
	begin();
	bread_op_deadline(&op, 10);
	bread_op_deadline(&op, 0);
	brd_clock_turn(100);
	turns();
	assert_int_equal(cancels, 0);
	bread_op_end(&op, BREAD_OK, NULL);
	turns();
}

static void refused_before_begin(void **state)
{
	bread_op_init(&op, loop, on_end, NULL);
	bread_op_end(&op, BREAD_E_INVALID, NULL);
	turns();
	assert_int_equal(ends, 1);
	assert_int_equal(op.code, BREAD_E_INVALID);
}

static void start_again(struct bread_op *o)
{
	if (++ends < 5) {
		bread_op_init(o, loop, start_again, NULL);
		bread_op_begin(o, NULL, NULL);
		bread_op_end(o, BREAD_OK, NULL);
	}
}

static void may_be_used_again_in_its_end(void **state)
{
	bread_op_init(&op, loop, start_again, NULL);
	bread_op_begin(&op, NULL, NULL);
	bread_op_end(&op, BREAD_OK, NULL);
	turns();
	assert_int_equal(ends, 5);
}

static void *end_it(void *arg)
{
	bread_op_end_from(&op, BREAD_E_UPSTREAM, NULL);
	return NULL;
}

static void ends_from_another_thread(void **state)
{
	pthread_t t;

	begin();
	bread_op_deadline(&op, 1000);
	pthread_create(&t, NULL, end_it, NULL);
	while (!ends)
		brd_loop_turn(loop, -1);
	pthread_join(t, NULL);
	assert_int_equal(op.code, BREAD_E_UPSTREAM);
	assert_false(brd_timer_active((struct timer *)((char *)&op.priv + sizeof(struct list))));
}

static void loop_may_be_freed_in_the_turn_of_an_end_from_a_thread(void **state)
{
	for (int i = 0; i < 200; i++) {
		struct loop *l;
		struct loop *kept = loop;
		pthread_t t;

		ends = 0;
		assert_int_equal(brd_loop_new(&l, NULL), 0);
		loop = l;
		begin();
		loop = kept;
		pthread_create(&t, NULL, end_it, NULL);
		while (!ends)
			brd_loop_turn(l, 1);
		brd_loop_free(l);
		pthread_join(t, NULL);
	}
}

/* Ends from a thread against cancels from the loop: one end, one of two codes. */
static void ends_against_cancels(void **state)
{
	when_cancelled = BREAD_OK;
	for (int i = 0; i < 500; i++) {
		pthread_t t;

		ends = 0;
		begin();
		pthread_create(&t, NULL, end_it, NULL);
		bread_op_cancel(&op);
		while (!ends)
			brd_loop_turn(loop, -1);
		pthread_join(t, NULL);
		assert_int_equal(ends, 1);
		assert_true(op.code == BREAD_E_UPSTREAM || op.code == BREAD_E_CANCELED);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(ends_once_and_later),
		T(error_is_copied),
		T(error_of_a_first_life_is_forgotten),
		T(error_without_text_gets_one),
		T(cancel_asks_once),
		T(cancelled_but_done_is_ok),
		T(cancel_after_end_is_nothing),
		T(cancel_before_begin_is_nothing),
		T(cancel_inside_cancel_ends_later),
		T(deadline_times_out),
		T(end_takes_the_deadline_away),
		T(deadline_after_cancel_is_nothing),
		T(deadline_in_the_turn_of_the_end_is_nothing),
		T(deadline_that_passes_before_begin_comes_after_it),
		T(deadline_of_zero_takes_it_away),
		T(refused_before_begin),
		T(may_be_used_again_in_its_end),
		T(ends_from_another_thread),
		T(loop_may_be_freed_in_the_turn_of_an_end_from_a_thread),
		T(ends_against_cancels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
