/* SPDX-License-Identifier: MIT */
/* Starting a run: with its stream as the answer, or with its id alone once it is on
 * record (docs/http-api.md).
 *
 * Bodies are taken as leniently as the original does: what is no JSON counts as {},
 * and a session that is no object is none. */
#include <stdlib.h>
#include <string.h>
#include "ingress/bread/internal.h"

/* ---- what the body asks for ---- */

static const char *const busy_words[] = { "reject", "queue", "interrupt", NULL };

static int is_object(const struct bread_json *body, const char *path)
{
	return bread_json_type(body, path) == BREAD_JSON_OBJECT;
}

/* 0: it was refused. */
static int check(struct bread_request *req, struct bread_json *body)
{
	if (!is_object(body, ""))
		return 1;
	if (is_object(body, "session") &&
		!(brd_ingress_takes(req, body, "session.id", BREAD_JSON_STRING) &&
			brd_ingress_takes_tags(req, body, "session.tags")))
		return 0;
	return brd_ingress_takes(req, body, "skill", BREAD_JSON_STRING) &&
	       brd_ingress_takes_tags(req, body, "tags") &&
	       brd_ingress_takes_word(
		       req, body, "ifBusy", busy_words, "\"reject\", \"queue\" or \"interrupt\"");
}

/* 0: it was refused, and there is nothing to free. */
static int read_body(struct bread_request *req, struct bread_json **ret)
{
	if (!brd_ingress_body(req, ret))
		return 0;
	if (check(req, *ret))
		return 1;
	bread_json_free(*ret);
	return 0;
}

static struct bread_str object_of(const struct bread_json *body, const char *path)
{
	return is_object(body, path) ? bread_json_raw(body, path) : (struct bread_str){ 0 };
}

static struct bread_str input_of(const struct bread_json *body)
{
	enum bread_json_type t = bread_json_type(body, "input");

	return t == BREAD_JSON_NONE || t == BREAD_JSON_NULL ? LIT("{}")
							    : bread_json_raw(body, "input");
}

static enum bread_if_busy if_busy_of(struct bread_json *body)
{
	struct bread_str s = bread_json_string(body, "ifBusy");

	return brd_ingress_is(s, "queue")       ? BREAD_BUSY_QUEUE
	       : brd_ingress_is(s, "interrupt") ? BREAD_BUSY_INTERRUPT
						: BREAD_BUSY_REJECT;
}

/* body NULL or not an object: nothing is asked for. */
static void fill_request(
	struct bread_run_request *r, struct bread_request *req, struct bread_json *body)
{
	if (!is_object(body, ""))
		body = NULL;
	*r = (struct bread_run_request){
		.agent_id = bread_request_param(req, "id"),
		.input = input_of(body),
		.skill = bread_json_string(body, "skill"),
		.tags = object_of(body, "tags"),
		.traceparent = bread_request_header(req, "traceparent"),
		.idempotency_key = bread_request_header(req, "idempotency-key"),
		.if_busy = if_busy_of(body),
		.ingress = "http",
	};
	if (is_object(body, "session")) {
		r->session_id = bread_json_string(body, "session.id");
		r->session_tags = object_of(body, "session.tags");
	}
}

/* ---- refusals ---- */

const struct bread_framing *brd_ingress_framing(struct bread_request *req, const void *arg)
{
	const struct ingress *in = arg;

	return brd_ingress_accepted(bread_request_header(req, "accept"), in->first);
}

void brd_ingress_fail(struct bread_request *req, const struct bread_framing *f, const char *code,
	const char *message, const char *context)
{
	struct bread_failure failure = {
		.agent_id = bread_request_param(req, "id"),
		.code = brd_ingress_str(code),
		.message = brd_ingress_str(message),
		.context = brd_ingress_str(context),
		.timestamp = brd_ingress_now(),
	};

	bread_reply_failure(req, f, &failure);
}

/* Refusals that say something about the request's own faults, or that another
 * server may take it, are answers with a status; the rest is told in the stream. */
static int is_answer(const struct bread_err *err)
{
	static const char *const names[] = { "DRAINING", "INVALID_ID", "SESSION_BUSY", "RUN_EXISTS",
		"ANSWER_INVALID", "CHECKPOINT_NOT_FOUND", "CHECKPOINT_CLAIMED",
		"IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_KEY_INVALID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(err->name, names[i]) == 0)
			return 1;
	return 0;
}

void brd_ingress_refuse(
	struct bread_request *req, const struct bread_framing *f, const struct bread_err *err)
{
	if (is_answer(err))
		bread_reply_error(req, err);
	else if (err->name[0])
		brd_ingress_fail(req, f, err->name, err->text, err->context);
	else
		brd_ingress_fail(req, f, "INTERNAL_ERROR", "Internal server error", "");
}

/* ---- what is answered once the run is on record ---- */

/* Lives until the run has ended; the request is answered long before. */
struct submission {
	struct bread_request *req;     /* NULL: answered */
	struct bread_stream_spec spec; /* no framing: the id is the answer */
	char id[BREAD_RUN_ID_MAX];
};

static void reply_id(struct bread_request *req, const char *id)
{
	struct bread_str location = bread_request_printf(req, "Location: /runs/%s\r\n", id);

	bread_reply(req, 202, "application/json", location,
		bread_request_printf(req, "{\"runId\":\"%s\"}", id));
}

/* It is known only now: the request had a key. */
static void on_run(struct bread_str run_id, int again, void *arg)
{
	struct submission *s = arg;

	brd_ingress_copy(s->id, sizeof(s->id), run_id);
	s->spec.run_id = brd_ingress_str(s->id);
}

static void on_stored(void *arg)
{
	struct submission *s = arg;
	struct bread_request *req = s->req;

	s->req = NULL;
	if (req && s->spec.framing)
		bread_reply_stream(req, &s->spec);
	else if (req)
		reply_id(req, s->id);
}

static void refuse_outcome(struct submission *s, const struct bread_outcome *o)
{
	struct bread_err err = { .code = BREAD_E_CONFLICT };

	if (brd_ingress_is(o->error_code, "DRAINING") || brd_ingress_is(o->error_code, "RUN_BUSY"))
		err.code = BREAD_E_BUSY;
	brd_ingress_copy(err.name, sizeof(err.name), o->error_code);
	brd_ingress_copy(err.text, sizeof(err.text), o->error_message);
	if (o->error_context.n < sizeof(err.context)) /* a part of it would be no JSON */
		brd_ingress_copy(err.context, sizeof(err.context), o->error_context);
	if (s->spec.framing)
		brd_ingress_refuse(s->req, s->spec.framing, &err);
	else
		bread_reply_error(s->req, &err);
}

static void on_outcome(const struct bread_outcome *o, void *arg)
{
	struct submission *s = arg;

	if (s->req && o->error_code.n)
		refuse_outcome(s, o);
	else
		on_stored(s);
	free(s);
}

/* BREAD_OK; or the refusal in *err, and the request is still to be answered. */
static int begin(struct bread_request *req, struct bread_run_request *r,
	const struct bread_stream_spec *spec, struct bread_err *err)
{
	struct submission *s = calloc(1, sizeof(*s));
	int code;

	if (!s)
		abort();
	s->req = req;
	s->spec = *spec;
	r->on_run = on_run;
	r->on_stored = on_stored;
	r->on_end = on_outcome;
	r->arg = s;
	code = bread_run(bread_request_instance(req), r, s->id, err);
	s->spec.run_id = brd_ingress_str(s->id);
	if (code)
		free(s);
	return code;
}

/* ---- a stream as the answer ---- */

/* Whether its session is free, and which run a key leads to, is known only when the run is on
 * record, and so is the status. */
static int begin_stream(struct bread_request *req, struct bread_run_request *r,
	struct bread_stream_spec *spec, struct bread_err *err)
{
	char id[BREAD_RUN_ID_MAX];
	int code;

	if (r->idempotency_key.p || (r->session_id.n && r->if_busy == BREAD_BUSY_REJECT))
		return begin(req, r, spec, err);
	code = bread_run(bread_request_instance(req), r, id, err);
	if (code)
		return code;
	spec->run_id = brd_ingress_str(id);
	bread_reply_stream(req, spec);
	return BREAD_OK;
}

static struct bread_stream_spec spec_of(struct bread_request *req, const void *arg)
{
	return (struct bread_stream_spec){
		.framing = brd_ingress_framing(req, arg),
		.own = 1,
		.until_idle = 1,
		.tree = 1,
		.exact = brd_ingress_asked(req, "exact"),
		.full = brd_ingress_asked(req, "full"),
	};
}

/* The body counts as {} where it is none; session and skill are not for pipelines. */
static void run_pipeline(struct bread_request *req, void *arg)
{
	struct bread_stream_spec spec = spec_of(req, arg);
	struct bread_json *body;
	struct bread_run_request r;
	struct bread_err err = { 0 };

	if (!brd_ingress_body(req, &body))
		return;
	if (bread_json_type(body, "") == BREAD_JSON_NULL) {
		brd_ingress_fail(req, spec.framing, "INTERNAL_ERROR", "Internal server error", "");
		bread_json_free(body);
		return;
	}
	r = (struct bread_run_request){
		.pipeline_id = bread_request_param(req, "id"),
		.input = input_of(is_object(body, "") ? body : NULL),
		.tags = object_of(body, "tags"),
		.idempotency_key = bread_request_header(req, "idempotency-key"),
		.ingress = "http",
	};
	if (begin_stream(req, &r, &spec, &err))
		brd_ingress_refuse(req, spec.framing, &err);
	bread_json_free(body);
}

static void run(struct bread_request *req, void *arg)
{
	struct bread_stream_spec spec = spec_of(req, arg);
	struct bread_json *body;
	struct bread_run_request r;
	struct bread_err err = { 0 };

	if (!read_body(req, &body))
		return;
	if (bread_json_type(body, "") == BREAD_JSON_NULL) {
		bread_json_free(body);
		bread_reply_error(req, &err); /* as upstream has it */
		return;
	}
	fill_request(&r, req, body);
	if (begin_stream(req, &r, &spec, &err))
		brd_ingress_refuse(req, spec.framing, &err);
	bread_json_free(body);
}

/* ---- the id as the answer ---- */

static void submit(struct bread_request *req, void *arg)
{
	const struct bread_stream_spec no_stream = { 0 };
	struct bread_run_request r;
	struct bread_json *body;
	struct bread_err err;

	if (!read_body(req, &body))
		return;
	fill_request(&r, req, body);
	if (begin(req, &r, &no_stream, &err))
		bread_reply_error(req, &err);
	bread_json_free(body);
}

void brd_ingress_mount_run(struct ingress *in)
{
	bread_route(&in->in, "POST", "/agents/:id/run", run, in);
	bread_route(&in->in, "POST", "/agents/:id/runs", submit, in);
	bread_route(&in->in, "POST", "/pipelines/:id/run", run_pipeline, in);
}
