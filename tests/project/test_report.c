/* SPDX-License-Identifier: MIT */
/* Results for programs. */
#include "base/json.h"
#include "project/report.h"
#include "test.h"

static struct eval_case cases[] = { { .name = "one" }, { .name = "t<w>o \"&\"" },
	{ .name = "three" } };
static struct eval_suite suite = { .type = "jailbreak", .cases = cases, .case_count = 3 };

static struct eval_report report(struct eval_result *results, const char *details)
{
	results[0] = (struct eval_result){
		.passed = true, .score = 1, .details = { "exact: PASS", 11 }, .ms = 1500
	};
	results[1] = (struct eval_result){
		.score = 0.5, .details = { details, strlen(details) }, .ms = 7
	};
	results[2] = (struct eval_result){ .error = true, .details = { "Error: no", 9 } };
	return (struct eval_report){ .agent = "a",
		.file = "agents/a/evals/e.yaml",
		.suite = &suite,
		.results = results,
		.passed = 1,
		.started = 1700000000123 };
}

static void a_line_of_json_has_what_people_see(void **state)
{
	struct eval_result results[3];
	struct eval_report r = report(results, "contains: FAIL");
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_report_json(&b, &r);
	assert_string_equal(b.data,
		"{\"agentId\":\"a\",\"type\":\"jailbreak\",\"total\":3,\"passed\":1,\"failed\":2,"
		"\"results\":["
		"{\"name\":\"one\",\"passed\":true,\"score\":1,\"details\":\"exact: PASS\","
		"\"durationMs\":1500},"
		"{\"name\":\"t<w>o \\\"&\\\"\",\"passed\":false,\"score\":0.5,\"details\":"
		"\"contains: FAIL\",\"durationMs\":7},"
		"{\"name\":\"three\",\"passed\":false,\"score\":0,\"details\":\"Error: no\","
		"\"durationMs\":0}],\"file\":\"agents/a/evals/e.yaml\"}");
	brd_buf_fini(&b);
}

static void junit_tells_failures_from_errors(void **state)
{
	struct eval_result results[3];
	struct eval_report r = report(results, "contains: FAIL");
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_report_junit(&b, &r, 1);
	assert_string_equal(b.data,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites name=\"bread eval\" tests=\"3\" failures=\"1\" errors=\"1\" "
		"time=\"1.507\">\n"
		"  <testsuite name=\"agents/a/evals/e.yaml\" tests=\"3\" failures=\"1\" "
		"errors=\"1\" "
		"time=\"1.507\" timestamp=\"2023-11-14T22:13:20\">\n"
		"    <properties>\n      <property name=\"type\" value=\"jailbreak\"/>\n"
		"    </properties>\n"
		"    <testcase classname=\"a\" name=\"one\" time=\"1.500\"/>\n"
		"    <testcase classname=\"a\" name=\"t&lt;w&gt;o &quot;&amp;&quot;\" "
		"time=\"0.007\">\n"
		"      <failure message=\"contains: FAIL\">score: 0.50</failure>\n    </testcase>\n"
		"    <testcase classname=\"a\" name=\"three\" time=\"0.000\">\n"
		"      <error message=\"Error: no\">score: 0.00</error>\n    </testcase>\n"
		"  </testsuite>\n</testsuites>\n");
	brd_buf_fini(&b);
}

static void whatever_a_model_says_is_xml(void **state)
{
	static const struct {
		const char *said, *written;
	} cases_of[] = {
		{ "a\nb\tc\r", "a&#10;b&#9;c&#13;" },
		{ "\x01\x1b[31m", "\xef\xbf\xbd\xef\xbf\xbd[31m" },
		{ "\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xef\xbf\xbe|\xef\xbf\xbd|\xc3\xbc", "\xef\xbf\xbd|\xef\xbf\xbd|\xc3\xbc" },
		{ "]]>", "]]&gt;" },
	};

	for (size_t i = 0; i < sizeof(cases_of) / sizeof(*cases_of); i++) {
		struct eval_result results[3];
		struct eval_report r = report(results, cases_of[i].said);
		struct buf b;

		brd_buf_init(&b, BUF_NO_LIMIT);
		brd_report_junit(&b, &r, 1);
		assert_non_null(strstr(b.data, cases_of[i].written));
		brd_buf_fini(&b);
	}
}

static void no_suites_are_a_document_too(void **state)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_report_junit(&b, NULL, 0);
	assert_string_equal(b.data, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
				    "<testsuites name=\"bread eval\" tests=\"0\" failures=\"0\" "
				    "errors=\"0\" time=\"0.000\">\n</testsuites>\n");
	brd_buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_json_has_what_people_see),
		cmocka_unit_test(junit_tells_failures_from_errors),
		cmocka_unit_test(whatever_a_model_says_is_xml),
		cmocka_unit_test(no_suites_are_a_document_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
