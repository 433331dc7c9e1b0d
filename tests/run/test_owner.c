/* SPDX-License-Identifier: MIT */
/* Another owner takes the run: the old one writes nothing more and says nothing
 * more (contract C1, C11). */
#include "run/faults.h"
#include "base/clock.h"
#include "instance/internal.h"

static size_t rows(struct play *p, enum bread_read_kind kind, const char *key)
{
	struct bread_read r = { .kind = kind, .key = brd_str(key), .limit = 100000 };
	size_t n;

	faulty_read(&p->store, &r);
	n = r.count;
	bread_read_fini(&r);
	return n;
}

/* The thief comes just before the n-th commit. false: there were fewer. */
static bool steal_before(const struct scenario *sc, unsigned n)
{
	struct play p;
	struct bread_read r;
	struct bread_stats stats;
	size_t crumbs, messages;
	bool stolen;

	brd_clock_freeze(1700000000000);
	play_open(&p, sc);
	p.store.commit_at = n;
	p.store.commit_for = 1;
	p.store.fault = FAULT_STEAL;
	play_start(&p);
	for (int i = 0; i < 4000 && (p.store.commits < n || brd_active_count(p.b)); i++) {
		play_turn(&p);
		if (p.told && p.status == BREAD_RUN_COMPLETED)
			break;
	}
	stolen = brd_str_is(play_row(&p, &r).owner, "thief");
	bread_read_fini(&r);
	if (stolen && p.told && p.status != BREAD_RUN_SUSPENDED)
		assert_int_equal(p.status, BREAD_RUN_RUNNING);
	if (stolen) {
		crumbs = rows(&p, BREAD_READ_CRUMBS, p.id);
		messages = rows(&p, BREAD_READ_MESSAGES, "conv");
		for (int i = 0; i < 200;
			i++) /* one second; the thief's row is there, but nobody of that name */
			bread_turn(p.b, 0);
		assert_int_equal(rows(&p, BREAD_READ_CRUMBS, p.id), crumbs);
		assert_int_equal(rows(&p, BREAD_READ_MESSAGES, "conv"), messages);
		assert_null(strstr(p.seen.types.data, "agent:run:end"));
		assert_null(strstr(p.seen.types.data, "agent:error"));
		assert_int_equal(brd_active_count(p.b), 0);
		bread_stats(p.b, &stats);
		assert_int_equal(stats.runs_active, 0);
		play_until_ended(&p); /* the thief is nobody: it is taken up again */
		check_ended(&p);
	}
	brd_clock_thaw();
	play_close(&p);
	return stolen;
}

static void an_owner_that_lost_its_run_falls_silent(void **state)
{
	unsigned stolen = 0;

	for (size_t i = 0; i < scenario_count; i++)
		for (unsigned n = 2; n < 14; n++)
			stolen += steal_before(&scenarios[i], n);
	assert_true(stolen > 10);
}

/* Two instances over one store: what one runs the other leaves alone. */
static void a_run_of_a_living_owner_is_left_alone(void **state)
{
	struct play p;
	struct bread *other;
	struct bread_read r;

	play_open(&p, &scenarios[1]);
	p.hold = true;
	play_start(&p);
	for (int i = 0; i < 2000 && p.held_count < 3; i++)
		play_turn(&p);
	other = play_instance(&p);
	fixture_turn(other, 50);
	assert_int_equal(brd_active_count(other), 0);
	assert_int_equal(play_row(&p, &r).epoch, 1);
	bread_read_fini(&r);
	p.hold = false;
	for (unsigned i = 0; i < 3; i++)
		play_answer_held(&p, i);
	play_until_ended(&p);
	check_ended(&p);
	bread_free(other);
	play_close(&p);
}

/* Drained, a run stays in the store and goes on with the next instance; its caller knows. */
static void a_drained_run_goes_on_elsewhere(void **state)
{
	for (unsigned turns = 0; turns < 25; turns++) {
		struct play p;
		struct bread_read r;
		bool known;

		play_open(&p, &scenarios[1]);
		play_start(&p);
		for (unsigned i = 0; i < turns; i++)
			play_turn(&p);
		bread_stop(p.b, 0);
		assert_int_equal(p.told, 1);
		play_row(&p, &r);
		known = r.count;
		bread_read_fini(&r);
		if (!known) {
			assert_string_equal(p.error, "DRAINING");
		} else if (p.status != BREAD_RUN_COMPLETED) {
			assert_int_equal(p.status, BREAD_RUN_RUNNING);
			bread_free(p.b);
			p.b = play_instance(&p);
			play_until_ended(&p);
		}
		if (known) {
			check_ended(&p);
			check_tools(&p, false);
		}
		play_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_owner_that_lost_its_run_falls_silent),
		cmocka_unit_test(a_run_of_a_living_owner_is_left_alone),
		cmocka_unit_test(a_drained_run_goes_on_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
