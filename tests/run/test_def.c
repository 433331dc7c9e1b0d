/* SPDX-License-Identifier: MIT */
/* Definitions of agents: which tools they have, in which order, what the prompt says,
 * and what is refused. */
#include <stdio.h>
#include "run/skill.h"
#include "run/task.h"
#include "test.h"

#define MODEL "\"model\":{\"provider\":\"p\",\"model\":\"m\"}"
#define TASK(name) \
	"{\"name\":\"" name "\"," MODEL ",\"instructions\":\"do\",\"outputSchema\":{}," \
	"\"schema\":{\"type\":\"object\"}}"

static struct agent_def *parsed(const char *members)
{
	struct agent_def *d = NULL;
	struct bread_err err = { 0 };
	char json[8192];

	snprintf(json, sizeof(json), "{" MODEL "%s%s}", *members ? "," : "", members);
	if (brd_agent_def_new(&d, "a", brd_str(json), NULL, &err))
		fail_msg("%s", err.text);
	return d;
}

static struct bread_err refused(const char *members)
{
	struct agent_def *d = NULL;
	struct bread_err err = { 0 };
	char json[4096];

	snprintf(json, sizeof(json), "{" MODEL ",%s}", members);
	if (!brd_agent_def_new(&d, "a", brd_str(json), NULL, &err))
		fail_msg("%s was taken", json);
	return err;
}

static const char *leaves(const struct agent_def *d)
{
	static char all[1024];

	all[0] = '\0';
	for (size_t i = 0; i < d->tool_count; i++) {
		strcat(all, i ? " " : "");
		strcat(all, d->tools[i].leaf);
		strcat(all, d->tools[i].gated ? "!" : "");
	}
	return all;
}

#define TOOLS "\"tools\":[{\"name\":\"add\",\"command\":[\"true\"]}]"
#define ALL \
	TOOLS ",\"humanTools\":[{\"name\":\"ask\"}],\"tasks\":[" TASK( \
		"sum") "]," \
		       "\"supervisor\":{\"agents\":[{\"agentId\":\"b\"}]},\"loop\":{\"pool\":[" \
		       "\"b\"]}," \
		       "\"skills\":[{\"id\":\"s\",\"text\":\"x\",\"tools\":[{\"name\":\"run\"," \
		       "\"command\":[\"true\"]}]}],\"knowledge\":{},\"documents\":{}"

static void answer(struct bread_tool_call *call, void *arg)
{
	bread_tool_return(call, BRD_STR("1"));
}

static void tools_stand_in_the_order_in_which_they_are_offered(void **state)
{
	struct agent_def *d = parsed(ALL), *loaded, *more;
	struct bread_err err = { 0 };

	assert_string_equal(leaves(d),
		"tool_add core_doc_ingest core_doc_search core_doc_read core_doc_load "
		"core_kg_store core_kg_query core_kg_forget task_sum core_load_skill "
		"core_delegate core_start_loop core_iterate_loop core_finish_loop human_ask");
	assert_int_equal(brd_agent_def_with_tool(&more, d, "own", "is C", (struct bread_str){ 0 },
				 answer, NULL, &err),
		0);
	assert_int_equal(brd_agent_def_with_skill(&loaded, more, BRD_STR("s"), &err), 0);
	assert_string_equal(leaves(loaded),
		"tool_add tool_own core_doc_ingest core_doc_search core_doc_read core_doc_load "
		"core_kg_store core_kg_query core_kg_forget task_sum skill_s_run core_load_skill "
		"core_delegate core_start_loop core_iterate_loop core_finish_loop human_ask");
	assert_string_equal(
		brd_agent_def_tool(loaded, BRD_STR("skill_s_run"))->permission, "skill:s/run");
	assert_string_equal(loaded->hash, d->hash);
	brd_agent_def_unref(loaded);
	brd_agent_def_unref(more);
	brd_agent_def_unref(d);
}

static void the_kinds_say_who_answers(void **state)
{
	static const struct {
		const char *leaf;
		enum tool_kind kind;
	} table[] = { { "tool_add", TOOL_RUNS }, { "core_kg_store", TOOL_CORE },
		{ "task_sum", TOOL_TASK }, { "core_load_skill", TOOL_CORE },
		{ "core_delegate", TOOL_DELEGATE }, { "core_start_loop", TOOL_LOOP_START },
		{ "core_iterate_loop", TOOL_LOOP_ITERATE },
		{ "core_finish_loop", TOOL_LOOP_FINISH }, { "human_ask", TOOL_HUMAN } };
	struct agent_def *d = parsed(ALL);

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_int_equal(
			brd_agent_def_tool(d, brd_str(table[i].leaf))->kind, table[i].kind);
	assert_true(brd_agent_def_composes(d));
	brd_agent_def_unref(d);
}

static void permissions_take_away_and_gate(void **state)
{
	struct agent_def *d = parsed(TOOLS ",\"tasks\":[" TASK(
		"sum") "],\"humanTools\":[{\"name\":\"ask\"}],"
		       "\"knowledge\":{},\"permissions\":{\"allow\":[\"core:kg_q*\"],"
		       "\"ask\":[\"tool:*\",\"task:sum\"],\"deny\":[\"task:*\"]}");

	assert_string_equal(leaves(d), "tool_add! core_kg_query human_ask");
	brd_agent_def_unref(d);
}

static void a_section_is_there_only_with_its_tool(void **state)
{
	struct agent_def *d = parsed(ALL ",\"permissions\":{\"allow\":[\"tool:*\"]}");

	assert_int_equal(d->sections.n, 0);
	brd_agent_def_unref(d);
	d = parsed(ALL ",\"permissions\":{\"deny\":[\"core:delegate\",\"core:load_skill\"]}");
	assert_true(brd_str_starts(d->sections, BRD_STR("## Agent Loop\n")));
	brd_agent_def_unref(d);
	d = parsed(ALL ",\"output\":{\"format\":\"json\"},\"outputSchema\":{}");
	assert_int_equal(d->sections.n, 0);
	brd_agent_def_unref(d);
}

static void check_prompt(const char *members, const char *knowledge, const char *expected)
{
	struct agent_def *d = parsed(members);
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_agent_def_prompt(d, brd_str(knowledge), &b);
	assert_string_equal(b.data, expected);
	brd_buf_fini(&b);
	brd_agent_def_unref(d);
}

static void the_prompt_has_its_sections_in_order(void **state)
{
	check_prompt("", "", "");
	check_prompt("\"prompt\":\"You lead.\",\"supervisor\":{\"max\":2,\"agents\":[{\"agentId\":"
		     "\"helper\",\"max\":1},{\"agentId\":\"ghost\"}]}",
		"## Known",
		"You lead.\n\n## Known\n\n## Delegation\nYou can delegate work to these "
		"sub-agents: helper (max 1 concurrent), ghost.\nCall `core_delegate` with "
		"`agentId` and `input`; the sub-agent runs and its output is returned to you as "
		"the tool result. Delegate in parallel by making several `core_delegate` calls in "
		"one turn, or in series by delegating, reading the result, then delegating "
		"again.\nAt most 2 delegations run concurrently overall.");
	check_prompt("\"loop\":{\"pool\":[\"drafter\",\"polisher\"],\"maxIterations\":2}", "",
		"## Agent Loop\nYou can run an iterative loop over a pipeline you compose from "
		"this pool of agents: drafter, polisher.\nCall `core_start_loop` with `pipeline` "
		"(an ordered list of agent ids drawn from the pool) to run the pipeline once and "
		"receive its output.\nJudge that output. Call `core_iterate_loop` (optionally "
		"with `feedback`) to re-run the SAME pipeline and improve the result.\nWhen you "
		"are satisfied call `core_finish_loop` with your final result. The loop is capped "
		"at 2 iterations.");
}

static void a_loaded_skill_comes_with_its_references(void **state)
{
	struct agent_def *d = parsed("\"prompt\":\"Base prompt.\",\"skills\":[{\"id\":\"r\","
				     "\"text\":\"---\\nname: Deep\\n---\\n\\n1. Cite.\\n\","
				     "\"references\":[{\"name\":\"tips.txt\",\"content\":\"Use "
				     "it.\"}]}]"),
			 *loaded;
	struct buf b;

	assert_int_equal(brd_agent_def_with_skill(&loaded, d, BRD_STR("r"), NULL), 0);
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_agent_def_prompt(loaded, BRD_STR(""), &b);
	assert_string_equal(b.data,
		"Base prompt.\n\n## Skill: Deep\n\n\n1. Cite.\n\n### Reference: tips.txt\n\nUse "
		"it.\n\n## Available Skills\nCall the `core_load_skill` tool with a `skillId` to "
		"load its full instructions before using it.\n- r: Deep");
	brd_buf_fini(&b);
	brd_agent_def_unref(loaded);
	brd_agent_def_unref(d);
}

static void an_unknown_skill_cannot_be_loaded(void **state)
{
	struct agent_def *d = parsed(""), *loaded;
	struct bread_err err = { 0 };

	assert_int_equal(
		brd_agent_def_with_skill(&loaded, d, BRD_STR("nope"), &err), BREAD_E_NOT_FOUND);
	assert_string_equal(err.name, "SKILL_NOT_FOUND");
	assert_int_equal(
		brd_agent_def_with_skill(&loaded, d, BRD_STR("../x"), &err), BREAD_E_INVALID);
	assert_string_equal(err.name, "INVALID_NAME");
	assert_int_equal(brd_agent_def_with_skill(&loaded, d, (struct bread_str){ 0 }, &err),
		BREAD_E_INVALID);
	brd_agent_def_unref(d);
}

static void a_question_has_its_answer_deadline_and_default(void **state)
{
	struct agent_def *d =
		parsed("\"humanTools\":[{\"name\":\"ask\",\"answer\":{\"type\":\"boolean\"},"
		       "\"deadline\":\"2h\",\"default\":false}]");
	const struct tool_def *t = &d->tools[0];

	assert_str(t->answer_text, "{\"type\":\"boolean\"}");
	assert_non_null(t->answer);
	assert_int_equal(t->deadline_ms, 2 * 3600 * 1000);
	assert_str(t->fallback, "false");
	assert_string_equal(t->description, "Ask a human: ask");
	assert_null(t->permission);
	brd_agent_def_unref(d);
}

static void a_question_of_the_same_name_replaces_the_first(void **state)
{
	struct agent_def *d = parsed("\"humanTools\":[{\"name\":\"ask\"},{\"name\":\"other\"},"
				     "{\"name\":\"ask\",\"description\":\"again\"}]");

	assert_string_equal(leaves(d), "human_ask human_other");
	assert_string_equal(d->tools[0].description, "again");
	brd_agent_def_unref(d);
}

static void a_task_is_a_tool_with_all_that_it_needs(void **state)
{
	struct agent_def *d = parsed("\"tasks\":[" TASK("sum") "]");
	const struct task_def *t = d->tools[0].task;

	assert_string_equal(t->name, "sum");
	assert_string_equal(t->provider, "p");
	assert_string_equal(t->instructions, "do");
	assert_str(t->output_text, "{}");
	assert_string_equal(d->tools[0].permission, "task:sum");
	brd_agent_def_unref(d);
}

static bool find(void *arg, struct bread_str name, struct arena *a, struct bread_str *ret_json,
	struct bread_str *ret_known)
{
	*ret_known = BRD_STR("[\"sum\"]");
	*ret_json = BRD_STR(TASK("sum"));
	return brd_str_is(name, "sum");
}

static void names_of_tasks_become_the_tasks(void **state)
{
	const struct task_source from = { find, NULL };
	struct arena a = { 0 };
	struct bread_err err = { 0 };
	struct bread_str out;

	assert_int_equal(brd_tasks_inline(&out, "a", BRD_STR("{\"x\":1,\"tasks\":[\"sum\"]}"),
				 &from, &a, &err),
		0);
	assert_str(out, "{\"x\":1,\"tasks\":[" TASK("sum") "]}");
	assert_int_equal(
		brd_tasks_inline(&out, "a", BRD_STR("{\"tasks\":[\"ghost\"]}"), &from, &a, &err),
		BREAD_E_NOT_FOUND);
	assert_string_equal(err.name, "TASK_NOT_FOUND");
	assert_string_equal(err.text, "Agent \"a\" references unknown task: \"ghost\".");
	assert_string_equal(
		err.context, "{\"agentId\":\"a\",\"taskId\":\"ghost\",\"available\":[\"sum\"]}");
	brd_arena_fini(&a);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *members, *name, *says;
	} table[] = {
		{ "\"permissions\":{\"allow\":[\"add\"]}", "INVALID_PERMISSION", "scoped" },
		{ "\"tasks\":[\"ghost\"]", "TASK_NOT_FOUND", "ghost" },
		{ "\"supervisor\":{}", "", "agents" },
		{ "\"supervisor\":{\"agents\":[{\"agentId\":\"b\",\"visibility\":\"loud\"}]}", "",
			"visibility" },
		{ "\"supervisor\":{\"agents\":[{\"agentId\":\"b\"},{\"agentId\":\"b\"}]}", "",
			"twice" },
		{ "\"loop\":{\"pool\":[]}", "", "pool" },
		{ "\"loop\":{\"pool\":[\"b\"],\"maxIterations\":0}", "", "maxIterations" },
		{ "\"skills\":[{\"id\":\"S\",\"text\":\"\"}]", "", "id" },
		{ "\"skills\":[{\"id\":\"s\",\"text\":\"\",\"references\":[{}]}]", "",
			"reference" },
		{ "\"humanTools\":[{\"name\":\"ask\",\"default\":1}]", "", "deadline" },
		{ "\"humanTools\":[{\"name\":\"ask\",\"deadline\":\"1s\",\"default\":1,"
		  "\"answer\":{\"type\":\"string\"}}]",
			"", "does not fit" },
		{ "\"humanTools\":[{\"name\":\"ask\",\"answer\":{\"type\":7}}]", "",
			"JSON Schema" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct bread_err err = refused(table[i].members);

		assert_string_equal(err.name, table[i].name);
		if (!strstr(err.text, table[i].says))
			fail_msg("%s: %s", table[i].members, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tools_stand_in_the_order_in_which_they_are_offered),
		cmocka_unit_test(the_kinds_say_who_answers),
		cmocka_unit_test(permissions_take_away_and_gate),
		cmocka_unit_test(a_section_is_there_only_with_its_tool),
		cmocka_unit_test(the_prompt_has_its_sections_in_order),
		cmocka_unit_test(a_loaded_skill_comes_with_its_references),
		cmocka_unit_test(an_unknown_skill_cannot_be_loaded),
		cmocka_unit_test(a_question_has_its_answer_deadline_and_default),
		cmocka_unit_test(a_question_of_the_same_name_replaces_the_first),
		cmocka_unit_test(a_task_is_a_tool_with_all_that_it_needs),
		cmocka_unit_test(names_of_tasks_become_the_tasks),
		cmocka_unit_test(what_is_wrong_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
