/* SPDX-License-Identifier: MIT */
/* Agents end to end, in process: the crumbs of each kind of run, in order. */
#include "run/run_fixture.h"

static const char hello[] = "{\"model\":{\"provider\":\"mock\",\"model\":\"m1\"}}";

static void add(struct bread_tool_call *call, void *arg)
{
	struct bread_str a = bread_tool_arg(call, "a"), b = bread_tool_arg(call, "b");
	char sum[32];
	int64_t x = 0, y = 0;

	(*(int *)arg)++;
	brd_str_int(a, &x);
	brd_str_int(b, &y);
	snprintf(sum, sizeof(sum), "%lld", (long long)(x + y));
	bread_tool_return(call, brd_str(sum));
}

static void a_text_run_streams_and_ends(void **state)
{
	struct bread *b = fixture_new("{\"m1\":{\"calls\":[{\"stream\":[{\"text\":\"Hello\"},{"
				      "\"text\":\", \"},{\"text\":\"world\"}]}]}}",
		NULL);
	struct seen s = { 0 };

	fixture_agent(b, "greeter", hello);
	fixture_run(b, "greeter", "\"hi\"", &s);
	assert_string_equal(
		s.types.data, "agent:run:start text:delta text:delta text:delta agent:run:end ");
	assert_int_equal(s.last, 3);
	assert_int_equal(s.status, BREAD_RUN_COMPLETED);
	assert_string_equal(s.output, "\"Hello, world\"");
	assert_false(s.gap);
	seen_fini(&s);
	bread_free(b);
}

static void a_tool_is_run_and_its_result_fed_back(void **state)
{
	struct bread *b = fixture_new("{\"m1\":{\"calls\":["
				      "{\"stream\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"tool_"
				      "add\",\"args\":{\"a\":2,\"b\":40}}}]},"
				      "{\"stream\":[{\"text\":\"The sum is {{result}}\"}]}]}}",
		NULL);
	struct seen s = { 0 };
	struct bread_err err;
	int calls = 0;

	fixture_agent(b, "calc", hello);
	assert_int_equal(bread_agent_tool(b, "calc", "add", "adds",
				 BRD_STR("{\"type\":\"object\",\"required\":[\"a\",\"b\"]}"), add,
				 &calls, &err),
		0);
	fixture_run(b, "calc", "\"go\"", &s);
	assert_string_equal(
		s.types.data, "agent:run:start tool:call tool:result text:delta agent:run:end ");
	assert_int_equal(calls, 1);
	assert_non_null(strstr(s.json.data, "\"result\":42"));
	assert_string_equal(s.output, "\"The sum is 42\"");
	seen_fini(&s);
	bread_free(b);
}

static void bad_arguments_and_unknown_tools_go_back_to_the_model(void **state)
{
	struct bread *b = fixture_new(
		"{\"m1\":{\"calls\":["
		"{\"stream\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"tool_add\",\"args\":{\"a\":"
		"2}}}]},"
		"{\"stream\":[{\"tool_call\":{\"id\":\"c2\",\"name\":\"tool_add\",\"raw_args\":\"{"
		"\\\"a\\\":1,\"}}]},"
		"{\"stream\":[{\"tool_call\":{\"id\":\"c3\",\"name\":\"tool_nope\",\"args\":{}}}]},"
		"{\"stream\":[{\"text\":\"giving up\"}]}]}}",
		NULL);
	struct seen s = { 0 };
	struct bread_err err;
	int calls = 0;

	fixture_agent(b, "calc", hello);
	bread_agent_tool(b, "calc", "add", "adds",
		BRD_STR("{\"type\":\"object\",\"required\":[\"a\",\"b\"]}"), add, &calls, &err);
	fixture_run(b, "calc", "\"go\"", &s);
	assert_string_equal(s.types.data, "agent:run:start text:delta agent:run:end ");
	assert_int_equal(calls, 0);
	seen_fini(&s);
	bread_free(b);
}

static void a_failing_model_fails_the_run_with_its_text(void **state)
{
	struct bread *b = fixture_new(
		"{\"m1\":{\"calls\":[{\"stream\":[{\"text\":\"par\"},{\"error\":\"cut off\"}]}]}}",
		NULL);
	struct seen s = { 0 };

	fixture_agent(b, "w", hello);
	fixture_run(b, "w", "\"x\"", &s);
	assert_string_equal(s.types.data, "agent:run:start text:delta agent:error ");
	assert_int_equal(s.status, BREAD_RUN_FAILED);
	assert_string_equal(s.error, "AGENT_ERROR");
	assert_non_null(strstr(s.json.data, "cut off"));
	seen_fini(&s);
	bread_free(b);
}

static void a_retry_voids_what_the_broken_attempt_had_shown(void **state)
{
	struct bread *b = fixture_new(
		"{\"m1\":{\"calls\":[{\"stream\":[{\"text\":\"par\"},{\"error\":\"cut off\"}]},"
		"{\"stream\":[{\"text\":\"whole\"}]}]}}",
		NULL);
	struct seen s = { 0 };

	fixture_agent(b, "w",
		"{\"model\":{\"provider\":\"mock\",\"model\":\"m1\"},\"errorHandling\":{\"retry\":{"
		"\"attempts\":2,\"backoffMs\":1}}}");
	fixture_run(b, "w", "\"x\"", &s);
	assert_string_equal(s.types.data,
		"agent:run:start text:delta agent:attempt:void text:delta agent:run:end ");
	assert_string_equal(s.output, "\"whole\"");
	seen_fini(&s);
	bread_free(b);
}

static void an_unknown_provider_is_named(void **state)
{
	struct bread *b = fixture_new("{}", NULL);
	struct seen s = { 0 };

	fixture_agent(b, "w", "{\"model\":{\"provider\":\"ghost\",\"model\":\"m1\"}}");
	fixture_run(b, "w", "\"x\"", &s);
	assert_string_equal(s.error, "UNKNOWN_PROVIDER");
	assert_non_null(strstr(s.json.data, "Registered: mock"));
	seen_fini(&s);
	bread_free(b);
}

static void structured_output_is_validated(void **state)
{
	struct bread *b =
		fixture_new("{\"m1\":{\"calls\":[{\"generate\":{\"name\":\"Ada\"}},{\"generate\":{"
			    "\"nope\":1}},{\"generate_text\":\"no json\"}]}}",
			NULL);
	struct seen s = { 0 };

	fixture_agent(b, "x",
		"{\"model\":{\"provider\":\"mock\",\"model\":\"m1\"},\"output\":{\"format\":"
		"\"json\"},"
		"\"outputSchema\":{\"type\":\"object\",\"required\":[\"name\"]}}");
	fixture_run(b, "x", "\"x\"", &s);
	assert_string_equal(s.types.data, "agent:run:start agent:run:end ");
	assert_string_equal(s.output, "{\"name\":\"Ada\"}");
	seen_fini(&s);
	fixture_run(b, "x", "\"x\"", &s);
	assert_non_null(strstr(s.json.data, "No object generated: response did not match schema."));
	seen_fini(&s);
	fixture_run(b, "x", "\"x\"", &s);
	assert_non_null(strstr(s.json.data, "No object generated: could not parse the response."));
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

static void cancel(struct bread *b, const char *id, struct wish *w)
{
	memset(w, 0, sizeof(*w));
	bread_op_init(&w->op, bread_here(b), on_wish, w);
	bread_cancel(b, brd_str(id), &w->status, &w->op);
	fixture_until(b, &w->done);
}

static void a_cancelled_run_ends_as_such_and_keeps_its_text(void **state)
{
	struct bread *b = fixture_new("{\"m1\":{\"calls\":[{\"stream\":[{\"text\":\"one "
				      "\"},{\"delay_ms\":60000},{\"text\":\"two\"}]}]}}",
		NULL);
	struct seen s = { 0 };
	struct wish w;
	char id[BREAD_RUN_ID_MAX];

	fixture_agent(b, "s", hello);
	fixture_start(b, "s", "\"x\"", NULL, &s, id);
	fixture_turn(b, 50);
	cancel(b, id, &w);
	assert_int_equal(w.op.code, BREAD_OK);
	fixture_until(b, &s.ended);
	assert_string_equal(s.types.data, "agent:run:start text:delta agent:error ");
	assert_int_equal(s.status, BREAD_RUN_CANCELLED);
	cancel(b, id, &w);
	assert_int_equal(w.op.code, BREAD_E_CONFLICT);
	assert_int_equal(w.status, BREAD_RUN_CANCELLED);
	cancel(b, "nope", &w);
	assert_int_equal(w.op.code, BREAD_E_NOT_FOUND);
	seen_fini(&s);
	bread_free(b);
}

static void a_session_has_one_active_run(void **state)
{
	struct bread *b = fixture_new("{\"m1\":{\"calls\":[{\"stream\":[{\"delay_ms\":100},{"
				      "\"text\":\"one\"}]},{\"stream\":[{\"text\":\"two\"}]}]}}",
		NULL);
	struct bread_run_request req = {
		.agent_id = BRD_STR("s"), .input = BRD_STR("\"x\""), .session_id = BRD_STR("conv")
	};
	struct bread_err err;
	struct seen s = { 0 };
	char id[BREAD_RUN_ID_MAX];

	fixture_agent(b, "s", hello);
	fixture_start(b, "s", "\"x\"", "conv", &s, id);
	assert_int_equal(bread_run(b, &req, id, &err), BREAD_E_CONFLICT);
	assert_string_equal(err.name, "SESSION_BUSY");
	fixture_until(b, &s.told);
	seen_fini(&s);
	fixture_start(b, "s", "\"x\"", "conv", &s, id);
	fixture_until(b, &s.told);
	assert_string_equal(s.output, "\"two\"");
	seen_fini(&s);
	bread_free(b);
}

static void input_is_checked_and_the_place_named(void **state)
{
	struct bread *b = fixture_new("{}", NULL);
	struct bread_run_request req = { .agent_id = BRD_STR("s"),
		.input = BRD_STR("{\"a\":{\"b\":\"x\"}}") };
	struct bread_err err;
	char id[BREAD_RUN_ID_MAX];

	fixture_agent(b, "s",
		"{\"model\":{\"provider\":\"mock\",\"model\":\"m1\"},\"inputSchema\":{"
		"\"properties\":{\"a\":{\"properties\":{\"b\":{\"type\":\"number\"}}}}}}");
	assert_int_equal(bread_run(b, &req, id, &err), BREAD_E_INVALID);
	assert_string_equal(err.name, "INPUT_INVALID");
	assert_non_null(strstr(err.text, "/a/b"));
	req.agent_id = BRD_STR("nobody");
	assert_int_equal(bread_run(b, &req, id, &err), BREAD_E_NOT_FOUND);
	assert_string_equal(err.context, "{\"agentId\":\"nobody\"}");
	bread_free(b);
}

static void a_run_goes_on_when_its_store_has_caught_up(void **state)
{
	struct seen s = { 0 };
	struct bread *b;
	struct buf models;
	char piece[8192];

	/* within one turn of the loop more than may wait to be committed */
	memset(piece, 'x', sizeof(piece) - 1);
	piece[sizeof(piece) - 1] = '\0';
	brd_buf_init(&models, BUF_NO_LIMIT);
	brd_buf_addz(&models,
		"{\"m1\":{\"calls\":[{\"stream\":[{\"tool_input\":{\"id\":\"c\",\"name\":"
		"\"none\",\"chunks\":[\"{\\\"a\\\":\\\"\"");
	for (int i = 0; i < 240; i++)
		brd_buf_addf(&models, ",\"%s\"", piece);
	brd_buf_addz(&models, ",\"\\\"}\"]}}]},{\"stream\":[{\"text\":\"done\"}]}]}}");
	b = fixture_new(models.data, NULL);
	fixture_agent(b, "greeter", hello);
	fixture_run(b, "greeter", "\"hi\"", &s);
	assert_int_equal(s.status, BREAD_RUN_COMPLETED);
	assert_string_equal(s.output, "\"done\"");
	assert_false(s.gap);
	seen_fini(&s);
	bread_free(b);
	brd_buf_fini(&models);
}

static void the_concurrency_cap_refuses_one_more(void **state)
{
	struct bread *b = fixture_new(
		"{\"m1\":{\"calls\":[{\"stream\":[{\"delay_ms\":50},{\"text\":\"one\"}]}]}}",
		"\"concurrency\":{\"max\":1}");
	struct bread_run_request req = { .agent_id = BRD_STR("s"), .input = BRD_STR("\"x\"") };
	struct bread_err err;
	struct seen s = { 0 };
	char id[BREAD_RUN_ID_MAX];

	fixture_agent(b, "s", hello);
	fixture_start(b, "s", "\"x\"", NULL, &s, id);
	assert_int_equal(bread_run(b, &req, id, &err), BREAD_E_BUSY);
	assert_string_equal(err.name, "CONCURRENCY_LIMIT");
	assert_string_equal(err.context, "{\"inFlight\":1,\"max\":1}");
	fixture_until(b, &s.told);
	seen_fini(&s);
	bread_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_run_streams_and_ends),
		cmocka_unit_test(a_tool_is_run_and_its_result_fed_back),
		cmocka_unit_test(bad_arguments_and_unknown_tools_go_back_to_the_model),
		cmocka_unit_test(a_failing_model_fails_the_run_with_its_text),
		cmocka_unit_test(a_retry_voids_what_the_broken_attempt_had_shown),
		cmocka_unit_test(an_unknown_provider_is_named),
		cmocka_unit_test(structured_output_is_validated),
		cmocka_unit_test(a_cancelled_run_ends_as_such_and_keeps_its_text),
		cmocka_unit_test(a_session_has_one_active_run),
		cmocka_unit_test(input_is_checked_and_the_place_named),
		cmocka_unit_test(the_concurrency_cap_refuses_one_more),
		cmocka_unit_test(a_run_goes_on_when_its_store_has_caught_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
