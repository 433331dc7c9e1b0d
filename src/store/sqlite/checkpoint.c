/* SPDX-License-Identifier: MIT */
/* The checkpointer: carries what the log holds into the database file.
 *
 * Within the writer's commit that work would be the tail of its latency (tens to
 * hundreds of milliseconds), so it has a thread and a connection of its own. A
 * passive checkpoint runs beside the writer whenever the log has grown. A busy
 * writer never lets it reach the end, so over a size the writer is held up for
 * the rest, and the log is started over. When nobody has written for a while the
 * log is cut to nothing.
 *
 * It never waits for readers: one that holds an old snapshot for long (a tool
 * beside the server) only makes the log longer. */
#include <time.h>
#include "base/err.h"
#include "base/log.h"
#include "store/sqlite/impl.h"

#define LOOK_MS 1000
#define WAL_RESTART 16000 /* pages: 64 MB */
#define WAL_KEEP 256      /* pages that are not worth a truncation */
#define RESTART_BUSY_MS 20

static int checkpoint(struct sq_checkpointer *k, int mode)
{
	int rc = sqlite3_wal_checkpoint_v2(k->conn.db, "main", mode, NULL, NULL);

	if (rc && (rc & 0xff) != SQLITE_BUSY && (rc & 0xff) != SQLITE_LOCKED) {
		struct bread_err err = { 0 };

		brd_sq_fail(&k->conn, rc, &err);
		log_warn("store.checkpoint", "%s", err.text);
	}
	return rc;
}

static int frames(const struct sq_checkpointer *k)
{
	return __atomic_load_n(&k->shared->wal_frames, __ATOMIC_RELAXED);
}

/* A log that was started over by a busy writer keeps its length in the folder. */
static void start_over(struct sq_checkpointer *k, int mode)
{
	brd_sq_writer_pause(k->writer);
	if (checkpoint(k, mode) == SQLITE_OK) {
		__atomic_store_n(&k->shared->wal_frames, 0, __ATOMIC_RELAXED);
		k->uncut = mode == SQLITE_CHECKPOINT_RESTART;
	}
	brd_sq_writer_resume(k->writer);
}

static void work(struct sq_checkpointer *k, bool idle)
{
	if (checkpoint(k, SQLITE_CHECKPOINT_PASSIVE))
		return;
	if (idle && (k->uncut || frames(k) > WAL_KEEP))
		start_over(k, SQLITE_CHECKPOINT_TRUNCATE);
	else if (frames(k) > WAL_RESTART)
		start_over(k, SQLITE_CHECKPOINT_RESTART);
}

/* Sleeps until somebody calls or it is time to look. Under the lock. */
static void wait_a_while(struct sq_checkpointer *k)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LOOK_MS / 1000;
	while (!k->wanted && !k->stop)
		if (pthread_cond_timedwait(&k->work, &k->lock, &until))
			break;
}

static void *checkpointer_main(void *arg)
{
	struct sq_checkpointer *k = arg;
	int seen = 0, done = 0; /* commits at the last look, and at the last checkpoint */

	pthread_mutex_lock(&k->lock);
	while (!k->stop) {
		int commits;
		bool wanted, idle;

		wait_a_while(k);
		wanted = k->wanted;
		k->wanted = false;
		if (k->stop)
			break;
		pthread_mutex_unlock(&k->lock);
		commits = __atomic_load_n(&k->shared->commits, __ATOMIC_RELAXED);
		idle = !wanted && commits == seen;
		if (wanted || (idle && (k->uncut || commits != done))) {
			work(k, idle);
			done = commits;
		}
		seen = commits;
		pthread_mutex_lock(&k->lock);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

void brd_sq_checkpointer_init(
	struct sq_checkpointer *k, struct sq_shared *shared, struct sq_writer *writer)
{
	pthread_condattr_t attr;

	k->shared = shared;
	k->writer = writer;
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->work, &attr);
	pthread_condattr_destroy(&attr);
}

int brd_sq_checkpointer_start(struct sq_checkpointer *k, const char *path, struct bread_err *err)
{
	int e;

	/* NORMAL: the log is synced before pages are carried over, and the file after */
	if (brd_sq_open(&k->conn, path, false, err) ||
		brd_sq_exec(&k->conn, "PRAGMA synchronous=NORMAL", err))
		return err->code;
	sqlite3_busy_timeout(k->conn.db, RESTART_BUSY_MS);
	e = pthread_create(&k->thread, NULL, checkpointer_main, k);
	if (e)
		return brd_fail(err, BREAD_E_BUSY, SQ_WHERE, "no thread could be started (%s)",
			brd_errno(e));
	k->started = true;
	return 0;
}

void brd_sq_checkpointer_stop(struct sq_checkpointer *k)
{
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_signal(&k->work);
	pthread_mutex_unlock(&k->lock);
	if (k->started)
		pthread_join(k->thread, NULL);
	k->started = false;
	brd_sq_close(&k->conn);
}

void brd_sq_checkpointer_wake(void *arg)
{
	struct sq_checkpointer *k = arg;

	pthread_mutex_lock(&k->lock);
	k->wanted = true;
	pthread_cond_signal(&k->work);
	pthread_mutex_unlock(&k->lock);
}
