/* SPDX-License-Identifier: MIT */
/* The table of servers, and how an entry overrides a line of it. A server that is not in it
 * gets the common core. */
#include "model/openai/quirks.h"
#include <stddef.h>
#include "base/err.h"
#include "base/str.h"

/* What suits a host that we do not know: the common core, nothing that local servers refuse. */
#define COMMON .max_tokens = "max_tokens", .reasoning = REASONING_EFFORT

static const struct quirks servers[] = {
	{ "openai", "api.openai.com", .max_tokens = "max_completion_tokens",
		.reasoning = REASONING_EFFORT, .ids = IDS_40, .developer_role = true,
		.no_store = true, .strict = true, .cache_key = true, .logprobs = true },
	{ "azure", ".openai.azure.com", .max_tokens = "max_completion_tokens",
		.reasoning = REASONING_EFFORT, .ids = IDS_40, .developer_role = true,
		.strict = true, .api_key_header = true, .logprobs = true },
	{ "ollama-openai", ":11434", COMMON },
	{ "vllm", ":8000", .max_tokens = "max_tokens", .reasoning = REASONING_TEMPLATE,
		.logprobs = true },
	{ "llamacpp", ":8080", .max_tokens = "max_tokens", .reasoning = REASONING_TEMPLATE,
		.logprobs = true },
	{ "lmstudio", ":1234", COMMON },
	{ "groq", "api.groq.com", .max_tokens = "max_completion_tokens",
		.reasoning = REASONING_PARSED },
	{ "deepseek", "api.deepseek.com", .max_tokens = "max_tokens",
		.reasoning = REASONING_THINKING, .structured = STRUCTURED_OBJECT,
		.reasoning_back = true, .logprobs = true },
	{ "xai", "api.x.ai", .max_tokens = "max_completion_tokens", .reasoning = REASONING_NONE,
		.no_penalties = true },
	{ "together", "api.together.", COMMON },
	{ "togetherai", NULL, COMMON },
	{ "fireworks", "api.fireworks.ai", COMMON },
	{ "cerebras", "api.cerebras.ai", .max_tokens = "max_completion_tokens",
		.reasoning = REASONING_EFFORT, .no_penalties = true, .strict = true },
	{ "perplexity", "api.perplexity.ai", .max_tokens = "max_tokens",
		.reasoning = REASONING_EFFORT, .no_tools = true },
	{ "openrouter", "openrouter.ai", .max_tokens = "max_tokens", .reasoning = REASONING_NESTED,
		.empty_tools = true },
	{ "zai", "api.z.ai", .max_tokens = "max_tokens", .reasoning = REASONING_ENABLE,
		.structured = STRUCTURED_OBJECT, .tool_stream = true },
	{ "moonshot", "api.moonshot.", .max_tokens = "max_tokens", .reasoning = REASONING_NONE },
	{ "huggingface", "router.huggingface.co", COMMON },
	{ "workers-ai", "api.cloudflare.com", .max_tokens = "max_tokens",
		.reasoning = REASONING_NONE },
	{ "google", "generativelanguage.googleapis.com", COMMON },
	{ "mistral", "api.mistral.ai", .max_tokens = "max_tokens", .reasoning = REASONING_PROMPT,
		.ids = IDS_9, .no_stream_usage = true, .result_name = true, .plain_image_url = true,
		.content_lists = true, .affinity = true, .random_seed = true,
		.required_is_any = true },
};

static const struct quirks unknown = { COMMON };

static const struct {
	const char *key;
	size_t offset;
} flags[] = {
	{ "developerRole", offsetof(struct quirks, developer_role) },
	{ "storeFalse", offsetof(struct quirks, no_store) },
	{ "noStreamUsage", offsetof(struct quirks, no_stream_usage) },
	{ "strict", offsetof(struct quirks, strict) },
	{ "resultName", offsetof(struct quirks, result_name) },
	{ "assistantAfterResult", offsetof(struct quirks, bridge) },
	{ "reasoningBack", offsetof(struct quirks, reasoning_back) },
	{ "noTools", offsetof(struct quirks, no_tools) },
	{ "emptyTools", offsetof(struct quirks, empty_tools) },
	{ "noPenalties", offsetof(struct quirks, no_penalties) },
	{ "plainImageUrl", offsetof(struct quirks, plain_image_url) },
	{ "contentLists", offsetof(struct quirks, content_lists) },
	{ "promptCacheKey", offsetof(struct quirks, cache_key) },
	{ "affinity", offsetof(struct quirks, affinity) },
	{ "apiKeyHeader", offsetof(struct quirks, api_key_header) },
	{ "logprobs", offsetof(struct quirks, logprobs) },
	{ "toolStream", offsetof(struct quirks, tool_stream) },
};

static const char *const reasoning_words[] = { "none", "effort", "nested", "thinking", "enable",
	"template", "parsed", "prompt", NULL };
static const char *const structured_words[] = { "schema", "object", NULL };
static const char *const id_words[] = { "any", "64", "40", "9", NULL };

static int word_index(struct jval v, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (brd_json_is(v, words[i]))
			return i;
	return -1;
}

static bool set_flag(struct quirks *q, struct jval key, struct jval value)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (brd_json_is(key, flags[i].key) && brd_json_type(value) == JSON_BOOL) {
			*(bool *)((char *)q + flags[i].offset) = brd_json_bool(value, false);
			return true;
		}
	return false;
}

static bool set_word(struct quirks *q, struct jval key, struct jval value, struct arena *a)
{
	int i;

	if (brd_json_is(key, "maxTokensField") && brd_json_type(value) == JSON_STRING) {
		q->max_tokens = brd_json_strz(value, a);
		return true;
	}
	if (brd_json_is(key, "reasoning") && (i = word_index(value, reasoning_words)) >= 0) {
		q->reasoning = (enum reasoning_style)i;
		return true;
	}
	if (brd_json_is(key, "structured") && (i = word_index(value, structured_words)) >= 0) {
		q->structured = (enum structured_style)i;
		return true;
	}
	if (brd_json_is(key, "callIds") && (i = word_index(value, id_words)) >= 0) {
		q->ids = (enum id_rule)i;
		return true;
	}
	return false;
}

static const struct quirks *find(const struct http_provider *p)
{
	bool generic =
		brd_str_is(p->server, "openai") || brd_str_is(p->server, "openai-compatible");

	for (size_t i = 0; i < sizeof(servers) / sizeof(*servers); i++) {
		/* the type word alone says nothing about the server; its host may */
		if (!generic && brd_str_is(p->server, servers[i].server))
			return &servers[i];
		if (generic && servers[i].host &&
			brd_str_find(p->base_url, brd_str(servers[i].host)) >= 0)
			return &servers[i];
	}
	return &unknown;
}

int brd_quirks_of(struct quirks *ret, struct http_provider *p, struct bread_err *err)
{
	struct arena *a = &p->arena;
	struct quirks q = *find(p);

	for (struct json_iter it = brd_json_each(brd_json_get(p->options, "quirks"));
		brd_json_next(&it);)
		if (!set_flag(&q, it.key, it.value) && !set_word(&q, it.key, it.value, a))
			return brd_fail(err, BREAD_E_INVALID, "providers",
				"provider %.*s: quirks.%.*s is unknown or has a value that it "
				"cannot have",
				BRD_ARG(p->name), BRD_ARG(brd_json_str(it.key, a)));
	*ret = q;
	return BREAD_OK;
}
