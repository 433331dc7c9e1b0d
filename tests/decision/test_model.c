/* SPDX-License-Identifier: MIT */
/* A chat model as a host: what it is asked, and what its answers become. */
#include <math.h>
#include "asked.h"

static struct loop *loop;

/* What the model does. */
static struct {
	const char *text; /* NULL: it fails */
	double likely;
	bool holds; /* it waits for a cancel */
	struct buf schema, prompt, model, provider;
} played;

static void on_cancel(struct bread_op *op, void *by)
{
	bread_op_end(op, BREAD_E_CANCELED, NULL);
}

static void keep(struct buf *b, struct bread_str s)
{
	brd_buf_clear(b);
	brd_buf_add(b, s);
}

static void play(void *arg, struct decision_ask *q)
{
	struct bread_err err = { .text = "overloaded" };

	keep(&played.schema, q->schema);
	keep(&played.prompt, q->prompt);
	keep(&played.model, q->model);
	keep(&played.provider, q->provider);
	bread_op_begin(&q->op, on_cancel, NULL);
	if (played.holds)
		return;
	q->likely = played.likely;
	q->status = 529;
	if (played.text) {
		q->text = strdup(played.text);
		q->text_len = strlen(played.text);
	}
	bread_op_end(&q->op, played.text ? BREAD_OK : BREAD_E_UPSTREAM, &err);
}

#define ENTRY "{\"m\":{\"type\":\"model\",\"provider\":\"p\",\"model\":\"small\",\"timeout\":5000}}"

static void open_model(struct asked *q, const char *text, double likely)
{
	played.text = text;
	played.likely = likely;
	played.holds = false;
	asked_open(q, ENTRY);
	brd_decisions_ask_by(q->ds, play, NULL);
}

static void a_choice_is_asked_with_its_options(void **state)
{
	struct asked q;

	open_model(&q, "{\"choice\":\"billing\"}", NAN);
	ask(&q, loop, "m", CHOICE, "\"my <bill>\"", "");
	assert_answer(&q, "{\"type\":\"choice\",\"choice\":\"billing\"}");
	assert_string_equal(played.schema.data,
		"{\"type\":\"object\",\"properties\":{\"choice\":{\"type\":\"string\",\"enum\":"
		"[\"billing\",\"shipping\"]}},\"required\":[\"choice\"],"
		"\"additionalProperties\":false}");
	assert_string_equal(played.prompt.data,
		"Question: Which desk?\nChoose the one option that fits best.\n"
		"Options: [\"billing\",\"shipping\"]\n\nValue:\nmy <bill>");
	assert_string_equal(played.model.data, "small");
	assert_string_equal(played.provider.data, "p");
	ask(&q, loop, "m", CHOICE, "{\"a\":1}", "large");
	assert_non_null(strstr(played.prompt.data, "Value:\n{\"a\":1}"));
	assert_string_equal(played.model.data, "large");
	asked_fini(&q);
}

static void numbers_are_asked_in_their_range(void **state)
{
	struct asked q;

	open_model(&q, "{\"score\":7}", NAN);
	ask(&q, loop, "m", SCORE, "1", "");
	assert_answer(&q, "{\"type\":\"score\",\"score\":7}");
	assert_non_null(strstr(played.schema.data, "\"minimum\":0,\"maximum\":9"));
	played.text = "{\"probability\":0.25}";
	ask(&q, loop, "m", NOUL, "", "");
	assert_answer(&q, "{\"type\":\"noul\",\"probability\":0.25}");
	assert_non_null(strstr(played.schema.data, "\"minimum\":0,\"maximum\":1"));
	asked_fini(&q);
}

static void confidence_is_what_the_server_measured(void **state)
{
	struct asked q;

	open_model(&q, "{\"choice\":\"billing\",\"confidence\":1}", 0.75);
	ask(&q, loop, "m", CHOICE, "1", "");
	assert_answer(&q, "{\"type\":\"choice\",\"choice\":\"billing\",\"confidence\":0.75}");
	played.likely = NAN;
	ask(&q, loop, "m", CHOICE, "1", "");
	assert_answer(&q, "{\"type\":\"choice\",\"choice\":\"billing\"}");
	asked_fini(&q);
}

static void what_is_no_object_is_no_answer(void **state)
{
	static const char *const texts[] = { "billing", "", "[1]", "{\"choice\":" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct asked q;

		open_model(&q, texts[i], NAN);
		ask(&q, loop, "m", CHOICE, "1", "");
		assert_int_equal(q.call.op.code, BREAD_OK);
		assert_null(q.call.answer);
		asked_fini(&q);
	}
}

static void a_failing_model_is_a_failing_host(void **state)
{
	struct asked q;

	open_model(&q, NULL, NAN);
	ask(&q, loop, "m", CHOICE, "1", "");
	assert_failure(&q, "DECISION_HOST", "{\"provider\":\"m\",\"status\":529}");
	assert_string_equal(q.call.op.err.text, "Decision host \"m\": overloaded");
	asked_fini(&q);
}

static void a_cancel_reaches_the_model(void **state)
{
	struct asked q;

	open_model(&q, NULL, NAN);
	played.holds = true;
	ask_start(&q, loop, "m", CHOICE, "1", "");
	bread_op_cancel(&q.call.op);
	ask_await(&q, loop);
	assert_int_equal(q.call.op.code, BREAD_E_CANCELED);
	asked_fini(&q);
}

static void without_one_who_asks_it_fails(void **state)
{
	struct asked q;

	asked_open(&q, ENTRY);
	ask(&q, loop, "m", CHOICE, "1", "");
	assert_failure(&q, "DECISION_HOST", "{\"provider\":\"m\",\"status\":null}");
	asked_fini(&q);
}

static void without_a_model_it_fails(void **state)
{
	struct asked q;

	played.text = "{}";
	played.holds = false;
	asked_open(&q, "{\"m\":{\"type\":\"model\",\"provider\":\"p\"}}");
	brd_decisions_ask_by(q.ds, play, NULL);
	ask(&q, loop, "m", CHOICE, "1", "");
	assert_failure(&q, "DECISION_HOST", "{\"provider\":\"m\",\"status\":null}");
	assert_non_null(strstr(q.call.op.err.text, "model"));
	ask(&q, loop, "m", CHOICE, "1", "large");
	assert_string_equal(played.model.data, "large");
	asked_fini(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_choice_is_asked_with_its_options),
		cmocka_unit_test(numbers_are_asked_in_their_range),
		cmocka_unit_test(confidence_is_what_the_server_measured),
		cmocka_unit_test(what_is_no_object_is_no_answer),
		cmocka_unit_test(a_failing_model_is_a_failing_host),
		cmocka_unit_test(a_cancel_reaches_the_model),
		cmocka_unit_test(without_one_who_asks_it_fails),
		cmocka_unit_test(without_a_model_it_fails),
	};
	struct buf *kept[] = { &played.schema, &played.prompt, &played.model, &played.provider };
	struct bread_err err;
	int r;

	if (brd_loop_new(&loop, &err))
		return 1;
	for (size_t i = 0; i < 4; i++)
		brd_buf_init(kept[i], BUF_NO_LIMIT);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = 0; i < 4; i++)
		brd_buf_fini(kept[i]);
	brd_loop_free(loop);
	return r;
}
