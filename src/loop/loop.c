/* SPDX-License-Identifier: MIT */
/* The loop: its turns, posts from other threads, and hooks.
 *
 * libuv does the waiting and the I/O; posts, ended operations, timers and hooks
 * are ours, because their order within a turn is promised and because timers
 * follow a clock that tests turn by hand. Other threads reach the loop by two
 * lists under one lock and one uv_async_t, which is always sent under that lock,
 * so that the loop may be freed as soon as it has taken what was sent. */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/impl.h"

/* How many rounds of posts and ends that cause each other one turn has before I/O gets its
 * share. */
#define DRAIN_ROUNDS 64
/* While the clock stands, another thread may turn it: look again after this. */
#define FROZEN_LOOK_MS 5

/* A peer or a child that has gone must be an error of the write, not the end of the process. */
static void ignore_sigpipe(void)
{
	struct sigaction sa;

	if (sigaction(SIGPIPE, NULL, &sa) || sa.sa_handler != SIG_DFL)
		return;
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
}

static void on_wake(uv_async_t *h)
{
}

static void on_alarm(uv_timer_t *h)
{
	brd_list_of(h, struct loop, alarm)->alarmed = true;
}

static void on_prepare(uv_prepare_t *h);

int brd_loop_new(struct loop **ret, struct bread_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct loop *l = brd_alloc(sizeof(*l));
	int e;

	pthread_once(&once, ignore_sigpipe);
	e = uv_loop_init(&l->uv);
	if (!e && (e = uv_async_init(&l->uv, &l->wake, on_wake)))
		uv_loop_close(&l->uv);
	if (e) {
		free(l);
		return brd_fail(err, BREAD_E_BUSY, "loop",
			"no event loop could be made (%s); raise the limit of open files",
			uv_strerror(e));
	}
	uv_timer_init(&l->uv, &l->alarm);
	uv_prepare_init(&l->uv, &l->prepare);
	uv_prepare_start(&l->prepare, on_prepare);
	pthread_mutex_init(&l->lock, NULL);
	brd_list_init(&l->ended);
	brd_list_init(&l->hooks);
	brd_list_init(&l->locals);
	brd_list_init(&l->posts);
	brd_list_init(&l->ended_from);
	l->owner = pthread_self();
	*ret = l;
	return 0;
}

static void own(struct loop *l)
{
	__atomic_store_n(&l->owner, pthread_self(), __ATOMIC_RELAXED);
}

bool brd_loop_here(const struct loop *l)
{
	return pthread_equal(__atomic_load_n(&l->owner, __ATOMIC_RELAXED), pthread_self());
}

size_t brd_loop_ops(const struct loop *l)
{
	return l->ops;
}

struct uv_loop_s *brd_loop_uv(struct loop *l)
{
	return &l->uv;
}

int brd_loop_fd(struct loop *l)
{
	return uv_backend_fd(&l->uv);
}

/* libuv tells its fd of new watchers only when it runs next, and has callbacks to
 * make that no fd announces (of closed handles, say). The queue of watchers is the
 * one place where we look into its loop; its links come first in every version. */
static bool uv_wants_to_run(const struct loop *l)
{
	const void *queue = &l->uv.watcher_queue;

	return *(void *const *)queue != queue || uv_backend_timeout(&l->uv) == 0;
}

int64_t brd_loop_next_timer(struct loop *l)
{
	int64_t ours = brd_timers_next(l);
	int theirs;

	if (l->marked || !brd_list_empty(&l->ended) || uv_wants_to_run(l))
		return 0;
	uv_update_time(&l->uv);
	theirs = uv_backend_timeout(&l->uv);
	return theirs < 0 || (ours >= 0 && ours < theirs) ? ours : theirs;
}

/* ---- from other threads ---- */

void brd_loop_post(struct loop *l, struct post *p)
{
	pthread_mutex_lock(&l->lock);
	if (brd_list_empty(&l->posts))
		uv_async_send(&l->wake);
	brd_list_push(&l->posts, &p->link);
	pthread_mutex_unlock(&l->lock);
}

void brd_loop_stop(struct loop *l)
{
	pthread_mutex_lock(&l->lock);
	__atomic_store_n(&l->stop, true, __ATOMIC_RELAXED);
	uv_async_send(&l->wake);
	pthread_mutex_unlock(&l->lock);
}

static bool run_posts_and_ends(struct loop *l)
{
	struct list posts, ended, *it;
	bool did = false;

	brd_list_init(&posts);
	brd_list_init(&ended);
	pthread_mutex_lock(&l->lock);
	brd_list_splice(&posts, &l->posts);
	brd_list_splice(&l->ended, &l->ended_from);
	pthread_mutex_unlock(&l->lock);

	while ((it = brd_list_pop(&posts))) {
		struct post *p = brd_list_of(it, struct post, link);

		did = true;
		p->run(p);
	}
	brd_list_splice(&ended, &l->ended); /* what these end in turn is the next round's */
	while ((it = brd_list_pop(&ended))) {
		did = true;
		brd_op_deliver(it);
	}
	return did;
}

static bool drain(struct loop *l)
{
	bool did = false;

	for (int i = 0; i < DRAIN_ROUNDS && run_posts_and_ends(l); i++)
		did = true;
	return did;
}

/* ---- hooks ---- */

void brd_loop_hook(struct loop *l, struct loop_hook *h)
{
	brd_list_push(&l->hooks, &h->link);
}

void brd_loop_unhook(struct loop_hook *h)
{
	brd_list_remove(&h->link);
}

void brd_loop_mark(struct loop *l)
{
	l->marked = true;
}

/* Each hook goes back into the list before it runs, so that it and others may
 * be unhooked meanwhile. */
static bool run_hooks(struct loop *l)
{
	struct list todo, *it;

	if (!l->marked)
		return false;
	l->marked = false;
	brd_list_init(&todo);
	brd_list_splice(&todo, &l->hooks);
	while ((it = brd_list_pop(&todo))) {
		struct loop_hook *h = brd_list_of(it, struct loop_hook, link);

		brd_list_push(&l->hooks, it);
		h->run(h);
	}
	return true;
}

/* ---- turns ---- */

/* How long this turn may wait for I/O: wait_ms, or less. */
static int wait_for(struct loop *l, int wait_ms)
{
	int64_t next;

	if (l->marked || !brd_list_empty(&l->ended) || __atomic_load_n(&l->stop, __ATOMIC_RELAXED))
		return 0;
	next = brd_timers_next(l);
	if (next > FROZEN_LOOK_MS && brd_clock_frozen())
		next = FROZEN_LOOK_MS;
	if (next < 0 || (wait_ms >= 0 && wait_ms < next))
		return wait_ms;
	return next > INT_MAX ? INT_MAX : (int)next;
}

/* Just before libuv waits. Its own timers and callbacks that were left over have
 * run by now, and may have ended operations or started timers. */
static void on_prepare(uv_prepare_t *h)
{
	struct loop *l = brd_list_of(h, struct loop, prepare);
	int wait_ms;

	if (l->wait_ms == 0)
		return;
	wait_ms = wait_for(l, l->wait_ms);
	if (wait_ms == 0) {
		uv_stop(&l->uv);
	} else if (wait_ms > 0) {
		uv_update_time(&l->uv);
		uv_timer_start(&l->alarm, on_alarm, (uint64_t)wait_ms, 0);
	}
}

static void io(struct loop *l, int wait_ms)
{
	l->wait_ms = wait_ms;
	uv_run(&l->uv, wait_ms ? UV_RUN_ONCE : UV_RUN_NOWAIT);
	uv_timer_stop(&l->alarm);
}

/* The same, and tells whether there was anything, which uv_run does not. What
 * comes between the look and the run counts as having come later. */
static bool io_counted(struct loop *l, int wait_ms)
{
	struct pollfd p = { .fd = uv_backend_fd(&l->uv), .events = POLLIN };
	bool did = wait_ms == 0 && (uv_wants_to_run(l) || poll(&p, 1, 0) > 0);

	l->alarmed = false;
	io(l, wait_ms);
	return did || (wait_ms != 0 && !l->alarmed);
}

static bool turn(struct loop *l, int wait_ms, bool counted)
{
	bool did = drain(l);

	did |= brd_timers_run(l);
	did |= drain(l);
	if (did)
		wait_ms = 0;
	if (counted)
		did |= io_counted(l, wait_ms);
	else
		io(l, wait_ms);
	did |= brd_timers_run(l); /* those that became due while it waited */
	did |= drain(l);
	did |= run_hooks(l);
	return did;
}

bool brd_loop_turn(struct loop *l, int wait_ms)
{
	bool did;

	brd_assert(!l->turning);
	own(l);
	l->turning = true;
	did = turn(l, wait_ms, true);
	l->turning = false;
	return did;
}

void brd_loop_run(struct loop *l)
{
	brd_assert(!l->turning);
	own(l);
	l->turning = true;
	while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED))
		turn(l, -1, false);
	l->turning = false;
	__atomic_store_n(&l->stop, false, __ATOMIC_RELAXED);
}

/* ---- the end ---- */

static void drain_all(struct loop *l)
{
	while (run_posts_and_ends(l))
		continue;
}

static void close_left(uv_handle_t *h, void *arg)
{
	if (!uv_is_closing(h))
		uv_close(h, NULL);
}

static void check_ended(const struct loop *l)
{
#ifndef NDEBUG
	brd_assert(l->ops == 0);
	brd_assert(l->timers == 0);
	brd_assert(brd_list_empty(&l->hooks));
#else
	(void)l;
#endif
}

/* Handles of others that are closing get their callbacks here; at most so many
 * turns, since one that was forgotten would keep the loop alive for ever. */
static void close_all(struct loop *l)
{
	uv_close((uv_handle_t *)&l->wake, NULL);
	uv_close((uv_handle_t *)&l->alarm, NULL);
	uv_close((uv_handle_t *)&l->prepare, NULL);
	for (int i = 0; i < 100 && uv_loop_alive(&l->uv); i++)
		uv_run(&l->uv, UV_RUN_NOWAIT);
	if (uv_loop_close(&l->uv) == 0)
		return;
	uv_walk(&l->uv, close_left, NULL);
	uv_run(&l->uv, UV_RUN_NOWAIT);
	uv_loop_close(&l->uv);
}

void brd_loop_free(struct loop *l)
{
	if (!l)
		return;
	brd_assert(!l->turning);
	own(l);
	brd_locals_free(l);
	drain_all(l);
	uv_run(&l->uv, UV_RUN_NOWAIT);
	drain_all(l);
	check_ended(l);
	close_all(l);
	pthread_mutex_destroy(&l->lock);
	free(l->heap);
	free(l);
}
