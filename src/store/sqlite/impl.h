/* SPDX-License-Identifier: MIT */
/* The inside of the SQLite store, for the files of this folder only.
 *
 * Threads and what they own: the writer one connection and the queue of commits,
 * two readers one connection each and the queue of reads, the checkpointer one
 * connection. Nothing else is shared but the atomics in struct sq_shared. */
#pragma once
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include "base/arena.h"
#include "base/str.h"
#include "bread/ext/store.h"

#define SQ_WHERE "store.sqlite"
#define SQ_BUSY_MS 5000

/* conn.c: a connection, its prepared statements, and what its errors mean */

struct sq_conn {
	sqlite3 *db;
	const char *path;       /* the store's */
	const char *const *sql; /* one text a statement */
	sqlite3_stmt **stmts;   /* prepared when first used */
	size_t count;
	struct arena scratch; /* for tags */
};

/* writable: the only connection that is. The database must exist for the others. */
int brd_sq_open(struct sq_conn *c, const char *path, bool writable, struct bread_err *err);
void brd_sq_statements(struct sq_conn *c, const char *const *sql, size_t count);
void brd_sq_close(struct sq_conn *c); /* a zeroed one, too */
int brd_sq_exec(struct sq_conn *c, const char *sql, struct bread_err *err);

/* Turns what SQLite said into a sentence that names the file and the remedy. */
int brd_sq_fail(const struct sq_conn *c, int rc, struct bread_err *err);

/* A statement ready to be bound; *ret is NULL on failure, and the code is the result. */
int brd_sq_stmt(struct sq_conn *c, size_t which, sqlite3_stmt **ret);
/* Steps to the end and resets. An SQLite code. */
int brd_sq_run(sqlite3_stmt *s);
void brd_sq_bind(sqlite3_stmt *s, int at, struct bread_str text);      /* "" when empty */
void brd_sq_bind_null(sqlite3_stmt *s, int at, struct bread_str text); /* NULL when empty */
struct bread_str brd_sq_column(sqlite3_stmt *s, int at);               /* until the next step */

/* schema.c: the tables. */
/* Conditions of indexes, and of those who use them, word for word: runs that have not ended;
 * suspended roots that were answered or cancelled while they slept. */
#define SQ_LIVE "status < 3"
#define SQ_WOKEN "parent_id IS NULL AND status = 2 AND (wake > 0 OR cancel_requested > 0)"
int brd_sq_migrate(struct sq_conn *c, struct bread_err *err);

/* records.c: one tx, inside a transaction of the database. Its other files share records.h. */

enum sq_outcome {
	SQ_DONE,
	SQ_REFUSED, /* this tx cannot be: code and err are set; others are not concerned */
	SQ_BROKEN,  /* the database failed: rc is set */
};

struct sq_applied {
	enum sq_outcome outcome;
	enum bread_code code;
	int rc;
};

extern const char *const brd_sq_record_sql[]; /* record_sql.c */
extern const size_t brd_sq_record_sql_count;

struct sq_applied brd_sq_apply(struct sq_conn *c, struct bread_tx *tx, struct bread_err *err);
int brd_sq_begin(struct sq_conn *c); /* SQLite codes */
int brd_sq_commit(struct sq_conn *c);
void brd_sq_rollback(struct sq_conn *c);
int brd_sq_save(struct sq_conn *c); /* a savepoint; at most one at a time */
int brd_sq_unsave(struct sq_conn *c, bool keep);

/* reads.c: one question; read_sql.c: the statements. */
extern const char *const brd_sq_read_sql[];
extern const size_t brd_sq_read_sql_count;
int brd_sq_answer(struct sq_conn *c, struct bread_read *r); /* an SQLite code */

/* What the threads tell each other. */
struct sq_shared {
	int commits_fail, reads_fail; /* atomics: the last one did */
	int wal_frames;               /* atomic: in the log after the last commit */
	int commits;                  /* atomic: grows */
};

/* writer.c */
struct sq_writer {
	struct sq_conn conn;
	struct sq_shared *shared;
	int64_t window_ms;
	void (*on_growth)(void *arg); /* called once the log has grown a good deal */
	void *arg;
	int told_at; /* wal_frames when on_growth was last called */

	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	struct bread_tx *first, *last; /* by priv.p[0] */
	int pauses;
	bool busy, stop;
};
void brd_sq_writer_init(struct sq_writer *w, struct sq_shared *shared);
int brd_sq_writer_start(struct sq_writer *w, struct bread_err *err);
void brd_sq_writer_stop(struct sq_writer *w); /* after what is queued; one never started, too */
void brd_sq_writer_add(struct sq_writer *w, struct bread_tx *tx);
/* Between these no transaction is open on the writer's connection. */
void brd_sq_writer_pause(struct sq_writer *w);
void brd_sq_writer_resume(struct sq_writer *w);

/* readers.c */
#define SQ_READERS 2
struct sq_readers {
	struct sq_conn conns[SQ_READERS];
	pthread_t threads[SQ_READERS];
	size_t started;
	size_t running; /* atomic */
	struct sq_shared *shared;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct bread_read *first, *last; /* by priv.p[0] */
	bool stop;
};
void brd_sq_readers_init(struct sq_readers *p, struct sq_shared *shared);
int brd_sq_readers_start(struct sq_readers *p, const char *path, struct bread_err *err);
void brd_sq_readers_stop(struct sq_readers *p);
void brd_sq_readers_add(struct sq_readers *p, struct bread_read *r);

/* checkpoint.c */
struct sq_checkpointer {
	struct sq_conn conn;
	struct sq_shared *shared;
	struct sq_writer *writer;
	pthread_t thread;
	bool uncut; /* the log was started over, and its file not cut */
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t work;
	bool wanted, stop;
};
void brd_sq_checkpointer_init(
	struct sq_checkpointer *k, struct sq_shared *shared, struct sq_writer *writer);
int brd_sq_checkpointer_start(struct sq_checkpointer *k, const char *path, struct bread_err *err);
void brd_sq_checkpointer_stop(struct sq_checkpointer *k);
void brd_sq_checkpointer_wake(void *k); /* any thread */
