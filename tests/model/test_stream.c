/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include "base/buf.h"
#include "base/str.h"
#include "model/order.h"
#include "model/stream.h"
#include "test.h"

struct heard {
	struct mstream s;
	struct buf log;
	struct event_order order;
	const char *fault;
};

static void hear(void *arg, const struct bread_event *ev)
{
	struct heard *h = arg;
	const char *rule = brd_event_order(&h->order, ev);

	if (rule)
		h->fault = rule;
	brd_buf_addf(&h->log, "%d.%u[%.*s]", ev->kind, ev->index, BRD_ARG(ev->text));
}

static void hear_init(struct heard *h)
{
	memset(h, 0, sizeof(*h));
	brd_buf_init(&h->log, BUF_NO_LIMIT);
	brd_mstream_init(&h->s, hear, h);
}

static void hear_fini(struct heard *h)
{
	assert_null(h->fault);
	brd_mstream_fini(&h->s);
	brd_buf_fini(&h->log);
	brd_event_order_fini(&h->order);
}

/* START 0, TEXT 1 2 3, THINKING 4 5 6, CALL 7 8 9, FILE 10, DONE 11, ERROR 12 */

static void hear_likely(void *arg, const struct bread_event *ev)
{
	if (ev->kind == BREAD_EV_DONE)
		*(double *)arg = ev->likely;
}

static void the_whole_is_as_likely_as_its_pieces_together(void **state)
{
	static const struct {
		const char *pieces;
		double likely;
	} cases[] = {
		{ "[{\"logprob\":-0.6931471805599453},{\"logprob\":-0.6931471805599453}]", 0.25 },
		{ "[{\"logprob\":0}]", 1 },
		{ "[{\"logprob\":1},{\"logprob\":null},{}]", 0 },
		{ "null", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct arena a = { 0 };
		struct mstream s;
		struct jval v;
		double likely = -1;

		assert_int_equal(brd_json_parse(&a, brd_str(cases[i].pieces), 0, &v, NULL), 0);
		brd_mstream_init(&s, hear_likely, &likely);
		brd_mstream_likely(&s, v);
		brd_mstream_done(&s, BREAD_STOP_STOP);
		assert_true(fabs(likely - cases[i].likely) < 1e-9);
		brd_mstream_fini(&s);
		brd_arena_fini(&a);
	}
}

static void text_in_pieces(const char *const *pieces, const char *log)
{
	struct heard h;
	int b;

	hear_init(&h);
	b = brd_mstream_open(&h.s, BREAD_PART_TEXT);
	for (; *pieces; pieces++)
		brd_mstream_add(&h.s, b, brd_str(*pieces));
	brd_mstream_end(&h.s, b);
	assert_string_equal(h.log.data, log);
	brd_mstream_done(&h.s, BREAD_STOP_STOP);
	hear_fini(&h);
}

static void half_a_character_waits_for_its_rest(void **state)
{
	text_in_pieces((const char *const[]){ "a\xc3", "\xbc", NULL },
		"0.0[]1.0[]2.0[a]2.0[\xc3\xbc]3.0[a\xc3\xbc]");
	text_in_pieces((const char *const[]){ "\xf0", "\x9f", "\x98", "\x80!", NULL },
		"0.0[]1.0[]2.0[\xf0\x9f\x98\x80!]3.0[\xf0\x9f\x98\x80!]");
}

static void half_a_surrogate_pair_waits_for_its_rest(void **state)
{
	text_in_pieces((const char *const[]){ "\xed\xa0\xbd", "\xed\xb8\x80", NULL },
		"0.0[]1.0[]2.0[\xf0\x9f\x98\x80]3.0[\xf0\x9f\x98\x80]");
}

static void what_stays_alone_becomes_a_replacement(void **state)
{
	text_in_pieces((const char *const[]){ "a\xed\xa0\xbd", NULL },
		"0.0[]1.0[]2.0[a]2.0[\xef\xbf\xbd]3.0[a\xef\xbf\xbd]");
	text_in_pieces((const char *const[]){ "\xed\xb8\x80z", NULL },
		"0.0[]1.0[]2.0[\xef\xbf\xbdz]3.0[\xef\xbf\xbdz]");
	text_in_pieces((const char *const[]){ "\xed\xa0\xbd", "z", NULL },
		"0.0[]1.0[]2.0[\xef\xbf\xbdz]3.0[\xef\xbf\xbdz]");
	text_in_pieces((const char *const[]){ "\xff", "z", NULL },
		"0.0[]1.0[]2.0[\xef\xbf\xbd]2.0[z]3.0[\xef\xbf\xbdz]");
}

static void a_call_waits_for_id_and_name(void **state)
{
	struct heard h;
	struct bread_str none = { 0 };
	int call, text;

	hear_init(&h);
	call = brd_mstream_open(&h.s, BREAD_PART_CALL);
	brd_mstream_add(&h.s, call, BRD_STR("{\"a\":"));
	brd_mstream_call(&h.s, call, BRD_STR("c1"), none);
	assert_int_equal(h.log.len, 0);
	text = brd_mstream_open(&h.s, BREAD_PART_TEXT);
	brd_mstream_add(&h.s, text, BRD_STR("t"));
	brd_mstream_call(&h.s, call, none, BRD_STR("get"));
	brd_mstream_add(&h.s, call, BRD_STR("1}"));
	brd_mstream_done(&h.s, BREAD_STOP_STOP);
	assert_string_equal(
		h.log.data, "0.0[]1.0[]2.0[t]7.1[]8.1[{\"a\":]8.1[1}]9.1[{\"a\":1}]3.0[t]11.0[]");
	hear_fini(&h);
}

static void nothing_follows_the_end(void **state)
{
	struct heard h;
	struct fault f = { .kind = BREAD_FAULT_SERVER };
	int b;

	hear_init(&h);
	b = brd_mstream_open(&h.s, BREAD_PART_TEXT);
	brd_mstream_fail(&h.s, &f);
	brd_mstream_add(&h.s, b, BRD_STR("x"));
	brd_mstream_end(&h.s, b);
	assert_int_equal(brd_mstream_open(&h.s, BREAD_PART_TEXT), -1);
	brd_mstream_done(&h.s, BREAD_STOP_STOP);
	brd_mstream_fail(&h.s, &f);
	assert_string_equal(h.log.data, "0.0[]1.0[]12.0[]");
	hear_fini(&h);
}

static void an_error_alone_needs_no_start(void **state)
{
	struct heard h;
	struct fault f = { .kind = BREAD_FAULT_AUTH, .text = BRD_STR("no") };

	hear_init(&h);
	brd_mstream_fail(&h.s, &f);
	assert_string_equal(h.log.data, "12.0[no]");
	assert_false(h.s.touched);
	hear_fini(&h);
}

static void too_many_blocks_end_the_stream(void **state)
{
	struct heard h;

	hear_init(&h);
	for (int i = 0; i < MSTREAM_BLOCKS_MAX; i++)
		assert_int_equal(brd_mstream_open(&h.s, BREAD_PART_CALL), i);
	assert_int_equal(brd_mstream_open(&h.s, BREAD_PART_CALL), -1);
	assert_true(h.s.ended);
	hear_fini(&h);
}

static void breaches_of_the_order_are_seen(void **state)
{
	static const struct bread_event bad[][3] = {
		{ { .kind = BREAD_EV_TEXT_START } },
		{ { .kind = BREAD_EV_START }, { .kind = BREAD_EV_TEXT_START, .index = 1 } },
		{ { .kind = BREAD_EV_START }, { .kind = BREAD_EV_TEXT_DELTA, .text = { "a", 1 } } },
		{ { .kind = BREAD_EV_START }, { .kind = BREAD_EV_TEXT_START },
			{ .kind = BREAD_EV_TEXT_DELTA } },
		{ { .kind = BREAD_EV_START }, { .kind = BREAD_EV_TEXT_START },
			{ .kind = BREAD_EV_CALL_END } },
		{ { .kind = BREAD_EV_START }, { .kind = BREAD_EV_TEXT_START },
			{ .kind = BREAD_EV_DONE } },
		{ { .kind = BREAD_EV_START }, { .kind = BREAD_EV_DONE },
			{ .kind = BREAD_EV_DONE } },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct event_order o = { 0 };
		const char *rule = NULL;

		for (int j = 0; j < 3 && !rule; j++)
			rule = brd_event_order(&o, &bad[i][j]);
		assert_non_null(rule);
		brd_event_order_fini(&o);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_is_as_likely_as_its_pieces_together),
		cmocka_unit_test(half_a_character_waits_for_its_rest),
		cmocka_unit_test(half_a_surrogate_pair_waits_for_its_rest),
		cmocka_unit_test(what_stays_alone_becomes_a_replacement),
		cmocka_unit_test(a_call_waits_for_id_and_name),
		cmocka_unit_test(nothing_follows_the_end),
		cmocka_unit_test(an_error_alone_needs_no_start),
		cmocka_unit_test(too_many_blocks_end_the_stream),
		cmocka_unit_test(breaches_of_the_order_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
