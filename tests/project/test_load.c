/* SPDX-License-Identifier: MIT */
/* Loading a folder, at start and again. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/log.h"
#include "bread/project.h"
#include "folder.h"
#include "project/check.h"
#include "test.h"

static void add_id(const struct bread_agent_info *a, void *arg)
{
	strncat(arg, a->id.p, a->id.n);
}

static const char *agents(struct bread *b)
{
	static char ids[64];

	ids[0] = 0;
	bread_agents(b, add_id, ids);
	return ids;
}

static struct bread *new_instance(void)
{
	struct bread *b;

	assert_int_equal(bread_new(&b, NULL), 0);
	return b;
}

static void on_end(const struct bread_outcome *o, void *arg)
{
	assert_str(o->output, "\"hello\"");
	*(bool *)arg = true;
}

static void relative_paths_start_at_the_project(void **state)
{
	struct bread *b = new_instance();
	struct bread_err err = { 0 };
	char id[BREAD_RUN_ID_MAX];
	bool done = false;
	struct bread_run_request req = {
		.agent_id = BRD_STR("a"), .input = BRD_STR("\"x\""), .on_end = on_end, .arg = &done
	};

	assert_int_equal(bread_load(b, folder, &err), 0);
	assert_string_equal(agents(b), "ab");
	assert_int_equal(bread_start(b, &err), 0);
	assert_int_equal(bread_run(b, &req, id, &err), 0);
	while (!done)
		bread_turn(b, -1);
	bread_free(b);
	assert_int_equal(access(folder_at("x.db"), F_OK), 0);
}

static void a_broken_agent_is_left_out(void **state)
{
	struct bread *b = new_instance();

	folder_put("agents/b/agent.yaml", "modle: x\n");
	assert_int_equal(bread_load(b, folder, NULL), 0);
	assert_string_equal(agents(b), "a");
	bread_free(b);
}

static void no_project_is_not_found(void **state)
{
	struct bread *b = new_instance();
	struct bread_err err = { 0 };

	unlink(folder_at("bread.yaml"));
	assert_int_equal(bread_load(b, folder, &err), BREAD_E_NOT_FOUND);
	assert_non_null(strstr(err.text, "bread init"));
	bread_free(b);
}

static void a_bad_name_is_an_error_of_the_whole(void **state)
{
	struct bread *b = new_instance();
	struct bread_err err = { 0 };

	folder_put("agents/a/tools/Add.yaml", "command: [sh]\n");
	assert_int_equal(bread_load(b, folder, &err), BREAD_E_INVALID);
	assert_string_equal(err.name, "INVALID_NAME");
	bread_free(b);
}

static void count(const struct bread_err *err, void *arg)
{
	assert_true(err->where[0]);
	++*(unsigned *)arg;
}

/* Loads into a running instance once more; how many faults were told. */
static unsigned again(struct bread *b)
{
	struct project p;
	struct bread_err err = { 0 };
	unsigned faults = 0;

	assert_int_equal(brd_project_open(&p, folder, &err), 0);
	assert_int_equal(brd_project_agents(&p, b, count, &faults, &err), 0);
	assert_int_equal(p.faults, faults);
	brd_project_close(&p);
	return faults;
}

static void reloading_takes_up_what_changed_and_keeps_what_is_broken(void **state)
{
	struct bread *b = new_instance();

	assert_int_equal(again(b), 0);
	assert_string_equal(agents(b), "ab");
	folder_put("agents/a/agent.yaml", "bogus: 1\n");
	folder_put("agents/c/agent.yaml", AGENT);
	assert_int_equal(again(b), 1);
	assert_string_equal(agents(b), "abc");
	unlink(folder_at("agents/c/agent.yaml"));
	rmdir(folder_at("agents/c"));
	folder_put("bread.yaml", "entrypoints: [b]\n");
	assert_int_equal(again(b), 0);
	assert_string_equal(agents(b), "b");
	bread_free(b);
}

static void a_broken_tool_leaves_a_running_agent_as_it_was(void **state)
{
	struct bread *b = new_instance();

	assert_int_equal(again(b), 0);
	folder_put("agents/a/agent.yaml", AGENT "output: {format: markdown}\n");
	folder_put("agents/a/tools/add.yaml", "command: {\n");
	assert_int_equal(again(b), 1);
	assert_string_equal(agents(b), "ab");
	bread_free(b);
}

/* ---- check ---- */

static void see(const struct project_seen *s, void *arg)
{
	if (!strcmp(s->id, "a")) {
		assert_str(s->provider, "scripted");
		assert_false(s->input_schema);
	}
}

static unsigned check(void)
{
	unsigned faults = 0;
	struct project_checker c = { .on_fault = count, .on_agent = see, .arg = &faults };

	bool good = brd_project_check(&c, folder);

	assert_int_equal(good, faults == 0);
	assert_int_equal(c.faults, faults);
	return faults;
}

static void a_check_counts_every_fault(void **state)
{
	assert_int_equal(check(), 0);
	folder_put("agents/a/agent.yaml",
		"model: {provider: scripted, model: m}\nx: 1\ny: 2\nsteps: 5\n");
	assert_int_equal(check(), 3);
	folder_put("agents/b/agent.yaml", "model: {provider: none, model: m}\n");
	assert_int_equal(check(), 4);
	folder_put("models.yaml", "models: {m: {wehn: []}}\n");
	assert_int_equal(check(), 5);
	folder_put("bread.yaml", "[");
	assert_int_equal(check(), 1);
}

struct first {
	char where[128], text[512];
};

static void take_first(const struct bread_err *err, void *arg)
{
	struct first *f = arg;

	if (!f->where[0]) {
		snprintf(f->where, sizeof(f->where), "%s", err->where);
		snprintf(f->text, sizeof(f->text), "%s", err->text);
	}
}

/* The first fault stands there, and says that. */
static void faulty(const char *rel, const char *text, const char *where, const char *want)
{
	struct first f = { 0 };
	struct project_checker c = { .on_fault = take_first, .arg = &f };

	folder_put(rel, text);
	assert_false(brd_project_check(&c, folder));
	if (!brd_str_ends(brd_str(f.where), brd_str(where)) || !strstr(f.text, want))
		fail_msg("%s: %s", f.where, f.text);
}

static void what_a_definition_is_blamed_for_has_a_place(void **state)
{
	const char *file = "agents/b/agent.yaml";

	faulty(file, AGENT "supervisor:\n  agents:\n    - { agentId: a, visibility: some }\n",
		"agents/b/agent.yaml:4:33", "supervisor.agents.0.visibility");
	faulty(file, AGENT "supervisor:\n  agents: [a]\n", "agents/b/agent.yaml:3:12",
		"supervisor.agents.0");
	faulty(file, AGENT "supervisor: {agents: [{agentId: a}, {agentId: a}]}\n",
		"agents/b/agent.yaml:2:37", "twice");
	faulty(file, AGENT "humanTools:\n  - name: ask\n    anwser: {}\n",
		"agents/b/agent.yaml:4:5", "did you mean humanTools.0.answer?");
	faulty(file, AGENT "humanTools:\n  - name: ask\n    default: 1\n",
		"agents/b/agent.yaml:3:5", "deadline");
	faulty(file, AGENT "hooks: {lua: none.lua}\n", "agents/b/agent.yaml:2:8", "none.lua");
	faulty(file, AGENT "tools: [{name: t, lua: none.lua}]\n", "agents/b/agent.yaml:2:9",
		"none.lua");
	folder_put(file, AGENT);
	faulty("agents/b/hooks.lua", "return { beforeRuns = 1 }\n", "agents/b/hooks.lua",
		"beforeRuns");
	folder_put("agents/b/hooks.lua", "return {}\n");
	faulty("agents/b/tools/t.yaml", "lua: none.lua\n", "agents/b/tools/t.yaml", "none.lua");
}

#define MAIN_TO(store, rest) \
	store "transport: stream\nproviders: {scripted: {file: models.yaml}}\n" rest
#define MAIN(rest) MAIN_TO("store: sqlite\n", rest)

static void what_a_start_would_refuse_has_a_place(void **state)
{
	const char *file = "bread.yaml";

	faulty(file, MAIN_TO("store: sqlit\n", ""), "bread.yaml:1:8", "no store \"sqlit\"");
	faulty(file, MAIN_TO("store: {type: sqlite, pth: x}\n", ""), "bread.yaml:1:8", "pth");
	faulty(file, MAIN_TO("store: {type: memory, pth: x}\n", ""), "bread.yaml:1:8", "options");
	faulty(file, "store: memory\ntransport: streams\nproviders: {scripted: {}}\n",
		"bread.yaml:2:12", "streams");
	faulty(file, MAIN("ingress: [http-see]\n"), "bread.yaml:4:10", "http-see");
	faulty(file, MAIN("decisions: {d: {type: scriptd}}\n"), "bread.yaml:4:16", "scriptd");
	faulty(file, MAIN("blobStore: s3\n"), "bread.yaml:4:12", "s3");
	faulty(file, MAIN("credentials: files\n"), "bread.yaml:4:14", "env, file or vault");
	faulty(file, MAIN("crumbFilter: {drp: []}\n"), "bread.yaml:4:14", "drp");
	faulty(file, MAIN("log: {level: loud}\n"), "bread.yaml:4:14", "log.level");
	faulty(file, MAIN("log: {levl: info}\n"), "bread.yaml:4:7", "levl");
	faulty(file, "store: memory\ntransport: stream\nproviders:\n  scripted: {fil: x}\n",
		"bread.yaml:4:13", "fil");
	faulty(file, "store: memory\ntransport: stream\nproviders:\n  openai: {baseurl: x}\n",
		"bread.yaml:4:11", "did you mean \"baseUrl\"?");
}

static void a_missing_key_of_a_provider_is_no_fault(void **state)
{
	unsetenv("ANTHROPIC_API_KEY");
	folder_put("bread.yaml", MAIN_TO("store: memory\n", "  \n"));
	assert_int_equal(check(), 0);
	folder_put("bread.yaml", "store: memory\ntransport: stream\n"
				 "providers: {scripted: {file: models.yaml}, anthropic: {}}\n");
	assert_int_equal(check(), 0);
}

static void tasks_and_steps_are_checked_against_the_rest(void **state)
{
	folder_put("pipelines/p.yaml", "- { type: agent, agentId: a }\n");
	assert_int_equal(check(), 0);
	faulty("pipelines/p.yaml", "- { type: agent, agentId: a, skill: none }\n",
		"pipelines/p.yaml:1:37", "agents/a/skills/none");
	folder_put("agents/a/skills/none/SKILL.md", "x\n");
	assert_int_equal(check(), 0);
	faulty("tasks/t.yaml",
		"model: { provider: nobody, model: m }\ninstructions: x\noutputSchema: {}\n",
		"tasks/t.yaml:1:20", "nobody");
}

static void a_check_writes_nothing(void **state)
{
	folder_put("bread.yaml",
		"store: {type: sqlite, path: x.db}\ntransport: stream\n"
		"providers: {scripted: {file: models.yaml, record: calls.jsonl}}\n");
	assert_int_equal(check(), 0);
	assert_int_not_equal(access(folder_at("x.db"), F_OK), 0);
	assert_int_not_equal(access(folder_at("calls.jsonl"), F_OK), 0);
}

static void ignore(const struct log_record *r, void *arg)
{
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_set_up, folder_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(relative_paths_start_at_the_project),
		TEST(a_broken_agent_is_left_out),
		TEST(no_project_is_not_found),
		TEST(a_bad_name_is_an_error_of_the_whole),
		TEST(reloading_takes_up_what_changed_and_keeps_what_is_broken),
		TEST(a_broken_tool_leaves_a_running_agent_as_it_was),
		TEST(a_check_counts_every_fault),
		TEST(what_a_definition_is_blamed_for_has_a_place),
		TEST(what_a_start_would_refuse_has_a_place),
		TEST(a_missing_key_of_a_provider_is_no_fault),
		TEST(tasks_and_steps_are_checked_against_the_rest),
		TEST(a_check_writes_nothing),
	};

	brd_log_sink(ignore, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
