/* SPDX-License-Identifier: MIT */
#include "test.h"
#include "base/clock.h"
#include "crumb/sequencer.h"

static struct arena arena;
static struct crumb_base base;
static struct sequencer seq;

static int setup(void **state)
{
	brd_clock_freeze(1000);
	brd_crumb_base_init(&base, BRD_STR("a"), BRD_STR("r"), BRD_STR("s"), &arena);
	brd_seq_init(&seq, 0);
	return 0;
}

static int teardown(void **state)
{
	brd_seq_fini(&seq);
	brd_arena_fini(&arena);
	brd_clock_thaw();
	return 0;
}

static bool delta(enum crumb_type t, const char *text, int64_t ts, struct crumb **ret)
{
	struct crumb *c = brd_crumb_delta(t, &base, ts, brd_str(text), seq.head);
	bool full = brd_seq_delta(&seq, c, brd_str(text));

	if (ret)
		*ret = c;
	else
		brd_crumb_unref(c);
	return full;
}

static void deltas_carry_the_last_number(void **state)
{
	struct crumb *c, *closed[2];

	assert_int_equal(brd_seq_next(&seq), 1);
	delta(CRUMB_TEXT_DELTA, "Hello", 50, &c);
	assert_int_equal(c->seq, 1);
	assert_int_equal(c->offset, 5);
	brd_crumb_unref(c);
	delta(CRUMB_TEXT_DELTA, ", world", 60, &c);
	assert_int_equal(c->offset, 12);
	brd_crumb_unref(c);

	assert_int_equal(brd_seq_close(&seq, &base, closed), 1);
	assert_str(closed[0]->json, "{\"type\":\"text:delta\",\"agentId\":\"a\",\"runId\":\"r\","
				    "\"sessionId\":\"s\",\"timestamp\":50,"
				    "\"delta\":\"Hello, world\",\"seq\":2}");
	assert_true(closed[0]->flags & BREAD_CRUMB_DURABLE);
	assert_int_equal(brd_seq_next(&seq), 3);
	brd_crumb_unref(closed[0]);
}

static void windows_close_together_oldest_first(void **state)
{
	struct crumb *c, *closed[2], *none[2];
	int64_t head = seq.head;

	delta(CRUMB_REASONING_DELTA, "hm", 1, NULL);
	delta(CRUMB_TEXT_DELTA, "yes", 2, NULL);
	delta(CRUMB_REASONING_DELTA, "m", 3, &c);
	assert_int_equal(c->offset, 3);
	assert_int_equal(c->offset_other, 3);
	brd_crumb_unref(c);
	assert_int_equal(brd_seq_close(&seq, &base, closed), 2);
	assert_int_equal(closed[0]->type, CRUMB_REASONING_DELTA);
	assert_int_equal(closed[0]->seq, head + 1);
	assert_int_equal(closed[1]->type, CRUMB_TEXT_DELTA);
	assert_int_equal(closed[1]->seq, head + 2);
	assert_int_equal(brd_seq_close(&seq, &base, none), 0);
	brd_crumb_unref(closed[0]);
	brd_crumb_unref(closed[1]);
	delta(CRUMB_TEXT_DELTA, "x", 4, &c);
	assert_int_equal(c->offset, 1);
	assert_int_equal(c->offset_other, 0);
	brd_crumb_unref(c);
	assert_int_equal(brd_seq_close(&seq, &base, closed), 1);
	brd_crumb_unref(closed[0]);
}

static void close_all(void)
{
	struct crumb *closed[2];
	unsigned n = brd_seq_close(&seq, &base, closed);

	for (unsigned i = 0; i < n; i++)
		brd_crumb_unref(closed[i]);
}

static void a_window_is_full_at_4096_units(void **state)
{
	char text[2049];

	memset(text, 'x', 2048);
	text[2048] = 0;
	assert_false(delta(CRUMB_TEXT_DELTA, text, 1, NULL));
	assert_false(delta(CRUMB_TEXT_DELTA, text + 1, 1, NULL));
	assert_true(delta(CRUMB_TEXT_DELTA, "y", 1, NULL));
	close_all();
	assert_false(delta(CRUMB_TEXT_DELTA, "y", 1, NULL));
}

static void many_small_frames_fill_it_too(void **state)
{
	int n = 1;

	close_all();
	while (!delta(CRUMB_TEXT_DELTA, "x", 1, NULL))
		n++;
	assert_in_range(n, 500, 800);
	close_all();
}

static void age_counts_from_the_first_delta(void **state)
{
	close_all();
	assert_int_equal(brd_seq_due(&seq), 0);
	delta(CRUMB_TEXT_DELTA, "x", 1, NULL);
	assert_int_equal(brd_seq_due(&seq), brd_clock_mono() + 1000);
	brd_clock_turn(400);
	delta(CRUMB_REASONING_DELTA, "x", 1, NULL);
	assert_int_equal(brd_seq_due(&seq), brd_clock_mono() + 600);
	close_all();
	assert_false(brd_seq_open(&seq));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deltas_carry_the_last_number),
		cmocka_unit_test(windows_close_together_oldest_first),
		cmocka_unit_test(a_window_is_full_at_4096_units),
		cmocka_unit_test(many_small_frames_fill_it_too),
		cmocka_unit_test(age_counts_from_the_first_delta),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
