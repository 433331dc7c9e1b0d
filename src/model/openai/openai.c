/* SPDX-License-Identifier: MIT */
/* OpenAI's Chat Completions and the many servers that speak it: the request. What
 * they want otherwise is in quirks.c; here it is only asked for. */
#include "base/err.h"
#include "base/str.h"
#include "model/openai/messages.h"
#include "model/openai/parse.h"

struct openai {
	struct http_provider p;
	struct quirks q;
};

static bool begins_any(struct bread_str model, const char *const *words)
{
	for (; *words; words++)
		if (brd_str_starts(model, brd_str(*words)))
			return true;
	return false;
}

/* OpenAI's reasoning models take the developer role and no temperature. */
static bool reasons(const struct request_draft *o)
{
	static const char *const names[] = { "o1", "o3", "o4", "gpt-5", NULL };

	return begins_any(o->req->model, names) &&
	       brd_str_find(o->req->model, BRD_STR("-chat")) < 0;
}

static bool has_calls(const struct bread_model_request *req)
{
	for (size_t i = 0; i < req->message_count; i++)
		for (size_t j = 0; j < req->messages[i].count; j++)
			if (req->messages[i].parts[j].kind == BREAD_PART_CALL)
				return true;
	return false;
}

static void write_tool(
	struct request_draft *o, const struct quirks *q, const struct bread_tool_offer *t)
{
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "type", BRD_STR("function"));
	brd_jw_key(&o->w, "function");
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "name", t->name);
	if (t->description.n)
		brd_jw_kstr(&o->w, "description", t->description);
	brd_jw_key(&o->w, "parameters");
	brd_write_schema(&o->w, t->schema, o->a);
	if (q->strict)
		brd_jw_kbool(&o->w, "strict", false);
	brd_jw_end_obj(&o->w);
	brd_jw_end_obj(&o->w);
}

static void write_tools(struct request_draft *o, const struct quirks *q)
{
	struct bread_str choice = brd_setting_str(o, "toolChoice");

	if (q->no_tools || (!o->req->tool_count && !(q->empty_tools && has_calls(o->req))))
		return;
	if (brd_body_key(o, "tools")) {
		brd_jw_arr(&o->w);
		for (size_t i = 0; i < o->req->tool_count; i++)
			write_tool(o, q, &o->req->tools[i]);
		brd_jw_end_arr(&o->w);
	}
	if (brd_str_is(choice, "required") && q->required_is_any)
		choice = BRD_STR("any");
	if (o->req->tool_count)
		brd_body_str(o, "tool_choice", choice);
	if (o->req->tool_count && q->tool_stream)
		brd_body_bool(o, "tool_stream", true);
}

static void write_format(struct request_draft *o, const struct quirks *q)
{
	bool schema = q->structured == STRUCTURED_SCHEMA;

	if (!o->req->schema.n || !brd_body_key(o, "response_format"))
		return;
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "type", schema ? BRD_STR("json_schema") : BRD_STR("json_object"));
	if (schema) {
		brd_jw_key(&o->w, "json_schema");
		brd_jw_obj(&o->w);
		brd_jw_kstr(&o->w, "name",
			o->req->schema_name.n ? o->req->schema_name : BRD_STR("output"));
		brd_jw_key(&o->w, "schema");
		brd_write_schema(&o->w, o->req->schema, o->a);
		/* strict refuses schemas that leave anything open */
		brd_jw_kbool(&o->w, "strict", brd_schema_is_strict(o->req->schema, o->a));
		brd_jw_end_obj(&o->w);
	}
	brd_jw_end_obj(&o->w);
}

static void write_object_of(
	struct request_draft *o, const char *key, const char *inner, struct bread_str word, bool on)
{
	if (!brd_body_key(o, key))
		return;
	brd_jw_obj(&o->w);
	if (word.n)
		brd_jw_kstr(&o->w, inner, word);
	else
		brd_jw_kbool(&o->w, inner, on);
	brd_jw_end_obj(&o->w);
}

static void write_reasoning(struct request_draft *o, const struct quirks *q)
{
	struct bread_str level = brd_setting_str(o, "reasoning");
	bool off = brd_reasoning_off(level);

	if (!level.n)
		return;
	switch (q->reasoning) {
	case REASONING_NONE:
		break;
	case REASONING_PARSED:
		if (!off)
			brd_body_str(o, "reasoning_format", BRD_STR("parsed"));
		brd_body_str(o, "reasoning_effort", off ? BRD_STR("none") : level);
		break;
	case REASONING_EFFORT:
		brd_body_str(o, "reasoning_effort", off ? BRD_STR("none") : level);
		break;
	case REASONING_NESTED:
		write_object_of(o, "reasoning", "effort", off ? BRD_STR("none") : level, false);
		break;
	case REASONING_THINKING:
		write_object_of(o, "thinking", "type",
			off ? BRD_STR("disabled") : BRD_STR("enabled"), false);
		break;
	case REASONING_ENABLE:
		brd_body_bool(o, "enable_thinking", !off);
		break;
	case REASONING_TEMPLATE:
		write_object_of(o, "chat_template_kwargs", "enable_thinking", BRD_STR(""), !off);
		break;
	case REASONING_PROMPT:
		if (!off)
			brd_body_str(o, "prompt_mode", BRD_STR("reasoning"));
		break;
	}
}

static void write_sampling(struct request_draft *o, const struct quirks *q)
{
	brd_body_raw(o, q->max_tokens, brd_setting(o, "maxOutputTokens"));
	if (!(q->developer_role && reasons(o))) {
		brd_body_raw(o, "temperature", brd_setting(o, "temperature"));
		brd_body_raw(o, "top_p", brd_setting(o, "topP"));
	}
	if (!q->no_penalties) {
		brd_body_raw(o, "presence_penalty", brd_setting(o, "presencePenalty"));
		brd_body_raw(o, "frequency_penalty", brd_setting(o, "frequencyPenalty"));
		brd_body_raw(o, "stop", brd_setting(o, "stopSequences"));
	}
	brd_body_raw(o, q->random_seed ? "random_seed" : "seed", brd_setting(o, "seed"));
}

static void write_headers(struct request_draft *o, const struct quirks *q)
{
	brd_header(o, "Accept", BRD_STR("text/event-stream"));
	if (q->api_key_header)
		brd_header(o, "api-key", o->p->api_key);
	else
		brd_header_bearer(o);
	if (q->affinity)
		brd_header(o, "x-affinity", o->req->session_id);
}

static int request(struct request_draft *o, struct bread_err *err)
{
	const struct quirks *q = &((const struct openai *)o->p)->q;
	bool keep = !brd_str_is(o->p->cache, "none");

	o->path = BRD_STR("/chat/completions");
	brd_body_begin(o);
	brd_body_str(o, "model", o->req->model);
	brd_chat_messages(o, q, reasons(o));
	brd_body_bool(o, "stream", true);
	if (!q->no_stream_usage)
		write_object_of(o, "stream_options", "include_usage", BRD_STR(""), true);
	if (q->no_store)
		brd_body_bool(o, "store", false);
	if (q->cache_key && keep)
		brd_body_str(o, "prompt_cache_key", o->req->session_id);
	if (q->cache_key && brd_str_is(o->p->cache, "long"))
		brd_body_str(o, "prompt_cache_retention", BRD_STR("24h"));
	write_sampling(o, q);
	write_tools(o, q);
	write_format(o, q);
	/* models that reason refuse it */
	if (o->req->want_likely && q->logprobs && !reasons(o))
		brd_body_bool(o, "logprobs", true);
	write_reasoning(o, q);
	brd_body_end(o);
	write_headers(o, q);
	return BREAD_OK;
}

static const struct family family = {
	.name = "openai",
	.request = request,
	.parser_new = brd_chat_parser,
	.parser_feed = brd_chat_feed,
	.parser_finish = brd_chat_finish,
	.parser_free = brd_chat_free,
};

static int openai_open(struct bread_model *m, struct bread_str name, struct bread_str options,
	struct bread_err *err)
{
	struct openai *o = (struct openai *)m;
	int r = brd_provider_open(&o->p, &family, name, options, err);

	if (r)
		return r;
	r = brd_quirks_of(&o->q, &o->p, err);
	if (r)
		brd_provider_close(m);
	return r;
}

const struct bread_model_ops bread_model_openai = {
	.name = "openai",
	.size = sizeof(struct openai),
	.open = openai_open,
	.close = brd_provider_close,
	.start = brd_provider_start,
	.pause = brd_provider_pause,
};
