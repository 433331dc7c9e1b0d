/* SPDX-License-Identifier: MIT */
/* A server and raw peers in one process: see nettest.h. */
#include "nettest.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/json.h"
#include "base/mem.h"
#include "test.h"

#define TURNS_MAX 3000 /* of at most 5 ms each */

static void on_writable(struct http_req *req, void *arg)
{
	struct rig *r = arg;

	r->writable++;
}

static void on_closed(struct http_req *req, void *arg)
{
	struct rig *r = arg;

	r->closed++;
	for (size_t i = 0; i < r->held_count; i++) {
		if (r->held[i] == req)
			r->held[i] = NULL;
	}
}

static void hold(struct rig *r, struct http_req *req)
{
	assert_true(r->held_count < RIG_HELD);
	r->held[r->held_count++] = req;
}

static void reply_head(struct http_req *req)
{
	const struct http_head *h = brd_http_req_head(req);
	struct buf b;

	brd_buf_init(&b, 1 << 20);
	brd_buf_addf(&b, "%.*s %.*s %.*s 1.%d\n", BRD_ARG(h->method), BRD_ARG(h->path),
		BRD_ARG(h->query), h->minor);
	for (size_t i = 0; i < h->header_count; i++)
		brd_buf_addf(&b, "%.*s=%.*s\n", BRD_ARG(h->headers[i].name),
			BRD_ARG(h->headers[i].value));
	brd_http_reply(req, 200, "text/plain", BRD_STR("X-Extra: 1\r\n"), brd_buf_str(&b));
	brd_buf_fini(&b);
}

static void reply_big(struct rig *r, struct http_req *req)
{
	struct bread_str n =
		brd_http_query(brd_http_req_head(req)->query, "n", brd_http_req_arena(req));
	int64_t size = 0;

	assert_true(brd_str_int(n, &size));
	free(r->big);
	r->big = brd_alloc((size_t)size);
	memset(r->big, 'b', (size_t)size);
	brd_http_reply(
		req, 200, "text/plain", BRD_STR(""), (struct bread_str){ r->big, (size_t)size });
	memset(r->big, 'x', (size_t)size); /* the server must not need it any more */
}

static void on_request(struct http_req *req, void *arg)
{
	struct rig *r = arg;
	struct bread_str path = brd_http_req_head(req)->path;
	struct http_stream_events ev = { on_writable, on_closed, r };

	if (brd_str_is(path, "/head")) {
		reply_head(req);
	} else if (brd_str_is(path, "/big")) {
		reply_big(r, req);
	} else if (brd_str_is(path, "/hold")) {
		hold(r, req);
	} else if (brd_str_is(path, "/watch")) {
		hold(r, req);
		brd_http_watch(req, &ev);
	} else if (brd_str_is(path, "/stream")) {
		hold(r, req);
		brd_http_stream(req, 200, "text/event-stream", BRD_STR(""), &ev);
	} else {
		brd_http_reply(req, 200, "application/json", BRD_STR(""), brd_http_req_body(req));
	}
}

void rig_start(struct rig *r, struct http_server_conf c)
{
	struct bread_err err = { 0 };

	*r = (struct rig){ 0 };
	if (!c.host)
		c.host = "127.0.0.1";
	if (!c.max_body)
		c.max_body = 1 << 20;
	if (!c.on_request)
		c.on_request = on_request;
	c.arg = r;
	assert_int_equal(brd_loop_new(&r->loop, &err), 0);
	if (brd_http_server_new(&r->server, r->loop, &c, &err))
		fail_msg("%s", err.text);
}

void rig_stop(struct rig *r)
{
	brd_http_server_free(r->server);
	rig_turns(r, 3);
	brd_loop_free(r->loop);
	free(r->big);
}

void rig_turns(struct rig *r, int n)
{
	while (n--)
		brd_loop_turn(r->loop, 0);
}

bool rig_until(struct rig *r, bool (*done)(void *arg), void *arg)
{
	for (int i = 0; i < TURNS_MAX; i++) {
		if (done(arg))
			return true;
		brd_loop_turn(r->loop, i < 20 ? 0 : 5);
	}
	return false;
}

struct wish {
	struct rig *rig;
	size_t n;
};

static bool enough_held(void *arg)
{
	const struct wish *w = arg;

	return w->rig->held_count >= w->n;
}

void rig_until_held(struct rig *r, size_t n)
{
	struct wish w = { r, n };

	assert_true(rig_until(r, enough_held, &w));
}

static bool enough_closed(void *arg)
{
	const struct wish *w = arg;

	return w->rig->closed >= w->n;
}

void rig_until_closed(struct rig *r, size_t n)
{
	struct wish w = { r, n };

	assert_true(rig_until(r, enough_closed, &w));
}

void peer_open(struct peer *p, struct rig *r)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)brd_http_server_port(r->server)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1;

	*p = (struct peer){ .rig = r };
	brd_buf_init(&p->got, BUF_NO_LIMIT);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(p->fd >= 0);
	setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	assert_true(connect(p->fd, (void *)&a, sizeof(a)) == 0 || errno == EINPROGRESS);
}

void peer_close(struct peer *p)
{
	close(p->fd);
	brd_buf_fini(&p->got);
}

void peer_reset(struct peer *p)
{
	struct linger l = { 1, 0 };

	setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	peer_close(p);
}

void peer_sendn(struct peer *p, const void *bytes, size_t n)
{
	const char *at = bytes;

	for (int i = 0; n && i < TURNS_MAX * 10; i++) {
		ssize_t now = send(p->fd, at, n, MSG_NOSIGNAL);

		if (now > 0) {
			at += now;
			n -= (size_t)now;
		} else if (errno != EAGAIN && errno != ENOTCONN) {
			p->reset = true;
			return;
		}
		brd_loop_turn(p->rig->loop, 0);
	}
	assert_int_equal(n, 0);
}

void peer_send(struct peer *p, const char *z)
{
	peer_sendn(p, z, strlen(z));
}

void peer_take(struct peer *p)
{
	static char in[65536];

	for (;;) {
		ssize_t n = recv(p->fd, in, sizeof(in), 0);

		if (n > 0) {
			brd_buf_addn(&p->got, in, (size_t)n);
			continue;
		}
		p->eof |= n == 0;
		p->reset |= n < 0 && errno != EAGAIN && errno != ENOTCONN;
		return;
	}
}

struct await {
	struct peer *p;
	const char *text;
};

static bool has_text(void *arg)
{
	struct await *a = arg;

	peer_take(a->p);
	return brd_str_find(brd_buf_str(&a->p->got), brd_str(a->text)) >= 0;
}

void peer_await(struct peer *p, const char *text)
{
	struct await a = { p, text };

	if (!rig_until(p->rig, has_text, &a))
		fail_msg("'%s' did not come, but '%s'", text, p->got.data);
}

static bool has_ended(void *arg)
{
	struct peer *p = arg;

	peer_take(p);
	return p->eof || p->reset;
}

void peer_await_end(struct peer *p)
{
	if (!rig_until(p->rig, has_ended, p))
		fail_msg("the connection is still open after '%s'", p->got.data);
}

/* ---- answers ---- */

struct answer {
	struct peer *p;
	bool to_head; /* a HEAD request: no body follows */
	size_t head, body;
	int status;
};

static int64_t length_of(struct bread_str head)
{
	ptrdiff_t at = brd_str_find(head, BRD_STR("Content-Length: "));

	return at < 0 ? 0 : atoll(head.p + at + 16);
}

static bool has_answer(void *arg)
{
	struct answer *a = arg;
	struct bread_str got;
	ptrdiff_t end;

	peer_take(a->p);
	got = brd_buf_str(&a->p->got);
	end = brd_str_find(got, BRD_STR("\r\n\r\n"));
	if (end < 0)
		return false;
	a->head = (size_t)end + 4;
	a->status = atoi(got.p + 9);
	a->body = a->to_head || a->status < 200 ? 0 : (size_t)length_of(brd_sub(got, 0, a->head));
	return got.n >= a->head + a->body;
}

static int answer(
	struct peer *p, bool to_head, struct bread_str *ret_head, struct bread_str *ret_body)
{
	static char *kept;
	struct answer a = { .p = p, .to_head = to_head };

	if (!rig_until(p->rig, has_answer, &a))
		fail_msg("no whole answer came, but '%s'", p->got.data);
	free(kept);
	kept = brd_strndup(brd_sub(brd_buf_str(&p->got), 0, a.head + a.body));
	brd_buf_drop(&p->got, a.head + a.body);
	*ret_head = (struct bread_str){ kept, a.head };
	*ret_body = (struct bread_str){ kept + a.head, a.body };
	return a.status;
}

int peer_answer(struct peer *p, struct bread_str *ret_head, struct bread_str *ret_body)
{
	return answer(p, false, ret_head, ret_body);
}

int peer_answer_to_head(struct peer *p, struct bread_str *ret_head)
{
	struct bread_str body;

	return answer(p, true, ret_head, &body);
}

void peer_expect(struct peer *p, int status, const char *body)
{
	struct bread_str head, got;

	assert_int_equal(peer_answer(p, &head, &got), status);
	assert_str(got, body);
}

void peer_expect_refusal(struct peer *p, int status, const char *code)
{
	struct bread_str head, body;
	struct arena a = { 0 };
	struct jval v;

	assert_int_equal(peer_answer(p, &head, &body), status);
	assert_true(has_line(head, "Content-Type: application/json"));
	assert_true(has_line(head, "Connection: close"));
	assert_int_equal(brd_json_parse(&a, body, 0, &v, NULL), 0);
	assert_true(brd_json_is(brd_json_path(v, "error.code"), code));
	assert_true(brd_json_str(brd_json_path(v, "error.message"), &a).n > 10);
	brd_arena_fini(&a);
	peer_await_end(p);
	assert_int_equal(p->got.len, 0);
	assert_false(p->reset);
}

bool has_line(struct bread_str head, const char *line)
{
	while (head.p) {
		if (brd_str_is(brd_str_trim(brd_str_split(&head, '\n')), line))
			return true;
	}
	return false;
}
