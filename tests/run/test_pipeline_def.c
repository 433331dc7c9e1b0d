/* SPDX-License-Identifier: MIT */
/* Pipelines as data, and what is wrong with some of them. */
#include <stdio.h>
#include "run/pipeline_def.h"
#include "test.h"

static struct pipeline_def *parsed(const char *json)
{
	struct pipeline_def *d = NULL;
	struct bread_err err = { 0 };

	if (brd_pipeline_def_new(&d, "p", brd_str(json), &err))
		fail_msg("%s", err.text);
	return d;
}

static const char *refused(const char *json)
{
	static struct bread_err err;
	struct pipeline_def *d = NULL;

	memset(&err, 0, sizeof(err));
	assert_int_equal(brd_pipeline_def_new(&d, "p", brd_str(json), &err), BREAD_E_INVALID);
	return err.text;
}

#define A(id) "{\"type\":\"agent\",\"agentId\":\"" id "\"}"

static void agents_and_maps_have_their_defaults(void **state)
{
	struct pipeline_def *d = parsed("[" A("a") ",{\"type\":\"map\",\"agentId\":\"b\","
						   "\"concurrency\":4},{\"type\":\"map\","
						   "\"agentId\":\"b\",\"session\":\"shared\"}]");

	assert_int_equal(d->steps.count, 3);
	assert_int_equal(d->steps.steps[0].kind, STEP_AGENT);
	assert_string_equal(d->steps.steps[0].agent_id, "a");
	assert_false(d->steps.steps[0].shared_session);
	assert_int_equal(d->steps.steps[0].concurrency, 1);
	assert_str(d->steps.steps[0].json, A("a"));
	assert_int_equal(d->steps.steps[1].kind, STEP_MAP);
	assert_true(d->steps.steps[2].shared_session);
	assert_int_equal(d->steps.steps[1].concurrency, 4);
	brd_pipeline_def_unref(d);
}

static void each_slot_is_a_list_of_one_step(void **state)
{
	struct pipeline_def *d =
		parsed("[{\"type\":\"parallel\",\"steps\":[" A("a") "," A("b") "]}]");
	const struct step_def *s = &d->steps.steps[0];

	assert_int_equal(s->slot_count, 2);
	assert_int_equal(s->slots[1].count, 1);
	assert_string_equal(s->slots[1].steps[0].agent_id, "b");
	brd_pipeline_def_unref(d);
}

static void a_branch_has_arms_and_a_default(void **state)
{
	struct pipeline_def *d = parsed(
		"[{\"type\":\"branch\",\"on\":\"a.b\",\"cases\":[{\"eq\":\"x\\u00e9\","
		"\"steps\":[" A("a") "]},{\"eq\":\"\",\"steps\":[]}],\"default\":[" A("b") "]}]");
	const struct step_def *s = &d->steps.steps[0];

	assert_str(s->on, "a.b");
	assert_int_equal(s->case_count, 2);
	assert_str(s->cases[0].eq, "x\xc3\xa9");
	assert_int_equal(s->cases[0].steps.count, 1);
	assert_int_equal(s->cases[1].eq.n, 0);
	assert_true(s->has_default);
	assert_string_equal(s->otherwise.steps[0].agent_id, "b");
	brd_pipeline_def_unref(d);
}

static void a_decision_keeps_its_question(void **state)
{
	struct pipeline_def *d = parsed(
		"[{\"type\":\"decision\",\"provider\":\"h\",\"model\":\"m\",\"question\":{\"type\":"
		"\"score\",\"text\":\"?\",\"buckets\":[{\"label\":\"l\",\"min\":0,\"max\":9}]}}]");

	assert_int_equal(d->steps.steps[0].kind, STEP_DECISION);
	assert_int_equal(d->steps.steps[0].question_type, BREAD_QUESTION_SCORE);
	assert_string_equal(d->steps.steps[0].provider, "h");
	assert_true(brd_json_is(brd_json_get(d->steps.steps[0].question, "text"), "?"));
	brd_pipeline_def_unref(d);
}

static void a_decision_may_leave_the_model_to_its_host(void **state)
{
	struct pipeline_def *d =
		parsed("[{\"type\":\"decision\",\"provider\":\"h\",\"question\":{\"type\":\"noul\","
		       "\"text\":\"?\",\"buckets\":[{\"label\":\"l\",\"min\":0,\"max\":1}]}}]");

	assert_null(d->steps.steps[0].model);
	brd_pipeline_def_unref(d);
}

static void count(const struct step_def *s, void *arg)
{
	++*(size_t *)arg;
}

static void each_finds_steps_inside_steps(void **state)
{
	struct pipeline_def *d = parsed(
		"[{\"type\":\"parallel\",\"steps\":[{\"type\":\"branch\",\"cases\":[{\"eq\":\"x\","
		"\"steps\":[" A("a") "]}],\"default\":[" A("b") "]}," A("c") "]}]");
	size_t n = 0;

	brd_pipeline_each(&d->steps, count, &n);
	assert_int_equal(n, 5);
	brd_pipeline_def_unref(d);
}

static void ids_become_a_pipeline_of_agents(void **state)
{
	static const char *const ids[] = { "a", "b", NULL };
	struct pipeline_def *d;

	assert_int_equal(brd_pipeline_def_of_agents(&d, "loop", ids, NULL), 0);
	assert_int_equal(d->steps.count, 2);
	assert_string_equal(d->steps.steps[1].agent_id, "b");
	assert_str(d->json, "[" A("a") "," A("b") "]");
	brd_pipeline_def_unref(d);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *json, *says;
	} table[] = {
		{ "{}", "a list of steps" },
		{ "[{\"type\":\"agnet\"}]", "no known type" },
		{ "[7]", "no known type" },
		{ "[{\"type\":\"agent\"}]", "agentId" },
		{ "[{\"type\":\"agent\",\"agentId\":\"a\",\"skil\":\"x\"}]", "did you mean" },
		{ "[{\"type\":\"agent\",\"agentId\":\"a\",\"session\":\"own\"}]", "session" },
		{ "[{\"type\":\"map\",\"agentId\":\"a\",\"concurrency\":0}]", "concurrency" },
		{ "[{\"type\":\"branch\",\"cases\":[]}]", "default" },
		{ "[{\"type\":\"branch\",\"on\":\"a..b\",\"default\":[]}]", "path" },
		{ "[{\"type\":\"branch\",\"cases\":[{\"steps\":[]}],\"default\":[]}]", "eq" },
		{ "[{\"type\":\"parallel\"}]", "steps" },
		{ "[{\"type\":\"decision\",\"provider\":\"h\",\"model\":\"m\"}]", "question" },
		{ "[{\"type\":\"decision\",\"provider\":\"h\",\"model\":\"m\",\"question\":{"
		  "\"type\":\"choice\",\"text\":\"?\",\"options\":[\"a\"]}}]",
			"otherwise" },
		{ "[{\"type\":\"decision\",\"provider\":\"h\",\"model\":\"m\",\"question\":{"
		  "\"type\":\"noul\",\"text\":\"?\",\"buckets\":[{\"label\":\"l\",\"min\":2,"
		  "\"max\":1}]}}]",
			"min is over its max" },
		{ "[{\"type\":\"decision\",\"provider\":\"h\",\"model\":\"m\",\"question\":{"
		  "\"type\":\"guess\",\"text\":\"?\"}}]",
			"choice, score or noul" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const char *text = refused(table[i].json);

		if (!strstr(text, table[i].says))
			fail_msg("%s: %s", table[i].json, text);
	}
}

static void a_branch_without_default_has_a_name_of_its_own(void **state)
{
	struct bread_err err = { 0 };
	struct pipeline_def *d;

	brd_pipeline_def_new(&d, "p", BRD_STR("[{\"type\":\"branch\",\"cases\":[]}]"), &err);
	assert_string_equal(err.name, "PIPELINE_BRANCH_DEFAULT");
}

static void a_session_is_shared_by_one_after_the_other(void **state)
{
	assert_non_null(strstr(refused("[{\"type\":\"map\",\"agentId\":\"b\",\"concurrency\":2,"
				       "\"session\":\"shared\"}]"),
		"same time"));
	assert_non_null(strstr(refused("[{\"type\":\"parallel\",\"steps\":[{\"type\":\"branch\","
				       "\"on\":\"a\",\"cases\":[],\"default\":[{\"type\":\"agent\","
				       "\"agentId\":\"b\",\"session\":\"shared\"}]}]}]"),
		"same time"));
}

static void nesting_has_a_limit(void **state)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (int i = 0; i < 40; i++)
		brd_buf_addz(&b, "[{\"type\":\"parallel\",\"steps\":");
	brd_buf_addz(&b, "[]");
	for (int i = 0; i < 40; i++)
		brd_buf_addz(&b, "}]");
	assert_non_null(strstr(refused(b.data), "32"));
	brd_buf_fini(&b);
}

static void add(const struct bread_err *err, void *arg)
{
	struct buf *b = arg;

	brd_buf_addf(b, "%s: %s\n", err->where, err->text);
}

static void in_a_file_every_fault_has_its_place(void **state)
{
	struct arena a = { 0 };
	struct yaml_doc doc;
	struct step_list l;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	assert_int_equal(brd_yaml_parse(&doc, &a, "p.yaml",
				 BRD_STR("- {type: agent}\n- type: what\n- type: branch\n"
					 "  cases:\n    - eq: 7\n      steps: []\n"),
				 NULL),
		0);
	assert_false(brd_pipeline_check(&l, doc.root, &doc, "pipelines.p", &a, add, &b));
	assert_non_null(strstr(b.data, "p.yaml:1:3: pipelines.p.0.agentId is missing"));
	assert_non_null(strstr(b.data, "p.yaml:2:9: pipelines.p.1 is a step of no known type"));
	assert_non_null(strstr(b.data, "p.yaml:3:3: pipelines.p.2 has no `default:`"));
	assert_non_null(strstr(b.data, "p.yaml:5:11: pipelines.p.2.cases.0.eq"));
	brd_buf_fini(&b);
	brd_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agents_and_maps_have_their_defaults),
		cmocka_unit_test(each_slot_is_a_list_of_one_step),
		cmocka_unit_test(a_branch_has_arms_and_a_default),
		cmocka_unit_test(a_decision_keeps_its_question),
		cmocka_unit_test(a_decision_may_leave_the_model_to_its_host),
		cmocka_unit_test(each_finds_steps_inside_steps),
		cmocka_unit_test(ids_become_a_pipeline_of_agents),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(a_branch_without_default_has_a_name_of_its_own),
		cmocka_unit_test(a_session_is_shared_by_one_after_the_other),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(in_a_file_every_fault_has_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
