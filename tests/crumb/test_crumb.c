/* SPDX-License-Identifier: MIT */
#include "test.h"
#include <stdio.h>
#include "base/clock.h"
#include "crumb/crumb.h"

static struct arena arena;
static struct crumb_base base;

static int setup(void **state)
{
	brd_crumb_base_init(&base, BRD_STR("greeter"), BRD_STR("run-1"), BRD_STR("sess-1"), &arena);
	return 0;
}

static int teardown(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

#define IDS "\"agentId\":\"greeter\",\"runId\":\"run-1\",\"sessionId\":\"sess-1\""

static void fields_stand_in_the_order_of_the_wire(void **state)
{
	struct crumb_draft d;
	struct crumb *c;
	struct bread_crumb v;

	brd_crumb_begin(&d, CRUMB_RUN_START, &base, 1796053913733);
	brd_jw_kraw(&d.w, "input", BRD_STR("\"hi\""));
	c = brd_crumb_seal(&d, 1);
	brd_crumb_view(c, &v);
	assert_str(v.json, "{\"type\":\"agent:run:start\"," IDS
			   ",\"timestamp\":1796053913733,\"input\":\"hi\",\"seq\":1}");
	assert_ptr_equal(v.json.p, v.public_json.p);
	assert_str(v.type, "agent:run:start");
	assert_str(v.run_id, "run-1");
	assert_int_equal(v.flags, BREAD_CRUMB_DURABLE);
	brd_crumb_unref(c);
}

static void a_session_may_be_missing(void **state)
{
	struct crumb_base b;
	struct crumb *c;

	brd_crumb_base_init(&b, BRD_STR("a\""), BRD_STR("r"), BRD_STR(""), &arena);
	c = brd_crumb_delta(CRUMB_TEXT_DELTA, &b, 5, BRD_STR("x"), 0);
	assert_str(c->json, "{\"type\":\"text:delta\",\"agentId\":\"a\\\"\",\"runId\":\"r\","
			    "\"timestamp\":5,\"delta\":\"x\",\"seq\":0}");
	brd_crumb_unref(c);
}

static void agent_error_has_its_error_before_the_timestamp(void **state)
{
	struct crumb_draft d;
	struct crumb *c;

	brd_crumb_begin(&d, CRUMB_AGENT_ERROR, &base, 7);
	brd_crumb_error(&d, BRD_STR("RUN_CANCELLED"), BRD_STR("run cancelled"),
		BRD_STR("{\"agentId\":\"greeter\"}"));
	c = brd_crumb_seal(&d, 4);
	assert_str(c->json,
		"{\"type\":\"agent:error\"," IDS
		",\"error\":{\"name\":\"BreadError\",\"code\":\"RUN_CANCELLED\",\"message\":"
		"\"run cancelled\",\"context\":{\"agentId\":\"greeter\"}},\"timestamp\":7,"
		"\"seq\":4}");
	assert_str(c->public_json,
		"{\"type\":\"agent:error\"," IDS
		",\"error\":{\"code\":\"RUN_CANCELLED\",\"message\":\"run cancelled\"},"
		"\"timestamp\":7,\"seq\":4}");
	assert_true(c->flags & BREAD_CRUMB_TERMINAL);
	brd_crumb_unref(c);
}

static struct crumb *tool_error(void)
{
	struct crumb_draft d;

	brd_crumb_begin(&d, CRUMB_TOOL_ERROR, &base, 7);
	brd_jw_kstr(&d.w, "toolCallId", BRD_STR("t1"));
	brd_jw_kstr(&d.w, "toolName", BRD_STR("add"));
	brd_crumb_error(&d, BRD_STR("TOOL_ERROR"), BRD_STR("no"), BRD_STR(""));
	brd_jw_kint(&d.w, "durationMs", 3);
	return brd_crumb_seal(&d, 9);
}

static void tool_error_has_it_among_its_own_fields(void **state)
{
	struct crumb *c = tool_error();

	assert_str(c->json, "{\"type\":\"tool:error\"," IDS
			    ",\"timestamp\":7,\"toolCallId\":\"t1\",\"toolName\":\"add\","
			    "\"error\":{\"name\":\"BreadError\",\"code\":\"TOOL_ERROR\","
			    "\"message\":\"no\"},\"durationMs\":3,\"seq\":9}");
	brd_crumb_unref(c);
}

static void a_stored_error_gets_the_same_public_form(void **state)
{
	struct crumb *live = tool_error();
	struct buf scratch;
	struct bread_crumb v;

	brd_buf_init(&scratch, BUF_NO_LIMIT);
	brd_crumb_row_view(live->run_id, live->name, 9, live->json, &scratch, &v);
	assert_true(brd_str_eq(v.public_json, live->public_json));
	assert_true(brd_str_eq(v.json, live->json));
	brd_buf_fini(&scratch);
	brd_crumb_unref(live);
}

static void a_stored_crumb_of_an_unknown_type_passes(void **state)
{
	struct buf scratch = { 0 };
	struct bread_crumb v;

	brd_crumb_row_view(BRD_STR("p:0"), BRD_STR("pipeline:step:start"), 2, BRD_STR("{\"a\":1}"),
		&scratch, &v);
	assert_str(v.type, "pipeline:step:start");
	assert_str(v.json, "{\"a\":1}");
	assert_str(v.public_json, "{\"a\":1}");
	assert_int_equal(v.flags, BREAD_CRUMB_DURABLE);
}

static void check_delta(const char *text, size_t n, const char *quoted, unsigned units)
{
	struct bread_str s = { text, n };
	struct crumb *c = brd_crumb_delta(CRUMB_REASONING_DELTA, &base, 12, s, 3);
	char want[4096];

	snprintf(want, sizeof(want),
		"{\"type\":\"reasoning:delta\"," IDS ",\"timestamp\":12,\"delta\":%s,\"seq\":3}",
		quoted);
	assert_str(c->json, want);
	assert_int_equal(c->units, units);
	assert_int_equal(c->flags, 0);
	brd_crumb_unref(c);
}

static void deltas_escape_what_json_demands(void **state)
{
	check_delta("one ", 4, "\"one \"", 4);
	check_delta("", 0, "\"\"", 0);
	check_delta(NULL, 0, "\"\"", 0);
	check_delta("a\"\n\x01\\", 5, "\"a\\\"\\n\\u0001\\\\\"", 5);
	check_delta("\xc3\xa9\xf0\x9f\x8d\x9e", 6, "\"\xc3\xa9\xf0\x9f\x8d\x9e\"", 3);
	check_delta("\xed\xa0\xbd", 3, "\"\\ud83d\"", 1);
}

static void a_delta_full_of_escapes_fits(void **state)
{
	char text[2000], want[12001 + 3];
	size_t at = 0;

	memset(text, 1, sizeof(text));
	want[at++] = '"';
	for (size_t i = 0; i < 500; i++, at += 6)
		memcpy(want + at, "\\u0001", 6);
	want[at++] = '"';
	want[at] = 0;
	check_delta(text, 500, want, 500);
}

static void names_are_found(void **state)
{
	for (int t = 0; t < CRUMB_TYPES; t++)
		assert_int_equal(brd_crumb_type(brd_str(brd_crumb_kinds[t].name)), t);
	assert_int_equal(brd_crumb_type(BRD_STR("text:delt")), CRUMB_TYPES);
}

static void an_abandoned_draft_leaves_nothing(void **state)
{
	struct crumb_draft d = { 0 };

	brd_crumb_abandon(&d);
	brd_crumb_begin(&d, CRUMB_AGENT_ERROR, &base, 7);
	brd_crumb_error(&d, BRD_STR("X"), BRD_STR("y"), BRD_STR(""));
	brd_crumb_abandon(&d);
}

static void deltas_are_cheap(void **state)
{
	int64_t from = brd_clock_mono_us(), took;
	const int n = 200000;

	for (int i = 0; i < n; i++)
		brd_crumb_unref(brd_crumb_delta(
			CRUMB_TEXT_DELTA, &base, 1796053913733, BRD_STR("some words "), 12));
	took = brd_clock_mono_us() - from;
	print_message("%.1f ns a delta\n", (double)took * 1000 / n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_stand_in_the_order_of_the_wire),
		cmocka_unit_test(a_session_may_be_missing),
		cmocka_unit_test(agent_error_has_its_error_before_the_timestamp),
		cmocka_unit_test(tool_error_has_it_among_its_own_fields),
		cmocka_unit_test(a_stored_error_gets_the_same_public_form),
		cmocka_unit_test(a_stored_crumb_of_an_unknown_type_passes),
		cmocka_unit_test(deltas_escape_what_json_demands),
		cmocka_unit_test(a_delta_full_of_escapes_fits),
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(an_abandoned_draft_leaves_nothing),
		cmocka_unit_test(deltas_are_cheap),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
