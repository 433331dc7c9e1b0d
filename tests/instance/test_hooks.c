/* SPDX-License-Identifier: MIT */
/* Hooks of an instance: registered by the embedder, or by its configuration. */
#include "test.h"
#include "instance/internal.h"

static void pass(struct bread_hook_call *call, const struct bread_hook_info *info, void *arg)
{
	bread_hook_pass(call);
}

static bool hears(struct bread *b, const char *agent, enum bread_hook_point point)
{
	struct hook_chain c = { .table = b->env.hooks, .agent_id = brd_str(agent) };

	return brd_hooks_hear(&c, BREAD_HOOK_AGENT, point);
}

static void functions_are_for_one_agent_or_for_all(void **state)
{
	struct bread *b;
	struct bread_err err;

	assert_int_equal(bread_new(&b, &err), 0);
	assert_int_equal(
		bread_hook(b, "a", BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN, pass, NULL, &err), 0);
	assert_true(hears(b, "a", BREAD_HOOK_BEFORE_RUN));
	assert_false(hears(b, "a", BREAD_HOOK_AFTER_RUN));
	assert_false(hears(b, "b", BREAD_HOOK_BEFORE_RUN));
	assert_int_equal(
		bread_hook(b, NULL, BREAD_HOOK_AGENT, BREAD_HOOK_AFTER_RUN, pass, NULL, &err), 0);
	assert_true(hears(b, "b", BREAD_HOOK_AFTER_RUN));
	bread_free(b);
}

static void a_point_that_a_scope_lacks_is_refused(void **state)
{
	struct bread *b;
	struct bread_err err;

	assert_int_equal(bread_new(&b, &err), 0);
	assert_int_equal(
		bread_hook(b, NULL, BREAD_HOOK_TOOL, BREAD_HOOK_ON_SUSPEND, pass, NULL, &err),
		BREAD_E_INVALID);
	assert_string_equal(err.text, "onSuspend is no hook of the scope tool");
	assert_int_equal(
		bread_hook(b, NULL, BREAD_HOOK_SCOPES, BREAD_HOOK_ON_ERROR, pass, NULL, &err),
		BREAD_E_INVALID);
	bread_free(b);
}

static void a_set_of_a_kind_is_registered(void **state)
{
	struct bread *b;
	struct bread_err err;

	assert_int_equal(bread_new(&b, &err), 0);
	assert_int_equal(bread_hook_use(b, NULL, &bread_hook_lua,
				 BRD_STR("{\"source\":\"return {onError = print}\"}"), NULL, &err),
		0);
	assert_true(hears(b, "a", BREAD_HOOK_ON_ERROR));
	assert_int_equal(bread_hook_use(b, NULL, &bread_hook_lua,
				 BRD_STR("{\"source\":\"return 5\"}"), NULL, &err),
		BREAD_E_INVALID);
	bread_free(b);
}

#define PARTS "\"store\":\"memory\",\"transport\":\"stream\""

static int start_with(struct bread **b, const char *json, struct bread_err *err)
{
	assert_int_equal(bread_new(b, err), 0);
	assert_int_equal(bread_configure(*b, brd_str(json), err), 0);
	return bread_start(*b, err);
}

static void the_configuration_has_hooks(void **state)
{
	struct bread *b;
	struct bread_err err;

	assert_int_equal(start_with(&b,
				 "{" PARTS ",\"hooks\":{\"lua\":{\"source\":"
				 "\"return {onSuspend = print}\"}}}",
				 &err),
		0);
	assert_true(hears(b, "a", BREAD_HOOK_ON_SUSPEND));
	bread_free(b);
	assert_int_equal(
		start_with(&b, "{" PARTS ",\"hooks\":{\"js\":\"x\"}}", &err), BREAD_E_INVALID);
	assert_non_null(strstr(err.text, "hooks.js is not known"));
	bread_free(b);
	assert_int_equal(
		start_with(&b, "{" PARTS ",\"formats\":{\"f\":{}}}", &err), BREAD_E_INVALID);
	assert_non_null(strstr(err.text, "formats.f"));
	bread_free(b);
}

/* ---- formats ---- */

static void on_end(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

static void formatted(struct bread *b, const char *name, const char *text, const char *json)
{
	struct format_call c = { .text = brd_str(text) };
	bool ended = false;

	bread_op_init(&c.op, bread_here(b), on_end, &ended);
	b->env.format_start(b->env.arg, name, &c);
	while (!ended)
		bread_turn(b, 100);
	if (json)
		assert_string_equal(c.json, json);
	else
		assert_int_equal(c.op.code, BREAD_E_UPSTREAM);
	free(c.json);
}

static void formats_are_operations(void **state)
{
	struct bread *b;
	struct bread_err err;

	assert_int_equal(start_with(&b,
				 "{" PARTS ",\"formats\":{\"size\":{\"lua\":{\"source\":"
				 "\"function format(t) return #t end\"}}}}",
				 &err),
		0);
	formatted(b, "size", "four", "4");
	formatted(b, "lines", "a\n\nb", "[\"a\",\"b\"]");
	formatted(b, "no such", "x", NULL);
	bread_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_for_one_agent_or_for_all),
		cmocka_unit_test(a_point_that_a_scope_lacks_is_refused),
		cmocka_unit_test(a_set_of_a_kind_is_registered),
		cmocka_unit_test(the_configuration_has_hooks),
		cmocka_unit_test(formats_are_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
