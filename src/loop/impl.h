/* SPDX-License-Identifier: MIT */
/* The inside of a loop, for the files of this folder only. */
#pragma once
#include <pthread.h>
#include <uv.h>
#include "loop/loop.h"

/* A place in the timers' heap. due and seq are here and not only in the timer,
 * so that sifting touches one array. */
struct timer_slot {
	int64_t due;
	uint64_t seq; /* equal dues fire in the order in which they were started */
	struct timer *t;
};

struct loop {
	uv_loop_t uv;
	uv_timer_t alarm; /* the one uv timer: how long a turn may wait */
	bool alarmed;
	uv_prepare_t prepare; /* sets it, at the last moment */
	int wait_ms;          /* that this turn's caller allows */
	uv_async_t wake;
	pthread_t owner; /* atomic */

	/* the loop's thread only */
	struct list ended; /* operations whose on_end is due */
	struct list hooks;
	struct list locals; /* newest first */
	bool marked;
	bool turning;
	struct timer_slot *heap; /* from 1; heap[0] is not used */
	size_t timers, heap_cap;
	uint64_t timer_seq;
	size_t ops; /* begun and not yet delivered */

	/* any thread */
	pthread_mutex_t lock;
	struct list posts;
	struct list ended_from; /* operations that other threads ended */
	bool stop;
};

/* Runs the timers that are due and were started before this call. */
bool brd_timers_run(struct loop *l);
/* ms until the first is due, 0 when it is; -1: there is none. */
int64_t brd_timers_next(const struct loop *l);

/* Frees what brd_loop_local made. */
void brd_locals_free(struct loop *l);

/* The operation that this link (in ended or ended_from) is part of gets its on_end. */
void brd_op_deliver(struct list *link);
