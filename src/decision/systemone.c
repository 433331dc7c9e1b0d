/* SPDX-License-Identifier: MIT */
/* Hosts over HTTP: one POST a question, bounded in time and in size.
 *
 * A question is not asked again after a failure: what that costs, and whether it
 * may be late, is known to the pipeline alone. Where the host is was written by
 * whoever configured it, so private addresses are allowed. */
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "decision/internal.h"
#include "net/client.h"
#include "net/url.h"

#define BODY_MAX ((size_t)1 << 20) /* of an answer */
#define REQUEST_MAX ((size_t)16 << 20)

struct http_host {
	struct bread_decision host;
	struct arena arena;
	struct bread_str name;
	const struct decision_host *kind;
	struct decision_conf conf;
	struct host_access access;
	const char *headers[3];
};

struct http_question {
	struct bread_decision_call *call;
	struct http_host *host;
	struct bread_op op;
	struct http_call *http;
	struct arena arena;
	struct buf body;
	bool too_large;
};

static int http_host_open(struct bread_decision *d, struct bread_str name, struct bread_str options,
	struct bread_err *err)
{
	struct http_host *h = (struct http_host *)d;
	int r;

	h->name = brd_arena_copy(&h->arena, name);
	r = brd_decision_options(&h->conf, name, options, &h->arena, err);
	if (!r) {
		h->kind = brd_decision_host(brd_str(h->conf.type));
		brd_decision_access(h->kind, &h->conf, &h->access, &h->arena);
		h->headers[0] = "Content-Type: application/json";
		h->headers[1] = brd_arena_printf(
			&h->arena, "Authorization: Bearer %.*s", BRD_ARG(h->access.key))
					.p;
		if (!h->access.unset)
			r = brd_url_check(h->access.base, err);
	}
	if (r)
		brd_arena_fini(&h->arena);
	return r;
}

static void http_host_close(struct bread_decision *d)
{
	brd_arena_fini(&((struct http_host *)d)->arena);
}

static bool on_data(void *arg, struct bread_str bytes)
{
	struct http_question *q = arg;

	brd_buf_add(&q->body, bytes);
	q->too_large = q->body.bad;
	return !q->too_large;
}

static void question_free(struct http_question *q)
{
	brd_http_call_free(q->http);
	brd_buf_fini(&q->body);
	brd_arena_fini(&q->arena);
	free(q);
}

static void take_answer(struct http_question *q, int status)
{
	struct jval v;

	if (brd_json_parse(&q->arena, brd_buf_str(&q->body), 0, &v, NULL))
		brd_decision_fail(q->call, "DECISION_HOST", q->host->name, status,
			"Decision host \"%.*s\" answered with what is no JSON",
			BRD_ARG(q->host->name));
	else
		brd_decision_answer(q->call, brd_wire_answer(v));
}

static void on_end(struct bread_op *op)
{
	struct http_question *q = op->arg;
	struct bread_str name = q->host->name;
	int status = brd_http_call_status(q->http);

	if (q->too_large)
		brd_decision_fail(q->call, "DECISION_HOST", name, status,
			"Decision host \"%.*s\" answered with more than 1 MiB", BRD_ARG(name));
	else if (op->code == BREAD_E_TIMEOUT)
		brd_decision_fail(q->call, "DECISION_HOST", name, 0,
			"Decision host \"%.*s\" did not answer in time", BRD_ARG(name));
	else if (op->code != BREAD_OK)
		brd_decision_fail(q->call, "DECISION_HOST", name, 0,
			"Decision host \"%.*s\" gave no answer: %s", BRD_ARG(name), op->err.text);
	else if (status < 200 || status > 299)
		brd_decision_fail(q->call, "DECISION_HOST", name, status,
			"Decision host \"%.*s\" answered %d %s", BRD_ARG(name), status,
			brd_http_reason(status));
	else
		take_answer(q, status);
	question_free(q);
}

static void on_cancel(struct bread_op *op, void *by)
{
	bread_op_cancel(&((struct http_question *)by)->op);
}

static void end_unset(struct bread_decision_call *call, const struct http_host *h)
{
	struct bread_err err = { 0 };
	struct buf b;

	brd_fail_as(&err, BREAD_E_INVALID, "PROVIDER_NOT_CONFIGURED", "decision",
		"Decision host \"%.*s\" is not configured: set %s in the environment",
		BRD_ARG(h->name), h->access.unset);
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, "{\"provider\":");
	brd_json_quote(&b, h->name);
	brd_buf_addz(&b, ",\"unset\":");
	brd_json_quote(&b, brd_str(h->access.unset));
	brd_buf_addc(&b, '}');
	call->error_context = brd_buf_take(&b, NULL);
	bread_op_end(&call->op, BREAD_E_INVALID, &err);
}

static void send(struct http_question *q, struct bread_str body)
{
	struct http_host *h = q->host;
	struct http_call_spec spec = { .method = "POST",
		.url = brd_decision_url(h->kind, h->access.base, q->call->model, &q->arena).p,
		.headers = h->headers,
		.body = body,
		.headers_ms = h->conf.timeout_ms,
		.ca_file = h->conf.ca_file,
		.on_data = on_data,
		.arg = q };

	bread_op_init(&q->op, q->call->loop, on_end, q);
	bread_op_deadline(&q->op, h->conf.timeout_ms);
	q->http = brd_http_call_start(brd_http_client_of(q->call->loop), &spec, &q->op);
}

static void http_host_start(struct bread_decision *d, struct bread_decision_call *call)
{
	struct http_host *h = (struct http_host *)d;
	struct http_question *q;
	struct buf body;

	if (h->access.unset) {
		bread_op_begin(&call->op, NULL, NULL);
		end_unset(call, h);
		return;
	}
	if (!call->model.n) {
		bread_op_begin(&call->op, NULL, NULL);
		brd_decision_no_model(call, h->name);
		return;
	}
	q = brd_alloc(sizeof(*q));
	q->call = call;
	q->host = h;
	brd_buf_init(&q->body, BODY_MAX);
	bread_op_begin(&call->op, on_cancel, q);
	brd_buf_init(&body, REQUEST_MAX);
	if (!brd_wire_request(
		    &body, call, brd_decision_model_name(h->kind, call->model), &q->arena) &&
		!body.bad) {
		send(q, brd_buf_str(&body));
	} else {
		brd_decision_fail(call, "DECISION_HOST", h->name, 0,
			"the value cannot be sent to decision host \"%.*s\": it is no JSON, or "
			"over "
			"16 MiB",
			BRD_ARG(h->name));
		question_free(q);
	}
	brd_buf_fini(&body);
}

const struct bread_decision_ops brd_decision_systemone = {
	.name = "systemone",
	.size = sizeof(struct http_host),
	.open = http_host_open,
	.close = http_host_close,
	.start = http_host_start,
};
