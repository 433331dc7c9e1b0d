/* SPDX-License-Identifier: MIT */
/* A crash after each commit of each member of the family: another instance takes it up, and it
 * comes to the same end (contract C1, C6, C11, C16). */
#include "run/stage.h"

static unsigned commits_of(unsigned seed, enum family_kind kind)
{
	struct stage s;
	unsigned n;

	stage_open(&s, seed, kind, "whole");
	stage_start(&s);
	stage_until_ended(&s);
	n = s.store.true_commits;
	stage_close(&s);
	return n;
}

/* A tool that is not idempotent was running: its model was told so. */
static bool was_interrupted(struct stage *s)
{
	struct bread_read tree;
	bool found = false;

	stage_all(s, &tree, BREAD_READ_TREE, s->id);
	for (size_t i = 0; i < tree.count && !found; i++) {
		struct bread_read r = { .kind = BREAD_READ_MESSAGES,
			.key = tree.runs[i].session_id };

		if (!r.key.n)
			continue;
		faulty_read(&s->store, &r);
		for (size_t k = 0; k < r.count && !found; k++)
			found = brd_str_find(r.messages[k].content,
					BRD_STR("the server stopped while this tool")) >= 0;
		bread_read_fini(&r);
	}
	bread_read_fini(&tree);
	return found;
}

static void crash_after(unsigned seed, enum family_kind kind, unsigned first, unsigned second)
{
	struct stage s;

	stage_open(&s, seed, kind, "crash after commit %u, then after %u more", first, second);
	s.idempotent = (first + seed) % 2;
	s.humans = HUMANS_PATIENT + (seed + first) % 3;
	s.store.freeze_after = first;
	stage_start(&s);
	for (int i = 0; i < 3000 && !s.store.frozen; i++)
		stage_turn(&s);
	stage_kill(&s);
	s.store.freeze_after = second;
	s.b[0] = stage_instance(&s);
	if (second) {
		for (int i = 0; i < 3000 && !s.store.frozen && !stage_ended(&s); i++)
			stage_turn(&s);
		stage_reborn(&s);
	}
	stage_until_ended(&s);
	stage_check_ended(&s);
	stage_check_tools(&s);
	if (s.idempotent || !was_interrupted(&s))
		stage_check_output(&s);
	stage_close(&s);
}

static void crashes(struct seeds seeds, enum family_kind kind, unsigned most, bool again)
{
	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		unsigned n = commits_of(seed, kind), stride = 1 + n / most;

		for (unsigned k = 1 + seed % stride; k < n; k += stride)
			crash_after(seed, kind, k, again ? 1 + (seed + k) % 7 : 0);
	}
}

static void a_crash_after_any_commit_is_survived(void **state)
{
	crashes(seeds_of(5000, 100), FAMILY_QUIET, 30, false);
	crashes(seeds_of(5000, 160), FAMILY_HUMAN, 30, false);
	crashes(seeds_of(5000, 60), FAMILY_FAILING, 20, false);
}

static void two_crashes_are_survived(void **state)
{
	crashes(seeds_of(6000, 150), FAMILY_HUMAN, 10, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crash_after_any_commit_is_survived),
		cmocka_unit_test(two_crashes_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
