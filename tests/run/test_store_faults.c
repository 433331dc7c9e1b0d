/* SPDX-License-Identifier: MIT */
/* A store that fails at each commit and each read of each kind of run. */
#include "run/faults.h"
#include "base/clock.h"

static void open_frozen(struct play *p, const struct scenario *sc)
{
	brd_clock_freeze(1700000000000);
	play_open(p, sc);
}

static void close_thawed(struct play *p)
{
	brd_clock_thaw();
	play_close(p);
}

static void count(const struct scenario *sc, unsigned *ret_commits, unsigned *ret_reads)
{
	struct play p;

	open_frozen(&p, sc);
	play_start(&p);
	play_until_ended(&p);
	*ret_commits = p.store.commits;
	*ret_reads = p.store.reads;
	close_thawed(&p);
}

static void check_completed(struct play *p)
{
	play_until_ended(p);
	check_ended(p);
	check_tools(p, false);
	assert_int_equal(p->ran_count, p->sc->tools);
	assert_int_equal(play_interrupted(p), 0);
}

/* The run does not notice, and its caller is told once. */
static void commit_fails_for_a_while(const struct scenario *sc, unsigned n)
{
	struct play p;

	open_frozen(&p, sc);
	p.store.commit_at = n;
	p.store.commit_for = 2;
	play_start(&p);
	check_completed(&p);
	assert_int_equal(p.status, BREAD_RUN_COMPLETED);
	close_thawed(&p);
}

static void a_short_trouble_is_not_noticed(void **state)
{
	for (size_t i = 0; i < scenario_count; i++) {
		unsigned commits, reads;

		count(&scenarios[i], &commits, &reads);
		for (unsigned n = 1; n <= commits; n++)
			commit_fails_for_a_while(&scenarios[i], n);
	}
}

/* Its caller is told STORE_FAILED; when the store works again the run is taken up, or it never
 * was. */
static void commit_fails_for_ever(const struct scenario *sc, unsigned n)
{
	struct play p;
	struct bread_read r;
	bool known;

	open_frozen(&p, sc);
	p.store.commit_at = n;
	play_start(&p);
	for (int i = 0; i < 4000 && !p.error[0]; i++)
		play_turn(&p);
	/* files are stored on a worker: not all commits come in the same way each time */
	if (strcmp(p.error, "STORE_FAILED") && p.status != BREAD_RUN_SUSPENDED &&
		p.store.commits >= n)
		fail_msg("%s, commit %u: told %u times, status %d, %s", sc->name, n, p.told,
			p.status, p.error);
	p.store.commit_at = 0;
	play_row(&p, &r);
	known = r.count;
	bread_read_fini(&r);
	if (known) {
		play_until_ended(&p);
		check_ended(&p);
		check_tools(&p, false);
	} else {
		assert_true(n == 1);
	}
	close_thawed(&p);
}

static void a_store_that_is_gone_is_told(void **state)
{
	for (size_t i = 0; i < scenario_count; i++) {
		unsigned commits, reads;

		count(&scenarios[i], &commits, &reads);
		for (unsigned n = 1; n <= commits; n++)
			commit_fails_for_ever(&scenarios[i], n);
	}
}

/* What was done although the store said no is found: the run goes on from there. */
static void commit_lies(const struct scenario *sc, unsigned n)
{
	struct play p;

	open_frozen(&p, sc);
	p.store.commit_at = n;
	p.store.commit_for = 1;
	p.store.fault = FAULT_LIE;
	play_start(&p);
	play_until_ended(&p);
	check_ended(&p);
	check_tools(&p, false);
	close_thawed(&p);
}

static void a_commit_of_unknown_end_is_found_out(void **state)
{
	for (size_t i = 0; i < scenario_count; i++) {
		unsigned commits, reads;

		count(&scenarios[i], &commits, &reads);
		for (unsigned n = 1; n <= commits; n++)
			commit_lies(&scenarios[i], n);
	}
}

static void read_fails(const struct scenario *sc, unsigned n)
{
	struct play p;
	struct bread_read r;
	bool known;

	open_frozen(&p, sc);
	p.store.read_at = n;
	p.store.read_for = 1;
	play_start(&p);
	for (int i = 0; i < 500 && !p.told; i++)
		play_turn(&p);
	play_row(&p, &r);
	known = r.count;
	bread_read_fini(&r);
	if (known) {
		play_until_ended(&p);
		check_ended(&p);
	} else {
		assert_string_equal(p.error, "STORE_FAILED");
	}
	close_thawed(&p);
}

static void a_read_that_fails_loses_nothing(void **state)
{
	for (size_t i = 0; i < scenario_count; i++) {
		unsigned commits, reads;

		count(&scenarios[i], &commits, &reads);
		for (unsigned n = 1; n <= reads; n++)
			read_fails(&scenarios[i], n);
	}
}

/* Ends that come late and out of order change nothing. */
static void a_slow_store_changes_nothing(void **state)
{
	for (size_t i = 0; i < scenario_count; i++)
		for (unsigned seed = 1; seed <= 20; seed++) {
			struct play p;

			open_frozen(&p, &scenarios[i]);
			p.store.delay = 40;
			p.store.seed = seed;
			play_start(&p);
			check_completed(&p);
			assert_int_equal(p.status, BREAD_RUN_COMPLETED);
			close_thawed(&p);
		}
}

struct wish {
	struct bread_op op;
	unsigned done;
	enum bread_code code;
};

static void on_wish(struct bread_op *op)
{
	struct wish *w = op->arg;

	w->done++;
	w->code = op->code;
}

static void a_session_whose_runs_cannot_be_read_stays(void **state)
{
	struct bread_read r = { 0 };
	struct wish w = { 0 };
	struct play p;

	open_frozen(&p, &scenarios[0]);
	play_start(&p);
	play_until_ended(&p);
	p.store.read_at = p.store.reads + 1;
	p.store.read_for = 1;
	bread_op_init(&w.op, bread_here(p.b), on_wish, &w);
	bread_session_delete(p.b, play_row(&p, &r).session_id, &w.op);
	while (!w.done)
		play_turn(&p);
	assert_int_equal(w.code, BREAD_E_UPSTREAM);
	bread_read_fini(&r);
	check_messages(&p);
	assert_int_equal(play_row(&p, &r).status, BREAD_RUN_COMPLETED);
	bread_read_fini(&r);
	close_thawed(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_trouble_is_not_noticed),
		cmocka_unit_test(a_store_that_is_gone_is_told),
		cmocka_unit_test(a_commit_of_unknown_end_is_found_out),
		cmocka_unit_test(a_read_that_fails_loses_nothing),
		cmocka_unit_test(a_slow_store_changes_nothing),
		cmocka_unit_test(a_session_whose_runs_cannot_be_read_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
