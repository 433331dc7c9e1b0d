/* SPDX-License-Identifier: MIT */
/* The store in an SQLite file: the table of the seam, and who starts what.
 *
 * Options: sync, "full" (the default: what was acknowledged survives the loss of
 * power) or "normal" (survives the end of the process; the last moments before a
 * loss of power may be gone); window_ms, how long the writer waits for company
 * before it commits (0, the default: it does not). */
#include <stdlib.h>
#include <time.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/store.h"
#include "store/sqlite/impl.h"

#define MAX_WINDOW_MS 1000
#define WAL_AGAIN_MS 10

struct sqlite_store {
	struct bread_store store;
	char *path;
	struct sq_shared shared;
	struct sq_writer writer;
	struct sq_readers readers;
	struct sq_checkpointer checkpointer;
};

struct sqlite_options {
	bool normal;
	int64_t window_ms;
};

static int read_option(
	struct sqlite_options *o, struct bread_str key, struct jval value, struct bread_err *err)
{
	if (brd_str_is(key, "sync")) {
		o->normal = brd_json_is(value, "normal");
		if (!o->normal && !brd_json_is(value, "full"))
			return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
				"the option sync is \"full\" or \"normal\"");
		return 0;
	}
	if (brd_str_is(key, "window_ms")) {
		if (!brd_json_int(value, &o->window_ms) || o->window_ms < 0 ||
			o->window_ms > MAX_WINDOW_MS)
			return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
				"the option window_ms is a number from 0 to %d", MAX_WINDOW_MS);
		return 0;
	}
	return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
		"there is no option \"%.*s\"; there are sync and window_ms", BRD_ARG(key));
}

static int read_options(struct sqlite_options *o, struct bread_str text, struct bread_err *err)
{
	struct arena a = { 0 };
	struct jval v;
	int r = 0;

	if (brd_json_parse(&a, text, 0, &v, NULL) || brd_json_type(v) != JSON_OBJECT)
		r = brd_fail(err, BREAD_E_INVALID, SQ_WHERE, "its options are a JSON object");
	else
		for (struct json_iter it = brd_json_each(v); !r && brd_json_next(&it);)
			r = read_option(o, brd_json_str(it.key, &a), it.value, err);
	brd_arena_fini(&a);
	return r;
}

int brd_sqlite_check(struct bread_str options, struct bread_err *err)
{
	struct sqlite_options o;

	return read_options(&o, options, err);
}

static int check_url(struct bread_str url, struct bread_err *err)
{
	if (!url.n)
		return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
			"the path of the database is missing; give one, such as ./bread.db");
	if (brd_str_is(url, ":memory:"))
		return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
			"a database in memory cannot be shared by threads; use the store memory");
	if (memchr(url.p, '\0', url.n))
		return brd_fail(err, BREAD_E_INVALID, SQ_WHERE, "the path holds a NUL byte");
	return 0;
}

/* Two who change a new file's mode at once would wait for each other, so SQLite refuses one of them
 * at once, whatever its busy timeout is. */
static int to_wal(struct sq_conn *c, struct bread_err *err)
{
	const struct timespec pause = { .tv_nsec = WAL_AGAIN_MS * 1000000L };
	int64_t end = brd_clock_mono() + SQ_BUSY_MS;

	while (brd_sq_exec(c, "PRAGMA journal_mode=WAL", err)) {
		if (err->code != BREAD_E_BUSY || brd_clock_mono() >= end)
			return err->code;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* The writer's connection makes the file and the tables; the others come after it. */
static int open_writer(
	struct sqlite_store *s, const struct sqlite_options *o, struct bread_err *err)
{
	struct sq_conn *c = &s->writer.conn;

	if (brd_sq_open(c, s->path, true, err) || to_wal(c, err))
		return err->code;
	if (brd_sq_exec(
		    c, o->normal ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL", err))
		return err->code;
	s->writer.window_ms = o->window_ms;
	return brd_sq_migrate(c, err);
}

static int start(struct sqlite_store *s, const struct sqlite_options *o, struct bread_err *err)
{
	int r = open_writer(s, o, err);

	s->writer.on_growth = brd_sq_checkpointer_wake;
	s->writer.arg = &s->checkpointer;
	if (!r)
		r = brd_sq_writer_start(&s->writer, err);
	if (!r)
		r = brd_sq_readers_start(&s->readers, s->path, err);
	if (!r)
		r = brd_sq_checkpointer_start(&s->checkpointer, s->path, err);
	return r;
}

/* What is in the log is synced and carried over, whatever sync was. */
static void flush(struct sqlite_store *s)
{
	struct sq_conn *c = &s->writer.conn;
	int rc;

	if (!c->db)
		return;
	sqlite3_exec(c->db, "PRAGMA synchronous=FULL", NULL, NULL, NULL);
	rc = sqlite3_wal_checkpoint_v2(c->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	if (rc && (rc & 0xff) != SQLITE_BUSY) {
		struct bread_err err = { 0 };

		brd_sq_fail(c, rc, &err);
		log_warn("store.close", "%s", err.text);
	}
}

static void stop(struct sqlite_store *s)
{
	brd_sq_checkpointer_stop(&s->checkpointer);
	brd_sq_readers_stop(&s->readers);
	brd_sq_writer_stop(&s->writer);
	flush(s);
	brd_sq_close(&s->writer.conn);
	free(s->path);
}

static int sqlite_open(struct bread_store *store, struct bread_str url, struct bread_str options,
	struct bread_err *err)
{
	struct sqlite_store *s = (struct sqlite_store *)store;
	struct sqlite_options o = { 0 };
	struct bread_err own;
	int r;

	err = err ? err : &own;
	if (check_url(url, err) || read_options(&o, options, err))
		return err->code;
	s->path = brd_strndup(url);
	brd_sq_writer_init(&s->writer, &s->shared);
	brd_sq_readers_init(&s->readers, &s->shared);
	brd_sq_checkpointer_init(&s->checkpointer, &s->shared, &s->writer);
	r = start(s, &o, err);
	if (r)
		stop(s);
	return r;
}

static void sqlite_close(struct bread_store *store)
{
	stop((struct sqlite_store *)store);
}

static void sqlite_commit(struct bread_store *store, struct bread_tx *tx)
{
	bread_op_begin(&tx->op, NULL, store);
	brd_sq_writer_add(&((struct sqlite_store *)store)->writer, tx);
}

static void sqlite_read(struct bread_store *store, struct bread_read *r)
{
	bread_op_begin(&r->op, NULL, store);
	brd_sq_readers_add(&((struct sqlite_store *)store)->readers, r);
}

static int sqlite_healthy(struct bread_store *store)
{
	const struct sq_shared *shared = &((struct sqlite_store *)store)->shared;

	return !__atomic_load_n(&shared->commits_fail, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&shared->reads_fail, __ATOMIC_RELAXED);
}

const struct bread_store_ops bread_store_sqlite = {
	.name = "sqlite",
	.size = sizeof(struct sqlite_store),
	.open = sqlite_open,
	.close = sqlite_close,
	.commit = sqlite_commit,
	.read = sqlite_read,
	.healthy = sqlite_healthy,
};
