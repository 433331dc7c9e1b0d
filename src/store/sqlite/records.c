/* SPDX-License-Identifier: MIT */
/* Records as statements: what each kind of record does to the tables.
 *
 * Everything runs inside a transaction that the writer has begun. A record that
 * cannot be (its place is taken, what it speaks of is not there) refuses its tx
 * and says so; a database that fails is told apart from that, because it
 * concerns all others in the same transaction, too. */
#include <stdarg.h>
#include <stdio.h>
#include "base/err.h"
#include "store/sqlite/impl.h"
#include "store/tags.h"

enum {
	W_BEGIN,
	W_COMMIT,
	W_SAVE,
	W_BACK,
	W_RELEASE,
	W_FENCE,
	W_SESSION,
	W_TOUCH,
	W_MESSAGE,
	W_RUN,
	W_BUSY,
	W_TURN,
	W_RUN_STATUS,
	W_RUN_TAKE,
	W_RUN_CANCEL,
	W_NODE,
	W_CRUMB,
	W_DEFINITION,
	W_OWNER,
	W_OWNER_GONE,
	W_CHECKPOINT,
	W_CLAIM,
	W_DROP,
	W_STALE,
	W_DEL_MESSAGES, /* from here to W_DEL_SESSION in the order in which they must run */
	W_DEL_CHECKPOINTS,
	W_DEL_CRUMBS,
	W_DEL_RUN_CRUMBS,
	W_DEL_NODES,
	W_DEL_RUNS,
	W_DEL_SESSION,
	W_COUNT,
};

const char *const brd_sq_record_sql[] = {
	[W_BEGIN] = "BEGIN IMMEDIATE",
	[W_COMMIT] = "COMMIT",
	[W_SAVE] = "SAVEPOINT tx",
	[W_BACK] = "ROLLBACK TO tx",
	[W_RELEASE] = "RELEASE tx",
	[W_FENCE] = "SELECT epoch FROM bread_runs WHERE id = ?1",
	[W_SESSION] = "INSERT INTO sessions (id, created_at, updated_at, agent_id, tags)"
		      " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING",
	[W_TOUCH] = "UPDATE sessions SET updated_at = ?2 WHERE id = ?1",
	[W_MESSAGE] = "INSERT INTO session_messages (id, session_id, role, content, timestamp)"
		      " VALUES (?1, ?2, ?3, ?4, ?5)",
	[W_RUN] = "INSERT INTO bread_runs (id, root_id, parent_id, agent_id, session_id, owner,"
		  " definition, input, output, files, error, options, tags, status, epoch,"
		  " created_at, started_at, ended_at, input_tokens, output_tokens,"
		  " cancel_requested) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
		  " ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
	[W_BUSY] = "SELECT id FROM bread_runs INDEXED BY bread_runs_open"
		   " WHERE session_id = ?1 AND status < 3 AND parent_id IS NULL LIMIT 1",
	[W_TURN] = "SELECT o.id FROM bread_runs r JOIN bread_runs o INDEXED BY bread_runs_open"
		   " ON o.session_id = r.session_id WHERE r.id = ?1 AND r.status = 0"
		   " AND o.status < 3 AND o.parent_id IS NULL AND o.id <> r.id"
		   " AND (o.status > 0 OR o.rowid < r.rowid) LIMIT 1",
	[W_RUN_STATUS] = "UPDATE bread_runs SET status = ?2, output = coalesce(?3, output),"
			 " files = coalesce(?4, files), error = coalesce(?5, error),"
			 " started_at = coalesce(?6, started_at),"
			 " ended_at = coalesce(?7, ended_at),"
			 " input_tokens = coalesce(?8, input_tokens),"
			 " output_tokens = coalesce(?9, output_tokens) WHERE id = ?1",
	[W_RUN_TAKE] = "UPDATE bread_runs SET owner = ?2, epoch = ?3 + 1, status = 1"
		       " WHERE id = ?1 AND epoch = ?3 AND status < 3",
	[W_RUN_CANCEL] = "UPDATE bread_runs SET cancel_requested = 1 WHERE id = ?1 AND status < 3",
	[W_NODE] = "INSERT INTO bread_nodes (run_id, name, kind, state, data)"
		   " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (run_id, name)"
		   " DO UPDATE SET kind = ?3, state = ?4, data = ?5",
	[W_CRUMB] =
		"INSERT INTO crumbs (run_id, seq, session_id, agent_id, type, crumb, created_at)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[W_DEFINITION] = "INSERT INTO bread_definitions (hash, definition) VALUES (?1, ?2)"
			 " ON CONFLICT (hash) DO NOTHING",
	[W_OWNER] = "INSERT OR REPLACE INTO bread_owners (id, place, pid, pid_started, lease_until)"
		    " VALUES (?1, ?2, ?3, ?4, ?5)",
	[W_OWNER_GONE] = "DELETE FROM bread_owners WHERE id = ?1",
	[W_CHECKPOINT] = "INSERT OR REPLACE INTO checkpoints (id, agent_id, run_id, session_id,"
			 " tool_name, tool_call_id, schema, prompt, skill, parent, pending,"
			 " created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
	[W_CLAIM] = "DELETE FROM checkpoints WHERE id = ?1",
	[W_DROP] = "DELETE FROM checkpoints WHERE run_id = ?1",
	[W_STALE] = "SELECT id, tags FROM sessions WHERE updated_at < ?1",
	[W_DEL_MESSAGES] = "DELETE FROM session_messages WHERE session_id = ?1",
	[W_DEL_CHECKPOINTS] = "DELETE FROM checkpoints WHERE session_id = ?1",
	[W_DEL_CRUMBS] = "DELETE FROM crumbs WHERE session_id = ?1",
	[W_DEL_RUN_CRUMBS] = "DELETE FROM crumbs WHERE run_id IN"
			     " (SELECT id FROM bread_runs WHERE session_id = ?1)",
	[W_DEL_NODES] = "DELETE FROM bread_nodes WHERE run_id IN"
			" (SELECT id FROM bread_runs WHERE session_id = ?1)",
	[W_DEL_RUNS] = "DELETE FROM bread_runs WHERE session_id = ?1",
	[W_DEL_SESSION] = "DELETE FROM sessions WHERE id = ?1",
};
const size_t brd_sq_record_sql_count = W_COUNT;

#define DONE ((struct sq_applied){ .outcome = SQ_DONE })

__attribute__((format(printf, 3, 4))) static struct sq_applied refuse(
	struct bread_err *err, enum bread_code code, const char *fmt, ...)
{
	va_list ap;
	char text[sizeof(err->text)];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	brd_fail(err, code, SQ_WHERE, "%s", text);
	return (struct sq_applied){ .outcome = SQ_REFUSED, .code = code };
}

static struct sq_applied broken(int rc)
{
	if (!rc)
		return DONE;
	return (struct sq_applied){ .outcome = SQ_BROKEN, .code = BREAD_E_UPSTREAM, .rc = rc };
}

/* What an insert gave: a taken key is somebody else's success. */
static struct sq_applied inserted(
	int rc, struct bread_err *err, const char *what, struct bread_str id)
{
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		return refuse(err, BREAD_E_CONFLICT, "%s %.*s is there already", what, BRD_ARG(id));
	if ((rc & 0xff) == SQLITE_TOOBIG)
		return refuse(err, BREAD_E_TOO_LARGE, "%s %.*s is too large for the database", what,
			BRD_ARG(id));
	return broken(rc);
}

static void bind_nonzero(sqlite3_stmt *s, int at, int64_t v)
{
	if (v)
		sqlite3_bind_int64(s, at, v);
	else
		sqlite3_bind_null(s, at);
}

/* A statement whose one parameter is an id; *affected may be NULL. */
static int run_with_id(struct sq_conn *c, size_t which, struct bread_str id, int64_t *affected)
{
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, which, &s);

	if (rc)
		return rc;
	brd_sq_bind(s, 1, id);
	rc = brd_sq_run(s);
	if (!rc && affected)
		*affected += sqlite3_changes(c->db);
	return rc;
}

static struct sq_applied add_session(
	struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	const struct bread_session_row *row = &rec->session;
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_SESSION, &s);

	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, row->id);
	sqlite3_bind_int64(s, 2, row->created_at);
	sqlite3_bind_int64(s, 3, row->updated_at);
	brd_sq_bind_null(s, 4, row->agent_id);
	brd_sq_bind(s, 5, row->tags.n ? row->tags : BRD_STR("{}"));
	rc = brd_sq_run(s);
	if (!rc)
		rec->affected = sqlite3_changes(c->db);
	return inserted(rc, err, "session", row->id);
}

static struct sq_applied touch_session(
	struct sq_conn *c, struct bread_str id, int64_t at, struct bread_err *err)
{
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_TOUCH, &s);

	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, id);
	sqlite3_bind_int64(s, 2, at);
	rc = brd_sq_run(s);
	if (!rc && sqlite3_changes(c->db) == 0)
		return refuse(err, BREAD_E_NOT_FOUND, "there is no session %.*s", BRD_ARG(id));
	return broken(rc);
}

/* The session is touched, and looked for, once for a row of messages: with the last. */
static struct sq_applied add_message(
	struct sq_conn *c, struct bread_rec *rec, bool last, struct bread_err *err)
{
	const struct bread_message_row *row = &rec->message;
	sqlite3_stmt *s;
	struct sq_applied done;
	int rc = brd_sq_stmt(c, W_MESSAGE, &s);

	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, row->id);
	brd_sq_bind(s, 2, row->session_id);
	brd_sq_bind(s, 3, row->role);
	brd_sq_bind(s, 4, row->content);
	sqlite3_bind_int64(s, 5, row->timestamp);
	done = inserted(brd_sq_run(s), err, "message", row->id);
	if (done.outcome != SQ_DONE || !last)
		return done;
	return touch_session(c, row->session_id, row->timestamp, err);
}

/* A session has one active run (contract C12): refused when the statement, asked about id,
 * finds another. Writers take turns, also those of other processes, so it stays true. */
static struct sq_applied check_free(
	struct sq_conn *c, size_t which, struct bread_str id, struct bread_err *err)
{
	struct sq_applied done = DONE;
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, which, &s);

	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, id);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		brd_fail_as(err, BREAD_E_CONFLICT, "SESSION_BUSY", SQ_WHERE,
			"the session is busy with run %.*s", BRD_ARG(brd_sq_column(s, 0)));
		done = (struct sq_applied){ .outcome = SQ_REFUSED, .code = BREAD_E_CONFLICT };
	}
	sqlite3_reset(s);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? done : broken(rc);
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
	const struct bread_str optional[] = { row->root_id, row->parent_id };
	const struct bread_str texts[] = { row->session_id, row->owner, row->definition, row->input,
		row->output, row->files, row->error, row->options, row->tags };
	const int64_t numbers[] = { row->status, row->epoch, row->created_at, row->started_at,
		row->ended_at, row->input_tokens, row->output_tokens, !!row->cancel_requested };
	sqlite3_stmt *s;
	int at = 1, rc = brd_sq_stmt(c, W_RUN, &s);

	if (rc)
		return broken(rc);
	brd_sq_bind(s, at++, row->id);
	for (size_t i = 0; i < sizeof(optional) / sizeof(*optional); i++)
		brd_sq_bind_null(s, at++, optional[i]);
	brd_sq_bind(s, at++, row->agent_id);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		brd_sq_bind_null(s, at++, texts[i]);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sqlite3_bind_int64(s, at++, numbers[i]);
	return inserted(brd_sq_run(s), err, "run", row->id);
}

static struct sq_applied add_run(
	struct sq_conn *c, const struct bread_tx *tx, size_t at, struct bread_err *err)
{
	const struct bread_run_row *row = &tx->recs[at].run;
	struct sq_applied done = DONE;

	if (row->status == BREAD_RUN_RUNNING && row->session_id.n && !row->parent_id.n &&
		!session_is_new(tx, at, row->session_id))
		done = check_free(c, W_BUSY, row->session_id, err);
	return done.outcome == SQ_DONE ? insert_run(c, row, err) : done;
}

static struct sq_applied set_status(struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	const struct bread_run_row *row = &rec->run;
	struct sq_applied turn = DONE;
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_RUN_STATUS, &s);

	if (row->status == BREAD_RUN_RUNNING)
		turn = check_free(c, W_TURN, row->id, err);
	if (turn.outcome != SQ_DONE)
		return turn;
	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, row->id);
	sqlite3_bind_int(s, 2, (int)row->status);
	brd_sq_bind_null(s, 3, row->output);
	brd_sq_bind_null(s, 4, row->files);
	brd_sq_bind_null(s, 5, row->error);
	bind_nonzero(s, 6, row->started_at);
	bind_nonzero(s, 7, row->ended_at);
	bind_nonzero(s, 8, row->input_tokens);
	bind_nonzero(s, 9, row->output_tokens);
	rc = brd_sq_run(s);
	if (!rc && sqlite3_changes(c->db) == 0)
		return refuse(err, BREAD_E_NOT_FOUND, "there is no run %.*s", BRD_ARG(row->id));
	return inserted(rc, err, "the status of run", row->id);
}

static struct sq_applied take_run(
	struct sq_conn *c, struct bread_rec *rec, int64_t epoch, struct bread_err *err)
{
	struct sq_applied turn = check_free(c, W_TURN, rec->run.id, err);
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_RUN_TAKE, &s);

	if (turn.outcome != SQ_DONE)
		return turn;
	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, rec->run.id);
	brd_sq_bind_null(s, 2, rec->run.owner);
	sqlite3_bind_int64(s, 3, epoch);
	rc = brd_sq_run(s);
	if (!rc && sqlite3_changes(c->db) == 0)
		return refuse(err, BREAD_E_CONFLICT,
			"run %.*s has ended, or another instance has taken it",
			BRD_ARG(rec->run.id));
	return broken(rc);
}

static struct sq_applied put_node(struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	const struct bread_node_row *row = &rec->node;
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_NODE, &s);

	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, row->run_id);
	brd_sq_bind(s, 2, row->name);
	brd_sq_bind(s, 3, row->kind);
	sqlite3_bind_int(s, 4, row->state);
	brd_sq_bind_null(s, 5, row->data);
	return inserted(brd_sq_run(s), err, "node", row->name);
}

static struct sq_applied add_crumb(struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	const struct bread_crumb_row *row = &rec->crumb;
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_CRUMB, &s);

	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, row->run_id);
	sqlite3_bind_int64(s, 2, row->seq);
	brd_sq_bind_null(s, 3, row->session_id);
	brd_sq_bind_null(s, 4, row->agent_id);
	brd_sq_bind(s, 5, row->type);
	brd_sq_bind(s, 6, row->crumb);
	sqlite3_bind_int64(s, 7, row->created_at);
	rc = brd_sq_run(s);
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		return refuse(err, BREAD_E_CONFLICT, "crumb %lld of run %.*s is there already",
			(long long)row->seq, BRD_ARG(row->run_id));
	return inserted(rc, err, "a crumb of run", row->run_id);
}

static struct sq_applied add_definition(
	struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_DEFINITION, &s);

	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, rec->key);
	brd_sq_bind(s, 2, rec->value);
	return inserted(brd_sq_run(s), err, "definition", rec->key);
}

static struct sq_applied put_owner(struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	const struct bread_owner_row *row = &rec->owner;
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_OWNER, &s);

	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, row->id);
	brd_sq_bind(s, 2, row->place);
	sqlite3_bind_int64(s, 3, row->pid);
	sqlite3_bind_int64(s, 4, row->pid_started);
	sqlite3_bind_int64(s, 5, row->lease_until);
	return inserted(brd_sq_run(s), err, "instance", row->id);
}

static struct sq_applied put_checkpoint(
	struct sq_conn *c, const struct bread_checkpoint_row *row, struct bread_err *err)
{
	const struct bread_str must[] = { row->id, row->agent_id, row->run_id, row->session_id,
		row->tool_name, row->tool_call_id, row->schema.n ? row->schema : BRD_STR("null") };
	const struct bread_str may[] = { row->prompt, row->skill, row->parent, row->pending };
	sqlite3_stmt *s;
	int at = 1, rc = brd_sq_stmt(c, W_CHECKPOINT, &s);

	if (rc)
		return broken(rc);
	for (size_t i = 0; i < sizeof(must) / sizeof(*must); i++)
		brd_sq_bind(s, at++, must[i]);
	for (size_t i = 0; i < sizeof(may) / sizeof(*may); i++)
		brd_sq_bind_null(s, at++, may[i]);
	sqlite3_bind_int64(s, at, row->created_at);
	return inserted(brd_sq_run(s), err, "checkpoint", row->id);
}

static struct sq_applied claim(struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	int rc = run_with_id(c, W_CLAIM, rec->key, &rec->affected);

	if (!rc && !rec->affected)
		return refuse(err, BREAD_E_CONFLICT, "checkpoint %.*s was answered already",
			BRD_ARG(rec->key));
	return broken(rc);
}

static int delete_session(struct sq_conn *c, struct bread_str id, int64_t *affected)
{
	int rc = 0;

	for (size_t i = W_DEL_MESSAGES; !rc && i <= W_DEL_SESSION; i++)
		rc = run_with_id(c, i, id, i == W_DEL_SESSION ? affected : NULL);
	return rc;
}

struct stale {
	struct stale *next;
	struct bread_str id;
};

/* The ids first: a session must not go while a cursor stands on it. */
static int find_stale(
	struct sq_conn *c, const struct bread_rec *rec, struct arena *a, struct stale **ret)
{
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_STALE, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, rec->number);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct stale *one;

		if (!brd_tags_match_all(&c->scratch, brd_sq_column(s, 1), rec->value))
			continue;
		one = brd_arena_alloc(a, sizeof(*one));
		one->id = brd_arena_copy(a, brd_sq_column(s, 0));
		one->next = *ret;
		*ret = one;
	}
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : rc;
}

static int clean_up(struct sq_conn *c, struct bread_rec *rec)
{
	struct arena a = { 0 };
	struct stale *all = NULL;
	int rc = find_stale(c, rec, &a, &all);

	for (; !rc && all; all = all->next)
		rc = delete_session(c, all->id, &rec->affected);
	brd_arena_fini(&a);
	return rc;
}

/* The next record is a message of the same session. */
static bool more_messages(const struct bread_tx *tx, size_t i)
{
	const struct bread_rec *next = &tx->recs[i] + 1;

	return i + 1 < tx->count && next->kind == BREAD_REC_MESSAGE &&
	       brd_str_eq(next->message.session_id, tx->recs[i].message.session_id);
}

static struct sq_applied apply(
	struct sq_conn *c, struct bread_tx *tx, size_t i, struct bread_err *err)
{
	struct bread_rec *rec = &tx->recs[i];

	rec->affected = 0; /* it may be applied a second time */
	switch (rec->kind) {
	case BREAD_REC_SESSION:
		return add_session(c, rec, err);
	case BREAD_REC_MESSAGE:
		return add_message(c, rec, !more_messages(tx, i), err);
	case BREAD_REC_RUN:
		return add_run(c, tx, i, err);
	case BREAD_REC_RUN_STATUS:
		return set_status(c, rec, err);
	case BREAD_REC_RUN_TAKE:
		return take_run(c, rec, tx->fence_epoch, err);
	case BREAD_REC_RUN_CANCEL:
		return broken(run_with_id(c, W_RUN_CANCEL, rec->run.id, &rec->affected));
	case BREAD_REC_NODE:
		return put_node(c, rec, err);
	case BREAD_REC_CRUMB:
		return add_crumb(c, rec, err);
	case BREAD_REC_DEFINITION:
		return add_definition(c, rec, err);
	case BREAD_REC_OWNER:
		return put_owner(c, rec, err);
	case BREAD_REC_OWNER_GONE:
		return broken(run_with_id(c, W_OWNER_GONE, rec->key, NULL));
	case BREAD_REC_CHECKPOINT:
		return put_checkpoint(c, &rec->checkpoint, err);
	case BREAD_REC_CHECKPOINT_CLAIM:
		return claim(c, rec, err);
	case BREAD_REC_CHECKPOINT_DROP:
		return broken(run_with_id(c, W_DROP, rec->key, &rec->affected));
	case BREAD_REC_SESSION_DELETE:
		return broken(delete_session(c, rec->key, &rec->affected));
	case BREAD_REC_SESSION_CLEANUP:
		return broken(clean_up(c, rec));
	}
	return refuse(err, BREAD_E_INVALID, "there is no record of kind %d", (int)rec->kind);
}

static struct sq_applied check_fence(
	struct sq_conn *c, const struct bread_tx *tx, struct bread_err *err)
{
	sqlite3_stmt *s;
	int64_t epoch = 0;
	int rc = brd_sq_stmt(c, W_FENCE, &s);

	if (rc)
		return broken(rc);
	brd_sq_bind(s, 1, tx->fence);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		epoch = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	if (rc == SQLITE_DONE)
		return refuse(err, BREAD_E_CONFLICT, "run %.*s is gone", BRD_ARG(tx->fence));
	if (rc != SQLITE_ROW)
		return broken(rc);
	if (epoch != tx->fence_epoch)
		return refuse(err, BREAD_E_CONFLICT, "another instance has taken run %.*s",
			BRD_ARG(tx->fence));
	return DONE;
}

struct sq_applied brd_sq_apply(struct sq_conn *c, struct bread_tx *tx, struct bread_err *err)
{
	struct sq_applied done = DONE;

	err->text[0] = err->name[0] = '\0'; /* of a first try */
	if (tx->fence.n)
		done = check_fence(c, tx, err);
	for (size_t i = 0; done.outcome == SQ_DONE && i < tx->count; i++)
		done = apply(c, tx, i, err);
	return done;
}

static int run_bare(struct sq_conn *c, size_t which)
{
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, which, &s);

	return rc ? rc : brd_sq_run(s);
}

int brd_sq_begin(struct sq_conn *c)
{
	return run_bare(c, W_BEGIN);
}

int brd_sq_commit(struct sq_conn *c)
{
	return run_bare(c, W_COMMIT);
}

/* SQLite has done it by itself after some errors. */
void brd_sq_rollback(struct sq_conn *c)
{
	if (!sqlite3_get_autocommit(c->db))
		sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
}

int brd_sq_save(struct sq_conn *c)
{
	return run_bare(c, W_SAVE);
}

int brd_sq_unsave(struct sq_conn *c, bool keep)
{
	int rc = keep ? 0 : run_bare(c, W_BACK);

	return rc ? rc : run_bare(c, W_RELEASE);
}
