/* SPDX-License-Identifier: MIT */
/* Bytes to requests.
 *
 * One read buffer serves all connections; a connection keeps bytes of its own
 * only when a head is cut in two or requests are pipelined. A request is handed
 * over with its memory its own, so that the buffer is free for the next one. */
#include "net/server_priv.h"
#include <errno.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/jsonw.h"
#include "base/log.h"

#define RECORDS_PER_EVENT 4 /* of TLS; of a plain socket, one read */
/* Bodies that are being read may take as much as so many full ones in all. */
#define FULL_BODIES_MAX 256

static bool reading(const struct http_conn *c)
{
	return c->state == CONN_HEAD || c->state == CONN_BODY || c->state == CONN_CHUNKS;
}

/* ---- refusals ---- */

static const char *refusal_code(int status)
{
	switch (status) {
	case 408:
		return "REQUEST_TIMEOUT";
	case 413:
		return "BODY_TOO_LARGE";
	case 414:
		return "URI_TOO_LONG";
	case 431:
		return "HEADERS_TOO_LARGE";
	case 501:
		return "NOT_IMPLEMENTED";
	case 503:
		return "OVERLOADED";
	case 505:
		return "HTTP_VERSION_NOT_SUPPORTED";
	default:
		return "BAD_REQUEST";
	}
}

static void write_refusal(struct buf *b, int status, const char *fault)
{
	struct jsonw w = brd_jsonw(b);

	brd_jw_obj(&w);
	brd_jw_key(&w, "error");
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "code", brd_str(refusal_code(status)));
	brd_jw_kstr(&w, "message", brd_str(fault));
	brd_jw_end_obj(&w);
	brd_jw_end_obj(&w);
}

void brd_conn_refuse(struct http_conn *c, int status, const char *fault)
{
	struct buf body;
	struct iovec v[2];
	bool ok;

	log_debug("net.refused", "%d: %s", status, fault);
	if (c->req)
		brd_req_free(c->req);
	c->req = NULL;
	brd_list_remove(&c->idle);
	c->close = true;
	c->state = CONN_FLUSH;
	brd_buf_init(&body, 4096);
	write_refusal(&body, status, fault);
	brd_answer_head(c, NULL, status, "application/json", BRD_STR(""), (int64_t)body.len);
	v[0] = (struct iovec){ c->server->text.data, c->server->text.len };
	v[1] = (struct iovec){ body.data, body.len };
	ok = brd_conn_put(c, v, 2);
	brd_buf_fini(&body);
	if (!ok)
		brd_conn_close(c);
	else if (brd_conn_waits(c))
		brd_conn_deadline(c, c->server->conf.stall_ms);
	else
		brd_conn_answered(c);
}

/* ---- requests ---- */

static void hand_over(struct http_conn *c)
{
	struct http_server *s = c->server;

	c->state = CONN_HELD;
	c->due = 0;
	s->stats.requests++;
	s->conf.on_request(c->req, s->conf.arg);
}

static bool say_continue(struct http_conn *c)
{
	static char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec v = { text, sizeof(text) - 1 };

	if (brd_conn_put(c, &v, 1))
		return true;
	brd_conn_close(c);
	return false;
}

static void await_body(struct http_conn *c, enum conn_state state, bool wants_continue)
{
	c->state = (unsigned char)state;
	brd_buf_init(&c->req->parts, c->server->conf.max_body);
	c->since = brd_clock_mono();
	brd_conn_deadline(c, BODY_MS);
	if (wants_continue)
		say_continue(c);
}

/* Takes the request whose head was read, and its body if that is there. Returns
 * how much of rest it took. */
static size_t begin(
	struct http_conn *c, const struct http_head *h, struct bread_str raw, struct bread_str rest)
{
	size_t length = h->content_length > 0 ? (size_t)h->content_length : 0;
	bool wants_continue = h->expect_continue && rest.n == 0;

	if (length > c->server->conf.max_body) {
		/* who waits for a 100 gets it, as from other servers, and then the refusal */
		if (!h->expect_continue || say_continue(c))
			brd_conn_refuse(c, 413, "Request body too large");
		return 0;
	}
	brd_list_remove(&c->idle);
	if (h->chunked || length > rest.n) {
		c->req = brd_req_new(c, h, raw, BRD_STR(""));
		await_body(c, h->chunked ? CONN_CHUNKS : CONN_BODY, wants_continue);
		return 0;
	}
	c->req = brd_req_new(c, h, raw, brd_sub(rest, 0, length));
	hand_over(c);
	return length;
}

static size_t step_head(struct http_conn *c, struct bread_str view)
{
	struct http_head h;
	ptrdiff_t n = brd_http_head_end(view, c->in_seen, &h);

	c->in_seen = n ? 0 : view.n;
	if (n == 0)
		return 0;
	if (n > 0) {
		brd_arena_reset(&c->server->scratch);
		n = brd_http_head_parse(brd_sub(view, 0, (size_t)n), &c->server->scratch, &h);
	}
	if (n < 0) {
		brd_conn_refuse(c, (int)-n, h.fault);
		return 0;
	}
	return (size_t)n + begin(c, &h, brd_sub(view, 0, (size_t)n),
				   brd_sub(view, (size_t)n, view.n - (size_t)n));
}

static void body_complete(struct http_conn *c)
{
	c->server->bodies -= c->req->charged;
	c->req->charged = 0;
	c->req->body = brd_buf_str(&c->req->parts);
	hand_over(c);
}

/* false: there are too many bytes in bodies already, and this one was refused. */
static bool charge(struct http_conn *c)
{
	struct http_req *req = c->req;
	struct http_server *s = c->server;

	s->bodies += req->parts.len - req->charged;
	req->charged = req->parts.len;
	if (s->bodies / FULL_BODIES_MAX <= s->conf.max_body)
		return true;
	log_warn("net.bodies", "requests that are being read take %zu bytes; refused one",
		s->bodies);
	brd_conn_refuse(c, 503, "The server is reading too many requests.");
	return false;
}

static size_t step_body(struct http_conn *c, struct bread_str view)
{
	struct http_req *req = c->req;
	size_t left = (size_t)req->head.content_length - req->parts.len;
	size_t n = view.n < left ? view.n : left;

	brd_buf_addn(&req->parts, view.p, n);
	if (charge(c) && n == left)
		body_complete(c);
	return n;
}

static size_t step_chunks(struct http_conn *c, struct bread_str view)
{
	struct http_req *req = c->req;
	bool done = false;
	ptrdiff_t n = brd_http_chunks_feed(&req->chunks, view, &req->parts, &done);

	if (req->parts.bad)
		brd_conn_refuse(c, 413, "Request body too large");
	else if (n < 0)
		brd_conn_refuse(c, 400, "The chunks of the body are malformed.");
	else if (charge(c) && done)
		body_complete(c);
	return n < 0 ? 0 : (size_t)n;
}

static size_t step(struct http_conn *c, struct bread_str view)
{
	switch ((enum conn_state)c->state) {
	case CONN_HEAD:
		return step_head(c, view);
	case CONN_BODY:
		return step_body(c, view);
	case CONN_CHUNKS:
		return step_chunks(c, view);
	default:
		return 0;
	}
}

/* Keeps what was not used, in the connection's own memory. A head that goes on
 * does not get more time. */
static void keep(struct http_conn *c, struct bread_str left, bool own, bool goes_on)
{
	if (c->close)
		left.n = 0;
	if (own)
		brd_buf_drop(&c->in, c->in.len - left.n);
	else
		brd_buf_add(&c->in, left);
	if (c->in.len == 0)
		brd_buf_fini(&c->in);
	else if (c->state == CONN_HEAD && !goes_on)
		brd_conn_deadline(c, HEAD_MS);
}

void brd_conn_take(struct http_conn *c, struct bread_str bytes)
{
	bool own = c->in.len > 0;
	bool began = own && c->state == CONN_HEAD && c->in_seen > 0;
	size_t used = 0;

	if (!reading(c))
		return;
	if (own) {
		brd_buf_add(&c->in, bytes);
		bytes = brd_buf_str(&c->in);
	}
	c->busy = true;
	while (used < bytes.n && reading(c)) {
		size_t n = step(c, brd_sub(bytes, used, bytes.n - used));

		if (n == 0)
			break;
		used += n;
	}
	if (c->state == CONN_CLOSED)
		return;
	c->busy = false;
	keep(c, brd_sub(bytes, used, bytes.n - used), own, began && used == 0);
}

static ptrdiff_t receive(struct http_conn *c)
{
	ssize_t n;

	if (c->tls)
		return brd_tls_read(c->tls, c->server->in, READ_SIZE);
	do
		n = recv(c->fd, c->server->in, READ_SIZE, 0);
	while (n < 0 && errno == EINTR);
	return n >= 0 ? n : errno == EAGAIN ? TLS_AGAIN : TLS_GONE;
}

void brd_conn_read(struct http_conn *c)
{
	for (int i = 0; i < RECORDS_PER_EVENT && reading(c); i++) {
		ptrdiff_t n = receive(c);

		if (n == TLS_AGAIN)
			return;
		if (n <= 0) { /* also an end in the middle: nobody waits for an answer */
			brd_conn_close(c);
			return;
		}
		brd_conn_take(c, (struct bread_str){ c->server->in, (size_t)n });
		if (c->state == CONN_CLOSED || !c->tls)
			return;
	}
	if (reading(c) && c->tls && brd_tls_has_more(c->tls))
		brd_conn_again(c);
}
