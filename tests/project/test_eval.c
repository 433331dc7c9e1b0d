/* SPDX-License-Identifier: MIT */
/* Evals: recorded scores, and files that are wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/err.h"
#include "project/eval.h"
#include "test.h"

static char dir[] = "/tmp/bread-eval-XXXXXX";

static const char *write_file(const char *text)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/e.yaml", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

/* A suite of one case with these scorers. */
static void read_scorers(struct eval_suite *s, struct bread_str scorers)
{
	char text[1024];
	struct bread_err err = { 0 };

	snprintf(text, sizeof(text), "cases: [{ name: c, scorers: %.*s }]", BRD_ARG(scorers));
	if (brd_eval_read(s, write_file(text), &err))
		fail_msg("%s: %s", err.where, err.text);
}

static void check_vector(struct jval v, struct arena *a)
{
	struct jval want = brd_json_path(v, "result.results.0");
	struct jval thrown = brd_json_path(v, "output.__throw");
	struct eval_suite s;
	struct eval_result got;

	read_scorers(&s, brd_json_raw(brd_json_get(v, "scorers")));
	if (brd_json_type(thrown) == JSON_STRING)
		brd_eval_failed(brd_json_str(thrown, a), a, &got);
	else
		brd_eval_score(&s.cases[0], brd_json_raw(brd_json_get(v, "output")), NULL, a, &got);
	assert_true(got.score == brd_json_num(brd_json_get(want, "score"), -1));
	assert_int_equal(got.passed, brd_json_bool(brd_json_get(want, "passed"), false));
	assert_str(got.details, brd_json_strz(brd_json_get(want, "details"), a));
	brd_eval_fini(&s);
}

static void scores_are_those_of_the_recording(void **state)
{
	struct arena a = { 0 };
	struct yaml_doc doc;
	size_t checked = 0;

	assert_int_equal(brd_yaml_load(&doc, &a, getenv("EVALS"), NULL), 0);
	for (struct json_iter it = brd_json_each(doc.root); brd_json_next(&it);) {
		check_vector(it.value, &a);
		checked++;
	}
	assert_int_equal(checked, 9);
	brd_arena_fini(&a);
}

static void a_run_without_output_has_an_empty_text(void **state)
{
	struct arena a = { 0 };
	struct eval_suite s;
	struct eval_result got;

	read_scorers(&s, BRD_STR("[{type: exact, expected: ''}]"));
	brd_eval_score(&s.cases[0], (struct bread_str){ 0 }, NULL, &a, &got);
	assert_true(got.passed);
	brd_eval_fini(&s);
	brd_arena_fini(&a);
}

static void a_regex_that_would_take_ages_does_not_match(void **state)
{
	struct arena a = { 0 };
	struct eval_suite s;
	struct eval_result got;

	read_scorers(&s, BRD_STR("[{type: regex, pattern: '^(a+)+$'}]"));
	brd_eval_score(&s.cases[0],
		BRD_STR("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\""), NULL, &a,
		&got);
	assert_false(got.passed);
	brd_eval_fini(&s);
	brd_arena_fini(&a);
}

static void a_regex_with_groups_matches(void **state)
{
	struct arena a = { 0 };
	struct eval_suite s;
	struct eval_result got;

	read_scorers(&s, BRD_STR("[{type: regex, pattern: '(a)(b)(c)'}]"));
	brd_eval_score(&s.cases[0], BRD_STR("\"xabcx\""), NULL, &a, &got);
	assert_true(got.passed);
	brd_eval_fini(&s);
	brd_arena_fini(&a);
}

/* Gives what *arg says; a negative one is a failure. */
static int give(void *arg, const struct eval_scorer *s, const struct eval_shown *shown,
	double *ret_score, struct bread_err *err)
{
	*ret_score = *(double *)arg;
	assert_str(shown->output, "\"out\"");
	assert_str(shown->text, "out");
	return *ret_score < 0 ? brd_fail(err, BREAD_E_UPSTREAM, "eval", "no judge") : 0;
}

static void judges_are_asked_where_looking_is_not_enough(void **state)
{
	static const struct {
		double given, score;
		const char *details;
	} cases[] = {
		{ 1, 1, "exact: PASS, llmJudge: PASS, short: PASS" },
		{ 0, 1.0 / 3, "exact: PASS, llmJudge: FAIL, short: FAIL" },
		{ 0.5, 2.0 / 3, "exact: PASS, llmJudge: FAIL, short: FAIL" },
		{ -1, 0, "Error: no judge" },
	};
	struct eval_suite s;

	read_scorers(&s, BRD_STR("[{type: exact, expected: out}, {type: llmJudge, criteria: kind}, "
				 "{type: custom, name: short, command: [./x]}]"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double given = cases[i].given;
		struct eval_judge judge = { give, &given };
		struct arena a = { 0 };
		struct eval_result got;

		brd_eval_score(&s.cases[0], BRD_STR("\"out\""), &judge, &a, &got);
		assert_true(got.score == cases[i].score);
		assert_int_equal(got.passed, i == 0);
		assert_int_equal(got.error, given < 0);
		assert_str(got.details, cases[i].details);
		brd_arena_fini(&a);
	}
	brd_eval_fini(&s);
}

static void what_is_wrong_is_named_with_its_place(void **state)
{
	static const struct {
		const char *text, *where, *part;
	} cases[] = {
		{ "x: 1", ":1:1", "x is not known" },
		{ "type: functional", ":1:1", "cases is missing" },
		{ "cases: []\ntype: odd", ":2:7", "type is" },
		{ "cases:\n- {}", ":2:3", "cases.0.name is missing" },
		{ "cases:\n- name: a\n  scorers: [{type: exact}]", ":3:13",
			"needs a key expected" },
		{ "cases:\n- name: a\n  scorers: [{type: regex, expected: a}]", ":3:13",
			"needs a key pattern" },
		{ "cases:\n- name: a\n  scorers: [{type: regex, pattern: '('}]", ":3:36",
			"fault at character" },
		{ "cases:\n- name: a\n  scorers: [{type: llmJudge, expected: a}]", ":3:13",
			"needs a key criteria" },
		{ "cases:\n- name: a\n  scorers: [{type: custom}]", ":3:13",
			"cases.0.scorers.0 cannot judge: it does nothing" },
		{ "cases:\n- name: a\n  scorers: [{type: custom, command: [x], http: y}]", ":3:13",
			"cannot judge: it has" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bread_err err = { 0 };
		struct eval_suite s;

		assert_int_equal(
			brd_eval_read(&s, write_file(cases[i].text), &err), BREAD_E_INVALID);
		assert_non_null(strstr(err.where, cases[i].where));
		if (!strstr(err.text, cases[i].part))
			fail_msg("%s: %s", err.where, err.text);
	}
}

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	unlink(write_file(""));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores_are_those_of_the_recording),
		cmocka_unit_test(a_run_without_output_has_an_empty_text),
		cmocka_unit_test(a_regex_that_would_take_ages_does_not_match),
		cmocka_unit_test(a_regex_with_groups_matches),
		cmocka_unit_test(judges_are_asked_where_looking_is_not_enough),
		cmocka_unit_test(what_is_wrong_is_named_with_its_place),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
