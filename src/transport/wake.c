/* SPDX-License-Identifier: MIT */
/* Waking the loops that read a topic, and their flush rounds.
 *
 * A publish wakes a loop once: on its own thread by a place in the loop's list of
 * dirty readers, else by a post. In the loop's hook every cursor of a dirty reader
 * is called, whatever was published meanwhile. So the price of a publish does
 * not depend on how many watch.
 *
 * Two things make a flush wait, so that frames gather and one write takes
 * several: a round that took long holds back the next one, on the whole loop; a
 * topic that was flushed many times without a pause is flushed once a millisecond.
 * The first frame after a quiet time goes at once, and so does what has gathered to a
 * segment's worth, before the ring laps it. The pauses are real time, since they are
 * about work; a frozen clock switches them off. */
#include <stdlib.h>
#include <time.h>
#include "base/clock.h"
#include "base/mem.h"
#include "transport/impl.h"

#define ROUND_LONG_US 4000
#define ROUND_PAUSE_MAX_US 50000
#define TOPIC_PAUSE_US 1000
#define TOPIC_STREAK 8 /* flushes in a row that are not held back */

struct hub_loop {
	struct loop *loop;
	struct loop_hook hook;
	struct timer timer;
	struct list dirty;  /* readers */
	int64_t hold_until; /* us */
};

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void on_pause_over(struct timer *timer)
{
	brd_loop_mark(timer->loop);
}

static void come_back(struct hub_loop *hl, int64_t us)
{
	if (!brd_timer_active(&hl->timer))
		brd_timer_start(&hl->timer, hl->loop, (us + 999) / 1000, on_pause_over);
}

/* Until when it may wait; now or earlier: it must not. */
static int64_t reader_pause(const struct reader *rd, int64_t now)
{
	int64_t until = rd->home->hold_until;

	if (brd_clock_frozen() || rd->gathered >= RING_SEGMENT)
		return now;
	if (rd->streak >= TOPIC_STREAK && rd->flushed + TOPIC_PAUSE_US > until)
		until = rd->flushed + TOPIC_PAUSE_US;
	return until;
}

static bool reader_waits(struct reader *rd, int64_t now)
{
	int64_t until = reader_pause(rd, now);

	if (until > now) {
		come_back(rd->home, until - now);
		return true;
	}
	/* one that had to wait comes a little late, and is still in its streak */
	if (now - rd->flushed < 4 * TOPIC_PAUSE_US)
		rd->streak++;
	else
		rd->streak = 0;
	rd->flushed = now;
	return false;
}

static void reader_free_unused(struct reader *rd)
{
	struct topic *t = rd->topic;
	bool unused;

	pthread_mutex_lock(&t->lock);
	unused = rd->count == 0 && !rd->calling && !rd->posted;
	if (unused)
		brd_list_remove(&rd->link);
	pthread_mutex_unlock(&t->lock);
	if (!unused)
		return;
	brd_list_remove(&rd->dirty);
	free(rd);
	brd_topic_unref(t);
}

static void call_cursors(struct reader *rd)
{
	struct list todo, *it;

	pthread_mutex_lock(&rd->topic->lock);
	rd->woken = false;
	rd->gathered = 0;
	pthread_mutex_unlock(&rd->topic->lock);
	rd->calling = true;
	brd_list_init(&todo);
	brd_list_splice(&todo, &rd->cursors);
	while ((it = brd_list_pop(&todo))) {
		struct cursor *c = brd_list_of(it, struct cursor, link);

		brd_list_push(&rd->cursors, it);
		c->on_ready(c);
	}
	rd->calling = false;
	reader_free_unused(rd);
}

static void flush_round(struct loop_hook *hook)
{
	struct hub_loop *hl = brd_list_of(hook, struct hub_loop, hook);
	int64_t from, took;
	struct list todo, *it;

	if (brd_list_empty(&hl->dirty))
		return;
	from = now_us();
	brd_list_init(&todo);
	brd_list_splice(&todo, &hl->dirty);
	while ((it = brd_list_pop(&todo))) {
		struct reader *rd = brd_list_of(it, struct reader, dirty);

		if (reader_waits(rd, from))
			brd_list_push(&hl->dirty, it);
		else
			call_cursors(rd);
	}
	took = now_us() - from;
	if (took >= ROUND_LONG_US)
		hl->hold_until = from + took +
				 (took / 2 < ROUND_PAUSE_MAX_US ? took / 2 : ROUND_PAUSE_MAX_US);
}

static void *hub_loop_new(struct loop *l)
{
	struct hub_loop *hl = brd_alloc(sizeof(*hl));

	hl->loop = l;
	hl->hook.run = flush_round;
	brd_list_init(&hl->dirty);
	brd_loop_hook(l, &hl->hook);
	return hl;
}

static void hub_loop_free(void *thing)
{
	struct hub_loop *hl = thing;

	brd_timer_stop(&hl->timer);
	brd_loop_unhook(&hl->hook);
	free(hl);
}

static struct hub_loop *hub_loop_of(struct loop *l)
{
	static const char key;

	return brd_loop_local(l, &key, hub_loop_new, hub_loop_free);
}

/* ---- readers ---- */

static void make_dirty(struct reader *rd)
{
	if (!brd_list_linked(&rd->dirty))
		brd_list_push(&rd->home->dirty, &rd->dirty);
	brd_loop_mark(rd->loop);
}

static void on_posted(struct post *p)
{
	struct reader *rd = brd_list_of(p, struct reader, post);

	pthread_mutex_lock(&rd->topic->lock);
	rd->posted = false;
	pthread_mutex_unlock(&rd->topic->lock);
	if (rd->count)
		make_dirty(rd);
	else
		reader_free_unused(rd);
}

static void wake(struct reader *rd)
{
	if (brd_loop_here(rd->loop)) {
		make_dirty(rd);
	} else if (!rd->posted) {
		rd->posted = true;
		brd_loop_post(rd->loop, &rd->post);
	}
}

void brd_readers_wake(struct topic *t, size_t bytes)
{
	brd_list_each(it, &t->readers) {
		struct reader *rd = brd_list_of(it, struct reader, link);
		size_t had = rd->gathered;
		bool full = had < RING_SEGMENT && had + bytes >= RING_SEGMENT;

		atomic_store_explicit(&rd->gathered, had + bytes, memory_order_relaxed);
		if (!rd->woken || full)
			wake(rd);
		rd->woken = true;
	}
}

struct reader *brd_reader_get(struct topic *t, struct loop *l)
{
	struct reader *rd;

	brd_list_each(it, &t->readers) {
		rd = brd_list_of(it, struct reader, link);
		if (rd->loop == l)
			return rd;
	}
	rd = brd_alloc(sizeof(*rd));
	rd->topic = brd_topic_ref(t);
	rd->loop = l;
	rd->home = hub_loop_of(l);
	rd->post.run = on_posted;
	brd_list_init(&rd->cursors);
	brd_list_push(&t->readers, &rd->link);
	return rd;
}

void brd_reader_add(struct reader *rd, struct cursor *c)
{
	brd_list_push(&rd->cursors, &c->link);
	rd->count++;
}

void brd_reader_drop(struct reader *rd, struct cursor *c)
{
	brd_list_remove(&c->link);
	rd->count--;
	reader_free_unused(rd);
}
