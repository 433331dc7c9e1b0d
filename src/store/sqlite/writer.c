/* SPDX-License-Identifier: MIT */
/* The writer: one thread, one connection, natural batching.
 *
 * Whatever has queued while the last commit ran becomes one transaction, in the
 * order of the queue, so that a sync of the disk is shared by all who wait. One
 * tx that is refused must not hurt its neighbours. Refusals are rare, and a
 * savepoint for each tx makes SQLite copy every page that it touches; so a batch
 * runs without savepoints first, and only when a tx is refused that has already
 * written something is the whole batch rolled back and run again with them.
 *
 * An op ends after its transaction is on disk (or was refused), never before. */
#include <time.h>
#include "base/err.h"
#include "store/sqlite/impl.h"

#define BATCH_ROWS 1024
#define BATCH_BYTES ((size_t)1 << 20)
/* How much the log grows, in pages, before the checkpointer is told. */
#define WAL_GROWTH 4000

static struct bread_tx *next_of(const struct bread_tx *tx)
{
	return tx->priv.p[0];
}

/* The result waits here for the commit; err is in the op already. */
static void set_result(struct bread_tx *tx, enum bread_code code)
{
	tx->priv.p[1] = (void *)(intptr_t)code;
}

static enum bread_code result(const struct bread_tx *tx)
{
	return (enum bread_code)(intptr_t)tx->priv.p[1];
}

static int on_wal(void *arg, sqlite3 *db, const char *name, int frames)
{
	struct sq_writer *w = arg;

	__atomic_store_n(&w->shared->wal_frames, frames, __ATOMIC_RELAXED);
	if (frames < w->told_at)
		w->told_at = 0; /* the log was started over */
	if (frames - w->told_at >= WAL_GROWTH) {
		w->told_at = frames;
		w->on_growth(w->arg);
	}
	return SQLITE_OK;
}

/* Bytes that weigh; small fields do not. */
static size_t weight(const struct bread_tx *tx)
{
	size_t n = 0;

	for (size_t i = 0; i < tx->count; i++) {
		const struct bread_rec *rec = &tx->recs[i];

		if (rec->kind == BREAD_REC_CRUMB)
			n += rec->crumb.crumb.n;
		else if (rec->kind == BREAD_REC_MESSAGE)
			n += rec->message.content.n;
		else if (rec->kind == BREAD_REC_NODE)
			n += rec->node.data.n;
		else if (rec->kind == BREAD_REC_RUN || rec->kind == BREAD_REC_RUN_STATUS)
			n += rec->run.input.n + rec->run.output.n + rec->run.files.n;
		else if (rec->kind == BREAD_REC_DOCUMENT)
			n += rec->document.content.n;
		else if (rec->kind == BREAD_REC_LOOP_ROUND)
			n += rec->round.input.n + rec->round.output.n;
		else if (rec->kind == BREAD_REC_TASK_RUN)
			n += rec->task_run.input.n + rec->task_run.output.n;
		else
			n += rec->value.n;
	}
	return n;
}

/* Cuts the next batch off the queue: at least one tx. Under the lock. */
static struct bread_tx *take_batch(struct sq_writer *w)
{
	struct bread_tx *first = w->first, *last = first;
	size_t rows = first->count, bytes = weight(first);

	for (struct bread_tx *tx; (tx = next_of(last)); last = tx) {
		rows += tx->count;
		bytes += weight(tx);
		if (rows > BATCH_ROWS || bytes > BATCH_BYTES)
			break;
	}
	w->first = next_of(last);
	if (!w->first)
		w->last = NULL;
	last->priv.p[0] = NULL;
	return first;
}

enum batch_end {
	BATCH_DONE,
	BATCH_AGAIN, /* somebody was refused half-way: run it with savepoints */
	BATCH_BROKEN,
};

static enum batch_end apply_guarded(struct sq_conn *c, struct bread_tx *tx, int *ret_rc)
{
	struct sq_applied done;

	*ret_rc = brd_sq_save(c);
	if (*ret_rc)
		return BATCH_BROKEN;
	done = brd_sq_apply(c, tx, &tx->op.err);
	set_result(tx, done.code);
	*ret_rc = done.rc;
	if (done.outcome == SQ_BROKEN)
		return BATCH_BROKEN;
	*ret_rc = brd_sq_unsave(c, done.outcome == SQ_DONE);
	return *ret_rc ? BATCH_BROKEN : BATCH_DONE;
}

static enum batch_end apply_bare(struct sq_conn *c, struct bread_tx *tx, int *ret_rc)
{
	int64_t before = sqlite3_total_changes64(c->db);
	struct sq_applied done = brd_sq_apply(c, tx, &tx->op.err);

	set_result(tx, done.code);
	*ret_rc = done.rc;
	if (done.outcome == SQ_BROKEN)
		return BATCH_BROKEN;
	if (done.outcome == SQ_REFUSED && sqlite3_total_changes64(c->db) != before)
		return BATCH_AGAIN;
	return BATCH_DONE;
}

static enum batch_end run_batch(
	struct sq_conn *c, struct bread_tx *first, bool guarded, int *ret_rc)
{
	enum batch_end end = BATCH_DONE;

	*ret_rc = brd_sq_begin(c);
	if (*ret_rc)
		return BATCH_BROKEN;
	for (struct bread_tx *tx = first; tx && end == BATCH_DONE; tx = next_of(tx))
		end = guarded ? apply_guarded(c, tx, ret_rc) : apply_bare(c, tx, ret_rc);
	if (end == BATCH_DONE) {
		*ret_rc = brd_sq_commit(c);
		if (*ret_rc)
			end = BATCH_BROKEN;
	}
	return end;
}

/* Nothing of the batch is true; everybody hears the same reason. */
static void fail_batch(struct sq_conn *c, struct bread_tx *first, int rc)
{
	struct bread_err err = { 0 };

	brd_sq_fail(c, rc, &err);
	for (struct bread_tx *tx = first; tx; tx = next_of(tx)) {
		tx->op.err = err;
		set_result(tx, err.code);
	}
}

static void end_batch(struct bread_tx *first)
{
	struct bread_tx *next;

	for (struct bread_tx *tx = first; tx; tx = next) {
		next = next_of(tx); /* tx is its owner's again once it has ended */
		bread_op_end_from(&tx->op, result(tx), &tx->op.err);
	}
}

static void write_batch(struct sq_writer *w, struct bread_tx *first)
{
	int rc;
	enum batch_end end = run_batch(&w->conn, first, false, &rc);

	if (end == BATCH_AGAIN) {
		brd_sq_rollback(&w->conn);
		end = run_batch(&w->conn, first, true, &rc);
	}
	if (end == BATCH_BROKEN) {
		fail_batch(&w->conn, first, rc);
		brd_sq_rollback(&w->conn);
	}
	__atomic_store_n(&w->shared->commits_fail, end != BATCH_DONE, __ATOMIC_RELAXED);
	__atomic_fetch_add(&w->shared->commits, 1, __ATOMIC_RELAXED);
	end_batch(first);
}

/* Lets more queue up before the disk is asked to sync. Under the lock. */
static void wait_window(struct sq_writer *w)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += w->window_ms % 1000 * 1000000;
	until.tv_sec += w->window_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!w->stop && !pthread_cond_timedwait(&w->work, &w->lock, &until))
		continue;
}

/* Waits until there is something to do; false: nothing any more. Under the lock. */
static bool wait_work(struct sq_writer *w)
{
	while (w->pauses || (!w->first && !w->stop))
		pthread_cond_wait(&w->work, &w->lock);
	if (w->first && w->window_ms)
		wait_window(w);
	return w->first;
}

static void *writer_main(void *arg)
{
	struct sq_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	while (wait_work(w)) {
		struct bread_tx *batch = take_batch(w);

		w->busy = true;
		pthread_mutex_unlock(&w->lock);
		write_batch(w, batch);
		pthread_mutex_lock(&w->lock);
		w->busy = false;
		pthread_cond_broadcast(&w->idle);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

void brd_sq_writer_init(struct sq_writer *w, struct sq_shared *shared)
{
	pthread_condattr_t attr;

	w->shared = shared;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->work, &attr);
	pthread_cond_init(&w->idle, NULL);
	pthread_condattr_destroy(&attr);
}

int brd_sq_writer_start(struct sq_writer *w, struct bread_err *err)
{
	int e;

	brd_sq_statements(&w->conn, brd_sq_record_sql, brd_sq_record_sql_count);
	sqlite3_wal_hook(w->conn.db, on_wal, w);
	e = pthread_create(&w->thread, NULL, writer_main, w);
	if (e)
		return brd_fail(err, BREAD_E_BUSY, SQ_WHERE, "no thread could be started (%s)",
			brd_errno(e));
	w->started = true;
	return 0;
}

void brd_sq_writer_stop(struct sq_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->work);
	pthread_mutex_unlock(&w->lock);
	if (w->started)
		pthread_join(w->thread, NULL);
	w->started = false;
}

void brd_sq_writer_add(struct sq_writer *w, struct bread_tx *tx)
{
	tx->priv.p[0] = NULL;
	set_result(tx, BREAD_OK);
	pthread_mutex_lock(&w->lock);
	if (w->last)
		w->last->priv.p[0] = tx;
	else
		w->first = tx;
	w->last = tx;
	if (!w->busy)
		pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
}

void brd_sq_writer_pause(struct sq_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->pauses++;
	while (w->busy)
		pthread_cond_wait(&w->idle, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

void brd_sq_writer_resume(struct sq_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->pauses--;
	pthread_cond_broadcast(&w->work);
	pthread_mutex_unlock(&w->lock);
}
