/* SPDX-License-Identifier: MIT */
/* The scripts that other suites use (scripts/): they load, and say what is expected. */
#include "player.h"

#ifndef SCRIPTS
#define SCRIPTS "tests/model/scripts"
#endif

static void load(struct player *p, const char *file, const char *model)
{
	char options[512];

	snprintf(options, sizeof(options),
		"{\"type\":\"scripted\",\"dir\":\"" SCRIPTS "\",\"file\":\"%s\"}", file);
	brd_clock_freeze(1700000000000);
	player_init(p, options);
	p->req.model = brd_str(model);
}

static void unload(struct player *p)
{
	player_fini(p);
	brd_clock_thaw();
}

static void says(struct player *p, const char *part)
{
	if (!strstr(player_run(p), part))
		fail_msg("%s is not in\n%s", part, p->log.data);
}

static void answer(struct player *p, const char *tool, const char *output)
{
	char json[512];

	snprintf(json, sizeof(json),
		"[{\"type\":\"tool-result\",\"toolCallId\":\"c\",\"toolName\":\"%s\",\"output\":%s}"
		"]",
		tool, output);
	player_say(p, "tool", json);
}

static void text_agents_of_the_agent_server(void **state)
{
	static const struct {
		const char *model, *said, *part;
	} cases[] = {
		{ "echo", "\"hi there\"", "text.0 \"Echo: \"\ntext.0 \"hi \"\ntext.0 \"there\"\n" },
		{ "slow", "\"go 2\"", "text-0 \"tick-1 tick-2\"" },
		{ "slow", "\"go\"", "tick-19 tick-20\"" },
		{ "thinker", "\"x\"", "think-0 \"Two plus two makes four.\"" },
		{ "weather", "\"How is it in Oslo?\"", "call-1 {\"city\":\"Oslo\"}" },
		{ "weather", "\"Atlantis\"", "call-1 {\"city\":\"Atlantis\"}" },
		{ "approval", "\"rm\"", "call+1 call_1 run_action\n" },
		{ "two_approvals", "\"a car\"", "call-2 {\"question\":\"May we buy a car?\"}" },
		{ "team", "\"eels\"",
			"call-1 {\"subagent_type\":\"researcher\",\"description\":\"eels in "
			"rivers\"}" },
		{ "desk", "\"go\"", "call-1 {\"question\":\"May I go?\"}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct player p;

		load(&p, "agent-server.yaml", cases[i].model);
		player_say(&p, "user", cases[i].said);
		says(&p, cases[i].part);
		unload(&p);
	}
}

static void tool_turns_of_the_agent_server(void **state)
{
	static const struct {
		const char *model, *output, *part;
	} cases[] = {
		{ "weather",
			"{\"type\":\"json\",\"value\":{\"city\":\"Oslo\",\"temp_c\":18,\"sky\":"
			"\"sunny\"}}",
			"\"It is 18C and sunny.\"" },
		{ "weather", "{\"type\":\"error-text\",\"value\":\"no such city\"}",
			"\"The lookup failed.\"" },
		{ "faulty", "{\"type\":\"text\",\"value\":\"noted\"}",
			"error server: deliberate failure of the model" },
		{ "approval", "{\"type\":\"json\",\"value\":{\"denied\":true}}",
			"\"Rejected, nothing done.\"" },
		{ "approval", "{\"type\":\"text\",\"value\":\"done: A\"}",
			"\"Approved and done.\"" },
		{ "desk", "{\"type\":\"json\",\"value\":\"yes\"}", "\"The desk says yes.\"" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct player p;

		load(&p, "agent-server.yaml", cases[i].model);
		player_say(&p, "user", "\"x\"");
		answer(&p, "t", cases[i].output);
		says(&p, cases[i].part);
		unload(&p);
	}
}

static void agents_of_the_clients(void **state)
{
	struct player p;

	load(&p, "clients.yaml", "calc");
	player_say(&p, "user", "\"add 2 and 40\"");
	says(&p, "call-0 {\"a\":2,\"b\":40}");
	answer(&p, "tool_add", "{\"type\":\"json\",\"value\":42}");
	says(&p, "text-0 \"The sum is 42.\"");
	unload(&p);
	load(&p, "clients.yaml", "publisher");
	player_say(&p, "user", "\"My title\"");
	says(&p, "call-0 {\"title\":\"My title\"}");
	answer(&p, "human_approve_publish",
		"{\"type\":\"json\",\"value\":{\"approved\":true,\"note\":\"n\"}}");
	says(&p, "text-0 \"published My title\"");
	p.req.message_count--;
	answer(&p, "human_approve_publish", "{\"type\":\"json\",\"value\":{\"approved\":false}}");
	says(&p, "text-0 \"rejected\"");
	unload(&p);
}

static void agents_of_the_load_generator(void **state)
{
	struct player p;

	load(&p, "loadgen.yaml", "echo");
	player_say(&p, "user", "\"n=3 rate=100 hold=50\"");
	says(&p, "text.0 \"0000002 ");
	assert_int_equal(p.turned_ms, 50 + 20);
	p.req.message_count = 0;
	player_say(&p, "user", "\"please approve\"");
	says(&p, "call-0 {\"what\":\"it\"}");
	answer(&p, "human_approve", "{\"type\":\"json\",\"value\":true}");
	says(&p, "text-0 \"done\"");
	unload(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_agents_of_the_agent_server),
		cmocka_unit_test(tool_turns_of_the_agent_server),
		cmocka_unit_test(agents_of_the_clients),
		cmocka_unit_test(agents_of_the_load_generator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
