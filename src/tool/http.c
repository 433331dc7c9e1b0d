/* SPDX-License-Identifier: MIT */
/* Tools over HTTP: the arguments are POSTed as JSON, the answer's body is the
 * result.
 *
 *   http: https://tools.example/add
 *   http: { url: …, method: POST, headers: { Authorization: "Bearer {{credential.KEY}}" } }
 *
 * A status from 200 to 299 is a success; a body that is not JSON is a text result, an
 * empty one no value. Other statuses fail with the body's "error", or with the
 * status. An NDJSON answer (application/x-ndjson) is read line by line, as a
 * program's output is. Addresses that are not public are refused unless allowPrivate says
 * so (contract C27); redirects are not followed. */
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "net/guard.h"
#include "net/sse.h"
#include "tool/internal.h"

struct http_tool {
	struct bread_tool tool;
	struct arena arena;
	char *url, *method;
	const char **headers;
	bool allow_private;
};

struct http_tool_call {
	struct bread_tool_call *call;
	struct bread_op op;
	struct http_call *http;
	struct buf body;
	struct line_reader lines;
	bool streams; /* an NDJSON answer */
	const char *fault;
	const char **headers; /* with the credentials in them */
	struct arena arena;
};

static int read_headers(struct http_tool *h, struct jval v, struct bread_err *err)
{
	size_t n = 0;

	h->headers = brd_arena_array(&h->arena, brd_json_count(v) + 2, sizeof(char *));
	h->headers[n++] = "Content-Type: application/json";
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.key, &h->arena),
				 value = brd_json_str(it.value, &h->arena);

		for (size_t i = 0; i < value.n; i++)
			if ((unsigned char)value.p[i] < ' ')
				return brd_fail(err, BREAD_E_INVALID, "tool",
					"http.headers.%.*s holds a control character",
					BRD_ARG(name));
		h->headers[n++] =
			brd_arena_printf(&h->arena, "%.*s: %.*s", BRD_ARG(name), BRD_ARG(value)).p;
	}
	return 0;
}

static int http_open(
	struct bread_tool *t, struct bread_str options, const char *dir, struct bread_err *err)
{
	static const struct tool_key keys[] = { { "url", JSON_STRING }, { "method", JSON_STRING },
		{ "headers", JSON_OBJECT }, { "allowPrivate", JSON_BOOL } };
	struct http_tool *h = (struct http_tool *)t;
	struct jval v, url;
	int r;

	if (brd_json_parse(&h->arena, brd_arena_copy(&h->arena, options), 0, &v, NULL))
		return brd_fail(err, BREAD_E_INVALID, "tool", "http is not JSON");
	r = brd_tool_check_keys("http", v, keys, sizeof(keys) / sizeof(*keys), err);
	if (!r)
		r = brd_tool_check_strings("http.headers", brd_json_get(v, "headers"), err);
	if (r) {
		brd_arena_fini(&h->arena);
		return r;
	}
	url = brd_json_type(v) == JSON_STRING ? v : brd_json_get(v, "url");
	h->url = brd_json_strz(url, &h->arena);
	h->method = brd_json_strz(brd_json_get(v, "method"), &h->arena);
	h->allow_private = brd_json_bool(brd_json_get(v, "allowPrivate"), false);
	if (!h->method)
		h->method = brd_arena_strz(&h->arena, BRD_STR("POST"));
	r = h->url ? brd_url_check(brd_str(h->url), err)
		   : brd_fail(
			     err, BREAD_E_INVALID, "tool", "http needs a url: the address to call");
	if (!r)
		r = read_headers(h, brd_json_get(v, "headers"), err);
	if (r)
		brd_arena_fini(&h->arena);
	return r;
}

static void http_close(struct bread_tool *t)
{
	brd_arena_fini(&((struct http_tool *)t)->arena);
}

static void on_line(void *arg, struct bread_str line)
{
	struct http_tool_call *hc = arg;

	if (hc->fault)
		return;
	hc->fault = brd_tool_result_fault(line);
	brd_buf_clear(&hc->body);
	brd_buf_add(&hc->body, line);
	if (!hc->fault && hc->call->on_partial && !hc->call->op.canceled)
		hc->call->on_partial(hc->call, line);
}

static void on_head(void *arg, struct http_call *c)
{
	struct http_tool_call *hc = arg;

	hc->streams = brd_str_starts(
		brd_http_call_header(c, "content-type"), BRD_STR("application/x-ndjson"));
}

static bool on_data(void *arg, struct bread_str bytes)
{
	struct http_tool_call *hc = arg;

	if (hc->streams) {
		if (!brd_lines_feed(&hc->lines, bytes))
			hc->fault = TOOL_RESULT_TOO_LARGE;
	} else {
		brd_buf_add(&hc->body, bytes);
		if (hc->body.bad)
			hc->fault = TOOL_RESULT_TOO_LARGE;
	}
	return !hc->fault;
}

static void call_end(struct http_tool_call *hc, enum bread_code code, const struct bread_err *err)
{
	struct bread_tool_call *call = hc->call;

	brd_http_call_free(hc->http);
	brd_lines_fini(&hc->lines);
	brd_buf_fini(&hc->body);
	brd_arena_fini(&hc->arena);
	free(hc);
	bread_op_end(&call->op, code, err);
}

static void take_result(struct http_tool_call *hc)
{
	struct bread_str body = brd_str_trim(brd_buf_str(&hc->body));
	struct buf out;

	if (!body.n)
		return;
	brd_buf_init(&out, BUF_NO_LIMIT);
	if (brd_json_ok(body, 0))
		brd_buf_add(&out, body);
	else
		brd_json_quote(&out, body);
	hc->call->result = brd_buf_take(&out, &hc->call->result_len);
}

static void take_failure(struct http_tool_call *hc, int status)
{
	struct jval v;

	if (!brd_json_parse(&hc->arena, brd_buf_str(&hc->body), 0, &v, NULL))
		brd_tool_take_error(hc->call, brd_json_get(v, "error"), &hc->arena);
	if (!hc->call->error_text)
		hc->call->error_text = brd_strndup(brd_arena_printf(&hc->arena,
			"the tool's server answered %d %s", status, brd_http_reason(status)));
}

static void on_done(struct bread_op *op)
{
	struct http_tool_call *hc = op->arg;
	int status = brd_http_call_status(hc->http);
	struct bread_err err = op->err;

	brd_lines_finish(&hc->lines);
	if (hc->fault) {
		brd_fail(&err, BREAD_E_UPSTREAM, "tool", "%s", hc->fault);
		call_end(hc, BREAD_E_UPSTREAM, &err);
	} else if (op->code != BREAD_OK) {
		call_end(hc, op->code, &err);
	} else if (status >= 200 && status < 300) {
		take_result(hc);
		call_end(hc, BREAD_OK, NULL);
	} else {
		take_failure(hc, status);
		brd_fail(&err, BREAD_E_UPSTREAM, "tool", "status %d", status);
		call_end(hc, BREAD_E_UPSTREAM, &err);
	}
}

static void on_cancel(struct bread_op *op, void *by)
{
	bread_op_cancel(&((struct http_tool_call *)by)->op);
}

/* Puts credentials into the headers. The messages have names, and no values. */
static int fill_headers(const struct http_tool *h, struct http_tool_call *hc, struct bread_err *err)
{
	size_t n = 0;

	while (h->headers[n])
		n++;
	hc->headers = brd_arena_array(&hc->arena, n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++) {
		struct bread_str missing;
		char *filled = brd_tool_fill(hc->call, h->headers[i], &hc->arena, &missing);

		if (!filled)
			return brd_fail(err, BREAD_E_UPSTREAM, "tool",
				"there is no credential \"%.*s\"", BRD_ARG(missing));
		for (const char *p = filled; *p; p++)
			if ((unsigned char)*p < ' ' && *p != '\t')
				return brd_fail(err, BREAD_E_UPSTREAM, "tool",
					"a credential has a control character, and cannot stand in "
					"a header");
		hc->headers[i] = filled;
	}
	return 0;
}

static void http_start(struct bread_tool *t, struct bread_tool_call *call)
{
	struct http_tool *h = (struct http_tool *)t;
	struct http_tool_call *hc = brd_alloc(sizeof(*hc));
	struct bread_err err = { 0 };
	struct http_call_spec spec = { .method = h->method,
		.url = h->url,
		.body = call->args,
		.on_head = on_head,
		.on_data = on_data,
		.arg = hc };

	hc->call = call;
	brd_buf_init(&hc->body, TOOL_RESULT_MAX);
	brd_lines_init(&hc->lines, TOOL_RESULT_MAX, on_line, hc);
	bread_op_begin(&call->op, on_cancel, hc);
	if (fill_headers(h, hc, &err)) {
		call_end(hc, BREAD_E_UPSTREAM, &err);
		return;
	}
	spec.headers = hc->headers;
	bread_op_init(&hc->op, call->loop, on_done, hc);
	/* the URL itself was checked when the tool was opened */
	brd_guard(&spec, h->allow_private, NULL);
	hc->http = brd_http_call_start(brd_http_client_of(call->loop), &spec, &hc->op);
}

const struct bread_tool_ops bread_tool_http = {
	.name = "http",
	.size = sizeof(struct http_tool),
	.open = http_open,
	.close = http_close,
	.start = http_start,
};
