/* SPDX-License-Identifier: MIT */
/* Questions that wait for somebody (contract C17). What a delegating run waits for is nothing
 * that a person could answer, so it is left out of the list. */
#include "ingress/bread/internal.h"

static const char no_checkpoint[] = "Checkpoint not found";

static int put_checkpoint(struct bread_sink *s, const void *p)
{
	const struct bread_checkpoint_row *c = p;

	brd_ingress_put(s, "{\"checkpointId\":");
	bread_sink_quote(s, c->id);
	brd_ingress_put_text(s, "agentId", c->agent_id);
	brd_ingress_put_text(s, "runId", c->run_id);
	brd_ingress_put_text(s, "rootRunId", c->root_id.n ? c->root_id : c->run_id);
	brd_ingress_put_text(s, "sessionId", c->session_id);
	brd_ingress_put_text(s, "toolName", c->tool_name);
	brd_ingress_put_text(s, "toolCallId", c->tool_call_id);
	brd_ingress_put_text(s, "kind", c->kind);
	brd_ingress_put_text(s, "prompt", c->prompt);
	brd_ingress_put_raw(s, "args", c->schema);
	brd_ingress_put_raw(s, "answerSchema", c->answer_schema);
	if (c->deadline)
		brd_ingress_put_int(s, "deadline", c->deadline);
	brd_ingress_put_raw(s, "default", c->fallback);
	brd_ingress_put_int(s, "createdAt", c->created_at);
	brd_ingress_put(s, "}");
	return 1;
}

static int put_question(struct bread_sink *s, const void *p)
{
	const struct bread_checkpoint_row *c = p;

	return !brd_ingress_is(c->kind, "delegate") && put_checkpoint(s, p);
}

static void on_checkpoints(struct store_question *q)
{
	brd_ingress_reply_rows(q, sizeof(*q->read.checkpoints), put_question);
}

/* Those of a tree when the run is a root, else those of the run itself. */
static void on_tree(struct store_question *q)
{
	struct store_question *next;

	if (q->read.count) {
		on_checkpoints(q);
		return;
	}
	next = brd_ingress_question(
		q->req, BREAD_READ_CHECKPOINTS, q->read.filter.root_id, on_checkpoints);
	next->read.filter = q->read.filter;
	next->read.filter.root_id = (struct bread_str){ 0 };
	brd_ingress_ask(next);
}

static void list(struct bread_request *req, void *arg)
{
	struct bread_str run = bread_request_query(req, "run");
	struct store_question *q = brd_ingress_question(req, BREAD_READ_CHECKPOINTS,
		(struct bread_str){ 0 }, run.n ? on_tree : on_checkpoints);

	q->read.filter.root_id = run;
	q->read.filter.session_id = bread_request_query(req, "session");
	q->read.filter.agent_id = bread_request_query(req, "agent");
	brd_ingress_ask(q);
}

static void on_checkpoint(struct store_question *q)
{
	brd_ingress_reply_row(q, put_checkpoint, no_checkpoint);
}

static void one(struct bread_request *req, void *arg)
{
	brd_ingress_ask_id(req, BREAD_READ_CHECKPOINT, no_checkpoint, on_checkpoint);
}

void brd_ingress_mount_checkpoints(struct ingress *in)
{
	bread_route(&in->in, "GET", "/checkpoints", list, in);
	bread_route(&in->in, "GET", "/checkpoints/:id", one, in);
}
