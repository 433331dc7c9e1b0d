/* SPDX-License-Identifier: MIT */
/* Timers: a binary heap by due time, then by the order of starting.
 *
 * Guarantees: a timer never fires early by brd_clock_mono, never inside the call
 * that started it, and not at all once stopped. One that is started again by its
 * own callback fires in a later turn, so that timers of 0 ms do not shut out I/O. */
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/impl.h"

/* Longer waits are cut to this (some 3,000 years), so that sums cannot overflow. */
#define TIMER_MAX_MS ((int64_t)100 * 1000 * 1000 * 1000 * 1000)

static bool before(const struct timer_slot *a, const struct timer_slot *b)
{
	return a->due != b->due ? a->due < b->due : a->seq < b->seq;
}

static void put(struct loop *l, size_t at, struct timer_slot s)
{
	l->heap[at] = s;
	s.t->at = at;
}

static void sift_up(struct loop *l, size_t at, struct timer_slot s)
{
	for (; at > 1 && before(&s, &l->heap[at / 2]); at /= 2)
		put(l, at, l->heap[at / 2]);
	put(l, at, s);
}

static void sift_down(struct loop *l, size_t at, struct timer_slot s)
{
	size_t child;

	while ((child = at * 2) <= l->timers) {
		if (child < l->timers && before(&l->heap[child + 1], &l->heap[child]))
			child++;
		if (!before(&l->heap[child], &s))
			break;
		put(l, at, l->heap[child]);
		at = child;
	}
	put(l, at, s);
}

static void make_room(struct loop *l)
{
	if (l->timers + 1 < l->heap_cap)
		return;
	l->heap_cap = l->heap_cap ? l->heap_cap * 2 : 64;
	l->heap = brd_realloc(l->heap, l->heap_cap * sizeof(*l->heap));
}

void brd_timer_start(struct timer *t, struct loop *l, int64_t ms, void (*run)(struct timer *t))
{
	int64_t now = brd_clock_mono();

	brd_timer_stop(t);
	if (ms < 0)
		ms = 0;
	if (ms > TIMER_MAX_MS)
		ms = TIMER_MAX_MS;
	t->run = run;
	t->loop = l;
	t->due = now + ms > 0 ? now + ms : 1;
	make_room(l);
	l->timers++;
	sift_up(l, l->timers, (struct timer_slot){ t->due, l->timer_seq++, t });
}

void brd_timer_stop(struct timer *t)
{
	struct loop *l = t->loop;
	struct timer_slot last;
	size_t at = t->at;

	if (!t->due)
		return;
	brd_assert(at >= 1 && at <= l->timers && l->heap[at].t == t);
	t->due = 0;
	t->at = 0;
	last = l->heap[l->timers--];
	if (last.t == t)
		return;
	if (at > 1 && before(&last, &l->heap[at / 2]))
		sift_up(l, at, last);
	else
		sift_down(l, at, last);
}

bool brd_timers_run(struct loop *l)
{
	int64_t now;
	uint64_t end = l->timer_seq;
	bool did = false;

	if (!l->timers)
		return false;
	now = brd_clock_mono();
	while (l->timers && l->heap[1].due <= now && l->heap[1].seq < end) {
		struct timer *t = l->heap[1].t;

		brd_timer_stop(t);
		t->run(t);
		did = true;
	}
	return did;
}

int64_t brd_timers_next(const struct loop *l)
{
	int64_t ms;

	if (!l->timers)
		return -1;
	ms = l->heap[1].due - brd_clock_mono();
	return ms > 0 ? ms : 0;
}
