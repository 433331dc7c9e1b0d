/* SPDX-License-Identifier: MIT */
/* Anthropic's Messages API, and those who speak it too: the request.
 *
 * All results of a turn go into one user message, in order. A thinking block goes
 * back with its signature or, without one, as text. Structured output is asked for
 * natively, of older models by forcing one tool. */
#include "base/err.h"
#include "base/str.h"
#include "model/anthropic/parse.h"
#include "model/replay.h"

#define VERSION "2023-06-01"
#define THINKING_MIN 1024

static bool model_has(const struct request_draft *o, const char *part)
{
	return brd_str_find(o->req->model, brd_str(part)) >= 0;
}

static bool is_claude(const struct request_draft *o)
{
	return model_has(o, "claude");
}

/* Claude 2, 3.x and 4.0 know neither adaptive thinking nor output_config. */
static bool is_old(const struct request_draft *o)
{
	return model_has(o, "claude-2") || model_has(o, "claude-3") ||
	       model_has(o, "-4-20250514") || model_has(o, "-4-0");
}

static bool is_adaptive(const struct request_draft *o)
{
	return is_claude(o) && !is_old(o) && !model_has(o, "-4-1") && !model_has(o, "-4-5");
}

/* max_tokens must be given, and must not be over what the model can write. */
static int64_t most_tokens(const struct request_draft *o)
{
	if (model_has(o, "claude-2") || model_has(o, "claude-3-haiku") ||
		model_has(o, "claude-3-opus") || model_has(o, "claude-3-sonnet"))
		return 4096;
	return model_has(o, "claude-3-5") ? 8192 : 32000;
}

/* Tokens of thinking for models that want a number instead of a level. */
static int64_t budget_of(struct bread_str level)
{
	if (brd_str_is(level, "minimal"))
		return 1024;
	if (brd_str_is(level, "low"))
		return 2048;
	return brd_str_is(level, "medium") ? 8192 : 16384;
}

static void cache_mark(struct request_draft *o)
{
	if (brd_str_is(o->p->cache, "none"))
		return;
	brd_jw_key(&o->w, "cache_control");
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "type", BRD_STR("ephemeral"));
	if (brd_str_is(o->p->cache, "long"))
		brd_jw_kstr(&o->w, "ttl", BRD_STR("1h"));
	brd_jw_end_obj(&o->w);
}

/* ---- messages ---- */

/* Signatures of ours are base64; those of other families are words or JSON. */
static bool signature_is_ours(struct bread_str s)
{
	if (s.n < 2 || brd_str_starts(s, BRD_STR("reasoning")))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '+' || c == '/' || c == '=' || c == '_' || c == '-'))
			return false;
	}
	return true;
}

static void write_text(struct request_draft *o, struct bread_str text)
{
	brd_jw_kstr(&o->w, "type", BRD_STR("text"));
	brd_jw_kstr(&o->w, "text", text);
}

static void write_reasoning(struct request_draft *o, const struct bread_part *p)
{
	if (p->redacted) {
		brd_jw_kstr(&o->w, "type", BRD_STR("redacted_thinking"));
		brd_jw_kstr(&o->w, "data", p->signature);
	} else if (signature_is_ours(p->signature)) {
		brd_jw_kstr(&o->w, "type", BRD_STR("thinking"));
		brd_jw_kstr(&o->w, "thinking", p->text);
		brd_jw_kstr(&o->w, "signature", p->signature);
	} else {
		write_text(o, p->text);
	}
}

static void write_file(struct request_draft *o, const struct bread_part *p)
{
	bool image = brd_str_starts(p->media_type, BRD_STR("image/"));

	brd_jw_kstr(&o->w, "type", image ? BRD_STR("image") : BRD_STR("document"));
	brd_jw_key(&o->w, "source");
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "type", BRD_STR("base64"));
	brd_jw_kstr(&o->w, "media_type", p->media_type);
	brd_jw_kstr(&o->w, "data", p->text);
	brd_jw_end_obj(&o->w);
}

static void write_block(struct request_draft *o, const struct bread_part *p)
{
	switch (p->kind) {
	case BREAD_PART_TEXT:
		write_text(o, p->text);
		break;
	case BREAD_PART_REASONING:
		write_reasoning(o, p);
		break;
	case BREAD_PART_FILE:
		write_file(o, p);
		break;
	case BREAD_PART_CALL:
		brd_jw_kstr(&o->w, "type", BRD_STR("tool_use"));
		brd_jw_kstr(&o->w, "id", p->id);
		brd_jw_kstr(&o->w, "name", p->name);
		brd_jw_kraw(&o->w, "input", p->json);
		break;
	case BREAD_PART_RESULT:
		brd_jw_kstr(&o->w, "type", BRD_STR("tool_result"));
		brd_jw_kstr(&o->w, "tool_use_id", p->id);
		brd_jw_kstr(&o->w, "content", brd_result_as_text(p));
		brd_jw_kbool(&o->w, "is_error", p->failed);
		break;
	}
}

/* An unsigned thinking that is blank cannot be a text block. */
static bool sendable(const struct bread_part *p)
{
	return p->kind != BREAD_PART_REASONING || p->redacted || signature_is_ours(p->signature) ||
	       brd_str_trim(p->text).n > 0;
}

static bool any_sendable(const struct bread_message *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (sendable(&m->parts[i]))
			return true;
	return false;
}

static void write_message(struct request_draft *o, const struct bread_message *m, bool mark)
{
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "role",
		m->role == BREAD_ROLE_ASSISTANT ? BRD_STR("assistant") : BRD_STR("user"));
	brd_jw_key(&o->w, "content");
	brd_jw_arr(&o->w);
	for (size_t i = 0; i < m->count; i++) {
		if (!sendable(&m->parts[i]))
			continue;
		brd_jw_obj(&o->w);
		write_block(o, &m->parts[i]);
		if (mark && i + 1 == m->count)
			cache_mark(o);
		brd_jw_end_obj(&o->w);
	}
	brd_jw_end_arr(&o->w);
	brd_jw_end_obj(&o->w);
}

static void write_messages(struct request_draft *o)
{
	struct replay r;
	size_t last = 0;

	brd_replay(&r, o->req, IDS_64, o->a);
	for (size_t i = 0; i < r.count; i++)
		if (r.messages[i].role != BREAD_ROLE_ASSISTANT)
			last = i;
	if (!brd_body_key(o, "messages"))
		return;
	brd_jw_arr(&o->w);
	for (size_t i = 0; i < r.count; i++)
		if (any_sendable(&r.messages[i]))
			write_message(o, &r.messages[i], i == last);
	brd_jw_end_arr(&o->w);
}

static void write_system(struct request_draft *o)
{
	struct bread_str text = brd_replay_clean(o->req->system, o->a);

	if (!brd_str_trim(text).n || !brd_body_key(o, "system"))
		return;
	brd_jw_arr(&o->w);
	brd_jw_obj(&o->w);
	write_text(o, text);
	cache_mark(o);
	brd_jw_end_obj(&o->w);
	brd_jw_end_arr(&o->w);
}

/* ---- tools, structure, thinking ---- */

static void write_tool(struct request_draft *o, const struct bread_tool_offer *t, bool last)
{
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "name", t->name);
	if (t->description.n)
		brd_jw_kstr(&o->w, "description", t->description);
	brd_jw_key(&o->w, "input_schema");
	brd_write_schema(&o->w, t->schema, o->a);
	if (last)
		cache_mark(o);
	brd_jw_end_obj(&o->w);
}

static bool wants_forced_tool(const struct request_draft *o)
{
	return o->req->schema.n && (is_old(o) || !is_claude(o));
}

static void write_tools(struct request_draft *o)
{
	size_t n = o->req->tool_count;

	if (wants_forced_tool(o))
		o->json_tool = o->req->schema_name.n ? o->req->schema_name : BRD_STR("output");
	if ((!n && !o->json_tool.n) || !brd_body_key(o, "tools"))
		return;
	brd_jw_arr(&o->w);
	for (size_t i = 0; i < n; i++)
		write_tool(o, &o->req->tools[i], i + 1 == n && !o->json_tool.n);
	if (o->json_tool.n) {
		struct bread_tool_offer answer = { .name = o->json_tool,
			.description = BRD_STR("Gives the answer."),
			.schema = o->req->schema };

		write_tool(o, &answer, true);
	}
	brd_jw_end_arr(&o->w);
}

static void write_choice(struct request_draft *o)
{
	struct bread_str choice = brd_setting_str(o, "toolChoice");

	if (!o->json_tool.n && (!o->req->tool_count || !choice.n))
		return;
	if (!brd_body_key(o, "tool_choice"))
		return;
	brd_jw_obj(&o->w);
	if (o->json_tool.n) {
		brd_jw_kstr(&o->w, "type", BRD_STR("tool"));
		brd_jw_kstr(&o->w, "name", o->json_tool);
	} else if (brd_str_is(choice, "required")) {
		brd_jw_kstr(&o->w, "type", BRD_STR("any"));
	} else {
		brd_jw_kstr(&o->w, "type",
			brd_str_is(choice, "none") ? BRD_STR("none") : BRD_STR("auto"));
	}
	brd_jw_end_obj(&o->w);
}

static struct bread_str thinking_level(const struct request_draft *o)
{
	struct bread_str level = brd_setting_str(o, "reasoning");

	if (brd_reasoning_off(level) || o->json_tool.n)
		level.n = 0; /* a forced tool and thinking exclude each other */
	return level;
}

/* max_tokens holds the answer and the thinking together. */
static void write_limits(struct request_draft *o, struct bread_str level)
{
	int64_t most = most_tokens(o), max = brd_setting_int(o, "maxOutputTokens", most);
	int64_t budget = level.n && !is_adaptive(o) ? budget_of(level) : 0;

	if (max > most && is_claude(o) && is_old(o))
		max = most;
	if (budget && max == most)
		budget = budget < max - THINKING_MIN ? budget : max - THINKING_MIN;
	else
		max += budget;
	brd_body_int(o, "max_tokens", max);
	if (!level.n || !brd_body_key(o, "thinking"))
		return;
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "type", budget ? BRD_STR("enabled") : BRD_STR("adaptive"));
	if (budget)
		brd_jw_kint(&o->w, "budget_tokens", budget > THINKING_MIN ? budget : THINKING_MIN);
	brd_jw_end_obj(&o->w);
}

static void write_output_config(struct request_draft *o, struct bread_str level)
{
	bool effort = level.n && is_adaptive(o), format = o->req->schema.n && !o->json_tool.n;

	if ((!effort && !format) || !brd_body_key(o, "output_config"))
		return;
	brd_jw_obj(&o->w);
	if (effort)
		brd_jw_kstr(&o->w, "effort", brd_str_is(level, "minimal") ? BRD_STR("low") : level);
	if (format) {
		brd_jw_key(&o->w, "format");
		brd_jw_obj(&o->w);
		brd_jw_kstr(&o->w, "type", BRD_STR("json_schema"));
		brd_jw_key(&o->w, "schema");
		brd_write_schema(&o->w, o->req->schema, o->a);
		brd_jw_end_obj(&o->w);
	}
	brd_jw_end_obj(&o->w);
}

static void write_headers(struct request_draft *o, bool interleaved)
{
	struct bread_str key = o->p->api_key;
	bool bearer = /* a token of an account, not of the API */
		brd_str_find(key, BRD_STR("sk-ant-oat")) >= 0 || brd_str_is(o->p->server, "vercel");

	brd_header(o, "Accept", BRD_STR("text/event-stream"));
	brd_header(o, "anthropic-version", BRD_STR(VERSION));
	if (bearer)
		brd_header_bearer(o);
	else
		brd_header(o, "x-api-key", key);
	if (interleaved && is_claude(o) && !model_has(o, "claude-3"))
		brd_header(o, "anthropic-beta", BRD_STR("interleaved-thinking-2025-05-14"));
}

static int request(struct request_draft *o, struct bread_err *err)
{
	struct bread_str level;

	o->path = BRD_STR("/v1/messages");
	brd_body_begin(o);
	brd_body_str(o, "model", o->req->model);
	write_system(o);
	write_messages(o);
	write_tools(o);
	write_choice(o);
	level = thinking_level(o);
	write_limits(o, level);
	write_output_config(o, level);
	if (!level.n)
		brd_body_raw(o, "temperature", brd_setting(o, "temperature"));
	brd_body_raw(o, "top_p", brd_setting(o, "topP"));
	brd_body_raw(o, "top_k", brd_setting(o, "topK"));
	brd_body_raw(o, "stop_sequences", brd_setting(o, "stopSequences"));
	brd_body_bool(o, "stream", true);
	brd_body_end(o);
	write_headers(o, level.n && !is_adaptive(o));
	return BREAD_OK;
}

static const struct family family = {
	.name = "anthropic",
	.request = request,
	.parser_new = brd_anthropic_parser,
	.parser_feed = brd_anthropic_feed,
	.parser_finish = brd_anthropic_finish,
	.parser_free = brd_anthropic_free,
};

static int anthropic_open(struct bread_model *m, struct bread_str name, struct bread_str options,
	struct bread_err *err)
{
	return brd_provider_open((struct http_provider *)m, &family, name, options, err);
}

const struct bread_model_ops bread_model_anthropic = {
	.name = "anthropic",
	.size = sizeof(struct http_provider),
	.open = anthropic_open,
	.close = brd_provider_close,
	.start = brd_provider_start,
	.pause = brd_provider_pause,
};
