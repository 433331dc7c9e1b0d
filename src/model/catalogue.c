/* SPDX-License-Identifier: MIT */
/* The catalogue: every server that we know by name, as a type with a base URL, a
 * variable for its key and a note. What a server of type openai does differently
 * is in openai/quirks.c, under the same name.
 *
 * {NAME} in a base URL is an environment variable. */
#include "model/catalogue.h"
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"

static const struct provider_entry entries[] = {
	{ "scripted", "scripted", NULL, NULL, "answers written in YAML; no network", NULL, true },
	{ "anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY",
		"Claude; Messages API", "ANTHROPIC_OAUTH_TOKEN", false },
	{ "openai", "openai", "https://api.openai.com/v1", "OPENAI_API_KEY",
		"GPT; Chat Completions", NULL, false },
	{ "ollama", "ollama", "http://localhost:11434", "OLLAMA_API_KEY",
		"local models, native API", NULL, true },
	{ "openai-compatible", "openai", "{OPENAI_COMPATIBLE_BASE_URL}",
		"OPENAI_COMPATIBLE_API_KEY", "any Chat Completions server", NULL, true },
	{ "ollama-openai", "openai", "http://localhost:11434/v1", "OLLAMA_API_KEY",
		"Ollama's compatible endpoint", NULL, true },
	{ "vllm", "openai", "http://localhost:8000/v1", "VLLM_API_KEY",
		"vLLM; set baseUrl for another host", NULL, true },
	{ "llamacpp", "openai", "http://localhost:8080/v1", "LLAMACPP_API_KEY",
		"llama.cpp server; tool calls need its --jinja", NULL, true },
	{ "lmstudio", "openai", "http://localhost:1234/v1", "LMSTUDIO_API_KEY", "LM Studio", NULL,
		true },
	{ "groq", "openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "Groq", NULL, false },
	{ "deepseek", "openai", "https://api.deepseek.com", "DEEPSEEK_API_KEY",
		"DeepSeek; structured output through the prompt", NULL, false },
	{ "xai", "openai", "https://api.x.ai/v1", "XAI_API_KEY", "Grok", NULL, false },
	{ "together", "openai", "https://api.together.ai/v1", "TOGETHER_API_KEY", "Together",
		"TOGETHER_AI_API_KEY", false },
	{ "togetherai", "openai", "https://api.together.ai/v1", "TOGETHER_AI_API_KEY", "Together",
		"TOGETHER_API_KEY", false },
	{ "fireworks", "openai", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY",
		"Fireworks; models accounts/fireworks/models/…", NULL, false },
	{ "cerebras", "openai", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "Cerebras", NULL,
		false },
	{ "perplexity", "openai", "https://api.perplexity.ai", "PERPLEXITY_API_KEY",
		"Perplexity; ignores tools", NULL, false },
	{ "openrouter", "openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY",
		"OpenRouter", NULL, false },
	{ "zai", "openai", "https://api.z.ai/api/coding/paas/v4", "ZAI_API_KEY", "z.ai (GLM)", NULL,
		false },
	{ "moonshot", "openai", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "Moonshot (Kimi)",
		NULL, false },
	{ "huggingface", "openai", "https://router.huggingface.co/v1", "HF_TOKEN",
		"Hugging Face router", NULL, false },
	{ "workers-ai", "openai",
		"https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1",
		"CLOUDFLARE_API_KEY", "Cloudflare Workers AI; needs CLOUDFLARE_ACCOUNT_ID",
		"CLOUDFLARE_API_TOKEN", false },
	{ "google", "openai", "https://generativelanguage.googleapis.com/v1beta/openai",
		"GEMINI_API_KEY", "Gemini's compatible endpoint", "GOOGLE_GENERATIVE_AI_API_KEY",
		false },
	{ "mistral", "openai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "Mistral", NULL,
		false },
	{ "azure", "openai", "https://{AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1",
		"AZURE_API_KEY", "Azure OpenAI; the model is the deployment's name",
		"AZURE_OPENAI_API_KEY", false },
	{ "fireworks-anthropic", "anthropic", "https://api.fireworks.ai/inference",
		"FIREWORKS_API_KEY", "Fireworks over the Messages API", NULL, false },
	{ "kimi-coding", "anthropic", "https://api.kimi.com/coding", "KIMI_API_KEY",
		"Kimi coding over the Messages API", NULL, false },
	{ "minimax", "anthropic", "https://api.minimax.io/anthropic", "MINIMAX_API_KEY",
		"MiniMax over the Messages API", NULL, false },
	{ "xiaomi", "anthropic", "https://api.xiaomimimo.com/anthropic", "XIAOMI_API_KEY",
		"Xiaomi MiMo over the Messages API", NULL, false },
	{ "vercel", "anthropic", "https://ai-gateway.vercel.sh", "AI_GATEWAY_API_KEY",
		"Vercel AI Gateway over the Messages API", NULL, false },
};

#define ENTRIES (sizeof(entries) / sizeof(*entries))

static const struct bread_model_ops *const types[] = {
	&bread_model_scripted,
	&bread_model_anthropic,
	&bread_model_openai,
	&bread_model_ollama,
};

const struct provider_entry *brd_provider_catalogue(size_t *ret_count)
{
	*ret_count = ENTRIES;
	return entries;
}

static const struct provider_entry *find(struct bread_str word)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (brd_str_is(word, entries[i].name))
			return &entries[i];
	return NULL;
}

static const struct bread_model_ops *type_of(const struct provider_entry *e)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i]->name, e->type))
			return types[i];
	return NULL;
}

static int unknown(struct bread_str name, struct bread_str word, struct bread_err *err)
{
	struct buf known;
	const struct provider_entry *near = NULL;
	unsigned best = 3;
	int r;

	brd_buf_init(&known, 4096);
	for (size_t i = 0; i < ENTRIES; i++) {
		unsigned d = brd_str_distance(word, brd_str(entries[i].name));

		brd_buf_addf(&known, "%s%s", i ? ", " : "", entries[i].name);
		if (d < best) {
			best = d;
			near = &entries[i];
		}
	}
	r = brd_fail(err, BREAD_E_INVALID, "providers",
		"provider %.*s: unknown type \"%.*s\"%s%s%s; known are %s", BRD_ARG(name),
		BRD_ARG(word), near ? "; did you mean " : "", near ? near->name : "",
		near ? "?" : "", known.data);
	brd_buf_fini(&known);
	return r;
}

static int unset(struct bread_str name, const char *var, const char *instead, struct bread_err *err)
{
	return brd_fail_as(err, BREAD_E_INVALID, "PROVIDER_NOT_CONFIGURED", "providers",
		"provider %.*s is not configured: set %s in the environment, or %s in its entry",
		BRD_ARG(name), var, instead);
}

static const char *env(const char *name)
{
	const char *v = name ? getenv(name) : NULL;

	return v && *v ? v : NULL;
}

/* The entry's base URL from the catalogue, {NAME} replaced. */
static int add_base(struct jsonw *w, const struct provider_entry *e, struct bread_str name,
	struct bread_err *err)
{
	struct buf url;
	int r = BREAD_OK;
	const char *p = e->base_url;

	brd_buf_init(&url, 64 * 1024);
	while (*p && !r) {
		size_t n = strcspn(p, "{");
		const char *end = strchr(p + n, '}');
		char var[64];

		brd_buf_addn(&url, p, n);
		p += n;
		if (!*p || !end || (size_t)(end - p) > sizeof(var))
			break;
		memcpy(var, p + 1, (size_t)(end - p - 1));
		var[end - p - 1] = '\0';
		if (env(var))
			brd_buf_addz(&url, env(var));
		else
			r = unset(name, var, "baseUrl", err);
		p = end + 1;
	}
	if (!r)
		brd_jw_kstr(w, "baseUrl", brd_buf_str(&url));
	brd_buf_fini(&url);
	return r;
}

static int add_key(struct jsonw *w, const struct provider_entry *e, struct bread_str name,
	struct jval entry, struct arena *a, struct bread_err *err)
{
	const char *own = brd_json_strz(brd_json_get(entry, "apiKeyEnv"), a);
	const char *key = own ? env(own) : env(e->key_env);

	if (!key && !own)
		key = env(e->alt_env);
	if (key)
		brd_jw_kstr(w, "apiKey", brd_str(key));
	else if (own)
		return unset(name, own, "apiKey", err);
	/* a server of one's own may well want no key */
	else if (!e->key_optional && brd_json_type(brd_json_get(entry, "baseUrl")) == JSON_NONE)
		return unset(name, e->key_env, "apiKey", err);
	return BREAD_OK;
}

static bool has(struct jval entry, const char *key)
{
	return brd_json_type(brd_json_get(entry, key)) != JSON_NONE;
}

static int write_options(struct buf *options, const struct provider_entry *e, struct bread_str name,
	struct jval entry, struct arena *a, struct bread_err *err)
{
	struct jsonw w = brd_jsonw(options);
	int r = BREAD_OK;

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "server", brd_str(e->name));
	if (e->base_url && !has(entry, "baseUrl"))
		r = add_base(&w, e, name, err);
	if (!r && e->key_env && !has(entry, "apiKey"))
		r = add_key(&w, e, name, entry, a, err);
	for (struct json_iter it = brd_json_each(entry); brd_json_next(&it);) {
		if (brd_json_is(it.key, "type") || brd_json_is(it.key, "apiKeyEnv") ||
			brd_json_is(it.key, "server"))
			continue;
		brd_jw_keys(&w, brd_json_str(it.key, a));
		brd_jw_raw(&w, brd_json_raw(it.value));
	}
	brd_jw_end_obj(&w);
	return r;
}

int brd_catalogue_resolve(const struct bread_model_ops **ret, struct buf *options,
	struct bread_str name, struct jval entry, struct bread_err *err)
{
	struct arena a = { 0 };
	struct jval type =
		brd_json_type(entry) == JSON_STRING ? entry : brd_json_get(entry, "type");
	struct bread_str word = brd_json_type(type) == JSON_STRING ? brd_json_str(type, &a) : name;
	const struct provider_entry *e = find(word);
	int r;

	if (brd_json_type(entry) != JSON_NONE && brd_json_type(entry) != JSON_NULL &&
		brd_json_type(entry) != JSON_STRING && brd_json_type(entry) != JSON_OBJECT)
		r = brd_fail(err, BREAD_E_INVALID, "providers",
			"provider %.*s: its entry is an object or the name of a type, not %s",
			BRD_ARG(name), brd_json_type_name(brd_json_type(entry)));
	else if (!e || !type_of(e))
		r = unknown(name, word, err);
	else
		r = write_options(options, e, name, entry, &a, err);
	if (!r)
		*ret = type_of(e);
	if (!r && options->bad)
		r = brd_fail(err, BREAD_E_TOO_LARGE, "providers",
			"provider %.*s: its entry is over 16 MiB", BRD_ARG(name));
	brd_arena_fini(&a);
	return r;
}
