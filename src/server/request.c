/* SPDX-License-Identifier: MIT */
/* Requests as handlers see them, and whole answers.
 *
 * Exactly one answer each. A request is counted under its route's pattern, never
 * under its path. Codes become statuses in one table. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "crumb/sink.h"
#include "server/internal.h"

const int brd_statuses[STATUSES] = { 200, 201, 202, 204, 400, 401, 403, 404, 409, 413, 415, 429,
	500, 502, 503, 504, 0 };
const int64_t brd_bucket_us[BUCKETS] = { 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000,
	2500000, 5000000, 10000000 };

/* ---- the life of a request ---- */

static void not_found(struct bread_request *req, void *arg)
{
	bread_reply(req, 404, "text/plain; charset=UTF-8", BRD_STR(""), BRD_STR("404 Not Found"));
}

void brd_request_serve(struct http_req *http, void *arg)
{
	struct shard *sh = arg;
	const struct http_head *h = brd_http_req_head(http);
	struct bread_request *req = brd_alloc(sizeof(*req));
	struct bread_err err;

	req->http = http;
	req->shard = sh;
	req->begun_us = brd_clock_mono_us();
	req->route = brd_route_find(sh->server, h->method, h->path, req->params);
	brd_server_ref(sh->server);
	atomic_fetch_add_explicit(&sh->in_flight, 1, memory_order_relaxed);
	if (!brd_guard_request(sh->server, http, &err))
		bread_reply_error(req, &err);
	else if (req->route)
		req->route->fn(req, req->route->arg);
	else
		not_found(req, NULL);
}

static struct route_stats *stats_of(const struct bread_request *req)
{
	const struct bread_server *s = req->shard->server;

	return &req->shard->stats[req->route ? (size_t)(req->route - s->routes) : s->route_count];
}

static void count(const struct bread_request *req, int status)
{
	struct route_stats *st = stats_of(req);
	int64_t us = brd_clock_mono_us() - req->begun_us;
	size_t at = 0, bucket = 0;

	while (at < STATUSES - 1 && brd_statuses[at] != status)
		at++;
	while (bucket < BUCKETS && us > brd_bucket_us[bucket])
		bucket++;
	atomic_fetch_add_explicit(&st->status[at], 1, memory_order_relaxed);
	if (bucket < BUCKETS)
		atomic_fetch_add_explicit(&st->bucket[bucket], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&st->sum_us, (uint64_t)us, memory_order_relaxed);
	atomic_fetch_add_explicit(&st->count, 1, memory_order_relaxed);
}

void brd_request_done(struct bread_request *req, int status)
{
	struct bread_server *s = req->shard->server;

	count(req, status);
	atomic_fetch_sub_explicit(&req->shard->in_flight, 1, memory_order_relaxed);
	free(req);
	brd_server_unref(s);
}

/* ---- asking ---- */

struct bread *bread_request_instance(const struct bread_request *req)
{
	return req->shard->server->bread;
}

struct bread_str bread_request_method(const struct bread_request *req)
{
	return brd_http_req_head(req->http)->method;
}

struct bread_str bread_request_path(const struct bread_request *req)
{
	return brd_http_req_head(req->http)->path;
}

struct bread_str bread_request_param(const struct bread_request *req, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < req->route->count; i++) {
		if (!req->route->segments[i].param)
			continue;
		if (brd_str_is(req->route->segments[i].text, name))
			return req->params[n];
		n++;
	}
	return (struct bread_str){ 0 };
}

struct bread_str bread_request_query(struct bread_request *req, const char *name)
{
	return brd_http_query(
		brd_http_req_head(req->http)->query, name, brd_http_req_arena(req->http));
}

struct bread_str bread_request_header(const struct bread_request *req, const char *name)
{
	return brd_http_get(brd_http_req_head(req->http), name);
}

struct bread_str bread_request_body(const struct bread_request *req)
{
	return brd_http_req_body(req->http);
}

void *bread_request_alloc(struct bread_request *req, size_t n)
{
	return brd_arena_alloc(brd_http_req_arena(req->http), n);
}

struct bread_str bread_request_printf(struct bread_request *req, const char *fmt, ...)
{
	char small[512];
	va_list ap, again;
	char *p;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	brd_assert(n >= 0);
	p = brd_arena_alloc(brd_http_req_arena(req->http), (size_t)n + 1);
	if ((size_t)n < sizeof(small))
		memcpy(p, small, (size_t)n + 1);
	else
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return (struct bread_str){ p, (size_t)n };
}

int bread_id_ok(struct bread_str id)
{
	return brd_id_ok(id);
}

/* ---- answering ---- */

void bread_reply(struct bread_request *req, int status, const char *content_type,
	struct bread_str headers, struct bread_str body)
{
	brd_http_reply(req->http, status, content_type, headers, body);
	brd_request_done(req, status);
}

void bread_reply_json(struct bread_request *req, int status, struct bread_str json)
{
	bread_reply(req, status, "application/json", BRD_STR(""), json);
}

static const struct {
	const char *name;
	int status;
} named[] = {
	{ "HOST_NOT_ALLOWED", 403 },
	{ "ORIGIN_NOT_ALLOWED", 403 },
	{ "CONTENT_TYPE_NOT_ALLOWED", 415 },
	{ "CONCURRENCY_LIMIT", 429 },
	{ "DRAINING", 503 },
	{ "INTERNAL_ERROR", 500 },
};

static int status_of(const struct bread_err *err)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (strcmp(named[i].name, err->name) == 0)
			return named[i].status;
	switch (err->code) {
	case BREAD_OK:
		return 200;
	case BREAD_E_INVALID:
		return 400;
	case BREAD_E_NOT_FOUND:
		return 404;
	case BREAD_E_CONFLICT:
	case BREAD_E_CANCELED:
		return 409;
	case BREAD_E_TOO_LARGE:
		return 413;
	case BREAD_E_TIMEOUT:
		return 504;
	case BREAD_E_UPSTREAM:
		return 502;
	case BREAD_E_BUSY:
		return 503;
	}
	return 500;
}

/* What has no code word is ours to know: a path, an SQL text. It is in the log. */
void bread_reply_error(struct bread_request *req, const struct bread_err *err)
{
	int status = err->name[0] ? status_of(err) : 500;
	struct buf body;
	struct jsonw w;

	if (!err->name[0])
		log_warn("server.error", "a request failed in %s: %s",
			err->where[0] ? err->where : "its handler", err->text);
	brd_buf_init(&body, BUF_NO_LIMIT);
	w = brd_jsonw(&body);
	brd_jw_obj(&w);
	brd_jw_key(&w, "error");
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "code", err->name[0] ? brd_str(err->name) : BRD_STR("INTERNAL_ERROR"));
	brd_jw_kstr(&w, "message",
		err->name[0] ? brd_str(err->text) : BRD_STR("Internal server error"));
	brd_jw_end_obj(&w);
	brd_jw_end_obj(&w);
	bread_reply(req, status, "application/json",
		status == 503 || status == 429 ? BRD_STR("Retry-After: 1\r\n") : BRD_STR(""),
		brd_buf_str(&body));
	brd_buf_fini(&body);
}

void bread_reply_failure(struct bread_request *req, const struct bread_framing *framing,
	const struct bread_failure *f)
{
	struct bread_sink sink;

	brd_buf_init(&sink.buf, BUF_NO_LIMIT);
	framing->failure(&sink, f);
	bread_reply(
		req, 200, framing->content_type, brd_str(framing->headers), brd_buf_str(&sink.buf));
	brd_buf_fini(&sink.buf);
}
