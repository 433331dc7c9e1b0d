/* SPDX-License-Identifier: MIT */
/* The HTTP client's engine: libcurl's multi handle driven by the loop.
 *
 * curl may not be called from its own callbacks, but owners start, pause and
 * cancel calls in theirs. So nothing is done to a handle at once: a call is
 * touched, and when curl has returned, flush() brings each touched call up to
 * date: it adds it, pauses it or goes on, or takes it out and ends its op. Outside
 * of curl that is at once.
 *
 * Taking an unfinished call out of the multi handle closes its connection. A name
 * that is still being looked up then is left to curl's thread (QUICK_EXIT), so
 * that a cancel does not wait for a slow resolver. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/client_priv.h"

struct sock {
	uv_poll_t poll;
	struct list link;
	struct http_client *client;
	curl_socket_t fd;
};

static void flush(struct http_client *c);

/* ---- the ends of calls ---- */

static void touch(struct http_call *c)
{
	if (!brd_list_linked(&c->touched))
		brd_list_push(&c->client->touched, &c->touched);
	flush(c->client);
}

void brd_http_call_stop(struct http_call *c, enum bread_code code, const struct bread_err *err)
{
	if (c->doomed || c->state == CALL_ENDED)
		return;
	c->doomed = true;
	c->code = code;
	if (err)
		c->err = *err;
	touch(c);
}

static void end_call(struct http_call *c)
{
	struct http_client *client = c->client;

	brd_timer_stop(&c->watch);
	if (c->added) {
		client->busy++;
		curl_multi_remove_handle(client->multi, c->easy);
		client->busy--;
	}
	brd_list_remove(&c->link);
	brd_list_remove(&c->touched);
	c->state = CALL_ENDED;
	c->client = NULL;
	bread_op_end(c->op, c->code, c->code == BREAD_OK ? NULL : &c->err);
}

/* ---- between callbacks ---- */

static void add(struct http_call *c)
{
	c->added = true;
	c->client->busy++;
	curl_multi_add_handle(c->client->multi, c->easy);
	c->client->busy--;
	brd_http_call_watch(c, c->connect_ms);
}

/* Going on may deliver at once what curl had kept. */
static void set_pause(struct http_call *c)
{
	struct http_client *client = c->client;

	c->paused = c->want_pause;
	client->busy++;
	curl_easy_pause(c->easy, c->paused ? CURLPAUSE_RECV : CURLPAUSE_CONT);
	client->busy--;
}

static void flush(struct http_client *client)
{
	struct list *it;

	while (!client->busy && (it = brd_list_pop(&client->touched))) {
		struct http_call *c = brd_list_of(it, struct http_call, touched);

		if (c->doomed)
			end_call(c);
		else if (!c->added)
			add(c);
		else if (c->paused != c->want_pause)
			set_pause(c);
	}
}

static void read_messages(struct http_client *client)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(client->multi, &left))) {
		CURLcode result = m->data.result;
		struct bread_err err = { 0 };
		struct http_call *c = NULL;
		enum bread_code code;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
		code = brd_http_call_outcome(c, result, &err);
		brd_http_call_stop(c, code, &err);
	}
}

static void act(struct http_client *client, curl_socket_t fd, int flags)
{
	int running;

	client->busy++;
	curl_multi_socket_action(client->multi, fd, flags, &running);
	read_messages(client);
	client->busy--;
	flush(client);
}

/* ---- what curl waits for ---- */

static void on_poll(uv_poll_t *h, int status, int events)
{
	struct sock *s = h->data;
	int flags = status < 0 ? CURL_CSELECT_ERR : 0;

	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	act(s->client, s->fd, flags);
}

static void on_sock_closed(uv_handle_t *h)
{
	free(h->data);
}

static void sock_free(struct sock *s)
{
	uv_poll_stop(&s->poll);
	brd_list_remove(&s->link);
	uv_close((uv_handle_t *)&s->poll, on_sock_closed);
}

static struct sock *sock_new(struct http_client *client, curl_socket_t fd)
{
	struct sock *s = brd_alloc(sizeof(*s));

	s->client = client;
	s->fd = fd;
	if (uv_poll_init_socket(brd_loop_uv(client->loop), &s->poll, fd)) {
		free(s);
		return NULL;
	}
	s->poll.data = s;
	brd_list_push(&client->sockets, &s->link);
	curl_multi_assign(client->multi, fd, s);
	return s;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *sockp)
{
	struct sock *s = sockp;
	int events = 0;

	if (what == CURL_POLL_REMOVE) {
		if (s)
			sock_free(s);
		return 0;
	}
	if (!s && !(s = sock_new(arg, fd)))
		return -1;
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	return uv_poll_start(&s->poll, events, on_poll) ? -1 : 0;
}

static void on_timer(uv_timer_t *t)
{
	act(t->data, CURL_SOCKET_TIMEOUT, 0);
}

/* Never early: curl would find nothing due and not ask again. */
static int on_timeout_wanted(CURLM *multi, long ms, void *arg)
{
	struct http_client *client = arg;

	if (ms < 0) {
		uv_timer_stop(client->timer);
		return 0;
	}
	uv_update_time(brd_loop_uv(client->loop));
	uv_timer_start(client->timer, on_timer, ms ? (uint64_t)ms + 1 : 0, 0);
	return 0;
}

/* ---- watchdogs ---- */

static void on_timed_out(struct http_call *c, const char *name, const char *what, int64_t ms)
{
	struct bread_err err = { 0 };

	brd_fail_as(&err, BREAD_E_TIMEOUT, name, "net.client", "%s %s within %lld ms", c->peer,
		what, (long long)ms);
	brd_http_call_stop(c, BREAD_E_TIMEOUT, &err);
}

static void check_silence(struct http_call *c)
{
	int64_t quiet = brd_clock_mono() - c->last;

	if (c->paused || c->want_pause)
		quiet = 0;
	if (quiet < c->silence_ms)
		brd_http_call_watch(c, c->silence_ms - quiet);
	else
		on_timed_out(
			c, "silence", "fell silent in its answer: nothing came", c->silence_ms);
}

static void on_watch(struct timer *t)
{
	struct http_call *c = brd_list_of(t, struct http_call, watch);

	switch (c->state) {
	case CALL_CONNECTING:
		on_timed_out(c, "connect", "could not be connected to", c->connect_ms);
		break;
	case CALL_WAITING:
		on_timed_out(c, "headers", "did not begin its answer", c->headers_ms);
		break;
	case CALL_BODY:
		check_silence(c);
		break;
	case CALL_ENDED:
		break;
	}
}

void brd_http_call_watch(struct http_call *c, int64_t ms)
{
	if (ms > 0)
		brd_timer_start(&c->watch, c->client->loop, ms, on_watch);
	else
		brd_timer_stop(&c->watch);
}

/* ---- calls ---- */

static void on_cancel(struct bread_op *op, void *by)
{
	brd_http_call_stop(by, BREAD_E_CANCELED, NULL);
}

struct http_call *brd_http_call_start(
	struct http_client *client, const struct http_call_spec *spec, struct bread_op *op)
{
	struct http_call *c = brd_alloc(sizeof(*c));
	struct bread_err err = { 0 };
	int r;

	c->client = client;
	c->op = op;
	brd_list_push(&client->calls, &c->link);
	bread_op_begin(op, on_cancel, c);
	r = brd_http_call_setup(c, spec, &err);
	if (r)
		brd_http_call_stop(c, (enum bread_code)r, &err);
	else
		touch(c);
	return c;
}

void brd_http_call_pause(struct http_call *c, bool on)
{
	if (c->state == CALL_ENDED || c->doomed || c->want_pause == on)
		return;
	c->want_pause = on;
	c->last = brd_clock_mono();
	touch(c);
}

int brd_http_call_status(const struct http_call *c)
{
	return c->status;
}

struct bread_str brd_http_call_header(const struct http_call *c, const char *name)
{
	return c->head_done ? brd_http_call_find(c, name) : (struct bread_str){ NULL, 0 };
}

void brd_http_call_free(struct http_call *c)
{
	if (!c)
		return;
	brd_assert(c->state == CALL_ENDED);
	if (c->easy)
		curl_easy_cleanup(c->easy);
	curl_slist_free_all(c->headers);
	brd_buf_fini(&c->head);
	free(c->body);
	free(c);
}

/* ---- the client ---- */

int brd_http_client_new(struct http_client **ret, struct loop *l, struct bread_err *err)
{
	struct http_client *client;
	CURLM *multi;
	int r = brd_curl_load(err);

	if (r)
		return r;
	multi = curl_multi_init();
	if (!multi)
		return brd_fail(err, BREAD_E_BUSY, "net.client",
			"libcurl could not be set up; raise the limits of memory and open files");
	client = brd_alloc(sizeof(*client));
	client->loop = l;
	client->multi = multi;
	brd_list_init(&client->calls);
	brd_list_init(&client->touched);
	brd_list_init(&client->sockets);
	client->timer = brd_alloc(sizeof(*client->timer));
	uv_timer_init(brd_loop_uv(l), client->timer);
	client->timer->data = client;
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timeout_wanted);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client);
	*ret = client;
	return 0;
}

static void on_timer_closed(uv_handle_t *h)
{
	free(h);
}

void brd_http_client_free(struct http_client *client)
{
	struct bread_err err = { 0 };

	if (!client)
		return;
	brd_assert(!client->busy);
	brd_fail(&err, BREAD_E_CANCELED, "net.client", "the call was cut because its loop ends");
	while (!brd_list_empty(&client->calls)) /* a stop ends it at once: nothing is busy */
		brd_http_call_stop(brd_list_of(client->calls.next, struct http_call, link),
			BREAD_E_CANCELED, &err);
	client->busy++;
	curl_multi_cleanup(client->multi);
	brd_list_each_safe(it, &client->sockets)
		sock_free(brd_list_of(it, struct sock, link));
	uv_close((uv_handle_t *)client->timer, on_timer_closed);
	free(client);
}

/* Who calls has checked a URL, so libcurl is loaded (brd_url_check). */
static void *client_make(struct loop *l)
{
	struct http_client *c = NULL;

	brd_assert(brd_http_client_new(&c, l, NULL) == 0);
	return c;
}

static void client_drop(void *client)
{
	brd_http_client_free(client);
}

struct http_client *brd_http_client_of(struct loop *l)
{
	static const char key;

	return brd_loop_local(l, &key, client_make, client_drop);
}
