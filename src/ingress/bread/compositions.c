/* SPDX-License-Identifier: MIT */
/* Loops and task runs, as the original lists them (docs/http-api.md). */
#include <string.h>
#include "ingress/bread/internal.h"

static const char no_loop[] = "Loop not found", no_task_run[] = "Task run not found";

static int put_loop(struct bread_sink *s, const void *p)
{
	const struct bread_loop_row *l = p;

	brd_ingress_put(s, "{\"id\":");
	bread_sink_quote(s, l->id);
	brd_ingress_put_text(s, "agentId", l->agent_id);
	brd_ingress_put_text(s, "sessionId", l->session_id);
	brd_ingress_put_text(s, "runId", l->run_id);
	brd_ingress_put_raw(s, "pool", l->pool);
	brd_ingress_put_raw(s, "pipeline", l->pipeline);
	brd_ingress_put_int(s, "maxIterations", l->max_iterations);
	brd_ingress_put_text(s, "status", l->status);
	brd_ingress_put_int(s, "iterations", l->iterations);
	brd_ingress_put_raw(s, "result", l->result);
	brd_ingress_put_int(s, "startedAt", l->started_at);
	if (l->completed_at)
		brd_ingress_put_int(s, "completedAt", l->completed_at);
	brd_ingress_put(s, "}");
	return 1;
}

static int put_round(struct bread_sink *s, const void *p)
{
	const struct bread_loop_round_row *r = p;

	brd_ingress_put(s, "{\"id\":");
	bread_sink_quote(s, r->id);
	brd_ingress_put_text(s, "loopId", r->loop_id);
	brd_ingress_put_int(s, "index", r->index);
	brd_ingress_put_raw(s, "input", r->input);
	brd_ingress_put_raw(s, "output", r->output);
	brd_ingress_put_int(s, "startedAt", r->started_at);
	brd_ingress_put_int(s, "completedAt", r->completed_at);
	brd_ingress_put(s, "}");
	return 1;
}

static int put_task_run(struct bread_sink *s, const void *p)
{
	const struct bread_task_run_row *t = p;

	brd_ingress_put(s, "{\"id\":");
	bread_sink_quote(s, t->id);
	brd_ingress_put_text(s, "taskId", t->task_id);
	brd_ingress_put_text(s, "agentId", t->agent_id);
	brd_ingress_put_text(s, "sessionId", t->session_id);
	brd_ingress_put_text(s, "runId", t->run_id);
	brd_ingress_put_raw(s, "model", t->model);
	brd_ingress_put_raw(s, "input", t->input);
	brd_ingress_put_raw(s, "output", t->output);
	brd_ingress_put_text(s, "status", t->status);
	brd_ingress_put_raw(s, "usage", t->usage);
	brd_ingress_put_text(s, "error", t->error);
	if (t->duration_ms >= 0)
		brd_ingress_put_int(s, "durationMs", t->duration_ms);
	brd_ingress_put_int(s, "createdAt", t->created_at);
	if (t->completed_at)
		brd_ingress_put_int(s, "completedAt", t->completed_at);
	brd_ingress_put(s, "}");
	return 1;
}

static void set_filter(struct bread_request *req, struct bread_run_filter *f)
{
	f->agent_id = bread_request_query(req, "agent");
	f->session_id = bread_request_query(req, "session");
	f->status_word = bread_request_query(req, "status");
	f->task_id = bread_request_query(req, "task");
}

/* ---- loops ---- */

static void on_loops(struct store_question *q)
{
	brd_ingress_reply_rows(q, sizeof(*q->read.loops), put_loop);
}

static void loops(struct bread_request *req, void *arg)
{
	struct store_question *q =
		brd_ingress_question(req, BREAD_READ_LOOPS, (struct bread_str){ 0 }, on_loops);

	set_filter(req, &q->read.filter);
	brd_ingress_ask(q);
}

static void on_rounds(struct store_question *q)
{
	struct bread_sink *s = bread_sink_new();

	brd_ingress_put(s, "{\"loop\":");
	brd_ingress_put(s, q->arg);
	brd_ingress_put(s, ",\"iterations\":");
	brd_ingress_put_rows(s, &q->read, sizeof(*q->read.rounds), put_round);
	brd_ingress_put(s, "}");
	brd_ingress_reply(q->req, 200, s);
}

/* Its rounds come with it; until they are there its JSON waits in the request's memory. */
static void on_loop(struct store_question *q)
{
	struct store_question *next;
	struct bread_sink *s;
	struct bread_str json;
	char *kept;

	if (q->read.count == 0) {
		brd_ingress_reply_text_error(q->req, 404, no_loop);
		return;
	}
	s = bread_sink_new();
	put_loop(s, q->read.loops);
	json = bread_sink_bytes(s);
	kept = bread_request_alloc(q->req, json.n + 1);
	memcpy(kept, json.p, json.n);
	bread_sink_free(s);
	next = brd_ingress_question(q->req, BREAD_READ_LOOP_ROUNDS, q->read.key, on_rounds);
	next->arg = kept;
	brd_ingress_ask(next);
}

static void loop(struct bread_request *req, void *arg)
{
	brd_ingress_ask_id(req, BREAD_READ_LOOP, no_loop, on_loop);
}

/* ---- task runs ---- */

static void on_tasks(struct store_question *q)
{
	brd_ingress_reply_rows(q, sizeof(*q->read.task_runs), put_task_run);
}

static void tasks(struct bread_request *req, void *arg)
{
	struct store_question *q;
	size_t limit = LIST_MAX;

	/* the original takes 0 for none */
	if (!brd_ingress_is(bread_request_query(req, "limit"), "0") &&
		!brd_ingress_limit(req, LIST_MAX, LIST_MAX, &limit))
		return;
	q = brd_ingress_question(req, BREAD_READ_TASK_RUNS, (struct bread_str){ 0 }, on_tasks);
	q->read.limit = limit;
	set_filter(req, &q->read.filter);
	brd_ingress_ask(q);
}

static void on_task(struct store_question *q)
{
	brd_ingress_reply_row(q, put_task_run, no_task_run);
}

static void task(struct bread_request *req, void *arg)
{
	brd_ingress_ask_id(req, BREAD_READ_TASK_RUN, no_task_run, on_task);
}

/* ---- a task by itself ---- */

static void on_task_end(const struct bread_task_outcome *o, void *arg)
{
	struct bread_request *req = arg;
	struct bread_sink *s;

	if (o->err) {
		bread_reply_error(req, o->err);
		return;
	}
	s = bread_sink_new();
	brd_ingress_put(s, "{\"output\":");
	bread_sink_add(s, o->output);
	brd_ingress_put_text(s, "taskRunId", o->task_run_id);
	brd_ingress_put_raw(s, "usage", o->usage);
	brd_ingress_put(s, "}");
	brd_ingress_reply(req, 200, s);
}

static void run_task(struct bread_request *req, void *arg)
{
	struct bread_str input = { 0 };
	struct bread_err err = { 0 };
	struct bread_json *body;

	if (!brd_ingress_body(req, &body))
		return;
	if (bread_json_type(body, "") == BREAD_JSON_OBJECT &&
		bread_json_type(body, "input") != BREAD_JSON_NULL)
		input = bread_json_raw(body, "input");
	if (bread_task_run(bread_request_instance(req), bread_request_param(req, "id"), input,
		    on_task_end, req, &err))
		bread_reply_error(req, &err);
	bread_json_free(body);
}

void brd_ingress_mount_compositions(struct ingress *in)
{
	bread_route(&in->in, "GET", "/loops", loops, in);
	bread_route(&in->in, "GET", "/loops/:id", loop, in);
	bread_route(&in->in, "GET", "/tasks", tasks, in);
	bread_route(&in->in, "GET", "/tasks/:id", task, in);
	bread_route(&in->in, "POST", "/tasks/:id/run", run_task, in);
}
