/* SPDX-License-Identifier: MIT */
/* Tasks that a program calls by themselves. */
#include <stdio.h>
#include "base/err.h"
#include "base/str.h"
#include "bread/hook.h"
#include "instance/internal.h"
#include "test.h"

static const char config[] =
	"{\"store\":\"memory\",\"transport\":\"stream\",\"providers\":{\"p\":{\"type\":"
	"\"scripted\","
	"\"models\":{\"m\":{\"when\":[{\"match\":{\"contains\":\"wait\"},\"before_ms\":60000,"
	"\"generate\":1},{\"generate\":{\"n\":1},\"usage\":{\"input\":2,\"output\":1}}]}}}}}";

static const char count[] =
	"{\"model\":{\"provider\":\"p\",\"model\":\"m\"},\"instructions\":\"Count.\","
	"\"schema\":{\"type\":\"object\",\"required\":[\"t\"]},\"outputSchema\":{\"type\":"
	"\"object\"}}";

struct told {
	int times;
	char code[48], output[64], usage[96], id[64];
};

static void on_end(const struct bread_task_outcome *o, void *arg)
{
	struct told *t = arg;

	t->times++;
	snprintf(t->code, sizeof(t->code), "%s", o->err ? o->err->name : "");
	snprintf(t->output, sizeof(t->output), "%.*s", BRD_ARG(o->output));
	snprintf(t->usage, sizeof(t->usage), "%.*s", BRD_ARG(o->usage));
	snprintf(t->id, sizeof(t->id), "%.*s", BRD_ARG(o->task_run_id));
}

static struct bread *started(void)
{
	struct bread_err err;
	struct bread *b;

	assert_int_equal(bread_new(&b, &err), 0);
	assert_int_equal(bread_configure(b, brd_str(config), &err), 0);
	assert_int_equal(bread_task(b, "count", brd_str(count), NULL, &err), 0);
	assert_int_equal(bread_start(b, &err), 0);
	return b;
}

static void a_call_gives_its_output_and_is_on_record(void **state)
{
	struct bread *b = started();
	struct told t = { 0 };
	struct bread_err err;
	struct bread_read r = { .kind = BREAD_READ_TASK_RUN };

	assert_int_equal(
		bread_task_run(b, BRD_STR("count"), BRD_STR("{\"t\":1}"), on_end, &t, &err), 0);
	assert_int_equal(t.times, 0);
	while (!t.times)
		bread_turn(b, 100);
	assert_string_equal(t.code, "");
	assert_string_equal(t.output, "{\"n\":1}");
	assert_string_equal(t.usage, "{\"inputTokens\":2,\"outputTokens\":1,\"totalTokens\":3}");
	r.key = brd_str(t.id);
	bread_op_init(&r.op, bread_here(b), NULL, NULL);
	bread_read(b, &r);
	while (bread_op_running(&r.op))
		bread_turn(b, 100);
	assert_int_equal(r.count, 1);
	assert_true(brd_str_is(r.task_runs->status, "completed"));
	assert_true(brd_str_is(r.task_runs->agent_id, "standalone"));
	assert_true(brd_str_eq(r.task_runs->run_id, r.task_runs->session_id));
	bread_read_fini(&r);
	bread_free(b);
}

static void refusals_come_at_once(void **state)
{
	struct bread *b = started();
	struct told t = { 0 };
	struct bread_err err;

	assert_int_equal(bread_task_run(b, BRD_STR("no"), BRD_STR("{}"), on_end, &t, &err),
		BREAD_E_NOT_FOUND);
	assert_string_equal(err.name, "TASK_NOT_FOUND");
	assert_string_equal(err.context, "{\"taskId\":\"no\",\"available\":[\"count\"]}");
	assert_int_equal(bread_task_run(b, BRD_STR("count"), BRD_STR(""), on_end, &t, &err),
		BREAD_E_INVALID);
	assert_string_equal(err.name, "INPUT_INVALID");
	assert_int_equal(bread_task_run(b, BRD_STR("count"), BRD_STR("{"), on_end, &t, &err),
		BREAD_E_INVALID);
	assert_int_equal(t.times, 0);
	bread_free(b);
}

static void going_down_ends_a_call(void **state)
{
	struct bread *b = started();
	struct told t = { 0 };
	struct bread_err err;

	assert_int_equal(
		bread_task_run(b, BRD_STR("count"), BRD_STR("{\"t\":\"wait\"}"), on_end, &t, &err),
		0);
	for (int i = 0; i < 5; i++)
		bread_turn(b, 1);
	bread_stop(b, 0);
	assert_int_equal(t.times, 1);
	assert_string_equal(t.code, "RUN_CANCELLED");
	assert_int_equal(
		bread_task_run(b, BRD_STR("count"), BRD_STR("{\"t\":1}"), on_end, &t, &err),
		BREAD_E_BUSY);
	bread_free(b);
	assert_int_equal(t.times, 1);
}

/* ---- hooks ---- */

static void call(struct bread *b, const char *input, struct told *t)
{
	struct bread_err err;

	memset(t, 0, sizeof(*t));
	assert_int_equal(bread_task_run(b, BRD_STR("count"), brd_str(input), on_end, t, &err), 0);
	while (!t->times)
		bread_turn(b, 100);
}

static void before(struct bread_hook_call *call, const struct bread_hook_info *info, void *arg)
{
	if (strstr(info->input.p, "cached"))
		bread_hook_output(call, BRD_STR("{\"cached\":true}"));
	else
		bread_hook_input(call, BRD_STR("{\"t\":2}"));
}

static void after(struct bread_hook_call *call, const struct bread_hook_info *info, void *arg)
{
	bread_hook_output(call, BRD_STR("{\"seen\":true}"));
}

static void recover(struct bread_hook_call *call, const struct bread_hook_info *info, void *arg)
{
	if (strstr(arg, "recover"))
		bread_hook_output(call, BRD_STR("{\"saved\":true}"));
	else
		bread_hook_fail(call, "NICER", "said better");
}

static void hook(struct bread *b, enum bread_hook_point point, bread_hook_fn *fn, void *arg)
{
	struct bread_err err;

	assert_int_equal(bread_hook(b, NULL, BREAD_HOOK_TASK, point, fn, arg, &err), 0);
}

static void hooks_see_what_goes_in_and_out(void **state)
{
	struct bread *b = started();
	struct told t;

	hook(b, BREAD_HOOK_BEFORE_RUN, before, NULL);
	call(b, "{\"t\":1}", &t);
	assert_string_equal(t.output, "{\"n\":1}");
	call(b, "{\"t\":\"cached\"}", &t);
	assert_string_equal(t.output, "{\"cached\":true}");
	assert_string_equal(t.id, "");
	hook(b, BREAD_HOOK_AFTER_RUN, after, NULL);
	call(b, "{\"t\":\"cached\"}", &t);
	assert_string_equal(t.output, "{\"seen\":true}");
	bread_free(b);
}

static void fails_as(const char *what, const char *output, const char *code)
{
	struct bread *b = started();
	struct told t;
	struct bread_err err;

	assert_int_equal(bread_task(b, "count",
				 BRD_STR("{\"model\":{\"provider\":\"none\",\"model\":\"m\"},"
					 "\"instructions\":\"x\",\"outputSchema\":{}}"),
				 NULL, &err),
		0);
	hook(b, BREAD_HOOK_ON_ERROR, recover, (void *)what);
	call(b, "{}", &t);
	assert_string_equal(t.output, output);
	assert_string_equal(t.code, code);
	bread_free(b);
}

static void hooks_have_a_word_about_failures(void **state)
{
	fails_as("recover", "{\"saved\":true}", "");
	fails_as("fail", "", "NICER");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_gives_its_output_and_is_on_record),
		cmocka_unit_test(refusals_come_at_once),
		cmocka_unit_test(going_down_ends_a_call),
		cmocka_unit_test(hooks_see_what_goes_in_and_out),
		cmocka_unit_test(hooks_have_a_word_about_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
