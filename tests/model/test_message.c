/* SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "model/model.h"
#include "test.h"

static int read_stored(struct bread_message *m, const char *role, const char *json, struct arena *a)
{
	struct bread_err err = { 0 };
	struct jval v;

	assert_int_equal(brd_json_parse(a, brd_str(json), 0, &v, NULL), 0);
	return brd_message_from_stored(m, brd_str(role), v, a, &err);
}

static void round_trip(const char *role, const char *json)
{
	struct arena a = { 0 };
	struct bread_message m;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	assert_int_equal(read_stored(&m, role, json, &a), 0);
	brd_message_to_stored(&b, &m);
	assert_string_equal(b.data, json);
	brd_buf_fini(&b);
	brd_arena_fini(&a);
}

static void stored_messages_come_back_as_they_were(void **state)
{
	round_trip("user", "\"plain \\\"text\\\" \\ud83d\"");
	round_trip("user", "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"file\",\"data\":\"aGk="
			   "\",\"mediaType\":\"image/png\"}]");
	round_trip("assistant",
		"[{\"type\":\"reasoning\",\"text\":\"hm\"},{\"type\":\"text\",\"text\":\"ok\"},"
		"{\"type\":\"tool-call\",\"toolCallId\":\"c1\",\"toolName\":\"get\",\"input\":{"
		"\"n\":1.00,\"big\":12345678901234567890}}]");
	round_trip("assistant", "[{\"type\":\"reasoning\",\"text\":\"hm\",\"providerOptions\":{"
				"\"bread\":{\"signature\":\"U0lH\"}}}]");
	round_trip("tool",
		"[{\"type\":\"tool-result\",\"toolCallId\":\"c1\",\"toolName\":\"get\",\"output\":{"
		"\"type\":\"text\",\"value\":\"\"}},"
		"{\"type\":\"tool-result\",\"toolCallId\":\"c2\",\"toolName\":\"get\",\"output\":{"
		"\"type\":\"json\",\"value\":null}},"
		"{\"type\":\"tool-result\",\"toolCallId\":\"c3\",\"toolName\":\"get\",\"output\":{"
		"\"type\":\"json\"}},"
		"{\"type\":\"tool-result\",\"toolCallId\":\"c4\",\"toolName\":\"get\",\"output\":{"
		"\"type\":\"error-text\",\"value\":\"BreadError: kaput\"}}]");
}

static void what_is_no_message_is_refused(void **state)
{
	struct arena a = { 0 };
	struct bread_message m;

	assert_int_equal(read_stored(&m, "system", "\"x\"", &a), BREAD_E_INVALID);
	assert_int_equal(read_stored(&m, "user", "1", &a), BREAD_E_INVALID);
	assert_int_equal(read_stored(&m, "user", "[{\"type\":\"song\"}]", &a), BREAD_E_INVALID);
	assert_int_equal(read_stored(&m, "user", "[1]", &a), BREAD_E_INVALID);
	brd_arena_fini(&a);
}

static void the_prompt_joins_tool_messages_and_wraps_text(void **state)
{
	struct arena a = { 0 };
	struct bread_message m[4];
	struct bread_model_request req = {
		.system = BRD_STR("SYS"), .messages = m, .message_count = 4
	};
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	read_stored(&m[0], "user", "\"\"", &a);
	read_stored(&m[1], "assistant",
		"[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"tool-call\",\"toolCallId\":\"1\","
		"\"toolName\":\"t\",\"input\":{}}]",
		&a);
	read_stored(&m[2], "tool",
		"[{\"type\":\"tool-result\",\"toolCallId\":\"1\",\"toolName\":\"t\",\"output\":{"
		"\"type\":\"text\",\"value\":\"r\"}}]",
		&a);
	read_stored(&m[3], "tool",
		"[{\"type\":\"tool-result\",\"toolCallId\":\"2\",\"toolName\":\"t\",\"output\":{"
		"\"type\":\"text\",\"value\":\"s\"}}]",
		&a);
	brd_prompt_json(&b, &req);
	assert_string_equal(b.data,
		"[{\"role\":\"system\",\"content\":\"SYS\"},{\"role\":\"user\",\"content\":[{"
		"\"type\":\"text\",\"text\":\"\"}]},"
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool-call\",\"toolCallId\":\"1\","
		"\"toolName\":\"t\",\"input\":{}}]},"
		"{\"role\":\"tool\",\"content\":[{\"type\":\"tool-result\",\"toolCallId\":\"1\","
		"\"toolName\":\"t\",\"output\":{\"type\":\"text\",\"value\":\"r\"}},"
		"{\"type\":\"tool-result\",\"toolCallId\":\"2\",\"toolName\":\"t\",\"output\":{"
		"\"type\":\"text\",\"value\":\"s\"}}]}]");
	brd_buf_fini(&b);
	brd_arena_fini(&a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_messages_come_back_as_they_were),
		cmocka_unit_test(what_is_no_message_is_refused),
		cmocka_unit_test(the_prompt_joins_tool_messages_and_wraps_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
