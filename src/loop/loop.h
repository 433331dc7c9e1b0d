/* SPDX-License-Identifier: MIT */
/* An event loop: libuv with our rules on top.
 *
 * A loop's data is touched by its own thread only; brd_loop_post is the one way
 * in from other threads. One turn: what was posted and operations that ended
 * (their on_end), then due timers, then I/O, then the check hooks (viewers flush
 * there, once a turn, whatever was published meanwhile).
 *
 * Timers follow brd_clock_mono, so a test that freezes the clock turns it by
 * hand and calls brd_loop_turn. */
#pragma once
#include <stdbool.h>
#include "base/list.h"
#include "bread/ext/op.h"

struct uv_loop_s;
struct loop;

int brd_loop_new(struct loop **ret, struct bread_err *err);
/* Everything on it must have ended: asserts in the tests' builds. NULL, too. */
void brd_loop_free(struct loop *l);

void brd_loop_run(struct loop *l);  /* until brd_loop_stop */
void brd_loop_stop(struct loop *l); /* any thread */
/* One turn: waits at most wait_ms (0: not at all, -1: until something happens, or
 * for some milliseconds while the clock is frozen and there are timers, since others
 * may turn it); true if anything was done. For embedders and tests. */
bool brd_loop_turn(struct loop *l, int wait_ms);
int brd_loop_fd(struct loop *l); /* readable when a turn has something to do; for poll(2) */
/* ms that poll(2) may wait before the next turn: until the next timer, 0 when something
 * else is due, -1 when there is nothing. */
int64_t brd_loop_next_timer(struct loop *l);
struct uv_loop_s *brd_loop_uv(struct loop *l);
bool brd_loop_here(const struct loop *l);  /* true on the loop's own thread */
size_t brd_loop_ops(const struct loop *l); /* operations that were begun and have not ended */

/* A call made from any thread, run on the loop's thread. The memory is the
 * caller's until run() starts, and run() may free it. Order is kept. */
struct post {
	struct list link;
	void (*run)(struct post *p);
};
void brd_loop_post(struct loop *l, struct post *p);

/* Called once at the end of each turn in which brd_loop_mark was called. */
struct loop_hook {
	struct list link;
	void (*run)(struct loop_hook *h);
};
void brd_loop_hook(struct loop *l, struct loop_hook *h);
void brd_loop_unhook(struct loop_hook *h);
void brd_loop_mark(struct loop *l); /* this thread: something wants the hooks in this turn */

/* One thing of a kind per loop, made when first asked for (the HTTP client): key
 * is an address that names the kind. make may be NULL: then NULL when there is
 * none. What was made is freed, newest first, at the start of brd_loop_free. */
void *brd_loop_local(struct loop *l, const void *key, void *(*make)(struct loop *l),
	void (*free_it)(void *thing));

/* Timers: caller's memory, one shot; start again in the callback to repeat.
 * start on a running one moves it. A zeroed one is a stopped one. */
struct timer {
	void (*run)(struct timer *t);
	struct loop *loop;
	int64_t due; /* mono ms; 0: stopped */
	size_t at;   /* place in the heap, from 1 */
};
void brd_timer_start(struct timer *t, struct loop *l, int64_t ms, void (*run)(struct timer *t));
void brd_timer_stop(struct timer *t);
static inline bool brd_timer_active(const struct timer *t)
{
	return t->due != 0;
}
