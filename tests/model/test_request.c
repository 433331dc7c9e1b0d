/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "model/family.h"
#include "model/model.h"
#include "test.h"

struct asked {
	struct arena a;
	struct bread_model *m;
	struct bread_message messages[8];
	struct bread_model_request req;
	struct request_draft o;
	struct jval body;
};

#define HISTORY \
	"[[\"user\",\"plain \\ud83d text\"]," \
	"[\"user\",[{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"file\",\"data\":" \
	"\"iVBORw0KGgo=\",\"mediaType\":\"image/png\"}]]," \
	"[\"assistant\",[{\"type\":\"reasoning\",\"text\":\"hm\",\"providerOptions\":{\"bread\":{" \
	"\"signature\":\"%s\"}}}," \
	"{\"type\":\"text\",\"text\":\"ok\"},{\"type\":\"tool-call\",\"toolCallId\":\"call.1\"," \
	"\"toolName\":\"get\",\"input\":{\"k\":\"v\"}}," \
	"{\"type\":\"tool-call\",\"toolCallId\":\"call_2\",\"toolName\":\"get\",\"input\":{}}]]," \
	"[\"tool\",[{\"type\":\"tool-result\",\"toolCallId\":\"call_2\",\"toolName\":\"get\"," \
	"\"output\":{\"type\":\"error-text\",\"value\":\"no k\"}}," \
	"{\"type\":\"tool-result\",\"toolCallId\":\"stray\",\"toolName\":\"get\",\"output\":{" \
	"\"type\":\"text\",\"value\":\"x\"}}]]," \
	"[\"user\",\"never mind\"]]"

static void ask_init(struct asked *q, const char *entry)
{
	struct bread_err err = { 0 };
	struct jval v;

	memset(q, 0, sizeof(*q));
	assert_int_equal(brd_json_parse(&q->a, brd_str(entry), 0, &v, NULL), 0);
	if (brd_model_open(&q->m, BRD_STR("p"), v, &err))
		fail_msg("%s", err.text);
	q->req.messages = q->messages;
	q->req.model = BRD_STR("m-1");
	q->req.system = BRD_STR("SYS");
}

static void ask_history(struct asked *q, const char *signature)
{
	struct bread_err err = { 0 };
	struct jval v;

	assert_int_equal(
		brd_json_parse(&q->a, brd_arena_printf(&q->a, HISTORY, signature), 0, &v, NULL), 0);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
		assert_int_equal(brd_message_from_stored(&q->messages[q->req.message_count++],
					 brd_json_str(brd_json_at(it.value, 0), &q->a),
					 brd_json_at(it.value, 1), &q->a, &err),
			0);
}

static void ask_write(struct asked *q)
{
	struct bread_err err = { 0 };

	assert_int_equal(
		brd_outgoing_write(&q->o, (struct http_provider *)q->m, &q->req, &q->a, &err), 0);
	assert_int_equal(brd_json_parse(&q->a, brd_buf_str(&q->o.body), 0, &q->body, NULL), 0);
}

static void ask_fini(struct asked *q)
{
	brd_buf_fini(&q->o.body);
	brd_model_close(q->m);
	brd_arena_fini(&q->a);
}

static void has_value(struct asked *q, const char *path, const char *json)
{
	struct bread_str raw = brd_json_raw(brd_json_path(q->body, path));

	assert_str(raw, json);
}

static bool has_header(const struct asked *q, const char *line)
{
	for (size_t i = 0; i < q->o.header_count; i++)
		if (!strcmp(q->o.headers[i], line))
			return true;
	return false;
}

static void anthropic_lays_out_a_history(void **state)
{
	struct asked q;

	ask_init(&q, "{\"type\":\"anthropic\",\"apiKey\":\"KEY\"}");
	ask_history(&q, "U0lH");
	ask_write(&q);
	has_value(&q, "system",
		"[{\"type\":\"text\",\"text\":\"SYS\",\"cache_control\":{\"type\":\"ephemeral\"}}"
		"]");
	has_value(&q, "messages.0.content.0.text", "\"plain  text\"");
	has_value(&q, "messages.1.content.1",
		"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
		"png\",\"data\":\"iVBORw0KGgo=\"}}");
	has_value(&q, "messages.2.content.0",
		"{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"U0lH\"}");
	has_value(&q, "messages.2.content.2",
		"{\"type\":\"tool_use\",\"id\":\"call_1\",\"name\":\"get\",\"input\":{\"k\":\"v\"}"
		"}");
	has_value(&q, "messages.3",
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"call_"
		"1\","
		"\"content\":\"No result provided\",\"is_error\":true},{\"type\":\"tool_result\","
		"\"tool_use_id\":\"call_2\",\"content\":\"no k\",\"is_error\":true}]}");
	has_value(&q, "messages.4.content.0.cache_control", "{\"type\":\"ephemeral\"}");
	assert_int_equal(brd_json_count(brd_json_get(q.body, "messages")), 5);
	assert_true(has_header(&q, "x-api-key: KEY"));
	assert_true(has_header(&q, "anthropic-version: 2023-06-01"));
	assert_str(q.o.path, "/v1/messages");
	ask_fini(&q);
}

static void anthropic_sends_foreign_thinking_as_text(void **state)
{
	struct asked q;

	ask_init(&q, "{\"type\":\"anthropic\",\"apiKey\":\"KEY\"}");
	ask_history(&q, "reasoning_content");
	ask_write(&q);
	has_value(&q, "messages.2.content.0", "{\"type\":\"text\",\"text\":\"hm\"}");
	ask_fini(&q);
}

static void anthropic_thinks_within_its_limit(void **state)
{
	struct asked q;

	ask_init(&q, "{\"type\":\"anthropic\",\"apiKey\":\"KEY\"}");
	q.req.model = BRD_STR("claude-sonnet-4-5");
	q.req.settings =
		BRD_STR("{\"reasoning\":\"medium\",\"maxOutputTokens\":500,\"temperature\":0.5}");
	ask_write(&q);
	has_value(&q, "max_tokens", "8692");
	has_value(&q, "thinking", "{\"type\":\"enabled\",\"budget_tokens\":8192}");
	has_value(&q, "temperature", "");
	assert_true(has_header(&q, "anthropic-beta: interleaved-thinking-2025-05-14"));
	ask_fini(&q);
}

static void anthropic_asks_for_structure(void **state)
{
	struct asked q;

	ask_init(&q, "{\"type\":\"anthropic\",\"apiKey\":\"KEY\"}");
	q.req.model = BRD_STR("claude-sonnet-4-5");
	q.req.schema = BRD_STR("{\"$schema\":\"x\",\"type\":\"object\"}");
	ask_write(&q);
	has_value(&q, "output_config.format",
		"{\"type\":\"json_schema\",\"schema\":{\"type\":\"object\"}}");
	ask_fini(&q);
	ask_init(&q, "{\"type\":\"anthropic\",\"apiKey\":\"KEY\"}");
	q.req.model = BRD_STR("claude-3-5-sonnet-20241022");
	q.req.schema = BRD_STR("{\"type\":\"object\"}");
	ask_write(&q);
	has_value(&q, "tool_choice", "{\"type\":\"tool\",\"name\":\"output\"}");
	has_value(&q, "tools.0.input_schema", "{\"type\":\"object\"}");
	assert_str(q.o.json_tool, "output");
	ask_fini(&q);
}

static void chat_lays_out_a_history(void **state)
{
	struct asked q;

	ask_init(&q, "{\"type\":\"openai\",\"apiKey\":\"KEY\"}");
	ask_history(&q, "reasoning_content");
	q.req.settings =
		BRD_STR("{\"maxOutputTokens\":500,\"temperature\":0.5,\"reasoning\":\"medium\"}");
	q.req.session_id = BRD_STR("sess");
	ask_write(&q);
	has_value(&q, "messages.0", "{\"role\":\"system\",\"content\":\"SYS\"}");
	has_value(&q, "messages.1.content", "\"plain  text\"");
	has_value(&q, "messages.2.content.1",
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
		"png;base64,iVBORw0KGgo=\"}}");
	has_value(&q, "messages.3",
		"{\"role\":\"assistant\",\"content\":\"ok\",\"reasoning_content\":\"hm\",\"tool_"
		"calls\":["
		"{\"id\":\"call.1\",\"type\":\"function\",\"function\":{\"name\":\"get\","
		"\"arguments\":\"{\\\"k\\\":\\\"v\\\"}\"}},"
		"{\"id\":\"call_2\",\"type\":\"function\",\"function\":{\"name\":\"get\","
		"\"arguments\":\"{}\"}}]}");
	has_value(&q, "messages.4",
		"{\"role\":\"tool\",\"content\":\"No result "
		"provided\",\"tool_call_id\":\"call.1\"}");
	has_value(&q, "messages.5",
		"{\"role\":\"tool\",\"content\":\"no k\",\"tool_call_id\":\"call_2\"}");
	has_value(&q, "stream_options", "{\"include_usage\":true}");
	has_value(&q, "max_completion_tokens", "500");
	has_value(&q, "temperature", "0.5");
	has_value(&q, "store", "false");
	has_value(&q, "reasoning_effort", "\"medium\"");
	has_value(&q, "prompt_cache_key", "\"sess\"");
	assert_true(has_header(&q, "Authorization: Bearer KEY"));
	assert_str(q.o.path, "/chat/completions");
	ask_fini(&q);
}

static void log_probabilities_are_asked_for_where_there_are_any(void **state)
{
	static const struct {
		const char *entry, *model;
		bool asks;
	} cases[] = {
		{ "{\"type\":\"vllm\"}", "m", true },
		{ "{\"type\":\"openai\",\"apiKey\":\"K\"}", "gpt-4.1", true },
		{ "{\"type\":\"openai\",\"apiKey\":\"K\"}", "o3-mini", false },
		{ "{\"type\":\"lmstudio\"}", "m", false },
		{ "{\"type\":\"lmstudio\",\"quirks\":{\"logprobs\":true}}", "m", true },
		{ "{\"type\":\"ollama\"}", "m", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct asked q;

		ask_init(&q, cases[i].entry);
		q.req.model = brd_str(cases[i].model);
		q.req.want_likely = 1;
		ask_write(&q);
		assert_int_equal(
			brd_json_bool(brd_json_get(q.body, "logprobs"), false), cases[i].asks);
		ask_fini(&q);
	}
}

static void an_unknown_host_gets_the_common_core(void **state)
{
	struct asked q;

	ask_init(&q, "{\"type\":\"openai\",\"baseUrl\":\"http://127.0.0.1:9/v1/\"}");
	ask_history(&q, "U0lH");
	q.req.settings = BRD_STR("{\"maxOutputTokens\":5}");
	ask_write(&q);
	has_value(&q, "max_tokens", "5");
	has_value(&q, "store", "");
	has_value(&q, "prompt_cache_key", "");
	has_value(&q, "messages.3.reasoning_content", "");
	has_value(&q, "tools", "");
	ask_fini(&q);
}

static void quirks_may_be_overridden(void **state)
{
	struct asked q;

	ask_init(&q, "{\"type\":\"openai\",\"baseUrl\":\"http://127.0.0.1:9/"
		     "v1\",\"quirks\":{\"maxTokensField\":\"limit\","
		     "\"reasoning\":\"nested\",\"structured\":\"object\",\"resultName\":true},"
		     "\"providerOptions\":{\"temperature\":1,\"stream_options\":null},\"headers\":{"
		     "\"x-app\":\"1\"}}");
	ask_history(&q, "x");
	q.req.settings =
		BRD_STR("{\"maxOutputTokens\":5,\"reasoning\":\"low\",\"temperature\":0.1}");
	q.req.schema = BRD_STR("{\"type\":\"object\"}");
	ask_write(&q);
	has_value(&q, "limit", "5");
	has_value(&q, "reasoning", "{\"effort\":\"low\"}");
	has_value(&q, "response_format", "{\"type\":\"json_object\"}");
	has_value(&q, "messages.4.name", "\"get\"");
	has_value(&q, "temperature", "1");
	has_value(&q, "stream_options", "");
	assert_true(brd_str_find(brd_json_raw(brd_json_path(q.body, "messages.0.content")),
			    BRD_STR("JSON schema")) > 0);
	assert_true(has_header(&q, "x-app: 1"));
	ask_fini(&q);
}

static void chat_is_strict_only_where_it_can_be(void **state)
{
	struct asked q;

	ask_init(&q, "{\"type\":\"openai\",\"apiKey\":\"KEY\"}");
	q.req.schema = BRD_STR("{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\"]"
			       ",\"additionalProperties\":false}");
	ask_write(&q);
	has_value(&q, "response_format.json_schema.strict", "true");
	ask_fini(&q);
	ask_init(&q, "{\"type\":\"openai\",\"apiKey\":\"KEY\"}");
	q.req.schema = BRD_STR("{\"type\":\"object\",\"properties\":{\"a\":{}}}");
	ask_write(&q);
	has_value(&q, "response_format.json_schema.strict", "false");
	ask_fini(&q);
}

static void mistral_has_its_own_ways(void **state)
{
	struct asked q;
	struct bread_str id;

	ask_init(&q, "{\"type\":\"mistral\",\"apiKey\":\"KEY\"}");
	ask_history(&q, "");
	ask_write(&q);
	id = brd_json_str(brd_json_path(q.body, "messages.3.tool_calls.0.id"), &q.a);
	assert_int_equal(id.n, 9);
	assert_true(brd_json_equal(brd_json_path(q.body, "messages.3.tool_calls.0.id"),
		brd_json_path(q.body, "messages.4.tool_call_id")));
	has_value(&q, "messages.3.content.0.type", "\"thinking\"");
	has_value(&q, "messages.2.content.1.image_url", "\"data:image/png;base64,iVBORw0KGgo=\"");
	has_value(&q, "messages.5.content", "\"[tool error] no k\"");
	has_value(&q, "stream_options", "");
	ask_fini(&q);
}

static void ollama_lays_out_a_history(void **state)
{
	struct asked q;

	ask_init(&q, "{\"type\":\"ollama\",\"options\":{\"num_ctx\":16384}}");
	ask_history(&q, "");
	q.req.settings = BRD_STR("{\"maxOutputTokens\":512,\"reasoning\":\"low\"}");
	q.req.schema = BRD_STR("{\"type\":\"object\"}");
	ask_write(&q);
	has_value(&q, "messages.2",
		"{\"role\":\"user\",\"content\":\"see\",\"images\":[\"iVBORw0KGgo=\"]}");
	has_value(&q, "messages.3",
		"{\"role\":\"assistant\",\"content\":\"ok\",\"thinking\":\"hm\",\"tool_calls\":["
		"{\"function\":{\"name\":\"get\",\"arguments\":{\"k\":\"v\"}}},{\"function\":{"
		"\"name\":\"get\",\"arguments\":{}}}]}");
	has_value(
		&q, "messages.5", "{\"role\":\"tool\",\"tool_name\":\"get\",\"content\":\"no k\"}");
	has_value(&q, "options", "{\"num_ctx\":16384,\"num_predict\":512}");
	has_value(&q, "format", "{\"type\":\"object\"}");
	has_value(&q, "think", "true");
	ask_fini(&q);
}

static void every_catalogue_entry_opens(void **state)
{
	size_t n;
	const struct provider_entry *all = brd_provider_catalogue(&n);

	assert_true(n > 25);
	for (size_t i = 0; i < n; i++) {
		struct bread_model *m;
		struct bread_err err = { 0 };
		struct arena a = { 0 };
		struct jval v;
		struct bread_str entry = brd_arena_printf(&a,
			strcmp(all[i].name, "scripted")
				? "{\"type\":\"%s\",\"apiKey\":\"k\",\"baseUrl\":\"https://x\"}"
				: "{\"type\":\"%s\"}",
			all[i].name);

		assert_int_equal(brd_json_parse(&a, entry, 0, &v, NULL), 0);
		if (brd_model_open(&m, BRD_STR("p"), v, &err))
			fail_msg("%s: %s", all[i].name, err.text);
		brd_model_close(m);
		brd_arena_fini(&a);
	}
}

static void refused(const char *entry, const char *name, const char *part)
{
	struct bread_model *m;
	struct bread_err err = { 0 };
	struct arena a = { 0 };
	struct jval v;

	assert_int_equal(brd_json_parse(&a, brd_str(entry), 0, &v, NULL), 0);
	assert_int_equal(brd_model_open(&m, BRD_STR("groq"), v, &err), BREAD_E_INVALID);
	assert_string_equal(err.name, name);
	assert_non_null(strstr(err.text, part));
	brd_arena_fini(&a);
}

static void entries_that_cannot_work_are_refused(void **state)
{
	unsetenv("GROQ_API_KEY");
	unsetenv("OPENAI_COMPATIBLE_BASE_URL");
	refused("{}", "PROVIDER_NOT_CONFIGURED", "GROQ_API_KEY");
	refused("{\"type\":\"openai-compatible\"}", "PROVIDER_NOT_CONFIGURED",
		"OPENAI_COMPATIBLE_BASE_URL");
	refused("{\"type\":\"openai\",\"apiKeyEnv\":\"NO_SUCH_KEY\"}", "PROVIDER_NOT_CONFIGURED",
		"NO_SUCH_KEY");
	refused("{\"type\":\"grok\"}", "", "did you mean groq?");
	refused("{\"apiKey\":\"k\",\"bseUrl\":\"x\"}", "", "bseUrl");
	refused("{\"apiKey\":\"k\",\"baseUrl\":\"ftp://x\"}", "", "http");
	refused("{\"apiKey\":\"k\",\"quirks\":{\"colour\":1}}", "", "colour");
}

static struct jval type_alone(void)
{
	static const struct json_tok tok = { .len = 6, .skip = 1, .plain = 1, .type = JSON_STRING };

	return (struct jval){ &tok, "\"groq\"" };
}

static void keys_come_from_the_environment(void **state)
{
	struct bread_model *m;
	struct bread_err err = { 0 };

	setenv("GROQ_API_KEY", "from-env", 1);
	assert_int_equal(brd_model_open(&m, BRD_STR("groq"), (struct jval){ 0 }, &err), 0);
	assert_str(((struct http_provider *)m)->api_key, "from-env");
	assert_str(((struct http_provider *)m)->base_url, "https://api.groq.com/openai/v1");
	brd_model_close(m);
	assert_int_equal(brd_model_open(&m, BRD_STR("fast"), type_alone(), &err), 0);
	assert_str(((struct http_provider *)m)->api_key, "from-env");
	brd_model_close(m);
	unsetenv("GROQ_API_KEY");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(anthropic_lays_out_a_history),
		cmocka_unit_test(anthropic_sends_foreign_thinking_as_text),
		cmocka_unit_test(anthropic_thinks_within_its_limit),
		cmocka_unit_test(anthropic_asks_for_structure),
		cmocka_unit_test(chat_lays_out_a_history),
		cmocka_unit_test(log_probabilities_are_asked_for_where_there_are_any),
		cmocka_unit_test(an_unknown_host_gets_the_common_core),
		cmocka_unit_test(quirks_may_be_overridden),
		cmocka_unit_test(chat_is_strict_only_where_it_can_be),
		cmocka_unit_test(mistral_has_its_own_ways),
		cmocka_unit_test(ollama_lays_out_a_history),
		cmocka_unit_test(every_catalogue_entry_opens),
		cmocka_unit_test(entries_that_cannot_work_are_refused),
		cmocka_unit_test(keys_come_from_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
