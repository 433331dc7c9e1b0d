/* SPDX-License-Identifier: MIT */
/* Records that compositions leave in the original's tables: loops, task runs, knowledge and
 * documents; and the keys of requests, which are ours. */
#include "store/sqlite/records.h"

struct sq_applied brd_sq_put_loop(
	struct sq_conn *c, const struct bread_loop_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_LOOP);

	BIND(&b, brd_sq_must, row->id, row->agent_id, row->session_id, row->run_id, row->pool,
		row->pipeline, row->status);
	brd_sq_may(&b, row->result);
	brd_sq_number(&b, row->max_iterations);
	brd_sq_number(&b, row->iterations);
	brd_sq_number(&b, row->started_at);
	brd_sq_nonzero(&b, row->completed_at);
	return brd_sq_inserted(brd_sq_go(&b), err, "loop", row->id);
}

struct sq_applied brd_sq_add_round(
	struct sq_conn *c, const struct bread_loop_round_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_LOOP_ROUND);

	brd_sq_must(&b, row->id);
	brd_sq_must(&b, row->loop_id);
	brd_sq_may(&b, row->input);
	brd_sq_may(&b, row->output);
	brd_sq_number(&b, row->index);
	brd_sq_number(&b, row->started_at);
	brd_sq_number(&b, row->completed_at);
	return brd_sq_inserted(brd_sq_go(&b), err, "loop iteration", row->id);
}

/* A duration of -1 is none. */
static void bind_duration(struct binder *b, int64_t ms)
{
	if (ms < 0)
		brd_sq_nonzero(b, 0);
	else
		brd_sq_number(b, ms);
}

struct sq_applied brd_sq_put_task_run(
	struct sq_conn *c, const struct bread_task_run_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_TASK_RUN);

	brd_sq_must(&b, row->id);
	brd_sq_must(&b, row->task_id);
	BIND(&b, brd_sq_may, row->agent_id, row->session_id, row->run_id);
	brd_sq_must(&b, row->model);
	brd_sq_may(&b, row->input);
	brd_sq_may(&b, row->output);
	brd_sq_must(&b, row->status);
	brd_sq_may(&b, row->usage);
	brd_sq_may(&b, row->error);
	bind_duration(&b, row->duration_ms);
	brd_sq_number(&b, row->created_at);
	brd_sq_nonzero(&b, row->completed_at);
	return brd_sq_inserted(brd_sq_go(&b), err, "task run", row->id);
}

static struct sq_applied add_edge(struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	const struct bread_knowledge_row *row = &rec->knowledge;
	struct binder b = brd_sq_binder(c, W_EDGE);
	int rc;

	BIND(&b, brd_sq_must, row->edge_id, row->id, row->to_id, row->relation);
	rc = brd_sq_go(&b);
	if (!rc)
		rec->affected = sqlite3_changes(c->db);
	return brd_sq_inserted(rc, err, "edge", row->edge_id);
}

struct sq_applied brd_sq_add_knowledge(
	struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	const struct bread_knowledge_row *row = &rec->knowledge;
	struct binder b = brd_sq_binder(c, W_KNOWLEDGE);
	struct sq_applied done;

	brd_sq_must(&b, row->id);
	brd_sq_must(&b, row->agent_id);
	brd_sq_may(&b, row->session_id);
	brd_sq_must(&b, row->label);
	brd_sq_must(&b, row->data.n ? row->data : BRD_STR("{}"));
	brd_sq_number(&b, row->created_at);
	done = brd_sq_inserted(brd_sq_go(&b), err, "knowledge", row->id);
	return done.outcome == SQ_DONE && row->to_id.n ? add_edge(c, rec, err) : done;
}

int brd_sq_forget(struct sq_conn *c, struct bread_rec *rec)
{
	struct binder b = brd_sq_binder(c, W_FORGET);
	int rc;

	brd_sq_must(&b, rec->key);
	brd_sq_must(&b, rec->value);
	rc = brd_sq_go(&b);
	if (rc)
		return rc;
	rec->affected = sqlite3_changes(c->db);
	return rec->affected ? brd_sq_run_with_id(c, W_FORGET_EDGES, rec->key, NULL) : 0;
}

struct sq_applied brd_sq_add_document(
	struct sq_conn *c, const struct bread_document_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_DOCUMENT);

	BIND(&b, brd_sq_must, row->id, row->agent_id, row->title, row->content);
	brd_sq_may(&b, row->source);
	brd_sq_number(&b, row->created_at);
	return brd_sq_inserted(brd_sq_go(&b), err, "document", row->id);
}

struct sq_applied brd_sq_add_key(
	struct sq_conn *c, const struct bread_idempotency_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_IDEMPOTENCY);
	int rc;

	BIND(&b, brd_sq_must, row->key, row->hash, row->run_id);
	brd_sq_number(&b, row->after);
	brd_sq_number(&b, row->created_at);
	rc = brd_sq_go(&b);
	if ((rc & 0xff) != SQLITE_CONSTRAINT)
		return brd_sq_inserted(rc, err, "the key", row->key);
	brd_fail_as(err, BREAD_E_CONFLICT, "IDEMPOTENCY_KEY", SQ_WHERE,
		"the key %.*s was used already", BRD_ARG(row->key));
	return (struct sq_applied){ .outcome = SQ_REFUSED, .code = BREAD_E_CONFLICT };
}

int brd_sq_clean_keys(struct sq_conn *c, struct bread_rec *rec)
{
	struct binder b = brd_sq_binder(c, W_IDEMPOTENCY_CLEANUP);
	int rc;

	brd_sq_number(&b, rec->number);
	rc = brd_sq_go(&b);
	if (!rc)
		rec->affected = sqlite3_changes(c->db);
	return rc;
}
