/* SPDX-License-Identifier: MIT */
/* Viewers: streams of a run to a socket (contract C2, C3, C7, C9).
 *
 * A viewer is a follower and a socket. In each round of the loop in which its run
 * said something it writes what lies between its place and the head, from memory
 * that it shares with the others: one write, no copy. While a write waits for the
 * socket nothing is asked of the follower; a peer that takes nothing is closed by
 * the HTTP server. A silent stream gets a heartbeat from one timer for all.
 *
 * The head is sent once the run is known, at once for one that is live here. */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "instance/follow.h"
#include "server/internal.h"

#define WRITES_MAX 16   /* in one go; then others have their turn */
#define TICK_MIN_MS 100 /* between looks at who is silent; else an eighth of the heartbeat */

struct viewer {
	struct list link;          /* in the shard */
	struct bread_request *req; /* until the head is sent */
	struct http_req *http;
	struct shard *shard;
	struct follow *follow;
	struct wire *wire;
	struct timer again; /* the first look, and a turn that was given away */
	size_t writing;     /* of the follower's bytes, until the write is out */
	int64_t wrote;      /* mono ms */
	bool chunked, own, resumed;
	bool greeted; /* the framing's hello is out, or there is none */
};

/* ---- what a framing always says ---- */

static struct bread_str as_chunk(struct arena *a, struct bread_str s)
{
	return s.n ? brd_arena_printf(a, "%zx\r\n%.*s\r\n", s.n, BRD_ARG(s)) : s;
}

static struct wire *wire_for(struct shard *sh, const struct bread_framing *f)
{
	size_t n = atomic_load_explicit(&sh->wire_count, memory_order_relaxed);
	struct wire *w;

	for (size_t i = 0; i < n; i++)
		if (sh->wires[i].framing == f)
			return &sh->wires[i];
	brd_assert(n < WIRES_MAX);
	w = &sh->wires[n];
	w->framing = f;
	w->hello[0] = brd_str(f->hello);
	w->heartbeat[0] = brd_str(f->heartbeat);
	w->hello[1] = as_chunk(&sh->arena, w->hello[0]);
	w->heartbeat[1] = as_chunk(&sh->arena, w->heartbeat[0]);
	atomic_store_explicit(&sh->wire_count, n + 1, memory_order_release);
	return w;
}

/* ---- the end ---- */

/* Everything but the request. */
static void viewer_free(struct viewer *v)
{
	brd_timer_stop(&v->again);
	brd_list_remove(&v->link);
	brd_follow_free(v->follow);
	if (!v->req)
		atomic_fetch_sub_explicit(&v->wire->open, 1, memory_order_relaxed);
	free(v);
}

static void on_closed(struct http_req *http, void *arg)
{
	struct viewer *v = arg;

	if (v->req)
		brd_request_done(v->req, 499);
	else
		atomic_fetch_add_explicit(&v->shard->drops[DROP_DEAD], 1, memory_order_relaxed);
	viewer_free(v);
}

static void end(struct viewer *v)
{
	struct http_req *http = v->http;

	viewer_free(v);
	brd_http_stream_end(http);
}

/* The run cannot be read on. Before the head that is an answer; after it the
 * connection is cut, so that the peer comes back. */
static void give_up(struct viewer *v)
{
	struct bread_request *req = v->req;
	struct http_req *http = v->http;
	struct bread_err err;

	brd_follow_error(v->follow, &err);
	if (req) {
		if (err.code == BREAD_E_INVALID)
			atomic_fetch_add_explicit(
				&v->shard->resumes[RESUME_INVALID], 1, memory_order_relaxed);
		viewer_free(v);
		bread_reply_error(req, &err);
	} else {
		log_debug("viewer.lost", "a stream ends early: %s", err.text);
		viewer_free(v);
		brd_http_stream_abort(http);
	}
}

/* ---- writing ---- */

/* true: all is out. */
static bool put(struct viewer *v, struct bread_str s)
{
	struct iovec iov = { (void *)s.p, s.n };

	v->wrote = brd_clock_mono();
	return s.n == 0 || brd_http_stream_write(v->http, &iov, 1);
}

static void on_again(struct timer *t);

/* Writes until there is no more, or the socket is full. v may be gone afterwards. */
static void flush(struct viewer *v)
{
	enum follow_state state = FOLLOW_BYTES;
	struct iovec iov;

	if (!v->greeted && !brd_http_stream_pending(v->http)) {
		v->greeted = true;
		put(v, v->wire->hello[v->chunked]);
	}
	for (int i = 0; !brd_http_stream_pending(v->http); i++) {
		state = brd_follow_peek(v->follow, &iov);
		if (state != FOLLOW_BYTES)
			break;
		if (i == WRITES_MAX) {
			brd_timer_start(&v->again, v->shard->loop, 0, on_again);
			return;
		}
		if (!put(v, (struct bread_str){ iov.iov_base, iov.iov_len })) {
			v->writing = iov.iov_len;
			return;
		}
		brd_follow_advance(v->follow, iov.iov_len);
	}
	if (state == FOLLOW_END)
		end(v);
	else if (state == FOLLOW_FAILED)
		give_up(v);
}

static void on_writable(struct http_req *http, void *arg)
{
	struct viewer *v = arg;

	if (v->writing) {
		brd_follow_advance(v->follow, v->writing);
		v->writing = 0;
	}
	flush(v);
}

static const struct http_stream_events *events(struct viewer *v, struct http_stream_events *ev)
{
	*ev = (struct http_stream_events){ on_writable, on_closed, v };
	return ev;
}

static void begin(struct viewer *v)
{
	const struct bread_framing *f = v->wire->framing;
	struct bread_request *req = v->req;
	bool head = brd_str_is(bread_request_method(req), "HEAD");
	struct http_stream_events ev;

	v->req = NULL;
	brd_list_push(&v->shard->viewers, &v->link);
	atomic_fetch_add_explicit(&v->wire->open, 1, memory_order_relaxed);
	if (v->resumed)
		atomic_fetch_add_explicit(&v->shard->resumes[RESUME_OK], 1, memory_order_relaxed);
	brd_http_stream(v->http, 200, f->content_type, brd_str(f->headers), events(v, &ev));
	brd_request_done(req, 200);
	v->wrote = brd_clock_mono();
	v->greeted = v->own;
	if (head)
		end(v);
	else
		flush(v);
}

/* Something may be said now, or is known. */
static void look(struct viewer *v)
{
	struct iovec iov;

	if (!v->req) {
		flush(v);
		return;
	}
	if (brd_follow_peek(v->follow, &iov) == FOLLOW_FAILED)
		give_up(v);
	else if (brd_follow_known(v->follow))
		begin(v);
}

static void on_ready(void *arg)
{
	look(arg);
}

static void on_again(struct timer *t)
{
	look(brd_list_of(t, struct viewer, again));
}

/* ---- from the ingress ---- */

static unsigned flags_of(const struct bread_stream_spec *spec, bool chunked)
{
	return (spec->own ? CURSOR_ALL : 0u) | (spec->exact ? CURSOR_EXACT : 0u) |
	       (spec->full ? CURSOR_FULL : 0u) | (chunked ? CURSOR_CHUNKED : 0u);
}

static void reply_unknown(struct bread_request *req)
{
	struct bread_err err;

	brd_fail_as(&err, BREAD_E_NOT_FOUND, "RUN_NOT_FOUND", "server", "Run not found");
	bread_reply_error(req, &err);
}

void bread_reply_stream(struct bread_request *req, const struct bread_stream_spec *spec)
{
	struct shard *sh = req->shard;
	struct viewer *v;
	struct http_stream_events ev;
	struct follow_spec follow = { .framing = spec->framing,
		.after = spec->after,
		.text = spec->offset_text,
		.reasoning = spec->offset_reasoning,
		.own = spec->own,
		.until_idle = spec->until_idle,
		.tree = spec->tree };

	if (!brd_id_ok(spec->run_id)) {
		reply_unknown(req);
		return;
	}
	v = brd_alloc(sizeof(*v));
	v->req = req;
	v->http = req->http;
	v->shard = sh;
	v->wire = wire_for(sh, spec->framing);
	v->chunked = brd_http_req_head(req->http)->minor > 0;
	v->own = spec->own;
	v->resumed = spec->after > 0;
	follow.flags = flags_of(spec, v->chunked);
	v->follow = brd_follow_new(sh->server->bread, sh->loop, spec->run_id, &follow, on_ready, v);
	if (!brd_follow_known(v->follow))
		brd_http_watch(v->http, events(v, &ev));
	look(v);
}

/* ---- all of a shard's ---- */

void brd_viewers_tick(struct timer *t)
{
	struct shard *sh = brd_list_of(t, struct shard, tick);
	int64_t beat = sh->server->conf.heartbeat_ms, now = brd_clock_mono();

	brd_list_each_safe(it, &sh->viewers)
	{
		struct viewer *v = brd_list_of(it, struct viewer, link);

		if (now - v->wrote >= beat && !brd_http_stream_pending(v->http))
			put(v, v->wire->heartbeat[v->chunked]);
	}
	brd_timer_start(
		t, sh->loop, beat / 8 < TICK_MIN_MS ? TICK_MIN_MS : beat / 8, brd_viewers_tick);
}

void brd_viewers_close(struct shard *sh)
{
	brd_timer_stop(&sh->tick);
	brd_list_each_safe(it, &sh->viewers)
	{
		struct viewer *v = brd_list_of(it, struct viewer, link);
		struct http_req *http = v->http;

		atomic_fetch_add_explicit(&sh->drops[DROP_DRAINED], 1, memory_order_relaxed);
		viewer_free(v);
		brd_http_stream_abort(http);
	}
}
