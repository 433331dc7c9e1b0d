/* SPDX-License-Identifier: MIT */
/* One active run a session, and what a second one may ask for (contract C12, C15). */
#include <unistd.h>
#include "run/faults.h"
#include "base/clock.h"
#include "instance/internal.h"

static const char agent[] = "{\"model\":{\"provider\":\"mock\",\"model\":\"m1\"},"
			    "\"humanTools\":[{\"name\":\"ask\",\"schema\":{\"type\":\"object\"}}]}";
static const char models[] =
	"{\"m1\":{\"when\":[{\"match\":{\"regex\":\"wait\"},\"stream\":[{\"text\":\"one \"},"
	"{\"hang\":true}]},"
	"{\"match\":{\"regex\":\"slow\"},\"stream\":[{\"text\":\"{{input}}\"},{\"delay_ms\":30}]},"
	"{\"match\":{\"regex\":\"ask\"},\"stream\":[{\"tool_call\":{\"id\":\"h1\",\"name\":"
	"\"human_ask\",\"args\":{}}},{\"tool_call\":{\"id\":\"h2\",\"name\":\"human_ask\",\"args\":"
	"{}}}]},"
	"{\"match\":{},\"stream\":[{\"text\":\"{{count}}\"}]}]}}";

struct told {
	unsigned count;
	enum bread_run_status status;
	char error[64], message[600], context[300], output[64], id[BREAD_RUN_ID_MAX];
	unsigned order; /* among all that were told */
};

static unsigned orders;

static void on_outcome(const struct bread_outcome *o, void *arg)
{
	struct told *t = arg;

	t->count++;
	t->status = o->status;
	t->order = ++orders;
	snprintf(t->error, sizeof(t->error), "%.*s", BRD_ARG(o->error_code));
	snprintf(t->message, sizeof(t->message), "%.*s", BRD_ARG(o->error_message));
	snprintf(t->context, sizeof(t->context), "%.*s", BRD_ARG(o->error_context));
	snprintf(t->output, sizeof(t->output), "%.*s", BRD_ARG(o->output));
}

static int ask(struct bread *b, const char *input, enum bread_if_busy if_busy, struct told *t)
{
	struct bread_run_request req = { .agent_id = BRD_STR("a"),
		.input = brd_str(input),
		.session_id = BRD_STR("conv"),
		.if_busy = if_busy,
		.on_end = on_outcome,
		.arg = t };
	struct bread_err err = { 0 };
	int r;

	memset(t, 0, sizeof(*t));
	r = bread_run(b, &req, t->id, &err);
	snprintf(t->error, sizeof(t->error), "%s", err.name);
	return r;
}

/* ---- two processes, as instances over one file ---- */

struct pair {
	struct bread *b[2];
	char dir[64];
};

static struct bread *open_over(const char *store)
{
	struct bread *b;
	struct bread_err err = { 0 };
	char conf[4096];

	snprintf(conf, sizeof(conf),
		"{\"store\":%s,\"transport\":\"stream\",\"providers\":{\"mock\":{\"type\":"
		"\"scripted\",\"models\":%s}}}",
		store, models);
	assert_int_equal(bread_new(&b, &err), 0);
	if (bread_configure(b, brd_str(conf), &err) || bread_start(b, &err))
		fail_msg("%s: %s", err.where, err.text);
	fixture_agent(b, "a", agent);
	return b;
}

static void pair_open(struct pair *p)
{
	char store[160];

	snprintf(p->dir, sizeof(p->dir), "/tmp/bread-busy-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(store, sizeof(store),
		"{\"type\":\"sqlite\",\"path\":\"%s/bread.db\",\"sync\":\"normal\"}", p->dir);
	for (int i = 0; i < 2; i++)
		p->b[i] = open_over(store);
}

static void pair_close(struct pair *p)
{
	char command[128];

	for (int i = 0; i < 2; i++)
		bread_free(p->b[i]);
	snprintf(command, sizeof(command), "rm -rf %s", p->dir);
	assert_int_equal(system(command), 0);
}

static void turn_both(struct pair *p)
{
	bread_turn(p->b[0], 1);
	bread_turn(p->b[1], 1);
}

static void until(struct pair *p, const unsigned *n)
{
	int64_t end = brd_clock_mono() + 20000;

	while (!*n) {
		assert_true(brd_clock_mono() < end);
		turn_both(p);
	}
}

static void until_stored(struct pair *p, const char *run)
{
	for (bool stored = false; !stored;) {
		struct bread_read r = { .kind = BREAD_READ_RUN, .key = brd_str(run) };

		bread_op_init(&r.op, bread_here(p->b[0]), NULL, NULL);
		bread_read(p->b[0], &r);
		while (bread_op_running(&r.op))
			turn_both(p);
		stored = r.count;
		bread_read_fini(&r);
	}
}

struct wish {
	struct bread_op op;
	enum bread_run_status status;
	unsigned done;
};

static void on_wish(struct bread_op *op)
{
	((struct wish *)op->arg)->done++;
}

static void of_two_that_begin_at_once_one_wins(void **state)
{
	struct pair p;
	struct told t[2];

	pair_open(&p);
	ask(p.b[0], "\"first\"", BREAD_BUSY_REJECT, &t[0]); /* makes the session */
	until(&p, &t[0].count);
	for (int round = 0; round < 20; round++) {
		struct wish w = { 0 };
		int won;

		for (int i = 0; i < 2; i++)
			assert_int_equal(ask(p.b[i], "\"wait\"", BREAD_BUSY_REJECT, &t[i]), 0);
		while (!t[0].count && !t[1].count)
			turn_both(&p);
		won = t[0].count ? 1 : 0;
		assert_string_equal(t[!won].error, "SESSION_BUSY");
		until_stored(&p, t[won].id);
		bread_op_init(&w.op, bread_here(p.b[won]), on_wish, &w);
		bread_cancel(p.b[won], brd_str(t[won].id), &w.status, &w.op);
		until(&p, &t[won].count);
		until(&p, &w.done);
		assert_int_equal(t[won].status, BREAD_RUN_CANCELLED);
	}
	pair_close(&p);
}

static void queued_runs_of_two_processes_come_one_after_the_other(void **state)
{
	struct pair p;
	struct told t[6];
	int64_t began = brd_clock_mono();

	pair_open(&p);
	orders = 0;
	for (int i = 0; i < 6; i++) {
		ask(p.b[i % 2], "\"slow\"", BREAD_BUSY_QUEUE, &t[i]);
		until_stored(&p, t[i].id); /* so that the order is known */
	}
	for (int i = 0; i < 6; i++)
		until(&p, &t[i].count);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(t[i].status, BREAD_RUN_COMPLETED);
		assert_int_equal(t[i].order, i + 1);
	}
	assert_true(brd_clock_mono() - began >= 6 * 30);
	pair_close(&p);
}

/* ---- one process ---- */

static void until_told(struct bread *b, const struct told *t)
{
	int64_t end = brd_clock_mono() + 20000;

	while (!t->count) {
		assert_true(brd_clock_mono() < end);
		bread_turn(b, 5);
	}
}

static void a_queued_run_knows_what_was_said_before_it(void **state)
{
	struct bread *b = open_over("\"memory\"");
	struct told t[3];

	ask(b, "\"slow\"", BREAD_BUSY_REJECT, &t[0]);
	fixture_turn(b, 10);
	ask(b, "\"x\"", BREAD_BUSY_QUEUE, &t[1]);
	ask(b, "\"y\"", BREAD_BUSY_QUEUE, &t[2]);
	for (int i = 0; i < 3; i++)
		until_told(b, &t[i]);
	assert_string_equal(t[1].output, "\"3\""); /* user, assistant, user */
	assert_string_equal(t[2].output, "\"5\"");
	bread_free(b);
}

static void an_interrupting_run_ends_the_one_before(void **state)
{
	struct bread *b = open_over("\"memory\"");
	struct told t[3];

	ask(b, "\"wait\"", BREAD_BUSY_REJECT, &t[0]);
	fixture_turn(b, 20);
	ask(b, "\"slow\"", BREAD_BUSY_QUEUE, &t[1]);
	fixture_turn(b, 20);
	ask(b, "\"y\"", BREAD_BUSY_INTERRUPT, &t[2]);
	for (int i = 0; i < 3; i++)
		until_told(b, &t[i]);
	assert_int_equal(t[0].status, BREAD_RUN_CANCELLED);
	assert_int_equal(t[1].status, BREAD_RUN_CANCELLED);
	assert_int_equal(t[2].status, BREAD_RUN_COMPLETED);
	assert_string_equal(t[2].output, "\"3\""); /* the partial answer is kept */
	bread_free(b);
}

static void an_interrupt_releases_a_question(void **state)
{
	struct bread *b = open_over("\"memory\"");
	struct told t[3];

	ask(b, "\"ask\"", BREAD_BUSY_REJECT, &t[0]);
	until_told(b, &t[0]);
	assert_int_equal(t[0].status, BREAD_RUN_SUSPENDED);
	fixture_turn(b, 10);
	assert_int_equal(ask(b, "\"x\"", BREAD_BUSY_REJECT, &t[1]), 0);
	until_told(b, &t[1]);
	assert_string_equal(t[1].error, "SESSION_BUSY");
	assert_non_null(strstr(t[1].message, "checkpoint"));
	assert_non_null(strstr(t[1].context, "\"checkpointId\":\""));
	ask(b, "\"x\"", BREAD_BUSY_INTERRUPT, &t[2]);
	until_told(b, &t[2]);
	assert_int_equal(t[2].status, BREAD_RUN_COMPLETED);
	bread_free(b);
}

static void a_queued_run_can_be_cancelled(void **state)
{
	struct bread *b = open_over("\"memory\"");
	struct told t[2];
	struct wish w = { 0 };

	ask(b, "\"wait\"", BREAD_BUSY_REJECT, &t[0]);
	fixture_turn(b, 20);
	ask(b, "\"x\"", BREAD_BUSY_QUEUE, &t[1]);
	fixture_turn(b, 20);
	bread_op_init(&w.op, bread_here(b), on_wish, &w);
	bread_cancel(b, brd_str(t[1].id), &w.status, &w.op);
	until_told(b, &t[1]);
	assert_int_equal(t[1].status, BREAD_RUN_CANCELLED);
	assert_int_equal(t[0].count, 0);
	assert_int_equal(w.done, 1);
	bread_free(b);
	assert_int_equal(t[0].status, BREAD_RUN_RUNNING);
}

static void a_queued_run_outlives_its_instance(void **state)
{
	struct pair p;
	struct told t[2];
	struct bread_read r = { .kind = BREAD_READ_RUN };
	int64_t end = brd_clock_mono() + 20000;
	struct wish w = { 0 };
	bool ended = false;

	pair_open(&p);
	ask(p.b[0], "\"wait\"", BREAD_BUSY_REJECT, &t[0]);
	for (int i = 0; i < 50; i++)
		turn_both(&p);
	ask(p.b[1], "\"x\"", BREAD_BUSY_QUEUE, &t[1]);
	for (int i = 0; i < 50; i++)
		turn_both(&p);
	bread_free(p.b[1]);
	assert_int_equal(t[1].status, BREAD_RUN_RUNNING);
	p.b[1] = NULL;
	bread_op_init(&w.op, bread_here(p.b[0]), on_wish, &w);
	bread_cancel(p.b[0], brd_str(t[0].id), &w.status, &w.op);
	while (!ended) {
		unsigned done = 0;

		assert_true(brd_clock_mono() < end);
		fixture_turn(p.b[0], 50);
		r.key = brd_str(t[1].id);
		bread_op_init(&r.op, bread_here(p.b[0]), NULL, &done);
		bread_read(p.b[0], &r);
		while (bread_op_running(&r.op))
			bread_turn(p.b[0], 5);
		ended = r.count && brd_run_ended(r.runs->status);
		if (ended)
			assert_int_equal(r.runs->status, BREAD_RUN_COMPLETED);
		bread_read_fini(&r);
	}
	pair_close(&p);
}

/* ---- answers at the same moment ---- */

struct claimed {
	unsigned count;
	char error[64];
};

static void on_claimed(
	struct bread_str run_id, int64_t after, const struct bread_err *err, void *arg)
{
	struct claimed *c = arg;

	c->count++;
	snprintf(c->error, sizeof(c->error), "%s", err ? err->name : "");
}

static void find_questions(struct pair *p, const char *run, char ids[2][64])
{
	struct bread_read r = { .kind = BREAD_READ_CHECKPOINTS, .key = brd_str(run) };

	bread_op_init(&r.op, bread_here(p->b[0]), NULL, NULL);
	bread_read(p->b[0], &r);
	while (bread_op_running(&r.op))
		turn_both(p);
	assert_int_equal(r.count, 2);
	for (int i = 0; i < 2; i++)
		snprintf(ids[i], 64, "%.*s", BRD_ARG(r.checkpoints[i].id));
	bread_read_fini(&r);
}

static void answer(struct bread *b, const char *id, struct claimed *c)
{
	struct bread_resume_request req = { .checkpoint_id = brd_str(id),
		.response = BRD_STR("1"),
		.on_claimed = on_claimed,
		.arg = c };

	memset(c, 0, sizeof(*c));
	bread_resume(b, &req);
}

/* Each question is answered from both processes at once: one of the two wins, and both
 * questions' answers are taken. */
static void a_question_is_answered_once_from_wherever(void **state)
{
	for (int round = 0; round < 5; round++) {
		struct pair p;
		struct told t;
		struct claimed c[4];
		char ids[2][64];

		pair_open(&p);
		ask(p.b[0], "\"ask\"", BREAD_BUSY_REJECT, &t);
		until(&p, &t.count);
		find_questions(&p, t.id, ids);
		for (int i = 0; i < 4; i++)
			answer(p.b[i % 2], ids[i / 2], &c[i]);
		for (int i = 0; i < 4; i++)
			until(&p, &c[i].count);
		for (int q = 0; q < 2; q++) {
			const char *lost = c[2 * q].error[0] ? c[2 * q].error : c[2 * q + 1].error;

			assert_int_equal(!c[2 * q].error[0] + !c[2 * q + 1].error[0], 1);
			assert_string_equal(lost, "CHECKPOINT_CLAIMED");
		}
		for (int i = 0; i < 4; i++)
			assert_int_equal(c[i].count, 1);
		answer(p.b[0], "nobody", &c[0]);
		until(&p, &c[0].count);
		assert_string_equal(c[0].error, "CHECKPOINT_NOT_FOUND");
		pair_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_two_that_begin_at_once_one_wins),
		cmocka_unit_test(queued_runs_of_two_processes_come_one_after_the_other),
		cmocka_unit_test(a_queued_run_knows_what_was_said_before_it),
		cmocka_unit_test(an_interrupting_run_ends_the_one_before),
		cmocka_unit_test(an_interrupt_releases_a_question),
		cmocka_unit_test(a_queued_run_can_be_cancelled),
		cmocka_unit_test(a_queued_run_outlives_its_instance),
		cmocka_unit_test(a_question_is_answered_once_from_wherever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
