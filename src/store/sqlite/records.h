/* SPDX-License-Identifier: MIT */
/* What the files of records share: what a statement gave, and binding by turns. */
#pragma once
#include "base/err.h"
#include "store/sqlite/impl.h"
#include "store/sqlite/record_sql.h"

/* ---- outcomes (records.c) ---- */

#define SQ_FINE ((struct sq_applied){ .outcome = SQ_DONE })

__attribute__((format(printf, 3, 4))) struct sq_applied brd_sq_refuse(
	struct bread_err *err, enum bread_code code, const char *fmt, ...);
struct sq_applied brd_sq_broken(int rc); /* 0: all is well */
/* What an insert gave: a taken key is somebody else's success. */
struct sq_applied brd_sq_inserted(
	int rc, struct bread_err *err, const char *what, struct bread_str id);
/* A statement whose one parameter is an id; *affected, if there is one, grows by what it changed.
 */
int brd_sq_run_with_id(struct sq_conn *c, size_t which, struct bread_str id, int64_t *ret_affected);

/* ---- binding one parameter after the other ---- */

struct binder {
	struct sq_conn *c;
	sqlite3_stmt *s; /* NULL: it could not be prepared, and rc says why */
	int at, rc;
};
struct binder brd_sq_binder(struct sq_conn *c, size_t which);
void brd_sq_must(struct binder *b, struct bread_str text); /* "" when empty */
void brd_sq_may(struct binder *b, struct bread_str text);  /* NULL when empty */
/* bind for each of them: BIND(&b, brd_sq_must, row->id, row->name). */
void brd_sq_each(struct binder *b, void (*bind)(struct binder *b, struct bread_str text),
	const struct bread_str *texts, size_t count);
#define BIND(b, bind, ...) \
	brd_sq_each(b, bind, (const struct bread_str[]){ __VA_ARGS__ }, \
		sizeof((const struct bread_str[]){ __VA_ARGS__ }) / sizeof(struct bread_str))
void brd_sq_number(struct binder *b, int64_t n);
void brd_sq_nonzero(struct binder *b, int64_t n); /* NULL when 0 */
int brd_sq_go(struct binder *b);                  /* an SQLite code */

/* ---- records ---- */

/* record_runs.c */
struct sq_applied brd_sq_add_run(
	struct sq_conn *c, const struct bread_tx *tx, size_t at, struct bread_err *err);
struct sq_applied brd_sq_set_status(
	struct sq_conn *c, const struct bread_run_row *row, struct bread_err *err);
struct sq_applied brd_sq_take_run(
	struct sq_conn *c, const struct bread_run_row *row, int64_t epoch, struct bread_err *err);

/* record_checkpoints.c */
struct sq_applied brd_sq_put_checkpoint(
	struct sq_conn *c, const struct bread_checkpoint_row *row, struct bread_err *err);
struct sq_applied brd_sq_claim(struct sq_conn *c, struct bread_rec *rec, struct bread_err *err);
/* Those of a run; of a root: of its tree. */
int brd_sq_unask(struct sq_conn *c, struct bread_rec *rec);
int brd_sq_link(struct sq_conn *c, struct bread_rec *rec);
int brd_sq_drop(struct sq_conn *c, struct bread_str run_id, int64_t *affected);

/* record_compositions.c */
struct sq_applied brd_sq_put_loop(
	struct sq_conn *c, const struct bread_loop_row *row, struct bread_err *err);
struct sq_applied brd_sq_add_round(
	struct sq_conn *c, const struct bread_loop_round_row *row, struct bread_err *err);
struct sq_applied brd_sq_put_task_run(
	struct sq_conn *c, const struct bread_task_run_row *row, struct bread_err *err);
struct sq_applied brd_sq_add_knowledge(
	struct sq_conn *c, struct bread_rec *rec, struct bread_err *err);
int brd_sq_forget(struct sq_conn *c, struct bread_rec *rec);
struct sq_applied brd_sq_add_document(
	struct sq_conn *c, const struct bread_document_row *row, struct bread_err *err);
struct sq_applied brd_sq_add_key(
	struct sq_conn *c, const struct bread_idempotency_row *row, struct bread_err *err);
int brd_sq_clean_keys(struct sq_conn *c, struct bread_rec *rec);

/* record_delete.c */
int brd_sq_delete_session(struct sq_conn *c, struct bread_rec *rec);
int brd_sq_clean_sessions(struct sq_conn *c, struct bread_rec *rec);
