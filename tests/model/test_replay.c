/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "model/replay.h"
#include "test.h"

static struct bread_part call(const char *id)
{
	return (struct bread_part){ .kind = BREAD_PART_CALL,
		.id = brd_str(id),
		.name = BRD_STR("t"),
		.json = BRD_STR("{}") };
}

static struct bread_part result(const char *id, const char *text)
{
	return (struct bread_part){ .kind = BREAD_PART_RESULT,
		.id = brd_str(id),
		.name = BRD_STR("t"),
		.text = brd_str(text) };
}

static struct bread_part text(const char *s)
{
	return (struct bread_part){ .text = brd_str(s) };
}

static void results_stand_behind_their_calls_in_order(void **state)
{
	struct bread_part a[] = { call("1"), call("2"), call("3") };
	struct bread_part r1[] = { result("3", "three") },
			  r2[] = { result("1", "one"), result("9", "stray") };
	struct bread_message m[] = { { BREAD_ROLE_ASSISTANT, a, 3 }, { BREAD_ROLE_TOOL, r1, 1 },
		{ BREAD_ROLE_TOOL, r2, 2 } };
	struct bread_model_request req = { .messages = m, .message_count = 3 };
	struct arena arena = { 0 };
	struct replay r;

	brd_replay(&r, &req, IDS_ANY, &arena);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.messages[1].count, 3);
	assert_str(r.messages[1].parts[0].text, "one");
	assert_str(r.messages[1].parts[1].text, "No result provided");
	assert_true(r.messages[1].parts[1].failed);
	assert_str(r.messages[1].parts[2].text, "three");
	brd_arena_fini(&arena);
}

static void blank_messages_and_stray_results_go(void **state)
{
	struct bread_part blank[] = { text(" \n") }, stray[] = { result("1", "x") },
			  said[] = { text("a\xed\xa0\xbd"
					  "b") };
	struct bread_message m[] = { { BREAD_ROLE_ASSISTANT, blank, 1 },
		{ BREAD_ROLE_TOOL, stray, 1 }, { BREAD_ROLE_USER, said, 1 } };
	struct bread_model_request req = { .messages = m, .message_count = 3 };
	struct arena arena = { 0 };
	struct replay r;

	brd_replay(&r, &req, IDS_ANY, &arena);
	assert_int_equal(r.count, 1);
	assert_str(r.messages[0].parts[0].text, "ab");
	brd_arena_fini(&arena);
}

static void ids_of(enum id_rule rule, const char *one, const char *two, char out[2][80])
{
	struct bread_part a[] = { call(one), call(two) },
			  b[] = { result(one, "1"), result(two, "2") };
	struct bread_message m[] = { { BREAD_ROLE_ASSISTANT, a, 2 }, { BREAD_ROLE_TOOL, b, 2 } };
	struct bread_model_request req = { .messages = m, .message_count = 2 };
	struct arena arena = { 0 };
	struct replay r;

	brd_replay(&r, &req, rule, &arena);
	for (int i = 0; i < 2; i++) {
		struct bread_str id = r.messages[0].parts[i].id;

		assert_true(brd_str_eq(id, r.messages[1].parts[i].id));
		assert_true(id.n < 80);
		memcpy(out[i], id.p, id.n);
		out[i][id.n] = '\0';
	}
	brd_arena_fini(&arena);
}

static void ids_become_what_is_accepted_and_stay_apart(void **state)
{
	char out[2][80], longer[200];

	ids_of(IDS_64, "toolu_01-x", "call.1|fc", out);
	assert_string_equal(out[0], "toolu_01-x");
	assert_string_equal(out[1], "call_1_fc");
	ids_of(IDS_64, "a.b", "a_b", out);
	assert_string_not_equal(out[0], out[1]);
	memset(longer, 'x', sizeof(longer));
	longer[199] = '\0';
	ids_of(IDS_64, longer, longer + 1, out);
	assert_true(strlen(out[0]) <= 64 && strlen(out[1]) <= 64);
	assert_string_not_equal(out[0], out[1]);
	ids_of(IDS_40, longer, "call_1", out);
	assert_int_equal(strlen(out[0]), 40);
	assert_string_equal(out[1], "call_1");
	ids_of(IDS_9, "D681PevKs", "call_1", out);
	assert_string_equal(out[0], "D681PevKs");
	assert_int_equal(strlen(out[1]), 9);
	ids_of(IDS_ANY, "", "x", out);
	assert_true(out[0][0] != '\0');
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_stand_behind_their_calls_in_order),
		cmocka_unit_test(blank_messages_and_stray_results_go),
		cmocka_unit_test(ids_become_what_is_accepted_and_stay_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
