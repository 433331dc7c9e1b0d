/* SPDX-License-Identifier: MIT */
/* Runs that are there: their streams, their rows, one crumb, and cancelling. */
#include <stdlib.h>
#include <string.h>
#include "ingress/bread/internal.h"

static const char *const statuses[] = { "queued", "running", "suspended", "completed", "failed",
	"cancelled" };
#define STATUSES (sizeof(statuses) / sizeof(statuses[0]))

#define RUNS_USUAL 100 /* rows of GET /runs without a limit, and at the most */
#define RUNS_MAX 1000

const char *brd_ingress_status(enum bread_run_status s)
{
	return (size_t)s < STATUSES ? statuses[s] : "unknown";
}

/* ---- streams ---- */

/* SEQ, and with exact SEQ.TEXT and SEQ.TEXT.REASONING. */
static int read_cursor(struct bread_str s, int exact, struct bread_stream_spec *spec)
{
	struct bread_str rest = s;

	if (!brd_ingress_number(brd_ingress_cut(&rest, '.'), &spec->after))
		return 0;
	if (!rest.p)
		return 1;
	if (!exact || !brd_ingress_number(brd_ingress_cut(&rest, '.'), &spec->offset_text))
		return 0;
	return !rest.p || brd_ingress_number(rest, &spec->offset_reasoning);
}

/* A digit string that ends in a dot splits into a number and nothing, which is none. */
static int cursor_ok(struct bread_str s, int exact, struct bread_stream_spec *spec)
{
	return s.n == 0 || (s.p[s.n - 1] != '.' && read_cursor(s, exact, spec));
}

int brd_ingress_cursor(struct bread_request *req, struct bread_stream_spec *spec)
{
	struct bread_str raw = bread_request_header(req, "last-event-id");

	if (raw.n == 0)
		raw = bread_request_query(req, "after");
	if (cursor_ok(raw, spec->exact, spec))
		return 1;
	brd_ingress_reply_invalid(req, "INVALID_CURSOR",
		bread_request_printf(
			req, "Invalid Last-Event-ID / after: \"%.*s\"", (int)raw.n, raw.p));
	return 0;
}

static void stream(struct bread_request *req, void *arg)
{
	struct bread_stream_spec spec = {
		.framing = brd_ingress_framing(req, arg),
		.run_id = bread_request_param(req, "id"),
		.exact = brd_ingress_asked(req, "exact"),
		.full = brd_ingress_asked(req, "full"),
	};

	if (brd_ingress_cursor(req, &spec))
		bread_reply_stream(req, &spec);
}

/* ---- rows ---- */

void brd_ingress_put_kind(struct bread_sink *s, const struct bread_run_row *r)
{
	brd_ingress_put_text(
		s, "kind", r->kind == BREAD_RUN_PIPELINE ? LIT("pipeline") : LIT("agent"));
}

void brd_ingress_put_times(struct bread_sink *s, const struct bread_run_row *r)
{
	brd_ingress_put_int(s, "createdAt", r->created_at);
	if (r->started_at)
		brd_ingress_put_int(s, "startedAt", r->started_at);
	if (r->ended_at)
		brd_ingress_put_int(s, "endedAt", r->ended_at);
	brd_ingress_put_int(s, "seq", r->head);
	if (r->composed)
		brd_ingress_put_int(s, "treeSeq", r->tree_head);
}

void brd_ingress_put_usage(struct bread_sink *s, const struct bread_run_row *r)
{
	brd_ingress_put(s, ",\"usage\":{\"inputTokens\":");
	bread_sink_int(s, r->input_tokens);
	brd_ingress_put_int(s, "outputTokens", r->output_tokens);
	brd_ingress_put(s, "}");
	if (r->steps)
		brd_ingress_put_int(s, "steps", r->steps);
}

static void put_run(struct bread_sink *s, const struct bread_run_row *r, int whole)
{
	brd_ingress_put(s, "{\"id\":");
	bread_sink_quote(s, r->id);
	brd_ingress_put_text(s, "agentId", r->agent_id);
	brd_ingress_put_text(s, "sessionId", r->session_id);
	brd_ingress_put_text(s, "parentId", r->parent_id);
	brd_ingress_put_text(s, "rootId", r->root_id);
	brd_ingress_put_kind(s, r);
	brd_ingress_put_raw(s, "path", r->path);
	brd_ingress_put_text(s, "status", brd_ingress_str(brd_ingress_status(r->status)));
	brd_ingress_put_times(s, r);
	brd_ingress_put_raw(s, "tags", r->tags);
	if (whole) {
		brd_ingress_put_raw(s, "input", r->input);
		brd_ingress_put_raw(s, "output", r->output);
		brd_ingress_put_raw(s, "files", r->files);
	}
	brd_ingress_put_raw(s, "error", r->error);
	brd_ingress_put_usage(s, r);
	brd_ingress_put(s, "}");
}

static int put_line(struct bread_sink *s, const void *row)
{
	put_run(s, row, 0);
	return 1;
}

static int put_whole(struct bread_sink *s, const void *row)
{
	put_run(s, row, 1);
	return 1;
}

static void on_runs(struct store_question *q)
{
	brd_ingress_reply_rows(q, sizeof(*q->read.runs), put_line);
}

/* -1: any; -2: no such status. */
static int status_named(struct bread_str name)
{
	if (name.n == 0)
		return -1;
	for (size_t i = 0; i < STATUSES; i++)
		if (brd_ingress_is(name, statuses[i]))
			return (int)i;
	return -2;
}

static void set_tag(struct bread_run_filter *f, struct bread_str tag)
{
	const char *colon = tag.n ? memchr(tag.p, ':', tag.n) : NULL;

	if (!colon)
		return;
	f->tag_key = (struct bread_str){ tag.p, (size_t)(colon - tag.p) };
	f->tag_value = (struct bread_str){ colon + 1, tag.n - f->tag_key.n - 1 };
}

static void list(struct bread_request *req, void *arg)
{
	struct bread_run_filter f = {
		.agent_id = bread_request_query(req, "agent"),
		.session_id = bread_request_query(req, "session"),
		.before = bread_request_query(req, "before"),
		.status = status_named(bread_request_query(req, "status")),
	};
	const char *wrong = NULL;
	struct store_question *q;
	size_t limit;

	if (f.status == -2)
		wrong = "Invalid status: queued, running, suspended, completed, failed or "
			"cancelled";
	else if (f.before.n && !bread_id_ok(f.before))
		wrong = "Invalid before: the id of a run";
	if (wrong) {
		brd_ingress_reply_text_error(req, 400, wrong);
		return;
	}
	if (!brd_ingress_limit(req, RUNS_USUAL, RUNS_MAX, &limit))
		return;
	set_tag(&f, bread_request_query(req, "tag"));
	q = brd_ingress_question(req, BREAD_READ_RUNS, (struct bread_str){ 0 }, on_runs);
	q->read.filter = f;
	q->read.limit = limit;
	brd_ingress_ask(q);
}

static void on_run(struct store_question *q)
{
	brd_ingress_reply_row(q, put_whole, "Run not found");
}

static void one(struct bread_request *req, void *arg)
{
	brd_ingress_ask_id(req, BREAD_READ_RUN, "Run not found", on_run);
}

/* ---- one crumb, whole (contract C8) ---- */

static void on_crumb(struct store_question *q)
{
	if (q->read.count)
		bread_reply_json(q->req, 200, q->read.crumbs[0].crumb);
	else
		brd_ingress_reply_text_error(q->req, 404, "Crumb not found");
}

static void crumb(struct bread_request *req, void *arg)
{
	struct bread_str id = bread_request_param(req, "id");
	struct store_question *q;
	int64_t seq;

	if (!bread_id_ok(id) || !brd_ingress_number(bread_request_param(req, "seq"), &seq)) {
		brd_ingress_reply_text_error(req, 404, "Crumb not found");
		return;
	}
	q = brd_ingress_question(req, BREAD_READ_CRUMB, id, on_crumb);
	q->read.after = seq;
	brd_ingress_ask(q);
}

/* ---- cancelling ---- */

struct cancel_answer {
	struct bread_op op;
	struct bread_request *req;
	enum bread_run_status status;
};

static const char not_cancelable[] = "Run not found or not cancelable";

static void on_cancelled(struct bread_op *op)
{
	struct cancel_answer *c = op->arg;

	if (op->code == BREAD_OK)
		bread_reply_json(c->req, 200, LIT("{\"ok\":true}"));
	else if (op->code == BREAD_E_CONFLICT)
		bread_reply_json(c->req, 404,
			bread_request_printf(c->req, "{\"error\":\"%s\",\"status\":\"%s\"}",
				not_cancelable, brd_ingress_status(c->status)));
	else if (op->code == BREAD_E_NOT_FOUND)
		brd_ingress_reply_text_error(c->req, 404, not_cancelable);
	else
		bread_reply_error(c->req, &op->err);
	free(c);
}

static void cancel(struct bread_request *req, void *arg)
{
	struct bread *b = bread_request_instance(req);
	struct bread_str id = bread_request_param(req, "id");
	struct cancel_answer *c;

	if (!bread_id_ok(id)) {
		brd_ingress_reply_text_error(req, 404, not_cancelable);
		return;
	}
	c = brd_ingress_alloc(sizeof(*c));
	c->req = req;
	bread_op_init(&c->op, bread_here(b), on_cancelled, c);
	bread_cancel(b, id, &c->status, &c->op);
}

void brd_ingress_mount_runs(struct ingress *in)
{
	bread_route(&in->in, "GET", "/runs", list, in);
	bread_route(&in->in, "GET", "/runs/:id", one, in);
	bread_route(&in->in, "GET", "/runs/:id/stream", stream, in);
	bread_route(&in->in, "GET", "/runs/:id/crumbs/:seq", crumb, in);
	bread_route(&in->in, "POST", "/runs/:id/cancel", cancel, in);
}
