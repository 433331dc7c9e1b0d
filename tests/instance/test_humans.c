/* SPDX-License-Identifier: MIT */
/* Questions that a program is told of, and answers. */
#include <stdio.h>
#include "base/err.h"
#include "base/str.h"
#include "instance/internal.h"
#include "test.h"

#define CALL(name, args) \
	"{\"stream\":[{\"tool_call\":{\"id\":\"c\",\"name\":\"" name "\",\"args\":" args "}}]}"
#define AFTER(text) "{\"match\":{\"role\":\"tool\"},\"stream\":[{\"text\":\"" text "\"}]}"

static const char config[] =
	"{\"store\":\"memory\",\"transport\":\"stream\",\"providers\":{\"p\":{\"type\":"
	"\"scripted\","
	"\"models\":{\"ask\":{\"when\":[" AFTER("heard {{result}}") "," CALL("human_ask",
		"{\"q\":1}") "]},"
			     "\"boss\":{\"when\":[" AFTER("{{result}}") "," CALL("core_delegate",
				     "{\"agentId\":\"ask\",\"input\":\"x\"}") "]}}}}}";
static const char ask[] =
	"{\"model\":{\"provider\":\"p\",\"model\":\"ask\"},\"humanTools\":[{\"name\":\"ask\","
	"\"schema\":{\"type\":\"object\"},\"answer\":{\"type\":\"integer\"},\"deadline\":\"1h\","
	"\"default\":7}]}";
static const char boss[] = "{\"model\":{\"provider\":\"p\",\"model\":\"boss\"},\"supervisor\":{"
			   "\"agents\":[{\"agentId\":\"ask\",\"visibility\":\"hidden\"}]}}";

struct world {
	struct bread *b;
	bool answers;
	int questions, refused;
	char checkpoint[64], text[256];
	int ends;
	enum bread_run_status status;
	char output[64];
};

static void on_claimed(
	struct bread_str run_id, int64_t after, const struct bread_err *err, void *arg)
{
	((struct world *)arg)->refused += err != NULL;
}

static void on_end(const struct bread_outcome *o, void *arg)
{
	struct world *w = arg;

	w->ends++;
	w->status = o->status;
	snprintf(w->output, sizeof(w->output), "%.*s", BRD_ARG(o->output));
}

static void answer(struct world *w, struct bread_str checkpoint)
{
	struct bread_resume_request req = { .checkpoint_id = checkpoint,
		.response = BRD_STR("5"),
		.on_claimed = on_claimed,
		.on_end = on_end,
		.arg = w };

	bread_resume(w->b, &req);
}

static void on_human(const struct bread_human *q, void *arg)
{
	struct world *w = arg;

	w->questions++;
	snprintf(w->checkpoint, sizeof(w->checkpoint), "%.*s", BRD_ARG(q->checkpoint_id));
	snprintf(w->text, sizeof(w->text), "%.*s %.*s %.*s %.*s %.*s %.*s%s", BRD_ARG(q->agent_id),
		BRD_ARG(q->tool), BRD_ARG(q->args), BRD_ARG(q->kind), BRD_ARG(q->answer_schema),
		BRD_ARG(q->fallback), q->deadline > 0 ? " till" : "");
	if (w->answers)
		answer(w, q->checkpoint_id);
}

static void world_open(struct world *w, const char *agent)
{
	struct bread_run_request req = {
		.agent_id = brd_str(agent), .input = BRD_STR("\"go\""), .on_end = on_end, .arg = w
	};
	char id[BREAD_RUN_ID_MAX];
	struct bread_err err;

	assert_int_equal(bread_new(&w->b, &err), 0);
	assert_int_equal(bread_configure(w->b, brd_str(config), &err), 0);
	assert_int_equal(bread_agent(w->b, "ask", brd_str(ask), NULL, &err), 0);
	assert_int_equal(bread_agent(w->b, "boss", brd_str(boss), NULL, &err), 0);
	bread_on_human(w->b, on_human, w);
	assert_int_equal(bread_start(w->b, &err), 0);
	assert_int_equal(bread_run(w->b, &req, id, &err), 0);
}

/* Until the run has told its end so many times. */
static void until(struct world *w, int ends)
{
	while (w->ends < ends)
		bread_turn(w->b, 100);
}

static void a_question_is_told_with_all_that_its_answer_needs(void **state)
{
	struct world w = { 0 };

	world_open(&w, "boss");
	while (!w.questions)
		bread_turn(w.b, 100);
	until(&w, 1);
	assert_int_equal(w.status, BREAD_RUN_SUSPENDED);
	assert_string_equal(w.text, "ask human_ask {\"q\":1} input {\"type\":\"integer\"} 7 till");
	answer(&w, brd_str(w.checkpoint));
	until(&w, 2);
	assert_int_equal(w.status, BREAD_RUN_COMPLETED);
	assert_string_equal(w.output, "\"heard 5\"");
	assert_int_equal(w.questions, 1);
	bread_free(w.b);
}

static void it_may_be_answered_inside_the_call(void **state)
{
	struct world w = { .answers = true };

	world_open(&w, "ask");
	while (w.status != BREAD_RUN_COMPLETED)
		bread_turn(w.b, 100);
	assert_string_equal(w.output, "\"heard 5\"");
	assert_int_equal(w.questions, 1);
	assert_int_equal(w.refused, 0);
	bread_free(w.b);
}

static void going_down_at_once_is_safe(void **state)
{
	struct world w = { .answers = true };

	world_open(&w, "ask");
	bread_turn(w.b, 0);
	bread_free(w.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_is_told_with_all_that_its_answer_needs),
		cmocka_unit_test(it_may_be_answered_inside_the_call),
		cmocka_unit_test(going_down_at_once_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
