/* SPDX-License-Identifier: MIT */
/* A connection: events in, deadlines, the end.
 *
 * A connection reads only while it wants a request. While one is held, bytes that
 * come stay in the kernel (that is what slows a peer that pipelines without end),
 * and only the peer's leaving is watched for. Changing what libuv watches for
 * costs two system calls, so reading is switched off only when bytes do come.
 *
 * A peer that ends its side has gone when somebody watches or streams; otherwise
 * it may just have no more to ask, and gets its answer.
 *
 * The memory of a closed connection goes with the loop's last callback for it, so
 * code that called out may look at the state afterwards, and at nothing else. */
#include "net/server_priv.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define DRAINS_PER_EVENT 8

static void on_poll(uv_poll_t *h, int status, int events);

/* ---- deadlines ---- */

static void on_late_body(struct http_conn *c)
{
	int64_t left = c->since + BODY_MS + (int64_t)c->req->parts.len - brd_clock_mono();

	if (left > 0)
		brd_conn_deadline(c, left);
	else
		brd_conn_refuse(c, 408, "The body did not come in time.");
}

/* It is reset: an orderly end would wait in the kernel behind what the peer does not take. */
static void on_stalled(struct http_conn *c)
{
	const struct linger at_once = { .l_onoff = 1 };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	log_debug("net.stalled", "a peer took nothing of its answer for %lld ms",
		(long long)c->server->conf.stall_ms);
	brd_conn_close(c);
}

static void on_due(struct http_conn *c)
{
	switch ((enum conn_state)c->state) {
	case CONN_HEAD:
		if (c->in.len == 0)
			brd_conn_close(c);
		else
			brd_conn_refuse(c, 408, "The head of the request did not come in time.");
		break;
	case CONN_BODY:
	case CONN_CHUNKS:
		on_late_body(c);
		break;
	case CONN_HELD:
	case CONN_FLUSH:
		on_stalled(c);
		break;
	case CONN_HANDSHAKE:
	case CONN_LINGER:
		brd_conn_close(c);
		break;
	case CONN_CLOSED:
		break;
	}
}

static void on_timer(struct timer *t)
{
	struct http_conn *c = brd_list_of(t, struct http_conn, timer);
	int64_t now = brd_clock_mono();

	if (c->due == 0)
		return;
	if (now < c->due) {
		brd_timer_start(t, c->server->loop, c->due - now, on_timer);
		return;
	}
	c->due = 0;
	on_due(c);
	if (c->state != CONN_CLOSED)
		brd_conn_watch(c);
}

void brd_conn_deadline(struct http_conn *c, int64_t ms)
{
	c->due = brd_clock_mono() + ms;
	if (!brd_timer_active(&c->timer) || c->timer.due > c->due)
		brd_timer_start(&c->timer, c->server->loop, ms, on_timer);
}

/* ---- what is waited for ---- */

static int wanted(const struct http_conn *c)
{
	int writes = brd_conn_waits(c) || (c->req && c->req->rest_count) ? UV_WRITABLE : 0;

	switch ((enum conn_state)c->state) {
	case CONN_HANDSHAKE:
		return c->tls_writes ? UV_WRITABLE : UV_READABLE;
	case CONN_HEAD:
	case CONN_BODY:
	case CONN_CHUNKS:
		return UV_READABLE | UV_DISCONNECT | writes;
	case CONN_HELD:
	case CONN_FLUSH:
		return (c->deaf ? 0 : UV_READABLE) | (c->half ? 0 : UV_DISCONNECT) | writes;
	case CONN_LINGER:
		return UV_READABLE;
	case CONN_CLOSED:
		break;
	}
	return 0;
}

void brd_conn_watch(struct http_conn *c)
{
	int mask = wanted(c);

	if (mask == c->mask)
		return;
	c->mask = (unsigned char)mask;
	if (mask)
		uv_poll_start(&c->poll, mask, on_poll);
	else
		uv_poll_stop(&c->poll);
}

static void on_kick(struct timer *t)
{
	struct http_server *s = brd_list_of(t, struct http_server, kick);
	struct list todo, *it;

	brd_list_init(&todo);
	brd_list_splice(&todo, &s->again);
	while ((it = brd_list_pop(&todo))) {
		struct http_conn *c = brd_list_of(it, struct http_conn, again);

		brd_conn_take(c, BRD_STR(""));
		if (c->state != CONN_CLOSED && c->tls)
			brd_conn_read(c);
		if (c->state != CONN_CLOSED)
			brd_conn_watch(c);
	}
}

void brd_conn_again(struct http_conn *c)
{
	struct http_server *s = c->server;

	if (!brd_list_linked(&c->again))
		brd_list_push(&s->again, &c->again);
	if (!brd_timer_active(&s->kick))
		brd_timer_start(&s->kick, s->loop, 0, on_kick);
}

/* ---- events ---- */

static void go_idle(struct http_conn *c)
{
	c->state = CONN_HEAD;
	c->deaf = false;
	brd_list_push(&c->server->idle, &c->idle);
	brd_conn_deadline(c, c->server->conf.idle_ms);
}

static void on_handshake(struct http_conn *c)
{
	bool writes;
	int r = brd_tls_handshake(c->tls, &writes);

	if (r == TLS_GONE) {
		brd_conn_close(c);
		return;
	}
	c->tls_writes = r == TLS_AGAIN && writes;
	if (r == TLS_AGAIN)
		return;
	brd_list_remove(&c->idle);
	go_idle(c);
	brd_conn_read(c); /* the first request may have come with the handshake's end */
}

/* While a request is held or answered. */
static void overhear(struct http_conn *c, int events)
{
	if (events & UV_READABLE)
		c->deaf = true;
	if (!(events & UV_DISCONNECT))
		return;
	c->half = true;
	if (c->state == CONN_HELD && (c->req->watched || c->req->streamed))
		brd_conn_close(c);
}

static void drain(struct http_conn *c)
{
	struct http_server *s = c->server;
	int64_t left = c->since + LINGER_ALL_MS - brd_clock_mono();

	for (int i = 0; i < DRAINS_PER_EVENT; i++) {
		ssize_t n = recv(c->fd, s->in, READ_SIZE, 0);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0 || left <= 0) {
			brd_conn_close(c);
			return;
		}
	}
	brd_conn_deadline(c, left < LINGER_MS ? left : LINGER_MS);
}

static void on_input(struct http_conn *c, int events)
{
	switch ((enum conn_state)c->state) {
	case CONN_HANDSHAKE:
		on_handshake(c);
		break;
	case CONN_HEAD:
	case CONN_BODY:
	case CONN_CHUNKS:
		brd_conn_read(c);
		break;
	case CONN_HELD:
	case CONN_FLUSH:
		overhear(c, events);
		break;
	case CONN_LINGER:
		drain(c);
		break;
	case CONN_CLOSED:
		break;
	}
}

static void on_poll(uv_poll_t *h, int status, int events)
{
	struct http_conn *c = h->data;

	if (status < 0) {
		brd_conn_close(c);
		return;
	}
	if (events & UV_WRITABLE) {
		if (c->state == CONN_HANDSHAKE)
			on_handshake(c);
		else
			brd_conn_writable(c);
	}
	if (events & (UV_READABLE | UV_DISCONNECT))
		on_input(c, events);
	if (c->state != CONN_CLOSED)
		brd_conn_watch(c);
}

/* ---- from birth to the end ---- */

static void begin_tls(struct http_conn *c)
{
	struct http_server *s = c->server;

	c->state = CONN_HANDSHAKE;
	c->tls = brd_tls_open(s->tls, c->fd);
	if (!c->tls) {
		log_warn("net.tls", "no TLS session could be made for a connection");
		brd_conn_close(c);
		return;
	}
	brd_list_push(&s->idle, &c->idle);
	brd_conn_deadline(c, HEAD_MS);
}

void brd_conn_new(struct http_server *s, int fd, bool local)
{
	struct http_conn *c = brd_alloc(sizeof(*c));

	if (uv_poll_init(brd_loop_uv(s->loop), &c->poll, fd)) {
		close(fd);
		free(c);
		return;
	}
	c->poll.data = c;
	c->server = s;
	c->fd = fd;
	c->local = local;
	brd_buf_init(&c->in, BUF_NO_LIMIT);  /* at most a head and what one read brings */
	brd_buf_init(&c->out, BUF_NO_LIMIT); /* at most one answer */
	brd_list_push(&s->conns, &c->link);
	s->stats.open++;
	if (s->tls)
		begin_tls(c);
	else
		go_idle(c);
	if (c->state != CONN_CLOSED)
		brd_conn_watch(c);
}

void brd_conn_answered(struct http_conn *c)
{
	c->close |= c->server->refusing;
	if (c->close) {
		brd_conn_shut(c);
	} else {
		go_idle(c);
		if (!c->busy && (c->in.len || (c->tls && brd_tls_has_more(c->tls))))
			brd_conn_again(c);
	}
	if (!c->busy && c->state != CONN_CLOSED)
		brd_conn_watch(c);
}

/* Closing right away would take back an answer that the peer has not read yet,
 * if bytes of it are still unread here (RFC 9112 9.6). */
void brd_conn_shut(struct http_conn *c)
{
	if (c->tls)
		brd_tls_bye(c->tls);
	c->state = CONN_LINGER;
	c->since = brd_clock_mono();
	if (shutdown(c->fd, SHUT_WR)) {
		brd_conn_close(c);
		return;
	}
	brd_buf_fini(&c->in);
	brd_conn_deadline(c, LINGER_MS);
}

static void part_from_request(struct http_conn *c, bool held)
{
	struct http_req *req = c->req;

	if (!req)
		return;
	c->req = NULL;
	if (held)
		brd_req_orphan(req);
	else
		brd_req_free(req);
}

static void on_conn_gone(uv_handle_t *h)
{
	free(h->data);
}

void brd_conn_close(struct http_conn *c)
{
	bool held = c->state == CONN_HELD;

	if (c->state == CONN_CLOSED)
		return;
	c->state = CONN_CLOSED;
	c->server->stats.open--;
	part_from_request(c, held);
	brd_timer_stop(&c->timer);
	brd_list_remove(&c->link);
	brd_list_remove(&c->idle);
	brd_list_remove(&c->again);
	brd_tls_close(c->tls);
	c->tls = NULL;
	brd_buf_fini(&c->in);
	brd_buf_fini(&c->out);
	uv_close((uv_handle_t *)&c->poll, on_conn_gone);
	close(c->fd);
}
