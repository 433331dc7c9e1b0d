/* SPDX-License-Identifier: MIT */
/* Answers to bytes, and what did not fit into the socket.
 *
 * Small answers go out by one system call and no allocation. Of what the socket
 * does not take, answers are copied (they are whole and bounded); a stream's bytes
 * stay its owner's, who is told when they are out. */
#include "net/server_priv.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include "base/clock.h"

#define TLS_RECORD (16 * 1024)

/* ---- heads ---- */

/* "Date: Sun, 06 Nov 1994 08:49:37 GMT", made once a second. */
static struct bread_str date_line(struct http_server *s)
{
	time_t now = (time_t)(brd_clock_wall() / 1000);
	struct tm tm;

	if (now != s->date_second || s->date_len == 0) {
		gmtime_r(&now, &tm);
		/* names of days and months are the C locale's: nobody here sets another */
		s->date_len = strftime(
			s->date, sizeof(s->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
		s->date_second = now;
	}
	return (struct bread_str){ s->date, s->date_len };
}

static void add_status(struct buf *b, int status)
{
	if (status == 200) {
		brd_buf_add(b, BRD_STR("HTTP/1.1 200 OK\r\n"));
		return;
	}
	brd_buf_add(b, BRD_STR("HTTP/1.1 "));
	brd_buf_addi(b, status);
	brd_buf_addc(b, ' ');
	brd_buf_addz(b, brd_http_reason(status));
	brd_buf_add(b, BRD_STR("\r\n"));
}

static bool has_body(int status)
{
	return status >= 200 && status != 204 && status != 304;
}

void brd_answer_head(struct http_conn *c, const struct http_req *req, int status,
	const char *content_type, struct bread_str extra, int64_t length)
{
	struct buf *b = &c->server->text;
	bool old = req && req->head.minor == 0;

	brd_buf_clear(b);
	add_status(b, status);
	if (content_type) {
		brd_buf_add(b, BRD_STR("Content-Type: "));
		brd_buf_addz(b, content_type);
		brd_buf_add(b, BRD_STR("\r\n"));
	}
	brd_buf_add(b, date_line(c->server));
	if (length >= 0 && has_body(status)) {
		brd_buf_add(b, BRD_STR("Content-Length: "));
		brd_buf_addi(b, length);
		brd_buf_add(b, BRD_STR("\r\n"));
	} else if (length < 0 && !old) {
		brd_buf_add(b, BRD_STR("Transfer-Encoding: chunked\r\n"));
	}
	if (c->close)
		brd_buf_add(b, BRD_STR("Connection: close\r\n"));
	else if (old)
		brd_buf_add(b, BRD_STR("Connection: keep-alive\r\n"));
	brd_buf_add(b, extra);
	brd_buf_add(b, BRD_STR("\r\n"));
}

/* ---- sending ---- */

void brd_iov_skip(struct iovec **v, int *n, size_t sent)
{
	while (*n && sent >= (*v)->iov_len) {
		sent -= (*v)->iov_len;
		(*v)++;
		(*n)--;
	}
	if (sent) {
		(*v)->iov_base = (char *)(*v)->iov_base + sent;
		(*v)->iov_len -= sent;
	}
}

static ptrdiff_t send_plain(struct http_conn *c, const struct iovec *v, int n)
{
	struct msghdr m = { .msg_iov = (struct iovec *)v,
		.msg_iovlen = n < IOV_MAX ? (size_t)n : IOV_MAX };
	ssize_t sent;

	do
		sent = sendmsg(c->fd, &m, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return sent;
	return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? 0 : -1;
}

/* The next bytes of v from at on, as one piece: a record's worth, gathered in
 * room when the first part has less. */
static struct bread_str record(const struct iovec *v, int n, size_t at, char *room)
{
	size_t have = 0;

	while (n && at >= v->iov_len) {
		at -= v->iov_len;
		v++;
		n--;
	}
	if (n && (n == 1 || v->iov_len - at >= TLS_RECORD)) {
		size_t left = v->iov_len - at;

		return (struct bread_str){ (char *)v->iov_base + at,
			left < TLS_RECORD ? left : TLS_RECORD };
	}
	for (; n && have < TLS_RECORD; v++, n--, at = 0) {
		size_t part = v->iov_len - at;

		if (part > TLS_RECORD - have)
			part = TLS_RECORD - have;
		if (part)
			memcpy(room + have, (char *)v->iov_base + at, part);
		have += part;
	}
	return (struct bread_str){ room, have };
}

/* OpenSSL may hold back a record it has made: then the same bytes must come
 * again, which they do, since whoever waits keeps them. */
static ptrdiff_t send_tls(struct http_conn *c, const struct iovec *v, int n)
{
	char room[TLS_RECORD];
	size_t sent = 0;

	for (;;) {
		struct bread_str r = record(v, n, sent, room);
		ptrdiff_t now = r.n ? brd_tls_write(c->tls, r.p, r.n) : TLS_AGAIN;

		if (now == TLS_GONE)
			return -1;
		if (now == TLS_AGAIN)
			return (ptrdiff_t)sent;
		sent += (size_t)now;
	}
}

ptrdiff_t brd_conn_send(struct http_conn *c, const struct iovec *v, int n)
{
	return c->tls ? send_tls(c, v, n) : send_plain(c, v, n);
}

bool brd_conn_waits(const struct http_conn *c)
{
	return c->out.len > 0;
}

bool brd_conn_put(struct http_conn *c, const struct iovec *v, int n)
{
	ptrdiff_t sent = brd_conn_waits(c) ? 0 : brd_conn_send(c, v, n);
	size_t skip = (size_t)sent;

	if (sent < 0)
		return false;
	for (; n; v++, n--) {
		size_t gone = skip < v->iov_len ? skip : v->iov_len;

		brd_buf_addn(&c->out, (char *)v->iov_base + gone, v->iov_len - gone);
		skip -= gone;
	}
	return true;
}

/* ---- when there is room again ---- */

/* 1: all is out, 0: some waits, -1: the peer has gone. *ret_moved: some went. */
static int flush_out(struct http_conn *c, bool *ret_moved)
{
	struct iovec v = { c->out.data + c->out_sent, c->out.len - c->out_sent };
	ptrdiff_t sent = brd_conn_send(c, &v, 1);

	if (sent < 0)
		return -1;
	*ret_moved |= sent > 0;
	c->out_sent += (size_t)sent;
	if (c->out_sent < c->out.len)
		return 0;
	brd_buf_fini(&c->out);
	c->out_sent = 0;
	return 1;
}

static int flush_rest(struct http_conn *c, bool *ret_moved)
{
	struct http_req *req = c->req;
	struct iovec *v = req->rest;
	ptrdiff_t sent = brd_conn_send(c, v, req->rest_count);

	if (sent < 0)
		return -1;
	*ret_moved |= sent > 0;
	brd_iov_skip(&v, &req->rest_count, (size_t)sent);
	if (req->rest_count) {
		memmove(req->rest, v, (size_t)req->rest_count * sizeof(*v));
		return 0;
	}
	free(req->rest);
	req->rest = NULL;
	return 1;
}

static void on_all_out(struct http_conn *c)
{
	struct http_req *req = c->req;

	if (c->state == CONN_FLUSH) {
		brd_conn_answered(c);
		return;
	}
	if (c->state != CONN_HELD)
		return;
	c->due = 0;
	if (req->streamed && req->ev.on_writable)
		req->ev.on_writable(req, req->ev.arg);
}

void brd_conn_writable(struct http_conn *c)
{
	bool moved = false;
	int r = 1;

	if (!brd_conn_waits(c) && !(c->req && c->req->rest_count))
		return;
	if (brd_conn_waits(c))
		r = flush_out(c, &moved);
	if (r == 1 && c->req && c->req->rest_count)
		r = flush_rest(c, &moved);
	if (r < 0)
		brd_conn_close(c);
	else if (r == 1)
		on_all_out(c);
	else if (moved && (c->state == CONN_HELD || c->state == CONN_FLUSH))
		brd_conn_deadline(c, c->server->conf.stall_ms);
}
