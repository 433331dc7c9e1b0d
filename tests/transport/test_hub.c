/* SPDX-License-Identifier: MIT */
/* The hub on one loop: a framing of short lines makes what a viewer sees readable. */
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "transport/hub.h"

static struct arena arena;
static struct crumb_base base;
static struct loop *loop;
static struct hub *hub;
static struct topic *topic;

static void line(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	char text[64];
	int n = exact ? snprintf(text, sizeof(text), "%d.%u ", (int)c->seq, c->offset)
		      : snprintf(text, sizeof(text), "%d%.1s ", (int)c->seq, c->type.p);

	bread_sink_add(s, (struct bread_str){ text, (size_t)n });
}

static void whole(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	bread_sink_add(s, c->json);
}

static const struct bread_framing lines = { .name = "lines", .crumb = line };
static const struct bread_framing wholes = { .name = "wholes", .crumb = whole };

static int setup(void **state)
{
	brd_clock_freeze(1000);
	assert_int_equal(brd_loop_new(&loop, NULL), 0);
	hub = brd_hub_new(0);
	topic = brd_topic_get(hub, BRD_STR("r"), false);
	brd_crumb_base_init(&base, BRD_STR("a"), BRD_STR("r"), BRD_STR("s"), &arena);
	return 0;
}

static int teardown(void **state)
{
	brd_topic_unref(topic);
	brd_loop_free(loop);
	brd_hub_free(hub);
	brd_arena_fini(&arena);
	brd_clock_thaw();
	return 0;
}

static void publish(struct crumb *c)
{
	brd_topic_publish(topic, c, c->seq);
	brd_crumb_unref(c);
}

static void durable(int64_t seq)
{
	struct crumb_draft d;

	brd_crumb_begin(&d, CRUMB_TOOL_CALL, &base, 1);
	publish(brd_crumb_seal(&d, seq));
}

static void large(int64_t seq, size_t n)
{
	struct crumb_draft d;
	char *text = malloc(n);

	memset(text, 'x', n);
	brd_crumb_begin(&d, CRUMB_TOOL_RESULT, &base, 1);
	brd_jw_kstr(&d.w, "result", (struct bread_str){ text, n });
	publish(brd_crumb_seal(&d, seq));
	free(text);
}

static void delta(int64_t seq, uint32_t offset)
{
	struct crumb *c = brd_crumb_delta(CRUMB_TEXT_DELTA, &base, 1, BRD_STR("x"), seq);

	c->offset = offset;
	publish(c);
}

struct viewer {
	struct cursor cursor;
	char seen[4096];
	size_t bytes;
	enum cursor_state state;
	int called;
};

static void take(struct viewer *v)
{
	struct iovec got;

	while ((v->state = brd_cursor_peek(&v->cursor, &got)) == CURSOR_LIVE && got.iov_len) {
		if (v->bytes + got.iov_len < sizeof(v->seen))
			memcpy(v->seen + v->bytes, got.iov_base, got.iov_len);
		v->bytes += got.iov_len;
		brd_cursor_advance(&v->cursor, got.iov_len);
	}
}

static void on_ready(struct cursor *c)
{
	struct viewer *v = c->arg;

	v->called++;
	take(v);
}

static void open_flags(struct viewer *v, const struct bread_framing *f, unsigned flags)
{
	memset(v, 0, sizeof(*v));
	brd_cursor_open(&v->cursor, topic, f, flags, loop, on_ready, v);
}

static enum cursor_state join(struct viewer *v, int64_t after)
{
	open_flags(v, &lines, 0);
	return brd_cursor_seek(&v->cursor, after);
}

static void turn(void)
{
	while (brd_loop_turn(loop, 0))
		;
}

#define SAW(v, text) \
	do { \
		(v).seen[(v).bytes] = 0; \
		assert_string_equal((v).seen, text); \
	} while (0)

static void live_frames_arrive_once_a_turn(void **state)
{
	struct viewer v;

	brd_topic_begin(topic, 0);
	assert_int_equal(join(&v, 0), CURSOR_LIVE);
	durable(1);
	delta(1, 1);
	delta(1, 2);
	turn();
	SAW(v, "1t 1t 1t ");
	assert_int_equal(v.called, 1);
	durable(3);
	turn();
	SAW(v, "1t 1t 1t 3t ");
	brd_cursor_close(&v.cursor);
}

static void a_late_viewer_gets_the_open_window(void **state)
{
	struct viewer v, w;

	brd_topic_begin(topic, 0);
	durable(1);
	delta(1, 1);
	delta(1, 2);
	assert_int_equal(join(&v, 1), CURSOR_LIVE);
	take(&v);
	SAW(v, "1t 1t ");
	brd_topic_mark(topic, 2);
	delta(2, 1);
	assert_int_equal(join(&w, 2), CURSOR_LIVE);
	take(&w);
	SAW(w, "2t ");
	brd_cursor_close(&v.cursor);
	brd_cursor_close(&w.cursor);
}

static void a_place_that_is_not_in_the_ring_is_in_the_log(void **state)
{
	struct viewer v;

	brd_topic_begin(topic, 0);
	durable(1);
	durable(2);
	assert_int_equal(join(&v, 0), CURSOR_BEHIND);
	assert_int_equal(v.cursor.after, 0);
	assert_int_equal(brd_cursor_seek(&v.cursor, 1), CURSOR_BEHIND);
	assert_int_equal(brd_cursor_seek(&v.cursor, 2), CURSOR_LIVE);
	take(&v);
	SAW(v, "");
	brd_cursor_close(&v.cursor);
}

static void a_number_the_log_had_first_is_waited_for(void **state)
{
	struct viewer v;

	brd_topic_begin(topic, 0);
	durable(1);
	assert_int_equal(join(&v, 3), CURSOR_LIVE);
	delta(1, 1);
	turn();
	SAW(v, "");
	brd_topic_mark(topic, 2);
	durable(3);
	durable(4);
	turn();
	SAW(v, "4t ");
	brd_cursor_close(&v.cursor);
}

static void nobody_publishes_and_then_somebody_does(void **state)
{
	struct viewer v;

	assert_int_equal(join(&v, 0), CURSOR_IDLE);
	assert_int_equal(brd_topic_head(topic), -1);
	brd_topic_begin(topic, 0);
	durable(1);
	turn();
	SAW(v, "1t ");
	assert_int_equal(brd_topic_head(topic), 1);
	brd_topic_end(topic, false, NULL);
	turn();
	assert_int_equal(v.state, CURSOR_IDLE);
	assert_int_equal(v.cursor.after, 1);
	brd_topic_begin(topic, 1);
	durable(2);
	turn();
	SAW(v, "1t 2t ");
	brd_topic_end(topic, true, NULL);
	turn();
	assert_int_equal(v.state, CURSOR_ENDED);
	brd_cursor_close(&v.cursor);
}

static void another_owner_went_on_in_between(void **state)
{
	struct viewer v;

	brd_topic_begin(topic, 0);
	join(&v, 0);
	durable(1);
	brd_topic_end(topic, false, NULL);
	turn();
	brd_topic_begin(topic, 5);
	durable(6);
	turn();
	SAW(v, "1t ");
	assert_int_equal(v.state, CURSOR_BEHIND);
	assert_int_equal(v.cursor.after, 1);
	assert_int_equal(brd_cursor_seek(&v.cursor, 6), CURSOR_LIVE);
	brd_cursor_close(&v.cursor);
}

static void marks_that_never_came_true_are_gone_back_over(void **state)
{
	struct viewer v;

	brd_topic_begin(topic, 0);
	join(&v, 0);
	durable(1);
	delta(1, 1);
	brd_topic_mark(topic, 2);
	turn();
	SAW(v, "1t 1t ");
	brd_topic_begin(topic, 1); /* number 2 was not committed */
	brd_topic_end(topic, false, NULL);
	turn();
	assert_int_equal(v.state, CURSOR_BEHIND);
	assert_int_equal(v.cursor.after, 1);
	brd_cursor_close(&v.cursor);
}

static void framings_and_flags_have_rings_of_their_own(void **state)
{
	struct viewer v, w, x;
	char chunk[5000];

	brd_topic_begin(topic, 0);
	open_flags(&v, &lines, CURSOR_EXACT);
	open_flags(&w, &wholes, 0);
	open_flags(&x, &wholes, CURSOR_CHUNKED);
	brd_cursor_seek(&v.cursor, 0);
	brd_cursor_seek(&w.cursor, 0);
	brd_cursor_seek(&x.cursor, 0);
	delta(0, 17);
	turn();
	SAW(v, "0.17 ");
	w.seen[w.bytes] = 0;
	snprintf(chunk, sizeof(chunk), "%zx\r\n%s\r\n", w.bytes, w.seen);
	SAW(x, chunk);
	brd_cursor_close(&v.cursor);
	brd_cursor_close(&w.cursor);
	brd_cursor_close(&x.cursor);
}

static void filtered_crumbs_are_for_the_owner_alone(void **state)
{
	struct viewer own, passive;
	struct crumb_draft d;
	struct crumb *c;

	brd_topic_begin(topic, 0);
	open_flags(&own, &lines, CURSOR_ALL);
	open_flags(&passive, &lines, 0);
	brd_cursor_seek(&own.cursor, 0);
	brd_cursor_seek(&passive.cursor, 0);
	brd_crumb_begin(&d, CRUMB_TOOL_CALL, &base, 1);
	c = brd_crumb_seal(&d, 1);
	c->flags |= BREAD_CRUMB_FILTERED;
	publish(c);
	durable(2);
	turn();
	SAW(own, "1t 2t ");
	SAW(passive, "2t ");
	assert_int_equal(brd_cursor_seek(&passive.cursor, 1), CURSOR_LIVE);
	brd_cursor_close(&own.cursor);
	brd_cursor_close(&passive.cursor);
}

static void a_lapped_viewer_finishes_its_group_and_reads_the_log(void **state)
{
	struct viewer v;
	struct iovec got;
	int64_t seq = 0;

	brd_topic_begin(topic, 0);
	open_flags(&v, &wholes, 0);
	brd_cursor_seek(&v.cursor, 0);
	durable(++seq);
	assert_int_equal(brd_cursor_peek(&v.cursor, &got), CURSOR_LIVE); /* stands there now */
	while (seq < 5000)
		durable(++seq);
	take(&v);
	assert_int_equal(v.state, CURSOR_BEHIND);
	assert_in_range(v.cursor.after, 100, 1500);
	assert_in_range(v.bytes, 32 * 1024, 160 * 1024);
	assert_int_equal(brd_cursor_seek(&v.cursor, 4900), CURSOR_LIVE);
	v.bytes = 0;
	take(&v);
	assert_int_equal(v.state, CURSOR_LIVE);
	assert_in_range(v.bytes, 100 * 50, 100 * 200);
	brd_cursor_close(&v.cursor);
}

static void what_is_larger_than_a_segment_fits_too(void **state)
{
	struct viewer v;

	brd_topic_begin(topic, 0);
	open_flags(&v, &wholes, 0);
	brd_cursor_seek(&v.cursor, 0);
	large(1, 300000);
	durable(2);
	turn();
	assert_in_range(v.bytes, 300000, 300500);
	brd_cursor_close(&v.cursor);
}

static void over_the_limit_a_preview_is_shown(void **state)
{
	struct viewer v, full;

	brd_topic_begin(topic, 0);
	open_flags(&v, &wholes, 0);
	open_flags(&full, &wholes, CURSOR_FULL);
	brd_cursor_seek(&v.cursor, 0);
	brd_cursor_seek(&full.cursor, 0);
	large(1, 2 << 20);
	turn();
	assert_in_range(v.bytes, 8000, 9000);
	assert_in_range(full.bytes, 2 << 20, (2 << 20) + 500);
	brd_cursor_close(&v.cursor);
	brd_cursor_close(&full.cursor);
}

static void exact_passes_over_what_the_viewer_has(void **state)
{
	struct viewer v;

	brd_topic_begin(topic, 0);
	durable(1);
	for (uint32_t i = 1; i <= 1000; i++)
		delta(1, i);
	open_flags(&v, &lines, CURSOR_EXACT);
	assert_int_equal(brd_cursor_seek_exact(&v.cursor, 1, 998, 0), CURSOR_LIVE);
	take(&v);
	SAW(v, "1.999 1.1000 ");
	brd_topic_mark(topic, 2);
	assert_int_equal(brd_cursor_seek_exact(&v.cursor, 1, 998, 0), CURSOR_BEHIND);
	brd_cursor_close(&v.cursor);
}

static void the_failure_stays_with_the_topic(void **state)
{
	struct viewer v;
	struct bread_failure f = { .code = BRD_STR("RUN_CANCELLED") }, got;

	brd_topic_begin(topic, 0);
	join(&v, 0);
	assert_false(brd_cursor_failure(&v.cursor, &got));
	brd_topic_end(topic, true, &f);
	assert_true(brd_cursor_failure(&v.cursor, &got));
	assert_str(got.code, "RUN_CANCELLED");
	brd_cursor_close(&v.cursor);
}

static struct viewer others[2];

static void close_the_other(struct cursor *c)
{
	brd_cursor_close(&others[c == &others[0].cursor].cursor);
	brd_cursor_close(c);
}

static void cursors_may_close_in_their_callback(void **state)
{
	brd_topic_begin(topic, 0);
	for (int i = 0; i < 2; i++) {
		join(&others[i], 0);
		others[i].cursor.on_ready = close_the_other;
	}
	durable(1);
	turn();
	assert_null(others[0].cursor.topic);
	assert_null(others[1].cursor.topic);
	durable(2);
	turn();
}

static void a_topic_goes_with_its_last_reference(void **state)
{
	struct topic *t = brd_topic_get(hub, BRD_STR("other"), false);

	assert_int_equal(brd_hub_topics(hub), 2);
	assert_ptr_equal(brd_topic_peek(hub, BRD_STR("other"), false), t);
	brd_topic_unref(t);
	brd_topic_unref(t);
	assert_null(brd_topic_peek(hub, BRD_STR("other"), false));
	assert_int_equal(brd_hub_topics(hub), 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(live_frames_arrive_once_a_turn),
		CASE(a_late_viewer_gets_the_open_window),
		CASE(a_place_that_is_not_in_the_ring_is_in_the_log),
		CASE(a_number_the_log_had_first_is_waited_for),
		CASE(nobody_publishes_and_then_somebody_does),
		CASE(another_owner_went_on_in_between),
		CASE(marks_that_never_came_true_are_gone_back_over),
		CASE(framings_and_flags_have_rings_of_their_own),
		CASE(filtered_crumbs_are_for_the_owner_alone),
		CASE(a_lapped_viewer_finishes_its_group_and_reads_the_log),
		CASE(what_is_larger_than_a_segment_fits_too),
		CASE(over_the_limit_a_preview_is_shown),
		CASE(exact_passes_over_what_the_viewer_has),
		CASE(the_failure_stays_with_the_topic),
		CASE(cursors_may_close_in_their_callback),
		CASE(a_topic_goes_with_its_last_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
