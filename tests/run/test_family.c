/* SPDX-License-Identifier: MIT */
/* Each member of the family comes to its end, gives what the rules say, and leaves nothing in
 * memory: neither when it waits nor when it has ended. */
#include "run/stage.h"

static void check_counts(struct stage *s)
{
	const struct expected *w = &s->family.want;
	struct bread_read r;

	if (w->fails)
		return;
	stage_same(s, s->ran_count, w->tools);
	stage_same(s, s->answered, w->questions);
	stage_all(s, &r, BREAD_READ_TREE, s->id);
	stage_same(s, r.count, w->runs);
	bread_read_fini(&r);
	stage_all(s, &r, BREAD_READ_TASK_RUNS, "");
	stage_same(s, r.count, w->tasks);
	bread_read_fini(&r);
}

static void play(unsigned seed, enum family_kind kind, enum humans humans)
{
	struct stage s;

	stage_open(&s, seed, kind, "humans %d", (int)humans);
	s.humans = humans;
	stage_start(&s);
	stage_until_ended(&s);
	stage_check_ended(&s);
	stage_check_output(&s);
	stage_check_tools(&s);
	check_counts(&s);
	stage_close(&s);
}

static void each_gives_what_the_rules_say(void **state)
{
	struct seeds seeds = seeds_of(1, 600);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		play(seed, FAMILY_QUIET, HUMANS_PATIENT);
		play(seed, FAMILY_HUMAN, HUMANS_PATIENT + seed % 3);
		play(seed, FAMILY_FAILING, HUMANS_PATIENT + seed % 3);
	}
}

static void what_waits_is_not_in_memory(void **state)
{
	struct seeds seeds = seeds_of(1, 200);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		struct stage s;

		stage_open(&s, seed, FAMILY_HUMAN, "put aside");
		s.humans = HUMANS_ABSENT;
		stage_start(&s);
		stage_until_quiet(&s);
		stage_must(&s, stage_suspended(&s));
		stage_check_memory(&s);
		stage_check_logs(&s);
		stage_close(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_gives_what_the_rules_say),
		cmocka_unit_test(what_waits_is_not_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
