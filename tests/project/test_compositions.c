/* SPDX-License-Identifier: MIT */
/* Tasks, pipelines and skills of a project, and what its files say wrongly of each other:
 * each fault with its place, in a check and when it is loaded. */
#include <stdio.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/log.h"
#include "bread/project.h"
#include "folder.h"
#include "instance/internal.h"
#include "project/check.h"
#include "test.h"

#define TASK AGENT "instructions: do it\noutputSchema: {}\n"

static struct bread *new_instance(void)
{
	struct bread *b;

	assert_int_equal(bread_new(&b, NULL), 0);
	return b;
}

static struct bread *loaded(void)
{
	struct bread *b = new_instance();
	struct bread_err err = { 0 };

	if (bread_load(b, folder, &err))
		fail_msg("%s: %s", err.where, err.text);
	return b;
}

static void add(const struct bread_err *err, void *arg)
{
	brd_buf_addf(arg, "%s: %s\n", err->where, err->text);
}

/* Is the fault among those of a check, and does loading refuse the whole with that name? */
static void refused(const char *says, const char *name)
{
	struct bread *b = new_instance();
	struct bread_err err = { 0 };
	struct project_checker c = { .on_fault = add };
	struct buf all;
	char whole[512];

	brd_buf_init(&all, BUF_NO_LIMIT);
	c.arg = &all;
	snprintf(whole, sizeof(whole), "%s/%s", folder, says);
	assert_false(brd_project_check(&c, folder));
	if (!strstr(all.data, whole))
		fail_msg("no \"%s\" in:\n%s", whole, all.data);
	assert_int_not_equal(bread_load(b, folder, &err), 0);
	assert_string_equal(err.name, name);
	assert_true(strlen(err.text) > 10);
	brd_buf_fini(&all);
	bread_free(b);
}

static void an_agent_has_the_tasks_that_it_names(void **state)
{
	struct bread *b;
	struct agent_def *d;

	folder_put("tasks/extract.yaml", TASK "description: Extracts\n");
	folder_put("agents/a/agent.yaml", AGENT "tasks: [extract]\n");
	b = loaded();
	d = brd_registry_agent(b, BRD_STR("a"));
	assert_string_equal(d->tools[1].leaf, "task_extract");
	assert_string_equal(d->tools[1].task->instructions, "do it");
	assert_non_null(strstr(d->tools[1].task->dir, "/tasks"));
	assert_true(brd_str_find(d->json, BRD_STR("do it")) > 0);
	brd_agent_def_unref(d);
	bread_free(b);
}

static void an_unknown_task_is_refused(void **state)
{
	folder_put("agents/a/agent.yaml", AGENT "tasks:\n  - ghost\n");
	refused("agents/a/agent.yaml:3:5: tasks.0 names a task \"ghost\"", "TASK_NOT_FOUND");
}

static void a_wrong_task_is_refused(void **state)
{
	folder_put("tasks/t.yaml", AGENT "instructions: x\noutputSchema: {}\nshema: {}\n");
	refused("tasks/t.yaml:4:1: shema is not known; did you mean schema?", "");
	folder_put("tasks/t.yaml", TASK "schema: {type: 7}\n");
	refused("tasks/t.yaml:4:9: schema is no JSON Schema", "");
	folder_put("tasks/t.yaml", TASK "name: other\n");
	refused("tasks/t.yaml:4:7: name is not the file's", "");
	folder_put("tasks/t.yaml", TASK);
	folder_put("tasks/T.yaml", TASK);
	refused("tasks/T.yaml: task name \"T\" must match", "INVALID_NAME");
}

static void pipelines_come_from_files_and_from_the_configuration(void **state)
{
	struct bread *b;
	struct pipeline_def *one, *two;

	folder_put("pipelines/one.yaml", "- {type: agent, agentId: a}\n");
	folder_put("bread.yaml", "store: memory\ntransport: stream\n"
				 "providers: {scripted: {file: models.yaml}}\n"
				 "pipelines: {two: [{type: map, agentId: b}]}\n");
	b = loaded();
	one = brd_registry_pipeline(b, BRD_STR("one"));
	two = brd_registry_pipeline(b, BRD_STR("two"));
	assert_string_equal(one->steps.steps[0].agent_id, "a");
	assert_int_equal(two->steps.steps[0].kind, STEP_MAP);
	brd_pipeline_def_unref(one);
	brd_pipeline_def_unref(two);
	assert_null(brd_registry_pipeline(b, BRD_STR("three")));
	unlink(folder_at("pipelines/one.yaml"));
	assert_int_equal(bread_load(b, folder, NULL), 0);
	assert_null(brd_registry_pipeline(b, BRD_STR("one")));
	bread_free(b);
}

static void a_wrong_pipeline_is_refused(void **state)
{
	folder_put("pipelines/p.yaml", "- type: agnet\n  agentId: a\n");
	refused("pipelines/p.yaml:1:9: 0 is a step of no known type", "");
	folder_put("pipelines/p.yaml", "- type: agent\n  agentId: ghost\n");
	refused("pipelines/p.yaml:2:12: names an agent \"ghost\" that is not there",
		"AGENT_NOT_FOUND");
	folder_put("pipelines/p.yaml", "- type: branch\n  cases: []\n");
	refused("pipelines/p.yaml:1:3: 0 has no `default:`", "PIPELINE_BRANCH_DEFAULT");
	folder_put("pipelines/p.yaml",
		"- type: branch\n  on: a.\n  cases:\n    - eq: x\n      steps:\n"
		"        - {type: agent, agentId: ghost}\n  default: []\n");
	refused("pipelines/p.yaml:2:7: 0 has an `on` that is no path", "");
	refused("pipelines/p.yaml:6:34: names an agent \"ghost\"", "");
}

static void a_wrong_pipeline_of_the_configuration_has_its_place_there(void **state)
{
	folder_put("bread.yaml",
		"store: memory\ntransport: stream\n"
		"providers: {scripted: {file: models.yaml}}\n"
		"pipelines:\n  p:\n    - type: parallel\n      steps:\n"
		"        - type: map\n          agentId: a\n          concurency: 2\n");
	refused("bread.yaml:10:11: pipelines.p.0.steps.0.concurency is not known", "");
}

static void a_bad_question_is_refused(void **state)
{
	folder_put("pipelines/p.yaml",
		"- type: decision\n  provider: h\n  model: m\n  question:\n    type: choice\n"
		"    text: Which?\n    options: [x]\n");
	refused("pipelines/p.yaml:5:5: 0.question needs `otherwise`", "");
}

static void a_decision_host_that_is_not_there_is_found_by_a_check(void **state)
{
	struct project_checker c = { .on_fault = add };
	struct bread *b;
	struct buf all;

	folder_put("pipelines/p.yaml",
		"- type: decision\n  provider: h\n  model: m\n  question:\n    type: noul\n"
		"    text: Is it?\n    buckets: [{label: l, min: 0, max: 1}]\n");
	brd_buf_init(&all, BUF_NO_LIMIT);
	c.arg = &all;
	assert_false(brd_project_check(&c, folder));
	assert_non_null(strstr(all.data, "pipelines/p.yaml:2:13: asks a decision host \"h\""));
	brd_buf_fini(&all);
	b = loaded();
	bread_free(b);
}

static void a_roster_and_a_pool_name_agents_that_are_there(void **state)
{
	folder_put("agents/a/agent.yaml",
		AGENT "supervisor:\n  agents:\n    - agentId: b\n    - agentId: ghost\n");
	refused("agents/a/agent.yaml:5:16: supervisor.agents.1.agentId names an agent \"ghost\"",
		"AGENT_NOT_FOUND");
	folder_put("agents/a/agent.yaml", AGENT "loop: {pool: [b, ghost]}\n");
	refused("agents/a/agent.yaml:2:18: loop.pool.1 names an agent \"ghost\"",
		"AGENT_NOT_FOUND");
}

static void a_bad_selector_is_refused(void **state)
{
	folder_put("agents/a/agent.yaml", AGENT "permissions:\n  deny: ['tool:*', 'human:x']\n");
	refused("agents/a/agent.yaml:3:20: permissions.deny.1 is wrong: invalid permission "
		"selector \"human:x\"",
		"INVALID_PERMISSION");
}

#define ROSTER(id) "supervisor: {agents: [{agentId: " id "}]}\n"

static void a_circle_of_delegation_is_refused(void **state)
{
	folder_put("agents/a/agent.yaml", AGENT ROSTER("b"));
	folder_put("agents/b/agent.yaml", AGENT "loop: {pool: [c]}\n");
	folder_put("agents/c/agent.yaml", AGENT ROSTER("a"));
	refused("agents/c/agent.yaml:2:33: supervisor.agents.0.agentId closes a circle: a -> b -> "
		"c -> a; ",
		"DELEGATION_CYCLE");
	folder_put("agents/c/agent.yaml", AGENT ROSTER("c"));
	refused("agents/c/agent.yaml:2:33: supervisor.agents.0.agentId closes a circle: c -> c; ",
		"DELEGATION_CYCLE");
}

static void a_circle_is_allowed_through_one_that_may_be_entered_again(void **state)
{
	folder_put("agents/a/agent.yaml",
		AGENT "supervisor: {reenter: true, agents: [{agentId: b}]}\n");
	folder_put("agents/b/agent.yaml", AGENT ROSTER("a"));
	bread_free(loaded());
}

static void a_skill_has_its_texts_and_its_scripts(void **state)
{
	struct bread *b;
	struct agent_def *d, *with;

	folder_put("agents/a/skills/find/SKILL.md", "---\nname: Find\n---\nLook.\n");
	folder_put("agents/a/skills/find/references/tips.txt", "Think.");
	folder_put("agents/a/skills/find/scripts/run.yaml",
		"description: runs\ncommand: [sh, -c, 'echo 1']\n");
	b = loaded();
	d = brd_registry_agent(b, BRD_STR("a"));
	assert_int_equal(d->skill_count, 1);
	assert_string_equal(d->skills[0].name, "Find");
	assert_str(d->skills[0].body, "Look.");
	assert_string_equal(d->skills[0].references[0].name, "tips.txt");
	assert_non_null(strstr(d->skills[0].scripts[0], "/skills/find/scripts/run.yaml"));
	assert_null(brd_agent_def_tool(d, BRD_STR("skill_find_run")));
	assert_int_equal(brd_agent_def_with_skill(&with, d, BRD_STR("find"), NULL), 0);
	assert_non_null(brd_agent_def_tool(with, BRD_STR("skill_find_run")));
	brd_agent_def_unref(with);
	brd_agent_def_unref(d);
	bread_free(b);
}

static void a_folder_without_a_skill_is_told(void **state)
{
	struct project_checker c = { .on_fault = add };
	struct bread *b;
	struct buf all;

	folder_put("agents/a/skills/empty/notes.txt", "");
	brd_buf_init(&all, BUF_NO_LIMIT);
	c.arg = &all;
	assert_false(brd_project_check(&c, folder));
	assert_non_null(strstr(all.data, "skills/empty/SKILL.md: the skill has no SKILL.md"));
	brd_buf_fini(&all);
	b = loaded();
	bread_free(b);
}

static void a_name_that_can_be_no_skill_is_refused(void **state)
{
	folder_put("agents/a/skills/No-Skill/SKILL.md", "x");
	refused("agents/a/skills/No-Skill: skill name \"No-Skill\" must match", "INVALID_NAME");
}

static void the_file_of_hooks_needs_not_be_named(void **state)
{
	struct bread *b;
	struct agent_def *d;

	folder_put("agents/a/hooks.lua", "return {}");
	b = loaded();
	d = brd_registry_agent(b, BRD_STR("a"));
	assert_non_null(d->hook_set);
	brd_agent_def_unref(d);
	bread_free(b);
}

static void on_end(const struct bread_outcome *o, void *arg)
{
	*(bool *)arg = true;
}

static void keep_result(const struct bread_crumb *c, void *arg)
{
	if (!strncmp(c->type.p, "tool:result", c->type.n))
		brd_buf_add(arg, c->json);
}

static void the_configured_credentials_reach_a_tool(void **state)
{
	struct bread_run_request req = {
		.agent_id = BRD_STR("a"), .input = BRD_STR("\"x\""), .on_end = on_end
	};
	char id[BREAD_RUN_ID_MAX];
	struct bread *b;
	struct buf seen;
	bool done = false;

	folder_put("bread.yaml", "store: memory\ntransport: stream\n"
				 "providers: {scripted: {file: models.yaml}}\n"
				 "credentials: {type: file, path: secrets}\n");
	folder_put("secrets/PIN", "1234\n");
	folder_put("models.yaml",
		"models: {m: {calls: [{stream: [{tool_call: {id: c, name: tool_add, args: {}}}]}, "
		"{stream: [{text: done}]}]}}\n");
	folder_put("agents/a/tools/add.yaml",
		"credentials: [PIN]\ncommand: [sh, -c, 'echo \"{\\\"pin\\\":$PIN}\"']\n");
	b = loaded();
	brd_buf_init(&seen, BUF_NO_LIMIT);
	bread_listen(b, keep_result, &seen);
	req.arg = &done;
	assert_int_equal(bread_start(b, NULL), 0);
	assert_int_equal(bread_run(b, &req, id, NULL), 0);
	while (!done)
		bread_turn(b, -1);
	assert_non_null(strstr(seen.data, "{\"pin\":1234}"));
	brd_buf_fini(&seen);
	bread_free(b);
}

/* ---- programs ---- */

static void a_program_defines_tasks_and_pipelines(void **state)
{
	struct bread *b = new_instance();
	struct bread_err err = { 0 };
	struct agent_def *d;

#define MODEL "\"model\":{\"provider\":\"p\",\"model\":\"m\"}"
	assert_int_equal(bread_task(b, "sum", BRD_STR("{" MODEL "}"), NULL, &err), BREAD_E_INVALID);
	assert_non_null(strstr(err.text, "instructions"));
	assert_int_equal(bread_task(b, "sum",
				 BRD_STR("{" MODEL ",\"instructions\":\"add\","
					 "\"outputSchema\":{}}"),
				 NULL, &err),
		0);
	assert_int_equal(bread_agent(b, "x", BRD_STR("{" MODEL ",\"tasks\":[\"no\"]}"), NULL, &err),
		BREAD_E_NOT_FOUND);
	assert_string_equal(
		err.context, "{\"agentId\":\"x\",\"taskId\":\"no\",\"available\":[\"sum\"]}");
	assert_int_equal(
		bread_agent(b, "x", BRD_STR("{" MODEL ",\"tasks\":[\"sum\"]}"), NULL, &err), 0);
	d = brd_registry_agent(b, BRD_STR("x"));
	assert_string_equal(d->tools[0].leaf, "task_sum");
	brd_agent_def_unref(d);
	assert_int_equal(bread_task_remove(b, "sum"), 0);
	assert_int_equal(bread_task_remove(b, "sum"), BREAD_E_NOT_FOUND);
	assert_int_equal(
		bread_pipeline(b, "p", BRD_STR("[{\"type\":\"x\"}]"), &err), BREAD_E_INVALID);
	assert_int_equal(
		bread_pipeline(b, "p", BRD_STR("[{\"type\":\"agent\",\"agentId\":\"x\"}]"), &err),
		0);
	assert_int_equal(bread_pipeline_remove(b, "p"), 0);
	assert_int_equal(bread_pipeline_remove(b, "p"), BREAD_E_NOT_FOUND);
	bread_free(b);
}

static void an_instance_with_a_wrong_pipeline_does_not_start(void **state)
{
	struct bread *b = new_instance();
	struct bread_err err = { 0 };

	assert_int_equal(bread_configure(b,
				 BRD_STR("{\"store\":\"memory\",\"transport\":"
					 "\"stream\",\"pipelines\":{\"p\":[{\"type\":"
					 "\"branch\",\"cases\":[]}]}}"),
				 &err),
		0);
	assert_int_not_equal(bread_start(b, &err), 0);
	assert_string_equal(err.name, "PIPELINE_BRANCH_DEFAULT");
	assert_non_null(strstr(err.text, "pipeline \"p\""));
	bread_free(b);
}

static void ignore(const struct log_record *r, void *arg)
{
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_set_up, folder_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_agent_has_the_tasks_that_it_names),
		TEST(an_unknown_task_is_refused),
		TEST(a_wrong_task_is_refused),
		TEST(pipelines_come_from_files_and_from_the_configuration),
		TEST(a_wrong_pipeline_is_refused),
		TEST(a_wrong_pipeline_of_the_configuration_has_its_place_there),
		TEST(a_bad_question_is_refused),
		TEST(a_decision_host_that_is_not_there_is_found_by_a_check),
		TEST(a_roster_and_a_pool_name_agents_that_are_there),
		TEST(a_bad_selector_is_refused),
		TEST(a_circle_of_delegation_is_refused),
		TEST(a_circle_is_allowed_through_one_that_may_be_entered_again),
		TEST(a_skill_has_its_texts_and_its_scripts),
		TEST(a_folder_without_a_skill_is_told),
		TEST(a_name_that_can_be_no_skill_is_refused),
		TEST(the_file_of_hooks_needs_not_be_named),
		TEST(the_configured_credentials_reach_a_tool),
		cmocka_unit_test(a_program_defines_tasks_and_pipelines),
		cmocka_unit_test(an_instance_with_a_wrong_pipeline_does_not_start),
	};

	brd_log_sink(ignore, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
