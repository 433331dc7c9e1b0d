/* SPDX-License-Identifier: MIT */
/* Decision hosts of an instance: configured, the embedder's own, and models that answer. */
#include "base/err.h"
#include "base/str.h"
#include "instance/internal.h"
#include "test.h"

#define CONFIG(decisions) \
	"{\"store\":\"memory\",\"transport\":\"stream\",\"providers\":{\"p\":{\"type\":" \
	"\"scripted\"," \
	"\"models\":{\"m\":{\"calls\":[{\"generate\":{\"choice\":\"billing\"}},{\"throw\":\"no\"," \
	"\"status\":503}]}}}},\"decisions\":" decisions "}"

struct asked {
	struct bread *b;
	struct arena a;
	struct bread_decision_call call;
	bool ended;
};

static void on_asked(struct bread_op *op)
{
	((struct asked *)op->arg)->ended = true;
}

static int started(struct asked *q, const char *config, struct bread_err *err)
{
	memset(q, 0, sizeof(*q));
	assert_int_equal(bread_new(&q->b, err), 0);
	assert_int_equal(bread_configure(q->b, brd_str(config), err), 0);
	return bread_start(q->b, err);
}

static void ask(struct asked *q, const char *host)
{
	struct bread_decision *d = brd_decision_find(q->b->decisions, brd_str(host), NULL);
	struct jval question;

	assert_non_null(d);
	assert_int_equal(brd_json_parse(&q->a,
				 BRD_STR("{\"type\":\"choice\",\"text\":\"Which desk?\","
					 "\"options\":[\"billing\"],\"otherwise\":\"x\"}"),
				 0, &question, NULL),
		0);
	brd_decision_call_fini(&q->call);
	q->call = (struct bread_decision_call){ .loop = q->b->loops[0],
		.state = BRD_STR("\"my bill\"") };
	brd_question_ask(question, &q->call, &q->a);
	q->ended = false;
	bread_op_init(&q->call.op, q->call.loop, on_asked, q);
	brd_decision_start(d, &q->call);
	while (!q->ended)
		bread_turn(q->b, 1000);
}

static void asked_fini(struct asked *q)
{
	brd_decision_call_fini(&q->call);
	brd_arena_fini(&q->a);
	bread_free(q->b);
}

static void a_model_answers_a_question(void **state)
{
	struct asked q;
	struct bread_err err = { 0 };

	if (started(&q, CONFIG("{\"d\":{\"type\":\"model\",\"provider\":\"p\",\"model\":\"m\"}}"),
		    &err))
		fail_msg("%s", err.text);
	ask(&q, "d");
	assert_int_equal(q.call.op.code, BREAD_OK);
	assert_string_equal(q.call.answer, "{\"type\":\"choice\",\"choice\":\"billing\"}");
	ask(&q, "d");
	assert_string_equal(q.call.op.err.name, "DECISION_HOST");
	assert_string_equal(q.call.error_context, "{\"provider\":\"d\",\"status\":503}");
	asked_fini(&q);
}

static void a_models_provider_must_be_there(void **state)
{
	struct asked q;
	struct bread_err err = { 0 };

	assert_int_equal(
		started(&q, CONFIG("{\"d\":{\"type\":\"model\",\"provider\":\"ghost\"}}"), &err),
		BREAD_E_INVALID);
	assert_string_equal(
		err.text, "decisions.d.provider is \"ghost\", which is no key of providers");
	asked_fini(&q);
}

static int own_open(struct bread_decision *d, struct bread_str name, struct bread_str options,
	struct bread_err *err)
{
	return brd_str_is(options, "{}") ? 0 : brd_fail(err, BREAD_E_INVALID, "own", "no");
}

static void own_close(struct bread_decision *d)
{
}

static void own_start(struct bread_decision *d, struct bread_decision_call *call)
{
	bread_op_begin(&call->op, NULL, NULL);
	call->answer = strdup("{\"type\":\"choice\",\"choice\":\"own\"}");
	bread_op_end(&call->op, BREAD_OK, NULL);
}

static const struct bread_decision_ops own = { "own", sizeof(struct bread_decision), own_open,
	own_close, own_start };

static void an_embedders_host_needs_no_configuration(void **state)
{
	struct asked q = { .ended = false };
	struct bread_err err = { 0 };

	assert_int_equal(bread_new(&q.b, &err), 0);
	assert_int_equal(bread_configure(q.b,
				 BRD_STR("{\"store\":\"memory\",\"transport\":\"stream\"}"), &err),
		0);
	assert_int_equal(bread_decision(q.b, "mine", &own, BRD_STR("[]"), &err), BREAD_E_INVALID);
	assert_int_equal(bread_decision(q.b, "mine", &own, BRD_STR("{}"), &err), 0);
	assert_int_equal(bread_start(q.b, &err), 0);
	assert_int_equal(bread_decision(q.b, "late", &own, BRD_STR("{}"), &err), BREAD_E_INVALID);
	ask(&q, "mine");
	assert_string_equal(q.call.answer, "{\"type\":\"choice\",\"choice\":\"own\"}");
	asked_fini(&q);
}

static void a_file_is_checked_with_its_places(void **state)
{
	static const struct {
		const char *yaml, *where, *part;
	} cases[] = {
		{ "decisions:\n  d: { type: modell, provider: p }", "bread.yaml:2:6",
			"which is not known" },
		{ "providers: { p: {} }\ndecisions:\n  d: { type: model, provider: q }",
			"bread.yaml:3:31", "decisions.d.provider is \"q\"" },
		{ "decisions:\n  model: { provider: q }", "bread.yaml:2:22",
			"decisions.model.provider is \"q\"" },
		{ "providers: { p: {} }\ndecisions:\n  d: { type: model, provider: p }", NULL,
			NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct arena a = { 0 };
		struct yaml_doc doc;
		struct bread_err err = { 0 };
		int r;

		assert_int_equal(
			brd_yaml_parse(&doc, &a, "bread.yaml", brd_str(cases[i].yaml), &err), 0);
		r = brd_instance_check(doc.root, &doc, &err);
		assert_int_equal(r, cases[i].where ? BREAD_E_INVALID : 0);
		if (r && (strcmp(err.where, cases[i].where) || !strstr(err.text, cases[i].part)))
			fail_msg("%s: %s", err.where, err.text);
		brd_arena_fini(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_answers_a_question),
		cmocka_unit_test(a_models_provider_must_be_there),
		cmocka_unit_test(an_embedders_host_needs_no_configuration),
		cmocka_unit_test(a_file_is_checked_with_its_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
