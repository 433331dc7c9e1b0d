/* SPDX-License-Identifier: MIT */
/* The contract of a store, run on every implementation: all or nothing, order, and
 * many at once. */
#include <pthread.h>
#include "contract/store_world.h"

static void refused_tx_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_session("new", 1, NULL), kit_message("m", "s", 900, "1"),
		kit_run("r2", "s", BREAD_RUN_QUEUED), kit_status("r", BREAD_RUN_COMPLETED),
		kit_node("r", "n", 1, NULL), kit_node("r", "old", 2, "2"),
		kit_key(BREAD_REC_DEFINITION, "h", "1"),
		{ .kind = BREAD_REC_OWNER, .owner.id = BRD_STR("o") },
		kit_crumb("r", 2, "s", BRD_STR("{}")), kit_crumb("r", 1, "s", BRD_STR("{}")) };
	struct bread_read r;

	given(w, "s", "r");
	commit1(w, kit_crumb("r", 1, "s", BRD_STR("{}")));
	commit1(w, kit_node("r", "old", 1, "1"));
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_E_CONFLICT);
	assert_int_equal(count_of(w, BREAD_READ_SESSIONS, NULL), 1);
	assert_int_equal(count_of(w, BREAD_READ_MESSAGES, "s"), 0);
	assert_int_equal(count_of(w, BREAD_READ_RUN, "r2"), 0);
	assert_int_equal(count_of(w, BREAD_READ_DEFINITION, "h"), 0);
	assert_int_equal(count_of(w, BREAD_READ_OWNERS, NULL), 0);
	assert_int_equal(count_of(w, BREAD_READ_CRUMBS, "r"), 1);
	r = question(w, BREAD_READ_NODES, "r");
	assert_int_equal(r.count, 1);
	assert_int_equal(r.nodes->state, 1);
	bread_read_fini(&r);
	r = question(w, BREAD_READ_RUN, "r");
	assert_int_equal(r.runs->status, BREAD_RUN_RUNNING);
	bread_read_fini(&r);
	r = question(w, BREAD_READ_SESSION, "s");
	assert_int_equal(r.sessions->updated_at, 100);
	bread_read_fini(&r);
}

struct many {
	struct bread_tx tx;
	struct bread_rec recs[2];
	int *left;
};

static void on_one_of_many(struct bread_op *op)
{
	struct many *m = op->arg;

	--*m->left;
}

/* All are handed over at once; every third is refused after its first record. */
static void neighbours_of_a_refused_tx_are_not_hurt(void **state)
{
	struct world *w = *state;
	enum { N = 300 };
	struct many *all = calloc(N, sizeof(*all));
	int left = N;

	given(w, "s", "r");
	commit1(w, kit_crumb("r", 1000, "s", BRD_STR("{}")));
	for (int i = 0; i < N; i++) {
		struct many *m = &all[i];

		m->left = &left;
		m->recs[0] = kit_crumb("r", i + 1, "s", BRD_STR("{}"));
		m->recs[1] = i % 3 ? kit_node("r", "n", 1, NULL)
				   : kit_crumb("r", 1000, "s", BRD_STR("{}"));
		m->tx = (struct bread_tx){
			.recs = m->recs, .count = 2, .fence = BRD_STR("r"), .fence_epoch = 1
		};
		bread_op_init(&m->tx.op, w->loop, on_one_of_many, m);
		brd_store_commit(w->store, &m->tx);
	}
	while (left)
		brd_loop_turn(w->loop, -1);
	for (int i = 0; i < N; i++)
		assert_int_equal(all[i].tx.op.code, i % 3 ? BREAD_OK : BREAD_E_CONFLICT);
	assert_int_equal(count_of(w, BREAD_READ_CRUMBS, "r"), N / 3 * 2 + 1);
	free(all);
}

/* Each tx moves the epoch on, so only the order of handing over lets all succeed. */
static void commits_of_a_run_keep_their_order(void **state)
{
	struct world *w = *state;
	enum { N = 200 };
	struct many *all = calloc(N, sizeof(*all));
	int left = N;

	given(w, "s", "r");
	for (int i = 0; i < N; i++) {
		struct many *m = &all[i];

		m->left = &left;
		m->recs[0] = kit_take("r", "me");
		m->tx = (struct bread_tx){
			.recs = m->recs, .count = 1, .fence = BRD_STR("r"), .fence_epoch = i + 1
		};
		bread_op_init(&m->tx.op, w->loop, on_one_of_many, m);
		brd_store_commit(w->store, &m->tx);
	}
	while (left)
		brd_loop_turn(w->loop, -1);
	for (int i = 0; i < N; i++)
		assert_int_equal(all[i].tx.op.code, BREAD_OK);
	free(all);
}

#define THREADS 4
#define RUNS_EACH 40
#define CRUMBS_EACH 25

struct worker {
	struct world *w;
	int number;
	pthread_t thread;
	int bad;
};

static int one_run(struct worker *me, struct loop *l, int i)
{
	char session[32], run[32];
	struct bread_rec recs[2] = { 0 };
	struct bread_read r = { .kind = BREAD_READ_CRUMBS };
	int bad = 0;

	snprintf(session, sizeof(session), "s-%d-%d", me->number, i);
	snprintf(run, sizeof(run), "r-%d-%d", me->number, i);
	recs[0] = kit_session(session, 1, NULL);
	recs[1] = kit_run(run, session, BREAD_RUN_RUNNING);
	bad += kit_commit(me->w->store, l, recs, 2) != BREAD_OK;
	for (int n = 1; n <= CRUMBS_EACH; n++) {
		recs[0] = kit_crumb(run, n, session, BRD_STR("{}"));
		bad += kit_commit_fenced(me->w->store, l, run, 1, recs, 1) != BREAD_OK;
		r.key = brd_str(run);
		kit_read(me->w->store, l, &r);
		bad += r.count != (size_t)n; /* what was acknowledged is seen */
		bread_read_fini(&r);
	}
	return bad;
}

static void *worker_main(void *arg)
{
	struct worker *me = arg;
	struct loop *l;

	if (brd_loop_new(&l, NULL)) {
		me->bad = 1;
		return NULL;
	}
	for (int i = 0; i < RUNS_EACH; i++)
		me->bad += one_run(me, l, i);
	brd_loop_free(l);
	return NULL;
}

static void many_loops_write_and_read_at_once(void **state)
{
	struct world *w = *state;
	struct worker workers[THREADS] = { 0 };

	for (int i = 0; i < THREADS; i++) {
		workers[i].w = w;
		workers[i].number = i;
		assert_int_equal(
			pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].bad, 0);
	}
	assert_int_equal(count_of(w, BREAD_READ_SESSIONS, NULL), THREADS * RUNS_EACH);
	assert_true(brd_store_healthy(w->store));
}

static void all_is_there_after_close_and_open(void **state)
{
	struct world *w = *state;

	fill(w, "s", "r", "m");
	if (!w->impl->keeps)
		return;
	brd_store_close(w->store);
	open_store(w);
	nothing_is_left_of(w, "s", "r", 1);
	assert_int_equal(
		fenced1(w, "r", 1, kit_crumb("r", 1, "s", BRD_STR("{}"))), BREAD_E_CONFLICT);
	assert_int_equal(fenced1(w, "r", 1, kit_crumb("r", 2, "s", BRD_STR("{}"))), BREAD_OK);
}

static void work_is_counted(void **state)
{
	struct world *w = *state;
	struct store_stats stats;

	given(w, "s", "r");
	count_of(w, BREAD_READ_RUN, "r");
	brd_store_stats(w->store, &stats);
	assert_int_equal(stats.commits, 1);
	assert_int_equal(stats.reads, 1);
	assert_int_equal(stats.failures, 0);
}

static const struct CMUnitTest tests[] = {
	T(refused_tx_leaves_nothing),
	T(neighbours_of_a_refused_tx_are_not_hurt),
	T(commits_of_a_run_keep_their_order),
	T(many_loops_write_and_read_at_once),
	T(all_is_there_after_close_and_open),
	T(work_is_counted),
};

int main(void)
{
	return run_contract(tests, COUNT(tests));
}
