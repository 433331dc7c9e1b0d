/* SPDX-License-Identifier: MIT */
/* An instance may be stopped and freed in any state, and many loops may work in it at
 * once. */
#include <pthread.h>
#include <stdatomic.h>
#include "run/faults.h"
#include "base/clock.h"
#include "base/mem.h"
#include "instance/internal.h"

static void an_instance_is_freed_before_it_was_started(void **state)
{
	struct bread *b;
	struct bread_err err;

	bread_free(NULL);
	assert_int_equal(bread_new(&b, &err), 0);
	bread_free(b);
	assert_int_equal(bread_new(&b, &err), 0);
	fixture_agent(b, "a", scenarios[0].agent);
	assert_int_equal(bread_configure(b, BRD_STR("{\"store\":\"memory\"}"), &err), 0);
	bread_stop(b, 100);
	bread_free(b);
}

static void an_instance_that_does_not_start_is_freed(void **state)
{
	static const char *const confs[] = { "{}", "{\"store\":\"memory\"}",
		"{\"transport\":\"stream\",\"store\":\"paper\"}",
		"{\"transport\":\"stream\",\"store\":{\"type\":\"sqlite\",\"path\":\"/nowhere/"
		"x.db\"}}",
		"{\"transport\":\"stream\",\"store\":\"memory\",\"providers\":{\"x\":{\"type\":"
		"\"y\"}}}" };

	for (size_t i = 0; i < sizeof(confs) / sizeof(*confs); i++) {
		struct bread *b;
		struct bread_err err;

		assert_int_equal(bread_new(&b, &err), 0);
		assert_int_equal(bread_configure(b, brd_str(confs[i]), &err), 0);
		assert_int_not_equal(bread_start(b, &err), 0);
		bread_free(b);
	}
}

static void an_instance_is_stopped_more_than_once(void **state)
{
	struct play p;

	play_open(&p, &scenarios[0]);
	play_start(&p);
	play_until_ended(&p);
	bread_stop(p.b, 0);
	bread_stop(p.b, 0);
	play_close(&p);
}

/* With its viewer, whatever is under way. delay: the store is slow. */
static bool free_after(const struct scenario *sc, unsigned turns, unsigned delay)
{
	struct play p;
	bool ended;

	play_open(&p, sc);
	p.store.delay = delay;
	p.store.seed = turns;
	play_start(&p);
	for (unsigned i = 0; i < turns; i++)
		play_turn(&p);
	ended = p.told && p.status == BREAD_RUN_COMPLETED;
	bread_free(p.b);
	p.b = NULL;
	assert_true(p.told >= 1); /* its caller is told in any case */
	assert_true(p.seen.ended);
	play_close(&p);
	return ended;
}

static void an_instance_is_freed_in_any_turn_of_a_run(void **state)
{
	for (size_t i = 0; i < scenario_count; i++) {
		for (unsigned n = 0; n < 300 && !free_after(&scenarios[i], n, 0); n++)
			;
		for (unsigned n = 0; n < 60 && !free_after(&scenarios[i], n, 3); n++)
			;
	}
}

/* ... and while a run is being taken up. */
static void an_instance_is_freed_while_it_takes_up(void **state)
{
	for (unsigned turns = 0; turns < 30; turns++) {
		struct play p;

		play_open(&p, &scenarios[1]);
		p.store.freeze_after = 2;
		play_start(&p);
		for (int i = 0; i < 500 && !p.store.frozen; i++)
			play_turn(&p);
		play_kill(&p);
		p.store.delay = 3;
		p.store.seed = turns;
		p.b = play_instance(&p);
		for (unsigned i = 0; i < turns; i++)
			play_turn(&p);
		bread_free(p.b);
		p.store.delay = 0;
		p.b = play_instance(&p);
		play_until_ended(&p);
		check_ended(&p);
		check_tools(&p, true);
		play_close(&p);
	}
}

/* ---- many loops ---- */

#define LOOPS 3
#define RUNS 120

struct job {
	struct post post;
	struct bread *b;
	unsigned n;
	struct bread_op op;
	enum bread_run_status status;
	char id[BREAD_RUN_ID_MAX];
	struct job *victim;
};

static atomic_uint told, streams;
static struct job jobs[RUNS];

static void on_end(const struct bread_outcome *o, void *arg)
{
	atomic_fetch_add(&told, 1);
}

static void on_crumb(const struct bread_crumb *c, void *arg)
{
}

static void on_stream_end(enum bread_code code, const struct bread_err *err, void *arg)
{
	atomic_fetch_add(&streams, 1);
}

static void on_cancelled(struct bread_op *op)
{
}

/* On one of the loops: a run with a viewer; every third one also cancels one of another loop. */
static void do_job(struct post *post)
{
	struct job *j = brd_list_of(post, struct job, post);
	struct bread_run_request req = { .agent_id = BRD_STR("a"),
		.input = BRD_STR("\"x\""),
		.run_id = brd_str(j->id),
		.on_end = on_end };
	struct bread_subscriber sub = { .on_crumb = on_crumb, .on_end = on_stream_end };
	char id[BREAD_RUN_ID_MAX];
	struct bread_err err;

	if (bread_run(j->b, &req, id, &err))
		return; /* it is being stopped; a run too few is noticed when all are counted */
	bread_subscribe(j->b, brd_str(id), 0, &sub);
	if (j->n >= 3 && j->n % 3 == 0) {
		j->victim = &jobs[j->n - 2];
		bread_subscribe(j->b, brd_str(j->victim->id), 0, &sub);
		atomic_fetch_sub(&streams, 1);
		bread_op_init(&j->op, bread_here(j->b), on_cancelled, j);
		bread_cancel(j->b, brd_str(j->victim->id), &j->status, &j->op);
	}
}

static void add(struct bread_tool_call *call, void *arg)
{
	bread_tool_return(call, BRD_STR("7"));
}

static struct bread *many_loops(void)
{
	struct bread *b;
	struct bread_err err = { 0 };
	char conf[4096];

	snprintf(conf, sizeof(conf),
		"{\"store\":\"memory\",\"transport\":\"stream\",\"server\":{\"threads\":%d},"
		"\"providers\":{\"mock\":{\"type\":\"scripted\",\"models\":%s}}}",
		LOOPS, scenarios[1].models);
	assert_int_equal(bread_new(&b, &err), 0);
	fixture_agent(b, "a", scenarios[1].agent);
	bread_agent_tool(b, "a", "add", "adds", (struct bread_str){ 0 }, add, NULL, &err);
	if (bread_configure(b, brd_str(conf), &err) || bread_start(b, &err))
		fail_msg("%s: %s", err.where, err.text);
	return b;
}

static void *drive(void *arg)
{
	bread_drive(arg);
	return NULL;
}

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

static void work(bool to_the_end)
{
	struct bread *b = many_loops();
	struct bread_stats stats;
	pthread_t driver;

	atomic_store(&told, 0);
	atomic_store(&streams, 0);
	assert_int_equal(pthread_create(&driver, NULL, drive, b), 0);
	for (unsigned i = 0; i < RUNS; i++) {
		jobs[i] = (struct job){ .b = b, .n = i, .post.run = do_job };
		snprintf(jobs[i].id, sizeof(jobs[i].id), "run-%u", i);
		brd_loop_post(b->loops[i % LOOPS], &jobs[i].post);
		if (i % 10 == 0)
			rest();
	}
	for (int i = 0; to_the_end && i < 5000; i++) {
		rest();
		bread_stats(b, &stats);
		if (atomic_load(&told) == RUNS && stats.topics == 0)
			break;
	}
	bread_quit(b);
	pthread_join(driver, NULL);
	if (to_the_end)
		assert_int_equal(atomic_load(&told), RUNS);
	bread_free(b);
}

static void many_loops_work_at_once(void **state)
{
	work(true);
}

static void many_loops_are_stopped_in_the_middle(void **state)
{
	for (int i = 0; i < 5; i++)
		work(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_instance_is_freed_before_it_was_started),
		cmocka_unit_test(an_instance_that_does_not_start_is_freed),
		cmocka_unit_test(an_instance_is_stopped_more_than_once),
		cmocka_unit_test(an_instance_is_freed_in_any_turn_of_a_run),
		cmocka_unit_test(an_instance_is_freed_while_it_takes_up),
		cmocka_unit_test(many_loops_work_at_once),
		cmocka_unit_test(many_loops_are_stopped_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
