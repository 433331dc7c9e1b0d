/* SPDX-License-Identifier: MIT */
/* Runs that wait for a human: nothing of them stays in memory; an answer goes on. */
#include "run/run_fixture.h"

static const char planner[] = "{\"model\":{\"provider\":\"mock\",\"model\":\"m1\"},"
			      "\"humanTools\":[{\"name\":\"ask\",\"schema\":{\"type\":\"object\","
			      "\"required\":[\"q\"]}}]}";
static const char one_question[] =
	"{\"m1\":{\"calls\":["
	"{\"stream\":[{\"text\":\"Hmm. "
	"\"},{\"tool_call\":{\"id\":\"c1\",\"name\":\"human_ask\",\"args\":{\"q\":\"city?\"}}}]},"
	"{\"stream\":[{\"text\":\"went\"}]}]}}";
static const char two_questions[] =
	"{\"m1\":{\"calls\":["
	"{\"stream\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"human_ask\",\"args\":{\"q\":\"a?\"}}"
	"},"
	"{\"tool_call\":{\"id\":\"c2\",\"name\":\"human_ask\",\"args\":{\"q\":\"b?\"}}}]},"
	"{\"stream\":[{\"text\":\"both\"}]}]}}";

struct claimed {
	bool done;
	char run_id[BREAD_RUN_ID_MAX];
	int64_t after;
	struct bread_err err;
	struct seen *seen;
};

static void on_claimed(
	struct bread_str run_id, int64_t after, const struct bread_err *err, void *arg)
{
	struct claimed *c = arg;

	c->done = true;
	c->after = after;
	snprintf(c->run_id, sizeof(c->run_id), "%.*s", BRD_ARG(run_id));
	if (err)
		c->err = *err;
}

static void on_end(const struct bread_outcome *o, void *arg)
{
	struct claimed *c = arg;

	c->seen->told = true;
	c->seen->status = o->status;
	snprintf(c->seen->output, sizeof(c->seen->output), "%.*s", BRD_ARG(o->output));
}

static void resume(struct bread *b, struct bread_str checkpoint, const char *response,
	struct claimed *c, struct seen *s)
{
	struct bread_resume_request req = { .checkpoint_id = checkpoint,
		.response = brd_str(response),
		.on_claimed = on_claimed,
		.on_end = on_end,
		.arg = c };

	memset(c, 0, sizeof(*c));
	c->seen = s;
	s->told = false;
	bread_resume(b, &req);
	fixture_until(b, &c->done);
	if (!c->err.name[0])
		fixture_until(b, &s->told);
}

/* The n-th checkpoint that was asked for. */
static struct bread_str checkpoint(const struct seen *s, int n)
{
	const char *at = s->json.data;

	for (int i = 0; i <= n; i++)
		at = strstr(at + (i > 0), "\"checkpointId\":\"");
	return (struct bread_str){ at + 16, 36 };
}

static void suspend(struct bread *b, struct seen *s)
{
	char id[BREAD_RUN_ID_MAX];

	fixture_agent(b, "p", planner);
	fixture_start(b, "p", "\"x\"", "conv", s, id);
	fixture_until(b, &s->told);
	fixture_turn(b, 20);
	assert_int_equal(s->status, BREAD_RUN_SUSPENDED);
}

static void an_answer_goes_on_with_the_same_run(void **state)
{
	struct bread *b = fixture_new(one_question, NULL);
	struct seen s = { 0 };
	struct claimed c;

	suspend(b, &s);
	assert_string_equal(s.types.data, "agent:run:start text:delta human:required ");
	resume(b, checkpoint(&s, 0), "{\"city\":\"Rome\"}", &c, &s);
	fixture_until(b, &s.ended);
	assert_string_equal(s.types.data, "agent:run:start text:delta human:required human:resumed "
					  "text:delta agent:run:end ");
	assert_int_equal(c.after, 3);
	assert_int_equal(s.last, 6);
	assert_string_equal(s.output, "\"went\"");
	seen_fini(&s);
	bread_free(b);
}

static void a_checkpoint_is_claimed_once(void **state)
{
	struct bread *b = fixture_new(one_question, NULL);
	struct seen s = { 0 };
	struct claimed c;

	suspend(b, &s);
	resume(b, BRD_STR("nope"), "1", &c, &s);
	assert_string_equal(c.err.name, "CHECKPOINT_NOT_FOUND");
	resume(b, checkpoint(&s, 0), "1", &c, &s);
	assert_string_equal(c.err.name, "");
	resume(b, checkpoint(&s, 0), "1", &c, &s);
	assert_string_equal(c.err.name, "CHECKPOINT_CLAIMED");
	seen_fini(&s);
	bread_free(b);
}

static void two_questions_are_answered_in_any_order(void **state)
{
	struct bread *b = fixture_new(two_questions, NULL);
	struct seen s = { 0 };
	struct claimed c;

	suspend(b, &s);
	assert_string_equal(s.types.data, "agent:run:start human:required human:required ");
	resume(b, checkpoint(&s, 1), "2", &c, &s);
	assert_int_equal(s.status, BREAD_RUN_SUSPENDED);
	resume(b, checkpoint(&s, 0), "1", &c, &s);
	assert_int_equal(s.status, BREAD_RUN_COMPLETED);
	fixture_until(b, &s.ended);
	assert_string_equal(s.types.data, "agent:run:start human:required human:required "
					  "human:resumed human:resumed text:delta agent:run:end ");
	seen_fini(&s);
	bread_free(b);
}

static void two_answers_at_the_same_moment_both_count(void **state)
{
	struct bread *b = fixture_new(two_questions, NULL);
	struct seen s = { 0 };
	struct claimed c[2];

	suspend(b, &s);
	for (int i = 0; i < 2; i++) {
		struct bread_resume_request req = { .checkpoint_id = checkpoint(&s, i),
			.response = BRD_STR("1"),
			.on_claimed = on_claimed,
			.arg = &c[i] };

		memset(&c[i], 0, sizeof(c[i]));
		bread_resume(b, &req);
	}
	fixture_until(b, &c[0].done);
	fixture_until(b, &c[1].done);
	assert_string_equal(c[0].err.name, "");
	assert_string_equal(c[1].err.name, "");
	fixture_until(b, &s.ended);
	assert_non_null(strstr(s.types.data, "agent:run:end"));
	seen_fini(&s);
	bread_free(b);
}

struct wish {
	struct bread_op op;
	enum bread_run_status status;
	bool done;
};

static void on_wish(struct bread_op *op)
{
	((struct wish *)op->arg)->done = true;
}

static void a_waiting_run_can_be_cancelled(void **state)
{
	struct bread *b = fixture_new(one_question, NULL);
	struct seen s = { 0 };
	struct claimed c;
	struct wish w = { 0 };
	char id[BREAD_RUN_ID_MAX];

	fixture_agent(b, "p", planner);
	fixture_start(b, "p", "\"x\"", "conv", &s, id);
	fixture_until(b, &s.told);
	fixture_turn(b, 20);
	bread_op_init(&w.op, bread_here(b), on_wish, &w);
	bread_cancel(b, brd_str(id), &w.status, &w.op);
	fixture_until(b, &w.done);
	fixture_until(b, &s.ended);
	assert_string_equal(s.types.data, "agent:run:start text:delta human:required agent:error ");
	resume(b, checkpoint(&s, 0), "1", &c, &s);
	assert_string_equal(c.err.name, "CHECKPOINT_NOT_FOUND");
	seen_fini(&s);
	bread_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_goes_on_with_the_same_run),
		cmocka_unit_test(a_checkpoint_is_claimed_once),
		cmocka_unit_test(two_questions_are_answered_in_any_order),
		cmocka_unit_test(two_answers_at_the_same_moment_both_count),
		cmocka_unit_test(a_waiting_run_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
