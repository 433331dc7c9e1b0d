/* SPDX-License-Identifier: MIT */
/* Loading a folder, at start and again. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "bread/project.h"
#include "project/check.h"
#include "test.h"

static char dir[] = "/tmp/bread-load-XXXXXX";

static char *at(const char *rel)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, rel);
	return path;
}

static void put(const char *rel, const char *text)
{
	char *path = at(rel);
	FILE *f;

	for (char *p = strchr(path + strlen(dir) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		mkdir(path, 0777);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#define AGENT "model: {provider: scripted, model: m}\n"

static void put_project(void)
{
	put("bread.yaml", "store: {type: sqlite, path: x.db}\ntransport: stream\n"
			  "providers: {scripted: {file: models.yaml}}\n");
	put("models.yaml", "models: {m: {when: [{stream: [{text: hello}]}]}}\n");
	put("agents/a/agent.yaml", AGENT);
	put("agents/a/prompt.md", "be good\n");
	put("agents/a/tools/add.yaml", "description: adds\ncommand: [sh, -c, 'echo 1']\n");
	put("agents/b/agent.yaml", AGENT);
}

static int set_up(void **state)
{
	strcpy(dir, "/tmp/bread-load-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	put_project();
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

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

	assert_int_equal(bread_load(b, dir, &err), 0);
	assert_string_equal(agents(b), "ab");
	assert_int_equal(bread_start(b, &err), 0);
	assert_int_equal(bread_run(b, &req, id, &err), 0);
	while (!done)
		bread_turn(b, -1);
	bread_free(b);
	assert_int_equal(access(at("x.db"), F_OK), 0);
}

static void a_broken_agent_is_left_out(void **state)
{
	struct bread *b = new_instance();

	put("agents/b/agent.yaml", "modle: x\n");
	assert_int_equal(bread_load(b, dir, NULL), 0);
	assert_string_equal(agents(b), "a");
	bread_free(b);
}

static void no_project_is_not_found(void **state)
{
	struct bread *b = new_instance();
	struct bread_err err = { 0 };

	unlink(at("bread.yaml"));
	assert_int_equal(bread_load(b, dir, &err), BREAD_E_NOT_FOUND);
	assert_non_null(strstr(err.text, "bread init"));
	bread_free(b);
}

static void a_bad_name_is_an_error_of_the_whole(void **state)
{
	struct bread *b = new_instance();
	struct bread_err err = { 0 };

	put("agents/a/tools/Add.yaml", "command: [sh]\n");
	assert_int_equal(bread_load(b, dir, &err), BREAD_E_INVALID);
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

	assert_int_equal(brd_project_open(&p, dir, &err), 0);
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
	put("agents/a/agent.yaml", "bogus: 1\n");
	put("agents/c/agent.yaml", AGENT);
	assert_int_equal(again(b), 1);
	assert_string_equal(agents(b), "abc");
	unlink(at("agents/c/agent.yaml"));
	rmdir(at("agents/c"));
	put("bread.yaml", "entrypoints: [b]\n");
	assert_int_equal(again(b), 0);
	assert_string_equal(agents(b), "b");
	bread_free(b);
}

static void a_broken_tool_leaves_a_running_agent_as_it_was(void **state)
{
	struct bread *b = new_instance();

	assert_int_equal(again(b), 0);
	put("agents/a/agent.yaml", AGENT "output: {format: markdown}\n");
	put("agents/a/tools/add.yaml", "command: {\n");
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

	bool good = brd_project_check(&c, dir);

	assert_int_equal(good, faults == 0);
	assert_int_equal(c.faults, faults);
	return faults;
}

static void a_check_counts_every_fault(void **state)
{
	assert_int_equal(check(), 0);
	put("agents/a/agent.yaml", "model: {provider: scripted, model: m}\nx: 1\ny: 2\nsteps: 5\n");
	assert_int_equal(check(), 3);
	put("agents/b/agent.yaml", "model: {provider: none, model: m}\n");
	assert_int_equal(check(), 4);
	put("models.yaml", "models: {m: {wehn: []}}\n");
	assert_int_equal(check(), 5);
	put("bread.yaml", "[");
	assert_int_equal(check(), 1);
}

static void a_check_writes_nothing(void **state)
{
	put("bread.yaml", "store: {type: sqlite, path: x.db}\ntransport: stream\n"
			  "providers: {scripted: {file: models.yaml, record: calls.jsonl}}\n");
	assert_int_equal(check(), 0);
	assert_int_not_equal(access(at("x.db"), F_OK), 0);
	assert_int_not_equal(access(at("calls.jsonl"), F_OK), 0);
}

static void ignore(const struct log_record *r, void *arg)
{
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

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
