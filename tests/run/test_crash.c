/* SPDX-License-Identifier: MIT */
/* A crash after each commit of each kind of run: another instance takes it up and
 * brings it to its end (contract C1, C6, C11, C12). */
#include "run/faults.h"
#include "base/clock.h"

static unsigned commits_of(const struct scenario *sc)
{
	struct play p;
	unsigned n;

	play_open(&p, sc);
	play_start(&p);
	play_until_ended(&p);
	n = p.store.true_commits;
	assert_int_equal(p.status, BREAD_RUN_COMPLETED);
	assert_int_equal(p.ran_count, sc->tools);
	assert_int_equal(p.answered, sc->questions);
	check_ended(&p);
	check_tools(&p, false);
	play_close(&p);
	return n;
}

struct sums {
	unsigned interrupted, ran_again;
};

static void add_up(struct sums *sum, struct play *p)
{
	unsigned interrupted = play_interrupted(p);

	sum->interrupted += interrupted;
	if (p->idempotent)
		assert_int_equal(interrupted, 0);
	else
		assert_true(p->ran_count <= p->sc->tools);
	sum->ran_again += p->ran_count > p->sc->tools;
}

static void crash_after(const struct scenario *sc, unsigned n, bool idempotent, struct sums *sum)
{
	struct play p;

	play_open(&p, sc);
	p.idempotent = idempotent;
	p.store.freeze_after = n;
	play_start(&p);
	for (int i = 0; i < 2000 && !p.store.frozen; i++)
		play_turn(&p);
	play_kill(&p);
	p.told = 0;
	p.b = play_instance(&p);
	play_until_ended(&p);
	check_ended(&p);
	check_tools(&p, true);
	add_up(sum, &p);
	play_close(&p);
}

static void a_crash_after_any_commit_is_survived(void **state)
{
	struct sums sum = { 0 };

	for (size_t i = 0; i < scenario_count; i++) {
		unsigned n = commits_of(&scenarios[i]);

		for (unsigned k = 1; k < n; k++) {
			crash_after(&scenarios[i], k, false, &sum);
			crash_after(&scenarios[i], k, true, &sum);
		}
	}
	assert_true(sum.interrupted > 0);
	assert_true(sum.ran_again > 0);
}

/* ---- a cancel ---- */

static void on_wish(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

/* While a tool holds the run up, which is told to end and cannot yet. */
static void a_cancel_that_was_confirmed_is_not_forgotten(void **state)
{
	enum bread_run_status status;
	struct bread_op op;
	bool done = false;
	struct bread_read r;
	struct play p;

	play_open(&p, &scenarios[1]);
	p.hold = true;
	play_start(&p);
	while (!p.held_count)
		play_turn(&p);
	bread_op_init(&op, bread_here(p.b), on_wish, &done);
	bread_cancel(p.b, brd_str(p.id), &status, &op);
	while (!done)
		play_turn(&p);
	assert_int_equal(op.code, BREAD_OK);
	play_kill(&p);
	p.told = 0;
	p.b = play_instance(&p);
	play_until_ended(&p);
	assert_int_equal(play_row(&p, &r).status, BREAD_RUN_CANCELLED);
	bread_read_fini(&r);
	play_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crash_after_any_commit_is_survived),
		cmocka_unit_test(a_cancel_that_was_confirmed_is_not_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
