/* SPDX-License-Identifier: MIT */
/* What the owner of a request can ask and answer.
 *
 * Nothing here calls the owner back: when a write finds that the peer has gone,
 * on_closed comes with the loop's next turn. Until then, and for as long as the
 * owner likes, the request takes calls and does nothing with them. */
#include "net/server_priv.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "base/err.h"
#include "base/mem.h"

#define KEEP_MEM_MAX (16 * 1024)
#define KEEP_ARENA_MAX (16 * 1024)

/* ---- memory ---- */

static struct http_req *take_from_pool(struct http_server *s)
{
	struct http_req *req = s->pool;

	if (!req)
		return brd_alloc(sizeof(*req));
	s->pool = req->next;
	s->pool_count--;
	return req;
}

static const char *moved(const char *p, struct bread_str from, const char *to)
{
	return p >= from.p && p <= from.p + from.n ? to + (p - from.p) : p;
}

/* Copies a head that points into raw (and a decoded path, into the scratch
 * arena) so that it points into mem. Memory: headers, raw, path, body. */
static void own_head(struct http_req *req, const struct http_head *h, struct bread_str raw,
	struct bread_str body)
{
	size_t table = h->header_count * sizeof(*h->headers);
	size_t need = table + raw.n + h->path.n + body.n + 2;
	char *text, *path;

	if (need > req->mem_cap) {
		req->mem = brd_realloc(req->mem, need);
		req->mem_cap = need;
	}
	req->head = *h;
	req->head.headers = (void *)req->mem;
	text = req->mem + table;
	path = text + raw.n;
	memcpy(text, raw.p, raw.n);
	memcpy(path, h->path.p, h->path.n);
	path[h->path.n] = 0;
	for (size_t i = 0; i < h->header_count; i++) {
		struct http_header *to = &req->head.headers[i];

		*to = h->headers[i];
		to->name.p = moved(to->name.p, raw, text);
		to->value.p = moved(to->value.p, raw, text);
	}
	req->head.method.p = moved(h->method.p, raw, text);
	req->head.target.p = moved(h->target.p, raw, text);
	req->head.query.p = moved(h->query.p, raw, text);
	req->head.path.p = path;
	req->body = (struct bread_str){ path + h->path.n + 1, body.n };
	if (body.n)
		memcpy(path + h->path.n + 1, body.p, body.n);
	path[h->path.n + 1 + body.n] = 0;
}

struct http_req *brd_req_new(struct http_conn *c, const struct http_head *head,
	struct bread_str raw, struct bread_str body)
{
	struct http_req *req = take_from_pool(c->server);
	struct http_req clean = { .mem = req->mem, .mem_cap = req->mem_cap, .arena = req->arena };

	*req = clean;
	req->conn = c;
	req->loop = c->server->loop;
	req->local = c->local;
	req->bodyless = brd_str_is(head->method, "HEAD");
	brd_buf_init(&req->parts, 0);
	own_head(req, head, raw, body);
	return req;
}

static bool give_to_pool(struct http_server *s, struct http_req *req)
{
	if (s->pool_count == REQ_POOL_MAX || req->mem_cap > KEEP_MEM_MAX)
		return false;
	brd_arena_reset(&req->arena);
	if (req->arena.total > KEEP_ARENA_MAX)
		brd_arena_fini(&req->arena);
	req->next = s->pool;
	s->pool = req;
	s->pool_count++;
	return true;
}

void brd_req_free(struct http_req *req)
{
	if (req->conn)
		req->conn->server->bodies -= req->charged;
	brd_buf_fini(&req->parts);
	free(req->rest);
	req->rest = NULL;
	req->rest_count = 0;
	if (req->conn && give_to_pool(req->conn->server, req))
		return;
	brd_arena_fini(&req->arena);
	free(req->mem);
	free(req);
}

/* ---- when the peer has gone ---- */

void brd_req_tell(struct http_req *req)
{
	if (req->ended)
		return;
	req->ended = true;
	if (req->ev.on_closed)
		req->ev.on_closed(req, req->ev.arg);
}

static void on_last(struct post *p)
{
	struct http_req *req = brd_list_of(p, struct http_req, last);

	brd_list_remove(&req->orphan);
	brd_req_tell(req);
	brd_req_free(req);
}

/* Its owner will hear, from the loop, that there is nobody to answer to. */
static void die(struct http_req *req)
{
	if (req->dying)
		return;
	req->dying = true;
	req->last.run = on_last;
	brd_loop_post(req->loop, &req->last);
}

void brd_req_orphan(struct http_req *req)
{
	struct http_server *s = req->conn->server;

	req->conn = NULL;
	free(req->rest);
	req->rest = NULL;
	req->rest_count = 0;
	if (req->streamed)
		s->stats.streams--;
	if (!req->watched && !req->streamed)
		return;
	brd_list_push(&s->orphans, &req->orphan);
	die(req);
}

/* The owner of an orphan is through with it. */
static void drop(struct http_req *req)
{
	req->ended = true;
	if (!req->dying)
		brd_req_free(req);
}

/* ---- asking ---- */

const struct http_head *brd_http_req_head(const struct http_req *req)
{
	return &req->head;
}

struct bread_str brd_http_req_body(const struct http_req *req)
{
	return req->body;
}

struct arena *brd_http_req_arena(struct http_req *req)
{
	return &req->arena;
}

struct loop *brd_http_req_loop(const struct http_req *req)
{
	return req->loop;
}

bool brd_http_req_local(const struct http_req *req)
{
	return req->local;
}

void brd_http_req_peer(const struct http_req *req, char *out, size_t n)
{
	struct sockaddr_storage a = { 0 };
	socklen_t len = sizeof(a);
	char text[INET6_ADDRSTRLEN] = "";

	if (!req->conn || getpeername(req->conn->fd, (void *)&a, &len)) {
		snprintf(out, n, "gone");
	} else if (a.ss_family == AF_INET) {
		struct sockaddr_in *in = (void *)&a;

		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
		snprintf(out, n, "%s:%d", text, ntohs(in->sin_port));
	} else if (a.ss_family == AF_INET6) {
		struct sockaddr_in6 *in = (void *)&a;

		inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof(text));
		snprintf(out, n, "[%s]:%d", text, ntohs(in->sin6_port));
	} else {
		snprintf(out, n, "unix");
	}
}

/* ---- answering ---- */

static void set_close(struct http_req *req, bool endless)
{
	struct http_conn *c = req->conn;

	c->close =
		!req->head.keep_alive || c->server->refusing || (endless && req->head.minor == 0);
}

/* Parts the two; ok: the peer was there for the last write. */
static void finish(struct http_conn *c, bool ok)
{
	struct http_req *req = c->req;

	if (req->streamed)
		c->server->stats.streams--;
	c->req = NULL;
	brd_req_free(req);
	if (!ok) {
		brd_conn_close(c);
		return;
	}
	c->state = CONN_FLUSH;
	if (!brd_conn_waits(c)) {
		brd_conn_answered(c);
		return;
	}
	brd_conn_deadline(c, c->server->conf.stall_ms);
	if (!c->busy)
		brd_conn_watch(c);
}

void brd_http_reply(struct http_req *req, int status, const char *content_type,
	struct bread_str extra_headers, struct bread_str body)
{
	struct http_conn *c = req->conn;
	struct iovec v[2];

	if (!c) {
		drop(req);
		return;
	}
	brd_assert(!req->streamed);
	set_close(req, false);
	brd_answer_head(c, req, status, content_type, extra_headers, (int64_t)body.n);
	v[0] = (struct iovec){ c->server->text.data, c->server->text.len };
	v[1] = (struct iovec){ (void *)body.p, body.n };
	finish(c, brd_conn_put(c, v,
			  req->bodyless || body.n == 0 || status == 204 || status == 304 ? 1 : 2));
}

void brd_http_watch(struct http_req *req, const struct http_stream_events *ev)
{
	req->ev = *ev;
	req->watched = true;
	if (!req->conn)
		die(req);
	else if (req->conn->half)
		brd_conn_close(req->conn);
}

static void send_stream_head(
	struct http_req *req, int status, const char *content_type, struct bread_str extra)
{
	struct http_conn *c = req->conn;
	struct iovec v;

	set_close(req, true);
	req->chunked = req->head.minor > 0;
	brd_answer_head(c, req, status, content_type, extra, -1);
	v = (struct iovec){ c->server->text.data, c->server->text.len };
	c->server->stats.streams++;
	if (c->half || !brd_conn_put(c, &v, 1)) {
		brd_conn_close(c);
		return;
	}
	if (brd_conn_waits(c))
		brd_conn_deadline(c, c->server->conf.stall_ms);
	if (!c->busy)
		brd_conn_watch(c);
}

void brd_http_stream(struct http_req *req, int status, const char *content_type,
	struct bread_str extra_headers, const struct http_stream_events *ev)
{
	if (ev)
		req->ev = *ev;
	brd_assert(!req->streamed);
	req->streamed = true;
	if (req->conn)
		send_stream_head(req, status, content_type, extra_headers);
	else
		die(req);
}

bool brd_http_stream_chunked(const struct http_req *req)
{
	return req->chunked;
}

static void keep_rest(struct http_req *req, const struct iovec *v, int n, size_t sent)
{
	struct iovec *copy = brd_array((size_t)n, sizeof(*v)), *from = copy;

	memcpy(copy, v, (size_t)n * sizeof(*v));
	brd_iov_skip(&from, &n, sent);
	if (n == 0) {
		free(copy);
		return;
	}
	memmove(copy, from, (size_t)n * sizeof(*v));
	req->rest = copy;
	req->rest_count = n;
}

static size_t total(const struct iovec *v, int n)
{
	size_t sum = 0;

	while (n--)
		sum += v[n].iov_len;
	return sum;
}

bool brd_http_stream_write(struct http_req *req, const struct iovec *v, int n)
{
	struct http_conn *c = req->conn;
	ptrdiff_t sent;

	if (!c)
		return false;
	brd_assert(req->streamed && !req->rest_count);
	if (req->bodyless)
		return true;
	/* the head may still wait, when the socket was full of earlier answers */
	sent = brd_conn_waits(c) ? 0 : brd_conn_send(c, v, n);
	if (sent < 0) {
		brd_conn_close(c);
		return false;
	}
	if ((size_t)sent == total(v, n))
		return true;
	keep_rest(req, v, n, (size_t)sent);
	brd_conn_deadline(c, c->server->conf.stall_ms);
	brd_conn_watch(c);
	return false;
}

bool brd_http_stream_pending(const struct http_req *req)
{
	return !req->conn || req->rest_count || brd_conn_waits(req->conn);
}

void brd_http_stream_end(struct http_req *req)
{
	static char last[] = "0\r\n\r\n";
	struct iovec v = { last, sizeof(last) - 1 };
	struct http_conn *c = req->conn;
	bool ok = true;

	if (!c) {
		drop(req);
		return;
	}
	brd_assert(req->streamed);
	if (req->rest_count)
		ok = brd_conn_put(c, req->rest, req->rest_count);
	if (ok && req->chunked && !req->bodyless)
		ok = brd_conn_put(c, &v, 1);
	finish(c, ok);
}

void brd_http_stream_abort(struct http_req *req)
{
	struct http_conn *c = req->conn;

	if (!c) {
		drop(req);
		return;
	}
	if (req->streamed)
		c->server->stats.streams--;
	c->req = NULL;
	brd_req_free(req);
	brd_conn_close(c);
}
