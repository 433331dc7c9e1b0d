/* SPDX-License-Identifier: MIT */
/* Labels: what an answer means to a question, as the recordings have it. */
#include "base/str.h"
#include "decision/decision.h"
#include "test.h"

static struct jval parsed(struct arena *a, const char *json)
{
	struct jval v;

	if (brd_json_parse(a, brd_str(json), 0, &v, NULL))
		fail_msg("no JSON: %s", json);
	return v;
}

static void answers_have_one_form(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "{\"choice\":\"a\",\"type\":\"choice\",\"x\":1}",
			"{\"type\":\"choice\",\"choice\":\"a\"}" },
		{ "{\"type\":\"choice\",\"choice\":\"a\",\"confidence\":1.0}",
			"{\"type\":\"choice\",\"choice\":\"a\",\"confidence\":1}" },
		{ "{\"type\":\"choice\",\"choice\":\"a\",\"confidence\":\"1\"}",
			"{\"type\":\"choice\",\"choice\":\"a\"}" },
		{ "{\"type\":\"score\",\"score\":7}", "{\"type\":\"score\",\"score\":7}" },
		{ "{\"type\":\"score\",\"score\":1e999}", "{\"type\":\"score\"}" },
		{ "{\"type\":\"noul\",\"noul\":0.5}", "{\"type\":\"noul\",\"probability\":0.5}" },
		{ "{\"type\":\"noul\",\"probability\":0.5}",
			"{\"type\":\"noul\",\"probability\":0.5}" },
		{ "{\"type\":\"noul\",\"noul\":null,\"probability\":0.25}",
			"{\"type\":\"noul\",\"probability\":0.25}" },
		{ "{\"type\":\"noul\"}", "{\"type\":\"noul\"}" },
		{ "{\"type\":\"odd\",\"choice\":\"a\"}", "{\"type\":\"odd\"}" },
		{ "{}", "{}" },
		{ "null", "" },
		{ "[1]", "" },
		{ "\"a\"", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct arena a = { 0 };
		struct buf b;

		brd_buf_init(&b, BUF_NO_LIMIT);
		brd_answer_normal(&b, parsed(&a, cases[i].from));
		assert_string_equal(b.data, cases[i].to);
		brd_buf_fini(&b);
		brd_arena_fini(&a);
	}
}

#define DESK \
	"\"type\":\"choice\",\"options\":[\"billing\",\"ship\\u0070ing\"],\"otherwise\":" \
	"\"review\""
#define SURE "{" DESK ",\"minConfidence\":0.8}"
#define BILLING "{\"type\":\"choice\",\"choice\":\"billing\""

static void a_choice_is_an_option_or_otherwise(void **state)
{
	static const struct {
		const char *question, *answer, *label;
	} cases[] = {
		{ "{" DESK "}", BILLING "}", "billing" },
		{ "{" DESK "}", "{\"type\":\"choice\",\"choice\":\"shipping\"}", "shipping" },
		{ "{" DESK "}", "{\"type\":\"choice\",\"choice\":\"lunch\"}", "review" },
		{ "{" DESK "}", "{\"type\":\"choice\",\"choice\":\"Billing\"}", "review" },
		{ "{" DESK "}", "{\"type\":\"choice\",\"choice\":7}", "review" },
		{ "{" DESK "}", "{\"type\":\"choice\"}", "review" },
		{ "{" DESK "}", BILLING ",\"confidence\":0.01}", "billing" },
		{ SURE, BILLING ",\"confidence\":0.9}", "billing" },
		{ SURE, BILLING ",\"confidence\":0.8}", "billing" },
		{ SURE, BILLING ",\"confidence\":0.79}", "review" },
		{ SURE, BILLING ",\"confidence\":1e999}", "review" },
		{ SURE, BILLING ",\"confidence\":\"1\"}", "review" },
		{ SURE, BILLING "}", "review" },
		{ SURE, "{\"type\":\"choice\",\"choice\":\"lunch\",\"confidence\":1}", "review" },
		{ "{" DESK ",\"minConfidence\":0}", BILLING "}", "review" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct arena a = { 0 };
		struct bread_str label = { 0 }, context;

		assert_int_equal(brd_decision_label(parsed(&a, cases[i].question),
					 brd_str(cases[i].answer), &a, &label, NULL, &context),
			0);
		assert_str(label, cases[i].label);
		assert_int_equal(context.n, 0);
		brd_arena_fini(&a);
	}
}

#define URGENCY \
	"{\"type\":\"score\",\"buckets\":[{\"label\":\"low\",\"min\":0,\"max\":4},{\"label\":" \
	"\"high\",\"min\":5,\"max\":9}]}"
#define SPAM \
	"{\"type\":\"noul\",\"buckets\":[{\"label\":\"ham\",\"min\":0,\"max\":0.5},{\"label\":" \
	"\"spam\",\"min\":0.5,\"max\":1}]}"

static void a_number_is_in_one_bucket(void **state)
{
	static const struct {
		const char *question, *answer, *label;
	} cases[] = {
		{ URGENCY, "{\"type\":\"score\",\"score\":7}", "high" },
		{ URGENCY, "{\"type\":\"score\",\"score\":0}", "low" },
		{ URGENCY, "{\"type\":\"score\",\"score\":4}", "low" },
		{ URGENCY, "{\"type\":\"score\",\"score\":5}", "high" },
		{ SPAM, "{\"type\":\"noul\",\"probability\":0.75}", "spam" },
		{ SPAM, "{\"type\":\"noul\",\"probability\":0}", "ham" },
		{ SPAM, "{\"type\":\"noul\",\"probability\":1}", "spam" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct arena a = { 0 };
		struct bread_str label = { 0 }, context;

		assert_int_equal(brd_decision_label(parsed(&a, cases[i].question),
					 brd_str(cases[i].answer), &a, &label, NULL, &context),
			0);
		assert_str(label, cases[i].label);
		brd_arena_fini(&a);
	}
}

static void what_gives_no_label_is_an_error_with_facts(void **state)
{
	static const struct {
		const char *question, *answer, *code, *text, *context;
	} cases[] = {
		{ URGENCY, "{\"type\":\"score\",\"score\":4.5}", "DECISION_BUCKET",
			"Decision score value 4.5 matched 0 buckets; exactly one is required.",
			"{\"type\":\"score\",\"value\":4.5,\"matches\":[]}" },
		{ SPAM, "{\"type\":\"noul\",\"probability\":0.5}", "DECISION_BUCKET",
			"Decision noul value 0.5 matched 2 buckets; exactly one is required.",
			"{\"type\":\"noul\",\"value\":0.5,\"matches\":[\"ham\",\"spam\"]}" },
		{ "{\"type\":\"score\",\"buckets\":[{\"label\":\"a\"}]}",
			"{\"type\":\"score\",\"score\":1}", "DECISION_BUCKET",
			"Decision score value 1 matched 0 buckets; exactly one is required.",
			"{\"type\":\"score\",\"value\":1,\"matches\":[]}" },
		{ SPAM, "{\"type\":\"noul\"}", "DECISION_ANSWER",
			"Decision noul answer is missing a finite number.", "{\"type\":\"noul\"}" },
		{ SPAM, "{\"type\":\"noul\",\"probability\":1e999}", "DECISION_ANSWER",
			"Decision noul answer is missing a finite number.", "{\"type\":\"noul\"}" },
		{ SPAM, "", "DECISION_ANSWER", "Decision host returned no noul answer.",
			"{\"expected\":\"noul\"}" },
		{ SPAM, "null", "DECISION_ANSWER", "Decision host returned no noul answer.",
			"{\"expected\":\"noul\"}" },
		{ "{" DESK "}", "", "DECISION_ANSWER", "Decision host returned no choice answer.",
			"{\"expected\":\"choice\"}" },
		{ SPAM, "{\"type\":\"choice\",\"choice\":\"x\"}", "DECISION_ANSWER",
			"Decision host returned a choice answer; expected noul.",
			"{\"expected\":\"noul\",\"received\":\"choice\"}" },
		{ SPAM, "{}", "DECISION_ANSWER",
			"Decision host returned an untyped answer; expected noul.",
			"{\"expected\":\"noul\",\"received\":null}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct arena a = { 0 };
		struct bread_str label = { 0 }, context;
		struct bread_err err = { 0 };

		assert_int_equal(brd_decision_label(parsed(&a, cases[i].question),
					 brd_str(cases[i].answer), &a, &label, &err, &context),
			BREAD_E_UPSTREAM);
		assert_string_equal(err.name, cases[i].code);
		assert_string_equal(err.text, cases[i].text);
		assert_str(context, cases[i].context);
		brd_arena_fini(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_have_one_form),
		cmocka_unit_test(a_choice_is_an_option_or_otherwise),
		cmocka_unit_test(a_number_is_in_one_bucket),
		cmocka_unit_test(what_gives_no_label_is_an_error_with_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
