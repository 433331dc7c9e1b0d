/* SPDX-License-Identifier: MIT */
/* Records as statements: what each kind of record does to the tables.
 *
 * Everything runs inside a transaction that the writer has begun. A record that
 * cannot be (its place is taken, what it speaks of is not there) refuses its tx
 * and says so; a database that fails is told apart from that, because it
 * concerns all others in the same transaction, too. */
#include "store/sqlite/records.h"
#include <stdarg.h>
#include <stdio.h>

struct sq_applied brd_sq_refuse(struct bread_err *err, enum bread_code code, const char *fmt, ...)
{
	va_list ap;
	char text[sizeof(err->text)];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	brd_fail(err, code, SQ_WHERE, "%s", text);
	return (struct sq_applied){ .outcome = SQ_REFUSED, .code = code };
}

struct sq_applied brd_sq_broken(int rc)
{
	if (!rc)
		return SQ_FINE;
	return (struct sq_applied){ .outcome = SQ_BROKEN, .code = BREAD_E_UPSTREAM, .rc = rc };
}

struct sq_applied brd_sq_inserted(
	int rc, struct bread_err *err, const char *what, struct bread_str id)
{
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		return brd_sq_refuse(
			err, BREAD_E_CONFLICT, "%s %.*s is there already", what, BRD_ARG(id));
	if ((rc & 0xff) == SQLITE_TOOBIG)
		return brd_sq_refuse(err, BREAD_E_TOO_LARGE,
			"%s %.*s is too large for the database", what, BRD_ARG(id));
	return brd_sq_broken(rc);
}

int brd_sq_run_with_id(struct sq_conn *c, size_t which, struct bread_str id, int64_t *ret_affected)
{
	struct binder b = brd_sq_binder(c, which);
	int rc;

	brd_sq_must(&b, id);
	rc = brd_sq_go(&b);
	if (!rc && ret_affected)
		*ret_affected += sqlite3_changes(c->db);
	return rc;
}

struct binder brd_sq_binder(struct sq_conn *c, size_t which)
{
	struct binder b = { .c = c };

	b.rc = brd_sq_stmt(c, which, &b.s);
	return b;
}

void brd_sq_must(struct binder *b, struct bread_str text)
{
	if (b->s)
		brd_sq_bind(b->s, ++b->at, text);
}

void brd_sq_may(struct binder *b, struct bread_str text)
{
	if (b->s)
		brd_sq_bind_null(b->s, ++b->at, text);
}

void brd_sq_each(struct binder *b, void (*bind)(struct binder *b, struct bread_str text),
	const struct bread_str *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bind(b, texts[i]);
}

void brd_sq_number(struct binder *b, int64_t n)
{
	if (b->s)
		sqlite3_bind_int64(b->s, ++b->at, n);
}

void brd_sq_nonzero(struct binder *b, int64_t n)
{
	if (n)
		brd_sq_number(b, n);
	else if (b->s)
		sqlite3_bind_null(b->s, ++b->at);
}

int brd_sq_go(struct binder *b)
{
	return b->rc ? b->rc : brd_sq_run(b->s);
}

static struct sq_applied add_session(
	struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	const struct bread_session_row *row = &rec->session;
	struct binder b = brd_sq_binder(c, W_SESSION);
	int rc;

	brd_sq_must(&b, row->id);
	brd_sq_number(&b, row->created_at);
	brd_sq_number(&b, row->updated_at);
	brd_sq_may(&b, row->agent_id);
	brd_sq_must(&b, row->tags.n ? row->tags : BRD_STR("{}"));
	rc = brd_sq_go(&b);
	if (!rc)
		rec->affected = sqlite3_changes(c->db);
	return brd_sq_inserted(rc, err, "session", row->id);
}

static struct sq_applied touch_session(
	struct sq_conn *c, struct bread_str id, int64_t at, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_TOUCH);
	int rc;

	brd_sq_must(&b, id);
	brd_sq_number(&b, at);
	rc = brd_sq_go(&b);
	if (!rc && sqlite3_changes(c->db) == 0)
		return brd_sq_refuse(
			err, BREAD_E_NOT_FOUND, "there is no session %.*s", BRD_ARG(id));
	return brd_sq_broken(rc);
}

/* The session is touched, and looked for, once for a row of messages: with the last. */
static struct sq_applied add_message(
	struct sq_conn *c, struct bread_rec *rec, bool last, struct bread_err *err)
{
	const struct bread_message_row *row = &rec->message;
	struct binder b = brd_sq_binder(c, W_MESSAGE);
	struct sq_applied done;

	BIND(&b, brd_sq_must, row->id, row->session_id, row->role, row->content);
	brd_sq_number(&b, row->timestamp);
	done = brd_sq_inserted(brd_sq_go(&b), err, "message", row->id);
	if (done.outcome != SQ_DONE || !last)
		return done;
	return touch_session(c, row->session_id, row->timestamp, err);
}

static struct sq_applied put_node(
	struct sq_conn *c, const struct bread_node_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_NODE);

	BIND(&b, brd_sq_must, row->run_id, row->name, row->kind);
	brd_sq_number(&b, row->state);
	brd_sq_may(&b, row->data);
	return brd_sq_inserted(brd_sq_go(&b), err, "node", row->name);
}

/* Its line in the log of its tree. */
static struct sq_applied add_line(
	struct sq_conn *c, const struct bread_crumb_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_TREE);
	int rc;

	brd_sq_must(&b, row->root_id);
	brd_sq_number(&b, row->tree_seq);
	brd_sq_must(&b, row->run_id);
	brd_sq_number(&b, row->seq);
	brd_sq_may(&b, row->path);
	rc = brd_sq_go(&b);
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		return brd_sq_refuse(err, BREAD_E_CONFLICT,
			"line %lld of the tree of run %.*s is there already",
			(long long)row->tree_seq, BRD_ARG(row->root_id));
	return brd_sq_inserted(rc, err, "a line of the tree of run", row->root_id);
}

static struct sq_applied add_crumb(
	struct sq_conn *c, const struct bread_crumb_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_CRUMB);
	struct sq_applied done;
	int rc;

	brd_sq_must(&b, row->run_id);
	brd_sq_number(&b, row->seq);
	brd_sq_may(&b, row->session_id);
	brd_sq_may(&b, row->agent_id);
	brd_sq_must(&b, row->type);
	brd_sq_must(&b, row->crumb);
	brd_sq_number(&b, row->created_at);
	rc = brd_sq_go(&b);
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		return brd_sq_refuse(err, BREAD_E_CONFLICT,
			"crumb %lld of run %.*s is there already", (long long)row->seq,
			BRD_ARG(row->run_id));
	done = brd_sq_inserted(rc, err, "a crumb of run", row->run_id);
	return done.outcome == SQ_DONE && row->tree_seq ? add_line(c, row, err) : done;
}

static struct sq_applied add_definition(
	struct sq_conn *c, const struct bread_rec *rec, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_DEFINITION);

	brd_sq_must(&b, rec->key);
	brd_sq_must(&b, rec->value);
	return brd_sq_inserted(brd_sq_go(&b), err, "definition", rec->key);
}

static struct sq_applied put_owner(
	struct sq_conn *c, const struct bread_owner_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_OWNER);

	brd_sq_must(&b, row->id);
	brd_sq_must(&b, row->place);
	brd_sq_number(&b, row->pid);
	brd_sq_number(&b, row->pid_started);
	brd_sq_number(&b, row->lease_until);
	return brd_sq_inserted(brd_sq_go(&b), err, "instance", row->id);
}

/* The next record is a message of the same session. */
static bool more_messages(const struct bread_tx *tx, size_t i)
{
	const struct bread_rec *next = &tx->recs[i] + 1;

	return i + 1 < tx->count && next->kind == BREAD_REC_MESSAGE &&
	       brd_str_eq(next->message.session_id, tx->recs[i].message.session_id);
}

/* Those that a composition leaves behind. */
static struct sq_applied apply_more(struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	switch (rec->kind) {
	case BREAD_REC_LOOP:
		return brd_sq_put_loop(c, &rec->loop, err);
	case BREAD_REC_LOOP_ROUND:
		return brd_sq_add_round(c, &rec->round, err);
	case BREAD_REC_TASK_RUN:
		return brd_sq_put_task_run(c, &rec->task_run, err);
	case BREAD_REC_KNOWLEDGE:
		return brd_sq_add_knowledge(c, rec, err);
	case BREAD_REC_KNOWLEDGE_FORGET:
		return brd_sq_broken(brd_sq_forget(c, rec));
	case BREAD_REC_DOCUMENT:
		return brd_sq_add_document(c, &rec->document, err);
	case BREAD_REC_IDEMPOTENCY:
		return brd_sq_add_key(c, &rec->idempotency, err);
	case BREAD_REC_IDEMPOTENCY_CLEANUP:
		return brd_sq_broken(brd_sq_clean_keys(c, rec));
	default:
		return brd_sq_refuse(
			err, BREAD_E_INVALID, "there is no record of kind %d", (int)rec->kind);
	}
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
		return brd_sq_add_run(c, tx, i, err);
	case BREAD_REC_RUN_STATUS:
		return brd_sq_set_status(c, &rec->run, err);
	case BREAD_REC_RUN_TAKE:
		return brd_sq_take_run(c, &rec->run, tx->fence_epoch, err);
	case BREAD_REC_RUN_CANCEL:
		return brd_sq_broken(
			brd_sq_run_with_id(c, W_RUN_CANCEL, rec->run.id, &rec->affected));
	case BREAD_REC_RUN_WAKE:
		return brd_sq_broken(
			brd_sq_run_with_id(c, W_RUN_WAKE, rec->run.id, &rec->affected));
	case BREAD_REC_RUN_HEARD:
		return brd_sq_broken(
			brd_sq_run_with_id(c, W_RUN_HEARD, rec->run.id, &rec->affected));
	case BREAD_REC_NODE:
		return put_node(c, &rec->node, err);
	case BREAD_REC_CRUMB:
		return add_crumb(c, &rec->crumb, err);
	case BREAD_REC_DEFINITION:
		return add_definition(c, rec, err);
	case BREAD_REC_OWNER:
		return put_owner(c, &rec->owner, err);
	case BREAD_REC_OWNER_GONE:
		return brd_sq_broken(brd_sq_run_with_id(c, W_OWNER_GONE, rec->key, NULL));
	case BREAD_REC_CHECKPOINT:
		return brd_sq_put_checkpoint(c, &rec->checkpoint, err);
	case BREAD_REC_CHECKPOINT_CLAIM:
		return brd_sq_claim(c, rec, err);
	case BREAD_REC_CHECKPOINT_DROP:
		return brd_sq_broken(brd_sq_drop(c, rec->key, &rec->affected));
	case BREAD_REC_CHECKPOINT_LINK:
		return brd_sq_broken(brd_sq_link(c, rec));
	case BREAD_REC_CHECKPOINT_FORGET:
		return brd_sq_broken(brd_sq_unask(c, rec));
	case BREAD_REC_SESSION_DELETE:
		return brd_sq_broken(brd_sq_delete_session(c, rec));
	case BREAD_REC_SESSION_CLEANUP:
		return brd_sq_broken(brd_sq_clean_sessions(c, rec));
	default:
		return apply_more(c, rec, err);
	}
}

static struct sq_applied check_fence(
	struct sq_conn *c, const struct bread_tx *tx, struct bread_err *err)
{
	sqlite3_stmt *s;
	int64_t epoch = 0;
	int rc = brd_sq_stmt(c, W_FENCE, &s);

	if (rc)
		return brd_sq_broken(rc);
	brd_sq_bind(s, 1, tx->fence);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		epoch = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	if (rc == SQLITE_DONE)
		return brd_sq_refuse(err, BREAD_E_CONFLICT, "run %.*s is gone", BRD_ARG(tx->fence));
	if (rc != SQLITE_ROW)
		return brd_sq_broken(rc);
	if (epoch != tx->fence_epoch)
		return brd_sq_refuse(err, BREAD_E_CONFLICT, "another instance has taken run %.*s",
			BRD_ARG(tx->fence));
	return SQ_FINE;
}

struct sq_applied brd_sq_apply(struct sq_conn *c, struct bread_tx *tx, struct bread_err *err)
{
	struct sq_applied done = SQ_FINE;

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
