/* SPDX-License-Identifier: MIT */
/* Questions of steps, and entries of `decisions:`, that are wrong: found at load, with their place.
 */
#include "base/str.h"
#include "decision/decision.h"
#include "test.h"

static int checked(const char *yaml, struct bread_err *err)
{
	struct arena a = { 0 };
	struct yaml_doc doc;
	int r;

	assert_int_equal(brd_yaml_parse(&doc, &a, "f.yaml", brd_str(yaml), err), 0);
	r = brd_decisions_check(doc.root, &doc, err);
	brd_arena_fini(&a);
	return r;
}

static void refused(const char *yaml, const char *where, const char *part)
{
	struct bread_err err = { 0 };

	assert_int_equal(checked(yaml, &err), BREAD_E_INVALID);
	if (strcmp(err.where, where) || !strstr(err.text, part))
		fail_msg("%s: %s", err.where, err.text);
}

static void good_entries_pass(void **state)
{
	static const char *const good[] = {
		"{}",
		"kev:",
		"desk: kev",
		"{kev: {}, mine: {type: decider, baseUrl: 'http://h:1', timeout: 3s}}",
		"{typesafe: {apiKeyEnv: NOT_SET_ANYWHERE}}",
		"{t: {type: scripted, answers: [null, {type: choice, choice: a}, {throw: x}]}}",
		"{t: {type: scripted, questions: {q: {type: noul, probability: 1}, r: [null]}}}",
		"{model: {provider: p}}",
		"{m: {type: model, provider: p, model: m, settings: {temperature: 0}}}",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct bread_err err = { 0 };

		if (checked(good[i], &err))
			fail_msg("%s: %s", good[i], err.text);
	}
}

static void bad_entries_are_named_with_their_place(void **state)
{
	static const struct {
		const char *yaml, *where, *part;
	} cases[] = {
		{ "desk: {}", "f.yaml:1:7",
			"decisions.desk is of the type \"desk\", which is not known" },
		{ "desk: nobody", "f.yaml:1:7", "known; scripted, model, typesafe, kev" },
		{ "desk: 7", "f.yaml:1:7", "is an object or the name of a type, not number" },
		{ "kev:\n  baseURL: x", "f.yaml:2:3", "decisions.kev.baseURL is not known" },
		{ "kev:\n  answers: []", "f.yaml:2:3",
			"decisions.kev has no key answers: it is of the type kev" },
		{ "kev:\n  timeout: soon", "f.yaml:2:12", "decisions.kev.timeout" },
		{ "model: {}", "f.yaml:1:8", "decisions.model needs a provider" },
		{ "s:\n  type: scripted\n  answers: [1]", "f.yaml:3:13",
			"decisions.s.answers.0 is an object or null, not number" },
		{ "s:\n  type: scripted\n  questions: {q: [{choise: a}]}", "f.yaml:3:20",
			"decisions.s.questions.0.0 has the key choise" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		refused(cases[i].yaml, cases[i].where, cases[i].part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_entries_pass),
		cmocka_unit_test(bad_entries_are_named_with_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
