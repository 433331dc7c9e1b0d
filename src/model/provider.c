/* SPDX-License-Identifier: MIT */
/* One call over HTTP, from the request to its one terminal event.
 *
 *   SENDING --answer ends--> (done: END) (fault: WAITING or END)
 *   WAITING --timer--> SENDING
 *
 * A fault is tried again only while nothing was delivered, only if it may help,
 * and at most as often as was asked. The watchdog counts what the provider said
 * (events, not bytes: gateways send comments for ever while what is behind them
 * is dead); it stands still during a pause. A cancel closes the connection. */
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "loop/loop.h"
#include "model/family.h"
#include "model/model.h"
#include "net/client.h"

#define ERROR_BODY_MAX ((size_t)1024 * 1024)
#define RETRIES 2
#define RETRY_DELAY_MAX_MS 60000
/* How long the connection may take to end after the answer did, so that it can be used again. */
#define DRAIN_MS 300

struct exchange {
	struct http_provider *p;
	struct bread_model_call *call;
	struct request_draft out;
	struct arena arena;
	const char *url;
	struct mstream stream;
	void *parser;
	struct http_call *http;
	struct bread_op http_op;
	struct buf error_body;
	struct timer timer; /* watchdog, drain or wait */
	uint64_t alive;     /* what of stream.alive was seen */
	unsigned attempt;
	int max_retries;
	bool waiting; /* for another attempt */
	bool done;    /* DONE was delivered */
	bool failed;  /* fault is set */
	bool timed_out;
	bool paused;
	struct fault fault;
	struct buf fault_text;
};

static void send_request(struct exchange *x);

static bool aborted(const struct exchange *x)
{
	return x->call->op.canceled != 0;
}

/* ---- the end ---- */

static void finish(struct exchange *x, enum bread_code code, struct bread_str text)
{
	struct bread_op *op = &x->call->op;
	struct bread_err err = { 0 };

	if (code)
		brd_fail(&err, code, "model", "%.*s", BRD_ARG(text));
	brd_timer_stop(&x->timer);
	if (x->http)
		brd_http_call_free(x->http);
	if (x->parser)
		x->p->family->parser_free(x->parser);
	x->call->priv = NULL;
	bread_op_end(op, code, code ? &err : NULL);
	brd_mstream_fini(&x->stream);
	brd_buf_fini(&x->error_body);
	brd_buf_fini(&x->fault_text);
	brd_buf_fini(&x->out.body);
	brd_arena_fini(&x->arena);
	free(x);
}

static void deliver_error(struct exchange *x)
{
	const struct fault *f = &x->fault;
	struct bread_event ev = { .kind = BREAD_EV_ERROR,
		.reason = f->kind == BREAD_FAULT_ABORTED ? BREAD_STOP_ABORTED : BREAD_STOP_ERROR,
		.text = brd_buf_str(&x->fault_text),
		.usage = x->stream.usage,
		.fault = f->kind,
		.retryable = f->retryable,
		.overflow = f->kind == BREAD_FAULT_OVERFLOW,
		.status = f->status,
		.retry_after_ms = f->retry_after_ms,
		.response_id = brd_buf_str(&x->stream.response_id),
		.response_model = brd_buf_str(&x->stream.response_model) };

	x->call->on_event(x->call, &ev);
	finish(x, f->kind == BREAD_FAULT_ABORTED ? BREAD_E_CANCELED : BREAD_E_UPSTREAM, ev.text);
}

static void set_fault(struct exchange *x, struct fault f)
{
	x->failed = true;
	x->fault = f;
	brd_buf_clear(&x->fault_text);
	if (f.text.n > ERROR_BODY_MAX / 2)
		f.text.n = brd_utf8_cut(f.text, ERROR_BODY_MAX / 2);
	brd_buf_add(&x->fault_text, f.text);
}

static void deliver_abort(struct exchange *x)
{
	set_fault(x, (struct fault){ .kind = BREAD_FAULT_ABORTED,
			     .retry_after_ms = -1,
			     .text = BRD_STR("the call was aborted") });
	deliver_error(x);
}

/* ---- another attempt ---- */

static void on_retry(struct timer *t)
{
	struct exchange *x = brd_list_of(t, struct exchange, timer);

	x->waiting = false;
	if (aborted(x))
		deliver_abort(x);
	else
		send_request(x);
}

static bool may_retry(const struct exchange *x)
{
	return x->fault.retryable && !x->stream.touched && (int)x->attempt <= x->max_retries;
}

static void retry_or_deliver(struct exchange *x)
{
	int64_t wait, cap = x->p->max_retry_delay_ms;

	if (!may_retry(x)) {
		deliver_error(x);
		return;
	}
	wait = x->fault.retry_after_ms >= 0 ? x->fault.retry_after_ms
					    : brd_retry_backoff(x->attempt - 1);
	if (cap && wait > cap) {
		deliver_error(x);
		return;
	}
	x->waiting = true;
	brd_timer_start(&x->timer, x->call->op.loop, wait, on_retry);
}

/* ---- the answer ---- */

static void on_stream_event(void *arg, const struct bread_event *ev)
{
	struct exchange *x = arg;

	if (ev->kind == BREAD_EV_ERROR) {
		set_fault(x, (struct fault){ .kind = ev->fault,
				     .retryable = ev->retryable != 0,
				     .status = ev->status,
				     .retry_after_ms = ev->retry_after_ms,
				     .text = ev->text });
		return;
	}
	if (aborted(x))
		return;
	x->done = ev->kind == BREAD_EV_DONE;
	x->call->on_event(x->call, ev);
}

static void on_silence(struct timer *t)
{
	struct exchange *x = brd_list_of(t, struct exchange, timer);

	x->timed_out = !x->done;
	bread_op_cancel(&x->http_op);
}

/* An entry's own setting is nearer than that of all. */
static int64_t pick(int64_t asked, int64_t entry, int64_t dflt)
{
	return entry ? entry : asked ? asked : dflt;
}

static int64_t first_byte_ms(const struct exchange *x)
{
	return pick(x->call->req->first_byte_ms, x->p->first_byte_ms, MODEL_FIRST_BYTE_MS);
}

static void watch(struct exchange *x)
{
	int64_t ms = x->alive ? pick(x->call->req->silence_ms, x->p->silence_ms, MODEL_SILENCE_MS)
			      : first_byte_ms(x);

	if (x->done)
		ms = DRAIN_MS;
	if (!x->paused)
		brd_timer_start(&x->timer, x->call->op.loop, ms, on_silence);
}

static bool answered_well(const struct exchange *x)
{
	int status = brd_http_call_status(x->http);

	return status >= 200 && status <= 299;
}

static bool on_data(void *arg, struct bread_str bytes)
{
	struct exchange *x = arg;
	bool was_done = x->done;

	if (!x->http || !answered_well(x)) {
		brd_buf_add(&x->error_body, bytes);
		return !x->error_body.bad;
	}
	if (!x->done && !x->failed)
		x->p->family->parser_feed(x->parser, bytes);
	if (x->alive != x->stream.alive || was_done != x->done) {
		x->alive = x->stream.alive;
		watch(x);
	}
	return !x->failed;
}

/* The provider refused: its status, body and headers say why. */
static void read_refusal(struct exchange *x)
{
	struct signals s = { .status = brd_http_call_status(x->http) };
	struct bread_str again = brd_http_call_header(x->http, "x-should-retry");
	struct fault f = { .retry_after_ms = -1 };

	brd_fault_read_body(&s, brd_buf_str(&x->error_body), &x->arena);
	s.status = brd_http_call_status(x->http);
	brd_fault_classify(&f, &s);
	if (!s.message.n)
		f.text = brd_arena_printf(&x->arena, "%d status code (no body)", s.status);
	f.retry_after_ms = brd_retry_after(brd_http_call_header(x->http, "retry-after-ms"),
		brd_http_call_header(x->http, "retry-after"));
	if (brd_str_is(again, "true") || brd_str_is(again, "false"))
		f.retryable = brd_str_is(again, "true");
	set_fault(x, f);
}

static void network_fault(struct exchange *x)
{
	struct fault f = { .kind = BREAD_FAULT_NETWORK, .retryable = true, .retry_after_ms = -1 };

	f.text = brd_str(x->http_op.err.text);
	if (x->timed_out) {
		f.kind = BREAD_FAULT_TIMEOUT;
		f.text = x->alive ? BRD_STR("the provider said nothing for too long")
				  : BRD_STR("the provider did not begin to answer in time");
	} else if (x->http_op.code == BREAD_E_TIMEOUT && brd_http_call_status(x->http)) {
		f.kind = BREAD_FAULT_TIMEOUT;
	}
	set_fault(x, f);
}

static void on_http_end(struct bread_op *op)
{
	struct exchange *x = op->arg;

	if (x->done) {
		finish(x, BREAD_OK, BRD_STR(""));
		return;
	}
	if (aborted(x)) {
		deliver_abort(x);
		return;
	}
	if (!x->failed && !x->timed_out && brd_http_call_status(x->http) && !answered_well(x) &&
		(op->code == BREAD_OK || x->error_body.bad))
		read_refusal(x);
	else if (!x->failed && op->code == BREAD_OK)
		x->p->family->parser_finish(x->parser);
	else if (!x->failed)
		network_fault(x);
	brd_timer_stop(&x->timer);
	if (x->done)
		finish(x, BREAD_OK, BRD_STR(""));
	else if (aborted(x))
		deliver_abort(x);
	else
		retry_or_deliver(x);
}

/* ---- the request ---- */

static void begin_attempt(struct exchange *x)
{
	if (x->http)
		brd_http_call_free(x->http);
	x->http = NULL;
	if (x->parser)
		x->p->family->parser_free(x->parser);
	brd_mstream_reset(&x->stream);
	x->parser = x->p->family->parser_new(&x->stream, x->out.json_tool);
	brd_buf_clear(&x->error_body);
	x->failed = x->timed_out = false;
	x->alive = 0;
	x->attempt++;
}

static void send_request(struct exchange *x)
{
	struct http_call_spec spec = {
		.method = "POST",
		.url = x->url,
		.headers = x->out.headers,
		.body = brd_buf_str(&x->out.body),
		.connect_ms = x->p->connect_ms,
		.headers_ms = first_byte_ms(x) + 5000, /* our watchdog comes first */
		.ca_file = x->p->ca_file,
		.on_data = on_data,
		.arg = x,
	};

	begin_attempt(x);
	bread_op_init(&x->http_op, x->call->op.loop, on_http_end, x);
	x->http = brd_http_call_start(brd_http_client_of(x->call->op.loop), &spec, &x->http_op);
	if (x->paused)
		brd_http_call_pause(x->http, true);
	watch(x);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct exchange *x = by;

	if (x->waiting)
		brd_timer_start(&x->timer, op->loop, 0, on_retry);
	else
		bread_op_cancel(&x->http_op);
}

static void on_unfit(struct timer *t)
{
	struct exchange *x = brd_list_of(t, struct exchange, timer);

	if (aborted(x))
		deliver_abort(x);
	else
		deliver_error(x);
}

static int write_request(struct exchange *x, struct bread_err *err)
{
	int r = brd_outgoing_write(&x->out, x->p, x->call->req, &x->arena, err);
	struct bread_str base = x->p->base_url, path = x->out.path;

	x->url = brd_arena_printf(&x->arena, "%.*s%.*s", BRD_ARG(base), BRD_ARG(path)).p;
	return r;
}

void brd_provider_start(struct bread_model *m, struct bread_model_call *call)
{
	struct exchange *x = brd_alloc(sizeof(*x));
	struct bread_err err = { 0 };

	x->p = (struct http_provider *)m;
	x->call = call;
	call->priv = x;
	x->max_retries = call->req->max_retries >= 0 ? call->req->max_retries : x->p->max_retries;
	brd_buf_init(&x->error_body, ERROR_BODY_MAX);
	brd_buf_init(&x->fault_text, ERROR_BODY_MAX);
	brd_mstream_init(&x->stream, on_stream_event, x);
	bread_op_begin(&call->op, on_cancel, x);
	if (write_request(x, &err) == BREAD_OK) {
		send_request(x);
		return;
	}
	set_fault(x, (struct fault){ .kind = BREAD_FAULT_INVALID_REQUEST,
			     .retry_after_ms = -1,
			     .text = brd_str(err.text) });
	x->waiting = true; /* a cancel finds the timer */
	brd_timer_start(&x->timer, call->op.loop, 0, on_unfit);
}

void brd_provider_pause(struct bread_model *m, struct bread_model_call *call, int on)
{
	struct exchange *x = call->priv;

	if (!x || x->paused == (on != 0))
		return;
	x->paused = on != 0;
	if (x->waiting || !x->http)
		return;
	brd_http_call_pause(x->http, x->paused);
	if (x->paused)
		brd_timer_stop(&x->timer);
	else
		watch(x);
}

/* ---- entries ---- */

struct option {
	const char *key;
	enum json_type type; /* JSON_NONE: any */
};

static const struct option known[] = { { "server", JSON_STRING }, { "dir", JSON_NONE },
	{ "baseUrl", JSON_STRING }, { "apiKey", JSON_STRING }, { "headers", JSON_OBJECT },
	{ "quirks", JSON_NONE }, { "cacheRetention", JSON_STRING }, { "firstByteMs", JSON_NUMBER },
	{ "silenceMs", JSON_NUMBER }, { "connectMs", JSON_NUMBER }, { "maxRetries", JSON_NUMBER },
	{ "maxRetryDelayMs", JSON_NUMBER }, { "caFile", JSON_STRING },
	{ "providerOptions", JSON_NONE }, { "options", JSON_NONE } };
#define KNOWN (sizeof(known) / sizeof(*known))

static const struct option *option_named(struct bread_str key)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (brd_str_is(key, known[i].key))
			return &known[i];
	return NULL;
}

/* The option that looks most like it; NULL: none does. */
static const char *option_meant(struct bread_str key)
{
	const char *found = NULL;
	unsigned best = 4; /* this far is too far */

	for (size_t i = 2; i < KNOWN; i++) { /* the first two are ours */
		unsigned d = brd_str_distance(key, brd_str(known[i].key));

		if (d < best) {
			best = d;
			found = known[i].key;
		}
	}
	return found;
}

static int unknown_option(
	const struct http_provider *p, struct bread_str key, struct bread_err *err)
{
	const char *meant = option_meant(key);

	return brd_fail(err, BREAD_E_INVALID, "providers",
		"provider %.*s: unknown key \"%.*s\"%s%s%s", BRD_ARG(p->name), BRD_ARG(key),
		meant ? "; did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
}

static bool fits(const struct option *o, struct jval v)
{
	enum json_type t = brd_json_type(v);

	return o->type == JSON_NONE || t == JSON_NULL || t == o->type;
}

static int check_options(struct http_provider *p, struct bread_err *err)
{
	for (struct json_iter it = brd_json_each(p->options); brd_json_next(&it);) {
		struct bread_str key = brd_json_str(it.key, &p->arena);
		const struct option *o = option_named(key);

		if (!o && !brd_str_starts(key, BRD_STR("x-")))
			return unknown_option(p, key, err);
		if (o && !fits(o, it.value))
			return brd_fail(err, BREAD_E_INVALID, "providers",
				"provider %.*s: %s must be of type %s", BRD_ARG(p->name), o->key,
				brd_json_type_name(o->type));
	}
	return BREAD_OK;
}

static int read_base_url(struct http_provider *p, struct bread_err *err)
{
	struct bread_str url = brd_json_str(brd_json_get(p->options, "baseUrl"), &p->arena);

	while (url.n && url.p[url.n - 1] == '/')
		url.n--;
	if (!brd_str_starts(url, BRD_STR("http://")) && !brd_str_starts(url, BRD_STR("https://")))
		return brd_fail(err, BREAD_E_INVALID, "providers",
			"provider %.*s: baseUrl must begin with http:// or https://",
			BRD_ARG(p->name));
	p->base_url = url;
	return BREAD_OK;
}

static void read_options(struct http_provider *p)
{
	struct jval o = p->options;
	struct bread_str cache = brd_json_str(brd_json_get(o, "cacheRetention"), &p->arena);

	p->server = brd_json_str(brd_json_get(o, "server"), &p->arena);
	p->api_key = brd_json_str(brd_json_get(o, "apiKey"), &p->arena);
	p->headers = brd_json_get(o, "headers");
	p->cache = cache.n ? cache : BRD_STR("short");
	p->first_byte_ms = brd_json_int_or(brd_json_get(o, "firstByteMs"), 0);
	p->silence_ms = brd_json_int_or(brd_json_get(o, "silenceMs"), 0);
	p->connect_ms = brd_json_int_or(brd_json_get(o, "connectMs"), 0);
	p->max_retries = (int)brd_json_int_or(brd_json_get(o, "maxRetries"), RETRIES);
	p->max_retry_delay_ms =
		brd_json_int_or(brd_json_get(o, "maxRetryDelayMs"), RETRY_DELAY_MAX_MS);
	p->ca_file = brd_json_strz(brd_json_get(o, "caFile"), &p->arena);
}

int brd_provider_open(struct http_provider *p, const struct family *f, struct bread_str name,
	struct bread_str options, struct bread_err *err)
{
	int r;

	p->family = f;
	p->name = brd_arena_copy(&p->arena, name);
	r = brd_json_parse(&p->arena, brd_arena_copy(&p->arena, options), 0, &p->options, NULL);
	if (r || brd_json_type(p->options) != JSON_OBJECT)
		r = brd_fail(err, BREAD_E_INVALID, "providers",
			"provider %.*s: its options are no JSON object", BRD_ARG(name));
	if (!r)
		r = check_options(p, err);
	if (!r)
		r = read_base_url(p, err);
	if (!r)
		read_options(p);
	else
		brd_arena_fini(&p->arena);
	return r;
}

void brd_provider_close(struct bread_model *m)
{
	brd_arena_fini(&((struct http_provider *)m)->arena);
}
