/* SPDX-License-Identifier: MIT */
/* Records of runs: their rows, whose they are, and whose turn it is in a session. */
#include "store/sqlite/records.h"

/* A session has one active run (contract C12): refused when the statement, asked about id,
 * finds another. Writers take turns, also those of other processes, so it stays true. */
static struct sq_applied check_free(
	struct sq_conn *c, size_t which, struct bread_str id, struct bread_err *err)
{
	struct sq_applied done = SQ_FINE;
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, which, &s);

	if (rc)
		return brd_sq_broken(rc);
	brd_sq_bind(s, 1, id);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		brd_fail_as(err, BREAD_E_CONFLICT, "SESSION_BUSY", SQ_WHERE,
			"the session is busy with run %.*s", BRD_ARG(brd_sq_column(s, 0)));
		done = (struct sq_applied){ .outcome = SQ_REFUSED, .code = BREAD_E_CONFLICT };
	}
	sqlite3_reset(s);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? done : brd_sq_broken(rc);
}

/* The session was made by this very tx: nobody else can have a run in it. */
static bool session_is_new(const struct bread_tx *tx, size_t at, struct bread_str id)
{
	for (size_t i = 0; i < at; i++)
		if (tx->recs[i].kind == BREAD_REC_SESSION && tx->recs[i].affected &&
			brd_str_eq(tx->recs[i].session.id, id))
			return true;
	return false;
}

static struct sq_applied insert_run(
	struct sq_conn *c, const struct bread_run_row *row, struct bread_err *err)
{
	const int64_t numbers[] = { row->status, row->epoch, row->created_at, row->started_at,
		row->ended_at, row->input_tokens, row->output_tokens, !!row->cancel_requested,
		row->kind, !!row->composed, row->steps, row->wake };
	struct binder b = brd_sq_binder(c, W_RUN);

	brd_sq_must(&b, row->id);
	brd_sq_may(&b, row->root_id);
	brd_sq_may(&b, row->parent_id);
	brd_sq_must(&b, row->agent_id);
	BIND(&b, brd_sq_may, row->session_id, row->owner, row->definition, row->input, row->output,
		row->files, row->error, row->options, row->tags, row->path);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		brd_sq_number(&b, numbers[i]);
	return brd_sq_inserted(brd_sq_go(&b), err, "run", row->id);
}

struct sq_applied brd_sq_add_run(
	struct sq_conn *c, const struct bread_tx *tx, size_t at, struct bread_err *err)
{
	const struct bread_run_row *row = &tx->recs[at].run;
	struct sq_applied done = SQ_FINE;

	if (row->status == BREAD_RUN_RUNNING && row->session_id.n && !row->parent_id.n &&
		!session_is_new(tx, at, row->session_id))
		done = check_free(c, W_BUSY, row->session_id, err);
	return done.outcome == SQ_DONE ? insert_run(c, row, err) : done;
}

struct sq_applied brd_sq_set_status(
	struct sq_conn *c, const struct bread_run_row *row, struct bread_err *err)
{
	struct sq_applied turn = SQ_FINE;
	struct binder b;
	int rc;

	if (row->status == BREAD_RUN_RUNNING)
		turn = check_free(c, W_TURN, row->id, err);
	if (turn.outcome != SQ_DONE)
		return turn;
	b = brd_sq_binder(c, W_RUN_STATUS);
	brd_sq_must(&b, row->id);
	brd_sq_number(&b, row->status);
	BIND(&b, brd_sq_may, row->output, row->files, row->error);
	brd_sq_nonzero(&b, row->started_at);
	brd_sq_nonzero(&b, row->ended_at);
	brd_sq_nonzero(&b, row->input_tokens);
	brd_sq_nonzero(&b, row->output_tokens);
	brd_sq_nonzero(&b, row->steps);
	rc = brd_sq_go(&b);
	if (!rc && sqlite3_changes(c->db) == 0)
		return brd_sq_refuse(
			err, BREAD_E_NOT_FOUND, "there is no run %.*s", BRD_ARG(row->id));
	return brd_sq_inserted(rc, err, "the status of run", row->id);
}

struct sq_applied brd_sq_take_run(
	struct sq_conn *c, const struct bread_run_row *row, int64_t epoch, struct bread_err *err)
{
	struct sq_applied turn = check_free(c, W_TURN, row->id, err);
	struct binder b;
	int rc;

	if (turn.outcome != SQ_DONE)
		return turn;
	b = brd_sq_binder(c, W_RUN_TAKE);
	brd_sq_must(&b, row->id);
	brd_sq_may(&b, row->owner);
	brd_sq_number(&b, epoch);
	rc = brd_sq_go(&b);
	if (!rc && sqlite3_changes(c->db) == 0)
		return brd_sq_refuse(err, BREAD_E_CONFLICT,
			"run %.*s has ended, or another instance has taken it", BRD_ARG(row->id));
	return brd_sq_broken(rc);
}
