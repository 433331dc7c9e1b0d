/* SPDX-License-Identifier: MIT */
/* Answers in each order, at the same moment, twice, too early, and from another instance (contract
 * C15, C16, C18). */
#include <stdlib.h>
#include "base/mem.h"
#include "base/uuid.h"
#include "run/stage.h"

#define OPEN_MAX 3
#define SLOW_READS 6

struct question {
	char id[UUID_MAX], call[24];
};

static size_t questions(struct stage *s, struct question *q, size_t room)
{
	struct bread_read r;
	size_t n = stage_questions(s, &r);

	for (size_t i = 0; i < n && i < room; i++) {
		snprintf(q[i].id, sizeof(q[i].id), "%.*s", BRD_ARG(r.checkpoints[i].id));
		snprintf(q[i].call, sizeof(q[i].call), "%.*s",
			BRD_ARG(r.checkpoints[i].tool_call_id));
	}
	bread_read_fini(&r);
	return n;
}

static void put_aside(struct stage *s)
{
	s->humans = HUMANS_ABSENT;
	stage_start(s);
	stage_until_quiet(s);
	stage_must(s, stage_suspended(s));
	stage_check_memory(s);
}

static void check_whole(struct stage *s)
{
	s->humans = HUMANS_PATIENT;
	stage_until_ended(s);
	stage_check_ended(s);
	stage_check_tools(s);
	stage_check_output(s);
	stage_same(s, s->answered, s->family.want.questions);
	if (!s->family.want.fails)
		stage_same(s, s->ran_count, s->family.want.tools);
}

/* ---- orders ---- */

static const unsigned orders[6][OPEN_MAX] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 },
	{ 2, 0, 1 }, { 2, 1, 0 } };

/* How answers follow each other: in one turn; a few turns later; when all is quiet again. */
enum pace { PACE_AT_ONCE, PACE_SOON, PACE_QUIET, PACES };

static void wait(struct stage *s, enum pace pace)
{
	if (pace == PACE_SOON)
		for (int i = 0; i < 3; i++)
			stage_turn(s);
	else if (pace == PACE_QUIET)
		stage_until_quiet(s);
}

/* false: it asks fewer questions at first than that order is for. */
static bool answer_in_order(unsigned seed, unsigned order, enum pace pace)
{
	struct question q[OPEN_MAX];
	struct stage s;
	size_t n, done = 0;

	stage_open(&s, seed, FAMILY_HUMAN, "order %u, pace %d", order, (int)pace);
	put_aside(&s);
	n = questions(&s, q, OPEN_MAX);
	n = n < OPEN_MAX ? n : OPEN_MAX;
	for (size_t i = 0; i < OPEN_MAX; i++) {
		if (orders[order][i] >= n)
			continue;
		stage_answer(&s, s.b[0], q[orders[order][i]].id, q[orders[order][i]].call);
		if (++done < n)
			wait(&s, pace);
	}
	check_whole(&s);
	stage_close(&s);
	return n > 1;
}

static void answers_may_come_in_any_order(void **state)
{
	struct seeds seeds = seeds_of(8000, 150);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++)
		for (unsigned k = 0; k < 6 * PACES; k++)
			if (!answer_in_order(seed, k / PACES, (enum pace)(k % PACES)))
				break;
}

static void an_answer_counts_once(void **state)
{
	struct seeds seeds = seeds_of(8200, 120);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		struct stage s;

		stage_open(&s, seed, FAMILY_HUMAN, "each answer twice");
		s.humans = HUMANS_PATIENT + seed % 3;
		s.twice = true;
		stage_start(&s);
		stage_until_ended(&s);
		stage_check_ended(&s);
		stage_check_output(&s);
		stage_check_tools(&s);
		stage_same(&s, s.answered, s.family.want.questions);
		stage_same(&s, s.ran_count, s.family.want.tools);
		stage_must(&s, s.refused >= s.answered);
		stage_close(&s);
	}
}

/* What the second one had read of the question and of the run was true once. */
static void an_answer_that_reads_slowly_counts_once(void **state)
{
	struct seeds seeds = seeds_of(9200, 60);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		for (unsigned n = 1; n <= SLOW_READS; n++) {
			struct question q;
			struct stage s;

			stage_open(&s, seed, FAMILY_HUMAN, "answered twice, read %u is slow", n);
			put_aside(&s);
			questions(&s, &q, 1);
			s.twice = true;
			s.store.hold_at = s.store.reads + n;
			stage_answer(&s, s.b[0], q.id, q.call);
			stage_answer(&s, s.b[0], q.id, q.call);
			for (int i = 0; i < 200; i++)
				stage_turn(&s);
			faulty_let_go(&s.store);
			check_whole(&s);
			stage_close(&s);
		}
	}
}

/* ---- too early, too late ---- */

struct refusal {
	char name[48];
	bool told;
};

static void on_refused(struct bread_str root, int64_t after, const struct bread_err *err, void *arg)
{
	struct refusal *r = arg;

	r->told = true;
	snprintf(r->name, sizeof(r->name), "%s", err ? err->name : "");
}

static void answer_nothing(struct stage *s, const char *id, const char *expected)
{
	struct refusal r = { 0 };
	struct bread_resume_request req = { .checkpoint_id = brd_str(id),
		.response = BRD_STR("{}"),
		.on_claimed = on_refused,
		.arg = &r };

	bread_resume(s->b[0], &req);
	while (!r.told)
		stage_turn(s);
	if (strcmp(r.name, expected))
		stage_fail(s, "an answer to nothing gave \"%s\"", r.name);
}

static void an_answer_to_nothing_changes_nothing(void **state)
{
	struct seeds seeds = seeds_of(8400, 100);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		struct question q[8] = { 0 };
		char id[UUID_LEN + 1];
		struct stage s;
		size_t n;

		brd_uuid7(id);
		stage_open(&s, seed, FAMILY_HUMAN, "answers to nothing");
		s.humans = HUMANS_ABSENT;
		stage_start(&s);
		for (unsigned i = 0; i < 3 + seed % 20; i++)
			stage_turn(&s);
		answer_nothing(&s, id, "CHECKPOINT_NOT_FOUND"); /* before it is asked for */
		stage_until_quiet(&s);
		n = questions(&s, q, 8);
		answer_nothing(&s, id, "CHECKPOINT_NOT_FOUND");
		stage_must(&s, stage_suspended(&s));
		stage_same(&s, questions(&s, q, 8), n);
		check_whole(&s);
		answer_nothing(&s, q[0].id, "CHECKPOINT_CLAIMED"); /* after it was answered */
		stage_check_ended(&s);
		stage_close(&s);
	}
}

/* ---- from elsewhere ---- */

static void answers_come_from_any_instance(void **state)
{
	struct seeds seeds = seeds_of(8600, 200);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		struct stage s;

		stage_open(&s, seed, FAMILY_HUMAN, "two instances answer in turns");
		s.humans = HUMANS_PATIENT + seed % 3;
		s.share = true;
		s.twice = seed % 4 == 0;
		s.b[1] = stage_instance(&s);
		if (seed % 5 == 0) {
			s.store.delay = 30;
			s.store.seed = seed;
		}
		stage_start(&s);
		stage_until_ended(&s);
		stage_check_ended(&s);
		stage_check_output(&s);
		stage_check_tools(&s);
		stage_same(&s, s.answered, s.family.want.questions);
		stage_same(&s, s.ran_count, s.family.want.tools);
		stage_close(&s);
	}
}

/* A tree that is at work in one instance is told by its row; a tool keeps it at work until then. */
static void one_at_work_elsewhere_hears_its_answers(void **state)
{
	struct seeds seeds = seeds_of(8800, 200);
	unsigned heard = 0;

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		struct question q[8];
		struct stage s;
		size_t n = 0;

		stage_open(&s, seed, FAMILY_HUMAN, "answered elsewhere while it is at work");
		s.humans = HUMANS_ABSENT;
		s.keep_tools = true;
		stage_start(&s);
		for (int i = 0; i < 400; i++)
			stage_turn(&s);
		s.b[1] = stage_instance(&s);
		if (s.held_count)
			n = questions(&s, q, 8);
		for (size_t i = 0; i < n; i++)
			stage_answer(&s, s.b[1], q[i].id, q[i].call);
		for (int i = 0; i < 500; i++)
			stage_turn(&s);
		stage_same(&s, s.answered, n);
		heard += n > 0;
		s.keep_tools = false;
		check_whole(&s);
		stage_close(&s);
	}
	if (seeds.end - seeds.at > 40)
		assert_true(heard > (seeds.end - seeds.at) / 40);
}

/* The first instance has ended; the second goes on with what waits. */
static void what_waits_goes_on_in_another_instance(void **state)
{
	struct seeds seeds = seeds_of(9000, 100);

	for (unsigned seed = seeds.at; seed < seeds.end; seed++) {
		struct stage s;

		stage_open(&s, seed, FAMILY_HUMAN, "goes on elsewhere");
		put_aside(&s);
		brd_clock_thaw();
		bread_free(s.b[0]);
		brd_clock_freeze(1700003600000);
		s.b[0] = stage_instance(&s);
		check_whole(&s);
		stage_close(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_may_come_in_any_order),
		cmocka_unit_test(an_answer_counts_once),
		cmocka_unit_test(an_answer_that_reads_slowly_counts_once),
		cmocka_unit_test(an_answer_to_nothing_changes_nothing),
		cmocka_unit_test(answers_come_from_any_instance),
		cmocka_unit_test(one_at_work_elsewhere_hears_its_answers),
		cmocka_unit_test(what_waits_goes_on_in_another_instance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
