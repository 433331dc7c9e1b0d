/* SPDX-License-Identifier: MIT */
/* Scorers that take time, on an instance: a scripted model judges, and programs do. */
#include <stdlib.h>
#include "base/str.h"
#include "project/judge.h"
#include "test.h"
#include "tool/tool.h"

static struct bread *b;

#define CONFIG \
	"{\"store\":\"memory\",\"transport\":\"stream\",\"providers\":{\"p\":{\"type\":" \
	"\"scripted\"," \
	"\"models\":{\"yes/" \
	"1\":{\"when\":[{\"match\":{\"contains\":\"Criteria:\\nkind\\n\\nInput:\\n" \
	"hi\\n\\nOutput:\\nout\"},\"stream\":[{\"text\":\" pass\\n\"}]}]}," \
	"\"no\":{\"when\":[{\"stream\":[{\"text\":\"PASSED\"}]}]}," \
	"\"bad\":{\"when\":[{\"throw\":\"no " \
	"luck\"}]},\"hangs\":{\"when\":[{\"stream\":[{\"hang\":" \
	"true}]}]}}}}}"

static int start(void **state)
{
	struct bread_err err = { 0 };

	unsetenv("BREAD_EVAL_MODEL");
	return bread_new(&b, &err) || bread_configure(b, BRD_STR(CONFIG), &err) ||
	       bread_start(b, &err);
}

static int stop(void **state)
{
	bread_free(b);
	return 0;
}

static struct jval parsed(struct arena *a, const char *json)
{
	struct jval v;

	assert_int_equal(brd_json_parse(a, brd_str(json), 0, &v, NULL), 0);
	return v;
}

/* Judges the output "out" of the input "hi". */
static void judge(struct judging *j, const struct eval_scorer *s, bool cancelled)
{
	struct arena a = { 0 };
	struct eval_case c = { .name = "n", .input = parsed(&a, "\"hi\"") };
	struct eval_shown shown = { &c, BRD_STR("\"out\""), BRD_STR("out") };

	brd_judging_start(j, b, s, &shown);
	if (cancelled)
		brd_judging_cancel(j);
	while (!j->ended)
		bread_turn(b, 1000);
	brd_arena_fini(&a);
}

static void a_model_passes_with_one_word(void **state)
{
	static const struct {
		const char *model;
		int code;
		double score;
		const char *text;
	} cases[] = {
		{ "p/yes/1", BREAD_OK, 1, "" },
		{ "p/no", BREAD_OK, 0, "" },
		{ "p/bad", BREAD_E_UPSTREAM, 0, "no luck" },
		{ "ghost/x", BREAD_E_INVALID, 0, "the model provider \"ghost\" is not registered" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct eval_scorer s = { .type = SCORE_JUDGE,
			.criteria = "kind",
			.model = cases[i].model,
			.timeout_ms = 60000 };
		struct judging j;

		judge(&j, &s, false);
		assert_int_equal(j.code, cases[i].code);
		assert_true(j.score == cases[i].score);
		assert_string_equal(j.err.text, cases[i].text);
		brd_judging_fini(&j);
	}
}

static void a_judge_can_be_cancelled_and_has_a_deadline(void **state)
{
	struct eval_scorer s = {
		.type = SCORE_JUDGE, .criteria = "kind", .model = "p/hangs", .timeout_ms = 60000
	};
	struct judging j;

	judge(&j, &s, true);
	assert_int_equal(j.code, BREAD_E_CANCELED);
	brd_judging_fini(&j);
	s.timeout_ms = 20;
	judge(&j, &s, false);
	assert_int_equal(j.code, BREAD_E_TIMEOUT);
	brd_judging_fini(&j);
}

static void the_environment_says_which_model_first(void **state)
{
	struct eval_scorer s = { .type = SCORE_JUDGE };
	struct bread_str provider, model;

	brd_judge_model(&s, &provider, &model);
	assert_str(provider, "openai");
	assert_str(model, "gpt-4o-mini");
	s.model = "p/a/b";
	brd_judge_model(&s, &provider, &model);
	assert_str(provider, "p");
	assert_str(model, "a/b");
	setenv("BREAD_EVAL_MODEL", "q", 1);
	brd_judge_model(&s, &provider, &model);
	assert_str(provider, "q");
	assert_int_equal(model.n, 0);
	unsetenv("BREAD_EVAL_MODEL");
}

static void a_program_judges_what_it_is_given(void **state)
{
	static const struct {
		const char *command;
		int code;
		double score;
		const char *part;
	} cases[] = {
		{ "[\"sh\",\"-c\",\"grep -q '^{\\\"name\\\":\\\"n\\\",\\\"input\\\":\\\"hi\\\","
		  "\\\"output\\\":\\\"out\\\"}$' && echo 0.25\"]",
			BREAD_OK, 0.25, "" },
		{ "[\"echo\",\"{\\\"passed\\\":true}\"]", BREAD_OK, 1, "" },
		{ "[\"echo\",\"\\\"fine\\\"\"]", BREAD_E_UPSTREAM, 0, "gave no score" },
		{ "[\"sh\",\"-c\",\"echo lost >&2; exit 1\"]", BREAD_E_UPSTREAM, 0, "lost" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct eval_scorer s = { .type = SCORE_CUSTOM, .timeout_ms = 60000 };
		struct arena a = { 0 };
		struct bread_err err = { 0 };
		struct judging j;
		struct bread_str def = brd_arena_printf(&a, "{\"command\":%s}", cases[i].command);

		if (brd_tool_open(&s.tool, parsed(&a, def.p), NULL, &err))
			fail_msg("%s", err.text);
		judge(&j, &s, false);
		assert_int_equal(j.code, cases[i].code);
		if (!j.code)
			assert_true(j.score == cases[i].score);
		assert_non_null(strstr(j.err.text, cases[i].part));
		brd_judging_fini(&j);
		brd_tool_close(s.tool);
		brd_arena_fini(&a);
	}
}

static void scores_have_several_forms(void **state)
{
	static const struct {
		const char *result;
		double score; /* negative: none */
	} cases[] = {
		{ "1", 1 },
		{ "0.5", 0.5 },
		{ "-3", 0 },
		{ "7", 1 },
		{ "true", 1 },
		{ "false", 0 },
		{ "{\"score\":0.75}", 0.75 },
		{ "{\"passed\":true}", 1 },
		{ "{\"score\":0.5,\"passed\":true}", 0.5 },
		{ "{\"score\":\"1\"}", -1 },
		{ "1e999", -1 },
		{ "null", -1 },
		{ "[1]", -1 },
		{ "\"1\"", -1 },
		{ "", -1 },
		{ "{", -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double got = -1;

		assert_int_equal(
			brd_judge_score(brd_str(cases[i].result), &got), cases[i].score >= 0);
		assert_true(got == cases[i].score);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_passes_with_one_word),
		cmocka_unit_test(a_judge_can_be_cancelled_and_has_a_deadline),
		cmocka_unit_test(the_environment_says_which_model_first),
		cmocka_unit_test(a_program_judges_what_it_is_given),
		cmocka_unit_test(scores_have_several_forms),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
