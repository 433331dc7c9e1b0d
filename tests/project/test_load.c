/* SPDX-License-Identifier: MIT */
/* Loading a folder, at start and again. */
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
		TEST(a_check_writes_nothing),
	};

	brd_log_sink(ignore, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
