/* SPDX-License-Identifier: MIT */
/* A cancel at each moment of each member of the family: it ends soon, and nothing is left open
 * (contract C4, C10, C12, C17). */
#include "run/stage.h"
#include "base/uuid.h"

#define SOON_MS 2500

struct wish {
	struct bread_op op;
	enum bread_run_status status;
	bool done;
};

static void on_wish(struct bread_op *op)
{
	((struct wish *)op->arg)->done = true;
}

static void cancel(struct bread *b, const char *id, struct wish *w)
{
	memset(w, 0, sizeof(*w));
	bread_op_init(&w->op, bread_here(b), on_wish, w);
	bread_cancel(b, brd_str(id), &w->status, &w->op);
}

static enum bread_run_status status_of(struct stage *s)
{
	struct bread_read r = { .kind = BREAD_READ_RUN, .key = brd_str(s->id) };
	enum bread_run_status status;

	faulty_read(&s->store, &r);
	stage_must(s, r.count);
	status = r.runs->status;
	bread_read_fini(&r);
	return status;
}

static void check_cancelled(struct stage *s, struct wish *w, int64_t soon)
{
	int64_t began = brd_clock_mono();

	s->humans = HUMANS_ABSENT;
	while (stage_turn(s) || !w->done || !stage_ended(s))
		if (brd_clock_mono() - began > soon)
			stage_fail(s, "it did not end soon");
	stage_check_ended(s);
	stage_check_tools(s);
	if (w->op.code == BREAD_E_CONFLICT)
		stage_same(s, w->status, status_of(s));
	else
		stage_same(s, w->op.code, BREAD_OK);
	if (status_of(s) != BREAD_RUN_CANCELLED)
		stage_check_output(s);
}

/* true: there was nothing more to cancel. */
static bool cancel_after(unsigned seed, enum family_kind kind, unsigned turns)
{
	struct stage s;
	struct wish w;
	bool late;

	stage_open(&s, seed, kind, "cancelled after %u turns", turns);
	s.humans = HUMANS_PATIENT + seed % 3;
	stage_start(&s);
	for (unsigned i = 0; i < turns; i++)
		stage_turn(&s);
	cancel(s.b[0], s.id, &w);
	check_cancelled(&s, &w, SOON_MS);
	late = w.op.code == BREAD_E_CONFLICT;
	stage_close(&s);
	return late;
}

static void a_cancel_in_any_turn_ends_all_of_it(void **state)
{
	struct seeds seeds = seeds_of(1000, 200);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		enum family_kind kind = (enum family_kind)(seed % 3);
		unsigned stride = 1 + seed % 4;

		for (unsigned n = seed % stride; !cancel_after(seed, kind, n); n += stride)
			assert_true(n < 2000);
	}
}

static void what_waits_can_be_cancelled(void **state)
{
	struct seeds seeds = seeds_of(2000, 150);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		struct stage s;
		struct wish w;

		stage_open(&s, seed, FAMILY_HUMAN, "cancelled while it waits");
		s.humans = HUMANS_ABSENT;
		stage_start(&s);
		stage_until_quiet(&s);
		if (seed % 2) { /* from another instance */
			s.b[1] = stage_instance(&s);
			cancel(s.b[1], s.id, &w);
		} else {
			cancel(s.b[0], s.id, &w);
		}
		check_cancelled(&s, &w, SOON_MS);
		stage_same(&s, w.op.code, BREAD_OK);
		stage_same(&s, status_of(&s), BREAD_RUN_CANCELLED);
		stage_close(&s);
	}
}

/* Another instance writes the wish into the row; its owner looks once a second. */
static void a_cancel_from_elsewhere_is_heard(void **state)
{
	struct seeds seeds = seeds_of(3000, 120);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		struct stage s;
		struct wish w;

		stage_open(&s, seed, (enum family_kind)(seed % 3), "cancelled from elsewhere");
		s.humans = HUMANS_EAGER;
		s.b[1] = stage_instance(&s);
		s.store.delay = 60;
		s.store.seed = seed;
		stage_start(&s);
		for (unsigned i = 0; i < 10 + seed % 97; i++)
			stage_turn(&s);
		cancel(s.b[1], s.id, &w);
		while (!w.done)
			stage_turn(&s);
		if (w.op.code == BREAD_OK || w.op.code == BREAD_E_CONFLICT)
			check_cancelled(&s, &w, 2 * SOON_MS);
		else
			stage_same(&s, w.op.code, BREAD_E_NOT_FOUND); /* not on record yet */
		stage_close(&s);
	}
}

/* ---- one run of it ---- */

/* The youngest that has not ended; false: there is none but the root. */
static bool youngest(struct stage *s, char id[UUID_MAX])
{
	struct bread_read tree;
	bool found = false;

	stage_all(s, &tree, BREAD_READ_TREE_OPEN, s->id);
	if (tree.count > 1) {
		found = true;
		snprintf(id, UUID_MAX, "%.*s", BRD_ARG(tree.runs[tree.count - 1].id));
	}
	bread_read_fini(&tree);
	return found;
}

/* Whoever started it makes of it what it makes of one that failed; the rest goes on. */
static void cancel_one(unsigned seed, unsigned turns)
{
	struct stage s;
	struct wish w;
	char id[UUID_MAX];

	stage_open(&s, seed, (enum family_kind)(seed % 2), "one of it cancelled after %u turns",
		turns);
	s.humans = turns % 2 ? HUMANS_EAGER : HUMANS_ABSENT;
	stage_start(&s);
	for (unsigned i = 0; i < turns; i++)
		stage_turn(&s);
	if (youngest(&s, id)) {
		cancel(s.b[0], id, &w);
		while (!w.done)
			stage_turn(&s);
		s.humans = HUMANS_PATIENT;
		stage_until_ended(&s);
		stage_check_ended(&s);
		stage_check_tools(&s);
	}
	stage_close(&s);
}

static void one_run_of_it_can_be_cancelled(void **state)
{
	struct seeds seeds = seeds_of(4000, 150);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++)
		for (unsigned n = 1 + seed % 3; n < 60; n += 7)
			cancel_one(seed, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cancel_in_any_turn_ends_all_of_it),
		cmocka_unit_test(what_waits_can_be_cancelled),
		cmocka_unit_test(a_cancel_from_elsewhere_is_heard),
		cmocka_unit_test(one_run_of_it_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
