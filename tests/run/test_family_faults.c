/* SPDX-License-Identifier: MIT */
/* A store that fails at each commit and each read of each member of the family (contract C1, C11).
 */
#include "run/stage.h"

#define GONE_MS 10000

struct counts {
	unsigned commits, reads;
};

static struct counts count(unsigned seed, enum family_kind kind)
{
	struct stage s;
	struct counts n;

	stage_open(&s, seed, kind, "whole");
	stage_start(&s);
	stage_until_ended(&s);
	n = (struct counts){ s.store.commits, s.store.reads };
	stage_close(&s);
	return n;
}

static void check_whole(struct stage *s)
{
	stage_until_ended(s);
	stage_check_ended(s);
	stage_check_tools(s);
	stage_check_output(s);
}

/* The n-th commit and the one after it fail: nobody notices. */
static void commit_fails_for_a_while(unsigned seed, enum family_kind kind, unsigned n)
{
	struct stage s;

	stage_open(&s, seed, kind, "commit %u fails for a while", n);
	s.humans = HUMANS_PATIENT + seed % 3;
	s.store.commit_at = n;
	s.store.commit_for = 2;
	stage_start(&s);
	check_whole(&s);
	stage_close(&s);
}

/* It was done although the store said no. */
static void commit_lies(unsigned seed, enum family_kind kind, unsigned n)
{
	struct stage s;

	stage_open(&s, seed, kind, "commit %u lies", n);
	s.humans = HUMANS_PATIENT + seed % 3;
	s.store.commit_at = n;
	s.store.commit_for = 1;
	s.store.fault = FAULT_LIE;
	stage_start(&s);
	stage_until_ended(&s);
	stage_check_ended(&s);
	stage_check_tools(&s);
	stage_close(&s);
}

static bool known(struct stage *s)
{
	struct bread_read r = { .kind = BREAD_READ_RUN, .key = brd_str(s->id) };
	bool there;

	faulty_read(&s->store, &r);
	there = r.count;
	bread_read_fini(&r);
	return there;
}

/* It is out of order for longer than anybody tries again: what is on record is taken up, the rest
 * never was. */
static void store_is_gone(unsigned seed, enum family_kind kind, unsigned n)
{
	struct stage s;
	int64_t began;

	stage_open(&s, seed, kind, "no commit from %u on, for long", n);
	s.humans = HUMANS_PATIENT;
	s.store.commit_at = n;
	stage_start(&s);
	began = brd_clock_mono();
	while (brd_clock_mono() - began < GONE_MS)
		if (!stage_turn(&s))
			brd_clock_turn(20);
	s.store.commit_at = 0;
	if (known(&s)) {
		stage_until_ended(&s);
		stage_check_ended(&s);
		stage_check_tools(&s);
	} else {
		stage_must(&s, n == 1);
		stage_must(&s, !strcmp(s.error, "STORE_FAILED"));
		stage_check_memory(&s);
	}
	stage_close(&s);
}

static void read_fails(unsigned seed, enum family_kind kind, unsigned n)
{
	struct stage s;

	stage_open(&s, seed, kind, "read %u fails", n);
	s.humans = HUMANS_PATIENT + seed % 3;
	s.store.read_at = n;
	s.store.read_for = 1;
	stage_start(&s);
	for (int i = 0; i < 500 && !s.told; i++)
		stage_turn(&s);
	if (known(&s))
		check_whole(&s);
	else
		stage_must(&s, !strcmp(s.error, "STORE_FAILED"));
	stage_close(&s);
}

typedef void fault(unsigned seed, enum family_kind kind, unsigned n);

static void at_each(struct seeds seeds, fault *f, bool reads, unsigned most)
{
	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		enum family_kind kind = seed % 4 ? FAMILY_HUMAN : (enum family_kind)(seed / 4 % 3);
		struct counts n = count(seed, kind);
		unsigned all = reads ? n.reads : n.commits, stride = 1 + all / most;

		for (unsigned k = 1 + seed % stride; k <= all; k += stride)
			f(seed, kind, k);
	}
}

static void a_short_trouble_is_not_noticed(void **state)
{
	at_each(seeds_of(7000, 100), commit_fails_for_a_while, false, 15);
}

static void a_commit_of_unknown_end_is_found_out(void **state)
{
	at_each(seeds_of(7200, 100), commit_lies, false, 15);
}

static void a_store_that_is_gone_for_a_while_loses_nothing(void **state)
{
	at_each(seeds_of(7400, 40), store_is_gone, false, 8);
}

static void a_read_that_fails_loses_nothing(void **state)
{
	at_each(seeds_of(7600, 100), read_fails, true, 15);
}

/* Ends that come late and out of order change nothing. */
static void a_slow_store_changes_nothing(void **state)
{
	struct seeds seeds = seeds_of(7800, 150);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		struct stage s;

		stage_open(&s, seed, (enum family_kind)(seed % 3), "a slow store");
		s.humans = HUMANS_PATIENT + seed % 3;
		s.store.delay = 40;
		s.store.seed = seed;
		stage_start(&s);
		check_whole(&s);
		stage_close(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_trouble_is_not_noticed),
		cmocka_unit_test(a_commit_of_unknown_end_is_found_out),
		cmocka_unit_test(a_store_that_is_gone_for_a_while_loses_nothing),
		cmocka_unit_test(a_read_that_fails_loses_nothing),
		cmocka_unit_test(a_slow_store_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
