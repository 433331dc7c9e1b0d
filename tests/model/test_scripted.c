/* SPDX-License-Identifier: MIT */
#include "player.h"

#define SCRIPT(model) "{\"type\":\"scripted\",\"models\":{\"m\":" model "}}"
#define CALLS(calls) SCRIPT("{\"calls\":[" calls "]}")

static void run_once(const char *options, const char *said, const char *expected)
{
	struct player p;

	player_init(&p, options);
	player_say(&p, "user", said);
	assert_string_equal(player_run(&p), expected);
	player_fini(&p);
}

static void text_steps_in_a_row_are_one_block(void **state)
{
	run_once(CALLS("{\"stream\":[{\"text\":\"Hi "
		       "\"},{\"text\":\"there\"}],\"usage\":{\"input\":5,\"output\":4}}"),
		"\"x\"",
		"start\ntext+0\ntext.0 \"Hi \"\ntext.0 \"there\"\ntext-0 \"Hi there\"\ndone stop "
		"5/4\n");
}

static void reasoning_is_a_block_of_its_own(void **state)
{
	run_once(CALLS("{\"stream\":[{\"reasoning\":\"Th\"},{\"reasoning\":\"ink\"},{\"text\":"
		       "\"A\"}]}"),
		"\"x\"",
		"start\nthink+0\nthink.0 \"Th\"\nthink.0 \"ink\"\nthink-0 \"Think\"\n"
		"text+1\ntext.1 \"A\"\ntext-1 \"A\"\ndone stop 0/0\n");
}

static void empty_text_opens_no_block(void **state)
{
	run_once(CALLS("{\"stream\":[{\"text\":\"\"}]}"), "\"x\"", "start\ndone stop 0/0\n");
}

static void a_call_comes_whole(void **state)
{
	run_once(CALLS("{\"stream\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"get\",\"args\":{"
		       "\"k\": 1.0}}}]}"),
		"\"x\"", "start\ncall+0 c1 get\ncall-0 {\"k\":1.0}\ndone tool_use 0/0\n");
}

static void raw_args_may_be_broken(void **state)
{
	run_once(CALLS("{\"stream\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"get\",\"raw_args\":"
		       "\"{\\\"a\\\":1,\"}}]}"),
		"\"x\"", "start\ncall+0 c1 get\ncall-0 {\"a\":1} incomplete\ndone tool_use 0/0\n");
}

static void tool_input_streams_its_chunks(void **state)
{
	run_once(CALLS("{\"stream\":[{\"tool_input\":{\"id\":\"c1\",\"name\":\"add\",\"chunks\":["
		       "\"{\\\"a\\\":\",\"1}\"]}}]}"),
		"\"x\"",
		"start\ncall+0 c1 add\ncall.0 \"{\"a\":\"\ncall.0 \"1}\"\ncall-0 {\"a\":1}\ndone "
		"tool_use 0/0\n");
}

static void args_are_cut_in_halves(void **state)
{
	run_once(CALLS("{\"stream\":[{\"tool_input\":{\"id\":\"c1\",\"name\":\"f\",\"args\":{\"a\":"
		       "1},\"each\":\"half\"}}]}"),
		"\"x\"",
		"start\ncall+0 c1 f\ncall.0 \"{\"a\"\"\ncall.0 \":1}\"\ncall-0 {\"a\":1}\ndone "
		"tool_use 0/0\n");
}

static void a_file_is_an_event(void **state)
{
	run_once(CALLS("{\"stream\":[{\"file\":{\"media_type\":\"image/"
		       "png\",\"base64\":\"aGk=\"}}]}"),
		"\"x\"", "start\nfile image/png aGk=\ndone stop 0/0\n");
}

static void throw_is_an_error_alone(void **state)
{
	run_once(CALLS("{\"throw\":\"provider down\"}"), "\"x\"", "error server: provider down\n");
}

static void an_error_keeps_what_was_said(void **state)
{
	run_once(CALLS("{\"stream\":[{\"text\":\"a\"},{\"error\":{\"message\":\"slow "
		       "down\",\"kind\":\"rate_limit\"}}]}"),
		"\"x\"", "start\ntext+0\ntext.0 \"a\"\nerror rate_limit: slow down\n");
}

static void a_call_without_answer_is_an_error(void **state)
{
	run_once(SCRIPT("{\"calls\":[]}"), "\"x\"",
		"error invalid_request: model m has no answer for call 0; add one under calls or "
		"when\n");
}

static void an_unknown_model_is_an_error(void **state)
{
	run_once("{\"type\":\"scripted\",\"models\":{}}", "\"x\"",
		"error not_found: the script has no model m\n");
}

static void a_structured_answer_is_text(void **state)
{
	run_once(CALLS("{\"generate\":{\"name\": \"Ada\"}}"), "\"x\"",
		"start\ntext+0\ntext.0 \"{\"name\":\"Ada\"}\"\ntext-0 \"{\"name\":\"Ada\"}\"\ndone "
		"stop 0/0\n");
}

static void calls_are_counted_per_model(void **state)
{
	struct player p;

	player_init(&p, SCRIPT("{\"calls\":[{\"stream\":[{\"text\":\"1\"}]},null],"
			       "\"when\":[{\"stream\":[{\"text\":\"call {{call}}\"}]}]}"));
	player_say(&p, "user", "\"x\"");
	assert_non_null(strstr(player_run(&p), "\"1\""));
	assert_non_null(strstr(player_run(&p), "\"call 1\""));
	assert_non_null(strstr(player_run(&p), "\"call 2\""));
	player_fini(&p);
}

static void each_word_streams_the_input(void **state)
{
	run_once(SCRIPT("{\"when\":[{\"stream\":[{\"each\":\"word\"}]}]}"), "\"a  bc \\n d\"",
		"start\ntext+0\ntext.0 \"a  \"\ntext.0 \"bc \n \"\ntext.0 \"d\"\n"
		"text-0 \"a  bc \n d\"\ndone stop 0/0\n");
}

static void delays_pass_before_each_piece(void **state)
{
	struct player p;

	brd_clock_freeze(1000000);
	player_init(&p, SCRIPT("{\"when\":[{\"before_ms\":5,\"stream\":[{\"each\":\"word\",\"delay_"
			       "ms\":30},{\"delay_ms\":100}]}]}"));
	player_say(&p, "user", "\"a b c\"");
	player_run(&p);
	assert_int_equal(p.turned_ms, 5 + 90 + 100);
	player_fini(&p);
	brd_clock_thaw();
}

static void rules_look_at_the_last_message(void **state)
{
	static const char options[] =
		SCRIPT("{\"when\":["
		       "{\"match\":{\"role\":\"tool\",\"failed\":true},\"stream\":[{\"text\":\"The "
		       "lookup failed.\"}]},"
		       "{\"match\":{\"role\":\"tool\"},\"stream\":[{\"text\":\"It is "
		       "{{result.temp_c}}C and {{result.sky}}.\"}]},"
		       "{\"match\":{\"regex\":\"^(?:.* in )?(?<city>.*?)\\\\??$\"},\"stream\":["
		       "{\"tool_input\":{\"id\":\"call_{{count}}\",\"name\":\"get_weather\","
		       "\"args\":{\"city\":\"{{city}}\"}}}]}]}");
	struct player p;

	player_init(&p, options);
	player_say(&p, "user", "\"what in the name in Oslo?\"");
	assert_non_null(strstr(player_run(&p), "call-0 {\"city\":\"Oslo\"}"));
	player_say(&p, "assistant",
		"[{\"type\":\"tool-call\",\"toolCallId\":\"call_1\",\"toolName\":\"get_weather\","
		"\"input\":{}}]");
	player_say(&p, "tool",
		"[{\"type\":\"tool-result\",\"toolCallId\":\"call_1\",\"toolName\":\"get_weather\","
		"\"output\":{\"type\":\"json\",\"value\":{\"temp_c\":18,\"sky\":\"sunny\"}}}]");
	assert_non_null(strstr(player_run(&p), "\"It is 18C and sunny.\""));
	p.req.message_count--;
	player_say(&p, "tool",
		"[{\"type\":\"tool-result\",\"toolCallId\":\"call_1\",\"toolName\":\"get_weather\","
		"\"output\":{\"type\":\"error-text\",\"value\":\"no such city\"}}]");
	assert_non_null(strstr(player_run(&p), "\"The lookup failed.\""));
	player_fini(&p);
}

static void values_are_taken_from_the_input(void **state)
{
	run_once(SCRIPT("{\"when\":[{\"stream\":[{\"text\":\"{{word 2}}|{{number "
			"2}}|{{k}}|{{key=k}}|{{nope|d}}|{{nope}}|{{slug input}}\"},"
			"{\"tool_call\":{\"id\":\"c\",\"name\":\"add\",\"args\":{\"a\":\"{{json "
			"number 1}}\",\"b\":\"{{json k}}\"}}}]}]}"),
		"\"7 and k=-3.5\"",
		"start\ntext+0\ntext.0 \"and|-3.5|-3.5|-3.5|d|{{nope}}|7-and-k--3-5\"\n"
		"text-0 \"and|-3.5|-3.5|-3.5|d|{{nope}}|7-and-k--3-5\"\n"
		"call+1 c add\ncall-1 {\"a\":7,\"b\":-3.5}\ndone tool_use 0/0\n");
}

static void results_are_found_by_place_and_by_name(void **state)
{
	struct player p;

	player_init(&p, SCRIPT("{\"when\":[{\"stream\":[{\"text\":\"{{result 1}} {{result of b}} "
			       "{{result}} {{result of c.x.0}}\"}]}]}"));
	player_say(&p, "tool",
		"[{\"type\":\"tool-result\",\"toolCallId\":\"1\",\"toolName\":\"a\",\"output\":{"
		"\"type\":\"text\",\"value\":\"A\"}},"
		"{\"type\":\"tool-result\",\"toolCallId\":\"2\",\"toolName\":\"b\",\"output\":{"
		"\"type\":\"json\",\"value\":\"B\"}}]");
	player_say(&p, "tool",
		"[{\"type\":\"tool-result\",\"toolCallId\":\"3\",\"toolName\":\"c\",\"output\":{"
		"\"type\":\"json\",\"value\":{\"x\":[1]}}}]");
	assert_non_null(strstr(player_run(&p), "text-0 \"A B {\"x\":[1]} 1\""));
	player_fini(&p);
}

static void repeat_counts_from_one(void **state)
{
	run_once(SCRIPT("{\"when\":[{\"stream\":[{\"text\":\"tick-{{i}}\",\"repeat\":\"{{number|20}"
			"}\",\"between\":\" \",\"each\":\"word\"}]}]}"),
		"\"do 2\"",
		"start\ntext+0\ntext.0 \"tick-1 \"\ntext.0 \"tick-2\"\ntext-0 \"tick-1 "
		"tick-2\"\ndone stop 0/0\n");
}

#define LOAD \
	SCRIPT("{\"when\":[{\"stream\":[{\"load\":{\"n\":\"{{n|1}}\",\"rate\":\"{{rate|0}}\"," \
	       "\"hold\":\"{{hold|0}}\",\"kind\":\"{{kind|text}}\"}}]}]}")

static void load_emits_stamped_deltas(void **state)
{
	brd_clock_freeze(1700000000123);
	run_once(LOAD, "\"n=2\"",
		"start\ntext+0\ntext.0 \"0000000 000000123000\"\ntext.0 \"0000001 000000123000\"\n"
		"text-0 \"0000000 0000001230000000001 000000123000\"\ndone stop 0/0\n");
	brd_clock_thaw();
}

static void load_keeps_its_rate(void **state)
{
	struct player p;

	brd_clock_freeze(1700000000000);
	player_init(&p, LOAD);
	player_say(&p, "user", "\"n=11 rate=50 hold=400\"");
	player_run(&p);
	assert_int_equal(p.turned_ms, 400 + 200);
	player_fini(&p);
	brd_clock_thaw();
}

static void load_of_tool_input_makes_no_call(void **state)
{
	brd_clock_freeze(1700000000123);
	run_once(LOAD, "\"n=1 kind=tool\"",
		"start\ncall+0 call-0 log\ncall.0 \"0000000 000000123000\"\ndone stop 0/0\n");
	brd_clock_thaw();
}

static void a_large_load_gives_way_each_turn(void **state)
{
	struct player p;

	player_init(&p, LOAD);
	player_say(&p, "user", "\"n=2000\"");
	player_begin(&p);
	while (!p.ended) {
		size_t before = p.events;

		brd_loop_turn(p.loop, 10);
		assert_true(p.events - before <= 2 * 256 + 4);
	}
	assert_int_equal(p.events, 2000 + 4);
	player_fini(&p);
}

static void a_paused_call_says_nothing(void **state)
{
	struct player p;

	player_init(&p, LOAD);
	player_say(&p, "user", "\"n=1000\"");
	player_begin(&p);
	brd_model_pause(p.model, &p.call, true);
	for (int i = 0; i < 5; i++)
		brd_loop_turn(p.loop, 1);
	assert_int_equal(p.events, 0);
	brd_model_pause(p.model, &p.call, false);
	player_wait(&p);
	assert_int_equal(p.events, 1004);
	player_fini(&p);
}

static void a_cancel_ends_a_delay(void **state)
{
	struct player p;

	brd_clock_freeze(1000);
	player_init(
		&p, CALLS("{\"stream\":[{\"text\":\"a\"},{\"delay_ms\":60000},{\"text\":\"b\"}]}"));
	player_say(&p, "user", "\"x\"");
	player_begin(&p);
	for (int i = 0; i < 3; i++)
		brd_loop_turn(p.loop, 0);
	bread_op_cancel(&p.call.op);
	player_wait(&p);
	assert_string_equal(
		p.log.data, "start\ntext+0\ntext.0 \"a\"\nerror aborted: the call was aborted\n");
	assert_int_equal(p.call.op.code, BREAD_E_CANCELED);
	assert_int_equal(p.turned_ms, 0);
	player_fini(&p);
	brd_clock_thaw();
}

static void a_cancel_at_any_event_ends_in_aborted(void **state)
{
	for (size_t at = 1; at <= 9; at++) {
		struct player p;

		player_init(&p, CALLS("{\"stream\":[{\"text\":\"a\"},{\"reasoning\":\"r\"},{\"tool_"
				      "input\":{\"id\":\"c\",\"name\":\"n\",\"args\":{}}}]}"));
		player_say(&p, "user", "\"x\"");
		p.cancel_after = at;
		player_run(&p);
		assert_non_null(strstr(p.log.data, "error aborted"));
		assert_true(p.events == at + 1);
		player_fini(&p);
	}
}

static void faults_in_a_script_are_found_at_start(void **state)
{
	static const char *const bad[] = {
		SCRIPT("{\"call\":[]}"),
		CALLS("{\"stream\":[{\"txt\":\"a\"}]}"),
		CALLS("{\"stream\":[{\"tool_call\":{\"id\":\"c\"}}]}"),
		SCRIPT("{\"when\":[{\"match\":{\"regexp\":\"a\"}}]}"),
		SCRIPT("{\"when\":[{\"match\":{\"regex\":\"(\"}}]}"),
		CALLS("{\"stream\":[{\"each\":\"sentence\"}]}"),
		"{\"type\":\"scripted\",\"file\":\"/nowhere/at/all.yaml\"}",
		"{\"type\":\"scriptd\"}",
		"{\"type\":\"scripted\",\"modles\":{}}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct arena a = { 0 };
		struct jval v;
		struct bread_err err = { 0 };
		struct bread_model *m;

		assert_int_equal(brd_json_parse(&a, brd_str(bad[i]), 0, &v, NULL), 0);
		assert_int_not_equal(brd_model_open(&m, BRD_STR("p"), v, &err), 0);
		assert_true(err.text[0]);
		brd_arena_fini(&a);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_steps_in_a_row_are_one_block),
		cmocka_unit_test(reasoning_is_a_block_of_its_own),
		cmocka_unit_test(empty_text_opens_no_block),
		cmocka_unit_test(a_call_comes_whole),
		cmocka_unit_test(raw_args_may_be_broken),
		cmocka_unit_test(tool_input_streams_its_chunks),
		cmocka_unit_test(args_are_cut_in_halves),
		cmocka_unit_test(a_file_is_an_event),
		cmocka_unit_test(throw_is_an_error_alone),
		cmocka_unit_test(an_error_keeps_what_was_said),
		cmocka_unit_test(a_call_without_answer_is_an_error),
		cmocka_unit_test(an_unknown_model_is_an_error),
		cmocka_unit_test(a_structured_answer_is_text),
		cmocka_unit_test(calls_are_counted_per_model),
		cmocka_unit_test(each_word_streams_the_input),
		cmocka_unit_test(delays_pass_before_each_piece),
		cmocka_unit_test(rules_look_at_the_last_message),
		cmocka_unit_test(values_are_taken_from_the_input),
		cmocka_unit_test(results_are_found_by_place_and_by_name),
		cmocka_unit_test(repeat_counts_from_one),
		cmocka_unit_test(load_emits_stamped_deltas),
		cmocka_unit_test(load_keeps_its_rate),
		cmocka_unit_test(load_of_tool_input_makes_no_call),
		cmocka_unit_test(a_large_load_gives_way_each_turn),
		cmocka_unit_test(a_paused_call_says_nothing),
		cmocka_unit_test(a_cancel_ends_a_delay),
		cmocka_unit_test(a_cancel_at_any_event_ends_in_aborted),
		cmocka_unit_test(faults_in_a_script_are_found_at_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
