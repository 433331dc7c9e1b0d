/* SPDX-License-Identifier: MIT */
/* Hooks, tools and formats in Lua of a project: found where its files say, and faults told with
 * their places. */
#include <stdio.h>
#include "base/buf.h"
#include "base/log.h"
#include "bread/project.h"
#include "folder.h"
#include "project/check.h"
#include "project/project.h"
#include "test.h"

#define MAIN "store: memory\ntransport: stream\nproviders: { scripted: {} }\n"

static void add(const struct bread_err *err, void *arg)
{
	brd_buf_addf(arg, "%s: %s\n", err->where, err->text);
}

static void checks_as(const char *said)
{
	struct project_checker c = { .on_fault = add };
	struct buf all;

	brd_buf_init(&all, BUF_NO_LIMIT);
	c.arg = &all;
	brd_project_check(&c, folder);
	if (!*said && all.len)
		fail_msg("%s", all.data);
	if (!strstr(all.data, said))
		fail_msg("no \"%s\" in:\n%s", said, all.data);
	brd_buf_fini(&all);
}

static void good_files(void)
{
	folder_put("bread.yaml", MAIN "hooks: { lua: all.lua }\nformats: { f: { lua: f.lua } }\n");
	folder_put("all.lua", "return { onError = function() end }");
	folder_put("f.lua", "function format(t) return {t} end");
	folder_put("agents/a/hooks.lua", "return { beforeRun = function() end }");
	folder_put("agents/a/add.lua", "function run(a) return a.x end");
	folder_put("agents/a/tools/add.yaml", "lua: add.lua\nhooks: { lua: tool.lua }\n");
	folder_put("agents/a/tool.lua", "return { afterRun = function() end }");
}

static void files_are_found_from_any_folder(void **state)
{
	struct bread *b;
	struct bread_err err = { 0 };

	good_files();
	checks_as("");
	assert_int_equal(bread_new(&b, &err), 0);
	if (bread_load(b, folder, &err) || bread_start(b, &err))
		fail_msg("%s", err.text);
	bread_free(b);
}

static void faults_have_their_places(void **state)
{
	good_files();
	folder_put("all.lua", "return { onErorr = print }");
	checks_as("bread.yaml:4:8: hooks `onErorr` is no hook of agent");
	good_files();
	folder_put("f.lua", "return 5");
	checks_as("bread.yaml:5:15: formats an output format needs a function format(text)");
	good_files();
	folder_put("agents/a/hooks.lua", "return {\nbeforeRun = }");
	checks_as("hooks of the agent: hooks.lua:2:");
	good_files();
	folder_put("agents/a/tool.lua", "return { onSuspend = print }");
	checks_as("hooks of tool \"add\": `onSuspend` is no hook of tool");
	good_files();
	folder_put("agents/a/add.lua", "run = 5");
	checks_as("tool \"add\": a tool needs a function run");
}

static void a_tool_does_something(void **state)
{
	good_files();
	folder_put("agents/a/tools/add.yaml", "description: nothing\n");
	checks_as("or `lua:` (a script)");
}

static void ignore(const struct log_record *r, void *arg)
{
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_set_up, folder_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_found_from_any_folder),
		TEST(faults_have_their_places),
		TEST(a_tool_does_something),
	};

	brd_log_sink(ignore, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
