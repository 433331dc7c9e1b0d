/* SPDX-License-Identifier: MIT */
/* One publisher, viewers on other loops: each sees every frame once and in order,
 * from the ring or, when it was lapped, from a log that the test keeps. */
#include "test.h"
#include <pthread.h>
#include <stdlib.h>
#include "transport/hub.h"

#define LOOPS 3
#define VIEWERS 8 /* on each */
#define CRUMBS 30000

static struct hub *hub;
static struct topic *topic;
static struct crumb_base base;
static struct arena arena;

static void number(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	bread_sink_add(s, (struct bread_str){ (const char *)&c->seq, sizeof(c->seq) });
	bread_sink_add(s, (struct bread_str){ "................", 16 });
}

static const struct bread_framing numbers = { .name = "numbers", .crumb = number };

struct watcher {
	struct cursor cursor;
	struct worker *worker;
	int64_t next;
	bool bad, done;
	int lapped;
	unsigned lazy;
};

struct worker {
	pthread_t thread;
	struct loop *loop;
	struct watcher watchers[VIEWERS];
	int left;
};

static void see(struct watcher *w, const char *p, size_t n)
{
	w->bad |= n % 24 != 0;
	for (size_t i = 0; i + 24 <= n; i += 24) {
		int64_t seq;

		memcpy(&seq, p + i, sizeof(seq));
		w->bad |= seq != w->next;
		w->next = seq + 1;
	}
}

static void finish(struct watcher *w)
{
	w->done = true;
	brd_cursor_close(&w->cursor);
	if (--w->worker->left == 0)
		brd_loop_stop(w->worker->loop);
}

/* The log has everything up to the topic's head. */
static void read_log(struct watcher *w)
{
	int64_t head = brd_topic_head(topic);

	w->lapped++;
	w->next = (head < 0 ? CRUMBS : head) + 1;
}

static void on_ready(struct cursor *c)
{
	struct watcher *w = c->arg;

	if (w->lazy && ++w->lazy % 40 && brd_topic_head(topic) >= 0)
		return;
	for (;;) {
		struct iovec got;
		enum cursor_state state = brd_cursor_peek(c, &got);

		if (got.iov_len) {
			see(w, got.iov_base, got.iov_len);
			brd_cursor_advance(c, got.iov_len);
		} else if (state == CURSOR_BEHIND) {
			w->bad |= c->after != w->next - 1;
			read_log(w);
			brd_cursor_seek(c, w->next - 1);
		} else {
			if (state == CURSOR_ENDED)
				finish(w);
			return;
		}
	}
}

static void *work(void *arg)
{
	struct worker *k = arg;

	k->left = VIEWERS;
	for (int i = 0; i < VIEWERS; i++) {
		struct watcher *w = &k->watchers[i];

		*w = (struct watcher){ .worker = k, .lazy = i == 0, .next = 1 };
		brd_cursor_open(&w->cursor, topic, &numbers, 0, k->loop, on_ready, w);
		if (brd_cursor_seek(&w->cursor, 0) == CURSOR_BEHIND)
			read_log(w);
		brd_cursor_seek(&w->cursor, w->next - 1);
		on_ready(&w->cursor);
	}
	brd_loop_run(k->loop);
	return NULL;
}

static void publish_all(void)
{
	brd_topic_begin(topic, 0);
	for (int64_t seq = 1; seq <= CRUMBS; seq++) {
		struct crumb_draft d;
		struct crumb *c;

		brd_crumb_begin(&d, CRUMB_TOOL_CALL, &base, 1);
		c = brd_crumb_seal(&d, seq);
		brd_topic_publish(topic, c, c->seq);
		brd_crumb_unref(c);
	}
	brd_topic_end(topic, true, NULL);
}

static void every_viewer_sees_everything_once(void **state)
{
	struct worker workers[LOOPS];

	hub = brd_hub_new(0);
	topic = brd_topic_get(hub, BRD_STR("r"), false);
	brd_crumb_base_init(&base, BRD_STR("a"), BRD_STR("r"), BRD_STR("s"), &arena);
	for (int i = 0; i < LOOPS; i++) {
		assert_int_equal(brd_loop_new(&workers[i].loop, NULL), 0);
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	publish_all();
	for (int i = 0; i < LOOPS; i++) {
		pthread_join(workers[i].thread, NULL);
		for (int j = 0; j < VIEWERS; j++) {
			assert_false(workers[i].watchers[j].bad);
			assert_true(workers[i].watchers[j].done);
			assert_int_equal(workers[i].watchers[j].next, CRUMBS + 1);
		}
		brd_loop_free(workers[i].loop);
	}
	brd_topic_unref(topic);
	assert_int_equal(brd_hub_topics(hub), 0);
	brd_hub_free(hub);
	brd_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_viewer_sees_everything_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
