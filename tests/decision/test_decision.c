/* SPDX-License-Identifier: MIT */
/* The registry, and hosts whose answers are written in it. */
#include <stdio.h>
#include <unistd.h>
#include "asked.h"
#include "base/clock.h"

static struct loop *loop;

static void steps_are_told_who_is_registered(void **state)
{
	struct asked q;
	struct bread_err err = { 0 };
	struct bread_str context;

	asked_open(&q, "{\"host\":{\"type\":\"scripted\"},\"kev\":{}}");
	assert_null(brd_decision_of(q.ds, BRD_STR("ghost"), &q.a, &err, &context));
	assert_string_equal(err.name, "UNKNOWN_DECISION_PROVIDER");
	assert_string_equal(err.text,
		"Unknown decision provider: \"ghost\". Registered: host, kev. "
		"Set `decisions` in bread.yaml.");
	assert_str(context, "{\"provider\":\"ghost\",\"registered\":[\"host\",\"kev\"]}");
	assert_null(brd_decision_of(q.ds, BRD_STR(""), &q.a, &err, &context));
	assert_str(context, "{\"provider\":\"\",\"registered\":[\"host\",\"kev\"]}");
	assert_non_null(brd_decision_of(q.ds, BRD_STR("kev"), &q.a, &err, &context));
	assert_int_equal(context.n, 0);
	asked_fini(&q);
}

static void without_a_registry_nothing_is_configured(void **state)
{
	struct decisions *ds = NULL;
	struct bread_err err = { 0 };
	struct bread_str context;
	struct arena a = { 0 };

	assert_int_equal(brd_decisions_open(&ds, (struct jval){ 0 }, &err), 0);
	assert_null(ds);
	assert_null(brd_decision_of(ds, BRD_STR("host"), &a, &err, &context));
	assert_string_equal(err.name, "DECISION_NOT_CONFIGURED");
	assert_string_equal(
		err.text, "No decision registry is configured. Set `decisions` in bread.yaml.");
	assert_int_equal(context.n, 0);
	assert_null(brd_decision_find(ds, BRD_STR("host"), NULL));
	brd_decisions_close(ds);
}

static void a_registry_that_is_empty_is_one(void **state)
{
	struct asked q;
	struct bread_err err = { 0 };
	struct bread_str context;

	asked_open(&q, "{}");
	assert_null(brd_decision_of(q.ds, BRD_STR("host"), &q.a, &err, &context));
	assert_string_equal(err.name, "UNKNOWN_DECISION_PROVIDER");
	assert_str(context, "{\"provider\":\"host\",\"registered\":[]}");
	asked_fini(&q);
}

static void answers_come_in_their_order(void **state)
{
	struct asked q;

	asked_open(&q, "{\"host\":{\"type\":\"scripted\",\"answers\":["
		       "{\"type\":\"choice\",\"choice\":\"billing\",\"confidence\":0.9},null,"
		       "{\"throw\":\"host down\"},{\"type\":\"noul\"}]}}");
	ask(&q, loop, "host", CHOICE, "1", "jev");
	assert_answer(&q, "{\"type\":\"choice\",\"choice\":\"billing\",\"confidence\":0.9}");
	ask(&q, loop, "host", CHOICE, "1", "jev");
	assert_int_equal(q.call.op.code, BREAD_OK);
	assert_null(q.call.answer);
	ask(&q, loop, "host", CHOICE, "1", "jev");
	assert_int_equal(q.call.op.code, BREAD_E_UPSTREAM);
	assert_string_equal(q.call.op.err.name, "INTERNAL_ERROR");
	assert_string_equal(q.call.op.err.text, "Internal server error");
	assert_null(q.call.error_context);
	ask(&q, loop, "host", NOUL, "1", "jev");
	assert_answer(&q, "{\"type\":\"noul\"}");
	ask(&q, loop, "host", NOUL, "1", "jev");
	assert_failure(&q, "DECISION_HOST", "{\"provider\":\"host\",\"status\":null}");
	asked_fini(&q);
}

static void a_questions_own_answer_comes_first(void **state)
{
	struct asked q;

	asked_open(&q, "{\"host\":{\"type\":\"scripted\",\"answers\":[null,null,"
		       "{\"type\":\"noul\",\"probability\":0.5},{\"type\":\"score\",\"score\":1}],"
		       "\"questions\":{\"Which desk?\":{\"type\":\"choice\",\"choice\":\"a\"},"
		       "\"Spam?\":[{\"type\":\"noul\",\"probability\":1}]}}}");
	ask(&q, loop, "host", CHOICE, "1", "");
	assert_answer(&q, "{\"type\":\"choice\",\"choice\":\"a\"}");
	ask(&q, loop, "host", NOUL, "1", "");
	assert_answer(&q, "{\"type\":\"noul\",\"probability\":1}");
	ask(&q, loop, "host", NOUL, "1", "");
	assert_answer(&q, "{\"type\":\"noul\",\"probability\":0.5}");
	ask(&q, loop, "host", SCORE, "1", "");
	assert_answer(&q, "{\"type\":\"score\",\"score\":1}");
	ask(&q, loop, "host", CHOICE, "1", "");
	assert_answer(&q, "{\"type\":\"choice\",\"choice\":\"a\"}");
	asked_fini(&q);
}

static void an_answer_takes_its_time_unless_cancelled(void **state)
{
	struct asked q;

	brd_clock_freeze(1700000000000);
	asked_open(&q, "{\"host\":{\"type\":\"scripted\",\"questions\":{\"Spam?\":"
		       "{\"before_ms\":5000,\"type\":\"noul\",\"probability\":1}}}}");
	ask_start(&q, loop, "host", NOUL, "1", "");
	brd_clock_turn(4999);
	brd_loop_turn(loop, 0);
	assert_false(q.ended);
	brd_clock_turn(1);
	ask_await(&q, loop);
	assert_answer(&q, "{\"type\":\"noul\",\"probability\":1}");
	ask_start(&q, loop, "host", NOUL, "1", "");
	bread_op_cancel(&q.call.op);
	ask_await(&q, loop);
	assert_int_equal(q.call.op.code, BREAD_E_CANCELED);
	assert_null(q.call.answer);
	asked_fini(&q);
	brd_clock_thaw();
}

static void questions_are_recorded(void **state)
{
	char path[] = "/tmp/bread-decision-XXXXXX", registry[256], got[1024];
	int fd = mkstemp(path);
	struct asked q;
	ssize_t n;

	assert_true(fd >= 0);
	snprintf(registry, sizeof(registry),
		"{\"host\":{\"type\":\"scripted\",\"record\":\"%s\",\"answers\":[null,null]}}",
		path);
	asked_open(&q, registry);
	ask(&q, loop, "host", CHOICE, "\"x\"", "jev");
	ask(&q, loop, "host", SCORE, "{\"a\":1}", "jev");
	n = read(fd, got, sizeof(got) - 1);
	assert_true(n > 0);
	got[n] = '\0';
	assert_string_equal(got,
		"{\"decision_provider\":\"host\",\"model\":\"jev\",\"call\":0,\"request\":{"
		"\"state\":\"x\",\"questions\":[{\"type\":\"choice\",\"text\":\"Which desk?\","
		"\"options\":[\"billing\",\"shipping\"]}]}}\n"
		"{\"decision_provider\":\"host\",\"model\":\"jev\",\"call\":1,\"request\":{"
		"\"state\":{\"a\":1},\"questions\":[{\"type\":\"score\",\"text\":\"Urgency?\"}]}}"
		"\n");
	close(fd);
	unlink(path);
	asked_fini(&q);
}

/* ---- a host of an embedder's own ---- */

static int own_open(struct bread_decision *d, struct bread_str name, struct bread_str options,
	struct bread_err *err)
{
	return 0;
}

static void own_close(struct bread_decision *d)
{
}

static void own_start(struct bread_decision *d, struct bread_decision_call *call)
{
	bread_op_begin(&call->op, NULL, NULL);
	call->answer = strdup("{\"type\":\"noul\",\"probability\":0.125}");
	bread_op_end(&call->op, BREAD_OK, NULL);
}

static void an_embedders_host_wins(void **state)
{
	static const struct bread_decision_ops ops = { "own", sizeof(struct bread_decision),
		own_open, own_close, own_start };
	struct bread_err err = { 0 };
	struct asked q;

	asked_open(&q, "{\"kev\":{}}");
	assert_int_equal(brd_decisions_add(&q.ds, &ops, BRD_STR("kev"), BRD_STR("{}"), &err), 0);
	ask(&q, loop, "kev", NOUL, "1", "");
	assert_answer(&q, "{\"type\":\"noul\",\"probability\":0.125}");
	asked_fini(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_told_who_is_registered),
		cmocka_unit_test(without_a_registry_nothing_is_configured),
		cmocka_unit_test(a_registry_that_is_empty_is_one),
		cmocka_unit_test(answers_come_in_their_order),
		cmocka_unit_test(a_questions_own_answer_comes_first),
		cmocka_unit_test(an_answer_takes_its_time_unless_cancelled),
		cmocka_unit_test(questions_are_recorded),
		cmocka_unit_test(an_embedders_host_wins),
	};
	struct bread_err err;
	int r;

	if (brd_loop_new(&loop, &err))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	brd_loop_free(loop);
	return r;
}
