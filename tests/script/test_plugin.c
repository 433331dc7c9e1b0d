/* SPDX-License-Identifier: MIT */
/* Plugins that this test was built with: test_plugin FOLDER */
#include <stdio.h>
#include "../tool/tooltest.h"
#include "bread/instance.h"
#include "run/hooks.h"

static struct loop *loop;
static const char *folder;

static void on_end(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

static void *refused_hooks(const char *file, struct bread_err *err)
{
	struct hook_set *s;
	char json[600];

	snprintf(json, sizeof(json), "{\"plugin\":\"%s/%s\"}", folder, file);
	memset(err, 0, sizeof(*err));
	assert_int_equal(
		brd_hooks_open(&s, brd_str(json), BREAD_HOOK_AGENT, NULL, err), BREAD_E_INVALID);
	return s;
}

static void refuses(const char *file, const char *words)
{
	struct bread_err err;

	assert_null(refused_hooks(file, &err));
	if (!strstr(err.text, words))
		fail_msg("%s", err.text);
}

static void a_plugin_that_does_not_fit_is_refused(void **state)
{
	refuses("plugin_version.so", "version 7");
	refuses("plugin_size.so", "has 8 bytes");
	refuses("plugin_symbol.so", "exports no function bread_plugin");
	refuses("plugin_nothing.so", "gave nothing");
	refuses("plugin_empty.so", "brings no hooks");
	refuses("plugin_good.so", "needs a suffix");
	refuses("no_such.so", "cannot be loaded");
}

static void its_hooks_are_asked(void **state)
{
	struct hook_chain c = { 0 };
	struct bread_err err;
	struct hook_run *h;
	bool ended = false;

	assert_int_equal(brd_hooks_open(&c.own,
				 BRD_STR("{\"plugin\":{\"file\":\"plugin_good.so\",\"options\":"
					 "{\"suffix\":\"!\"}}}"),
				 BREAD_HOOK_AGENT, folder, &err),
		0);
	assert_false(brd_hooks_hear(&c, BREAD_HOOK_TOOL, BREAD_HOOK_BEFORE_RUN));
	assert_true(brd_hooks_hear(&c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN));
	h = brd_hook_run_new(&c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);
	h->input = BRD_STR("\"x\"");
	bread_op_init(&h->op, loop, on_end, &ended);
	brd_hooks_start(h);
	while (!ended)
		brd_loop_turn(loop, 1000);
	assert_str(h->value, "\"x!\"");
	brd_hook_run_free(h);
	brd_hook_set_unref(c.own);
}

static void its_tools_are_called(void **state)
{
	struct called t;
	char def[600];

	snprintf(def, sizeof(def), "{\"plugin\":\"%s/plugin_good.so\"}", folder);
	call_tool(&t, loop, def, "{\"a\":1}");
	assert_str(result_of(&t), "{\"a\":1}");
	called_fini(&t);
	snprintf(def, sizeof(def),
		"{\"plugin\":{\"file\":\"%s/plugin_good.so\",\"kind\":\"echo\"}}", folder);
	call_tool(&t, loop, def, "{}");
	called_fini(&t);
}

static void tool_refused(const char *file, const char *kind, const char *words)
{
	struct bread_tool *t;
	struct arena a = { 0 };
	struct bread_err err = { 0 };
	struct jval v;
	char def[600];

	snprintf(def, sizeof(def), "{\"plugin\":{\"file\":\"%s/%s\",\"kind\":\"%s\"}}", folder,
		file, kind);
	assert_int_equal(brd_json_parse(&a, brd_str(def), 0, &v, NULL), 0);
	assert_int_equal(brd_tool_open(&t, v, NULL, &err), BREAD_E_INVALID);
	if (!strstr(err.text, words))
		fail_msg("%s", err.text);
	brd_arena_fini(&a);
}

static void a_kind_of_tool_must_be_there(void **state)
{
	tool_refused("plugin_good.so", "reverse", "such as echo");
	tool_refused("plugin_empty.so", "echo", "brings no tools");
}

static void an_instance_takes_what_it_brings(void **state)
{
	struct bread *b;
	struct bread_err err = { 0 };
	char json[800];

	assert_int_equal(bread_new(&b, &err), 0);
	snprintf(json, sizeof(json),
		"{\"store\":\"memory\",\"transport\":\"stream\",\"plugins\":[{\"file\":"
		"\"%s/plugin_good.so\",\"options\":{\"suffix\":\"!\"}},\"%s/plugin_empty.so\"]}",
		folder, folder);
	assert_int_equal(bread_configure(b, brd_str(json), &err), 0);
	if (bread_start(b, &err))
		fail_msg("%s", err.text);
	bread_free(b);
	assert_int_equal(bread_new(&b, &err), 0);
	snprintf(json, sizeof(json),
		"{\"store\":\"memory\",\"transport\":\"stream\",\"plugins\":[\"%s/"
		"plugin_size.so\"]}",
		folder);
	assert_int_equal(bread_configure(b, brd_str(json), &err), 0);
	assert_int_equal(bread_start(b, &err), BREAD_E_INVALID);
	bread_free(b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plugin_that_does_not_fit_is_refused),
		cmocka_unit_test(its_hooks_are_asked),
		cmocka_unit_test(its_tools_are_called),
		cmocka_unit_test(a_kind_of_tool_must_be_there),
		cmocka_unit_test(an_instance_takes_what_it_brings),
	};
	struct bread_err err;
	int r;

	if (argc < 2 || brd_loop_new(&loop, &err))
		return 1;
	folder = argv[1];
	r = cmocka_run_group_tests(tests, NULL, NULL);
	brd_loop_free(loop);
	return r;
}
