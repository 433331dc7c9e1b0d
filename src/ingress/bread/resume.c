/* SPDX-License-Identifier: MIT */
/* Answers to runs that wait (docs/http-api.md). The answer is the
 * stream of what the run does from there on. */
#include <stdlib.h>
#include "ingress/bread/internal.h"

struct resume_answer {
	struct bread_request *req;
	const struct bread_framing *framing;
};

static void on_claimed(
	struct bread_str run_id, int64_t after, const struct bread_err *err, void *arg)
{
	struct resume_answer *a = arg;
	struct bread_stream_spec spec = {
		.framing = a->framing,
		.run_id = run_id,
		.after = after,
		.own = 1,
		.until_idle = 1,
		.tree = 1,
	};

	if (err)
		brd_ingress_refuse(a->req, a->framing, err);
	else
		bread_reply_stream(a->req, &spec);
	free(a);
}

/* The original reads a member of the body without a look; null has none. */
static int refuse_null(
	struct bread_request *req, const struct bread_framing *f, const struct bread_json *body)
{
	if (bread_json_type(body, "") != BREAD_JSON_NULL)
		return 0;
	brd_ingress_fail(req, f, "INTERNAL_ERROR", "Internal server error", "");
	return 1;
}

static void resume(struct bread_request *req, void *arg)
{
	struct bread_json *body;
	struct bread_resume_request r = { .checkpoint_id = bread_request_param(req, "id"),
		.idempotency_key = bread_request_header(req, "idempotency-key"),
		.on_claimed = on_claimed };
	const struct bread_framing *f = brd_ingress_framing(req, arg);
	struct resume_answer *a;

	if (!brd_ingress_body(req, &body))
		return;
	if (!refuse_null(req, f, body)) {
		a = brd_ingress_alloc(sizeof(*a));
		a->req = req;
		a->framing = f;
		r.arg = a;
		if (bread_json_type(body, "") == BREAD_JSON_OBJECT)
			r.response = bread_json_raw(body, "response");
		bread_resume(bread_request_instance(req), &r);
	}
	bread_json_free(body);
}

void brd_ingress_mount_resume(struct ingress *in)
{
	bread_route(&in->in, "POST", "/resume/:id", resume, in);
}
