/* SPDX-License-Identifier: MIT */
/* A cancel at each moment of each kind of run (contract C4, C10, C12). */
#include "run/faults.h"
#include "base/clock.h"

struct wish {
	struct bread_op op;
	enum bread_run_status status;
	bool done;
};

static void on_wish(struct bread_op *op)
{
	((struct wish *)op->arg)->done = true;
}

static void cancel(struct play *p, struct wish *w)
{
	memset(w, 0, sizeof(*w));
	bread_op_init(&w->op, bread_here(p->b), on_wish, w);
	bread_cancel(p->b, brd_str(p->id), &w->status, &w->op);
}

static void wait_for(struct play *p, const struct wish *w)
{
	for (int i = 0; !w->done; i++) {
		assert_true(i < 5000);
		play_turn(p);
	}
}

static void check_cancelled(struct play *p, const struct wish *w)
{
	struct bread_read r;
	enum bread_run_status status;

	wait_for(p, w);
	play_until_ended(p);
	check_ended(p);
	check_tools(p, false);
	status = play_row(p, &r).status;
	bread_read_fini(&r);
	if (w->op.code == BREAD_E_CONFLICT)
		assert_int_equal(w->status, status);
	else
		assert_int_equal(w->op.code, BREAD_OK);
}

/* true: there was nothing more to cancel. */
static bool cancel_after_turns(const struct scenario *sc, unsigned n)
{
	struct play p;
	struct wish w;
	bool late;

	play_open(&p, sc);
	play_start(&p);
	for (unsigned i = 0; i < n; i++)
		play_turn(&p);
	cancel(&p, &w);
	check_cancelled(&p, &w);
	late = w.op.code == BREAD_E_CONFLICT;
	play_close(&p);
	return late;
}

static void a_cancel_in_any_turn_ends_the_run(void **state)
{
	for (size_t i = 0; i < scenario_count; i++) {
		unsigned n = 0;

		while (!cancel_after_turns(&scenarios[i], n)) {
			assert_true(n < 500);
			n += n < 24 ? 1 : 5;
		}
		assert_true(n > 2);
	}
}

static void until_commit(struct play *p, unsigned n)
{
	for (int i = 0; i < 2000 && p->store.commits < n; i++) {
		if (p->told && p->status != BREAD_RUN_SUSPENDED)
			return; /* it has fewer */
		play_turn(p);
	}
}

/* The wish comes while the n-th commit is under way. */
static bool cancel_at_commit(const struct scenario *sc, unsigned n, unsigned seed)
{
	struct play p;
	struct wish w;
	bool reached;

	brd_clock_freeze(1700000000000);
	play_open(&p, sc);
	p.store.delay = 30;
	p.store.seed = seed;
	play_start(&p);
	until_commit(&p, n);
	reached = p.store.commits >= n;
	cancel(&p, &w);
	check_cancelled(&p, &w);
	brd_clock_thaw();
	play_close(&p);
	return reached;
}

static void a_cancel_at_any_commit_ends_the_run(void **state)
{
	for (size_t i = 0; i < scenario_count; i++)
		for (unsigned n = 1; n <= 12; n++)
			for (unsigned seed = 1; seed <= 3; seed++)
				if (!cancel_at_commit(&scenarios[i], n, seed))
					break;
}

/* The wish is written by another process, which sees nothing of this one but its rows. */
static void cancel_from_outside(const struct scenario *sc, unsigned n)
{
	struct play p;
	struct wish w = { .done = true };
	struct bread_rec rec = { .kind = BREAD_REC_RUN_CANCEL };

	brd_clock_freeze(1700000000000);
	play_open(&p, sc);
	p.store.delay = 30;
	p.store.seed = n;
	play_start(&p);
	until_commit(&p, n);
	rec.run.id = brd_str(p.id);
	faulty_commit(&p.store, &rec, 1, NULL, 0);
	check_cancelled(&p, &w);
	brd_clock_thaw();
	play_close(&p);
}

static void a_wish_in_the_row_ends_the_run(void **state)
{
	for (size_t i = 0; i < scenario_count; i++)
		for (unsigned n = 1; n <= 8; n++)
			cancel_from_outside(&scenarios[i], n);
}

/* ---- tools ---- */

static const struct scenario *tools(void)
{
	return &scenarios[1];
}

static void hold_three(struct play *p)
{
	play_open(p, tools());
	p->hold = true;
	play_start(p);
	for (int i = 0; i < 2000 && p->held_count < 3; i++)
		play_turn(p);
	assert_int_equal(p->held_count, 3);
}

static void tools_may_end_in_any_order(void **state)
{
	static const unsigned orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 },
		{ 2, 0, 1 }, { 2, 1, 0 } };

	for (size_t i = 0; i < 12; i++) {
		struct play p;

		hold_three(&p);
		p.hold = false;
		for (unsigned k = 0; k < 3; k++) {
			play_answer_held(&p, orders[i / 2][k]);
			if (i % 2) /* each in a turn of its own */
				for (int t = 0; t < 5; t++)
					play_turn(&p);
		}
		play_until_ended(&p);
		check_ended(&p);
		check_tools(&p, false);
		assert_int_equal(p.ran_count, 4);
		assert_int_equal(p.status, BREAD_RUN_COMPLETED);
		play_close(&p);
	}
}

static void a_late_result_adds_nothing(void **state)
{
	for (unsigned answered = 0; answered <= 3; answered++) {
		struct play p;
		struct wish w;

		hold_three(&p);
		for (unsigned k = 0; k < answered; k++)
			play_answer_held(&p, k);
		cancel(&p, &w);
		for (int t = 0; t < 5; t++)
			play_turn(&p);
		for (unsigned k = answered; k < 3; k++)
			play_answer_held(&p, k);
		p.held_count = 0;
		check_cancelled(&p, &w);
		assert_int_equal(p.status, BREAD_RUN_CANCELLED);
		assert_string_equal(p.error, "RUN_CANCELLED");
		play_close(&p);
	}
}

static void a_tool_that_does_not_answer_is_given_up(void **state)
{
	struct play p;
	struct wish w;
	int64_t began;

	hold_three(&p);
	began = brd_clock_mono();
	cancel(&p, &w);
	check_cancelled(&p, &w);
	assert_in_range(brd_clock_mono() - began, 0, 2500);
	play_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cancel_in_any_turn_ends_the_run),
		cmocka_unit_test(a_cancel_at_any_commit_ends_the_run),
		cmocka_unit_test(a_wish_in_the_row_ends_the_run),
		cmocka_unit_test(tools_may_end_in_any_order),
		cmocka_unit_test(a_late_result_adds_nothing),
		cmocka_unit_test(a_tool_that_does_not_answer_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
