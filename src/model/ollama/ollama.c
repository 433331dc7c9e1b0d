/* SPDX-License-Identifier: MIT */
/* Ollama's own API: worth having beside its compatible endpoint because only
 * here the size of the context (options.num_ctx) can be set.
 *
 * The entry's "options" go into every request; a call's settings win over them.
 * Call ids do not exist there: they are made here and go back nowhere. */
#include "base/err.h"
#include "base/str.h"
#include "model/ollama/parse.h"
#include "model/replay.h"

static bool is_image(const struct bread_part *p)
{
	return p->kind == BREAD_PART_FILE && brd_str_starts(p->media_type, BRD_STR("image/"));
}

static void write_joined(struct request_draft *o, const char *key, const struct bread_message *m,
	enum bread_part_kind kind)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (size_t i = 0; i < m->count; i++)
		if (m->parts[i].kind == kind)
			brd_buf_add(&b, m->parts[i].text);
	if (b.len || kind == BREAD_PART_TEXT)
		brd_jw_kstr(&o->w, key, brd_buf_str(&b));
	brd_buf_fini(&b);
}

static void write_images(struct request_draft *o, const struct bread_message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (!is_image(&m->parts[i]))
			continue;
		if (!n++) {
			brd_jw_key(&o->w, "images");
			brd_jw_arr(&o->w);
		}
		brd_jw_str(&o->w, m->parts[i].text);
	}
	if (n)
		brd_jw_end_arr(&o->w);
}

static void write_calls(struct request_draft *o, const struct bread_message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (m->parts[i].kind != BREAD_PART_CALL)
			continue;
		if (!n++) {
			brd_jw_key(&o->w, "tool_calls");
			brd_jw_arr(&o->w);
		}
		brd_jw_obj(&o->w);
		brd_jw_key(&o->w, "function");
		brd_jw_obj(&o->w);
		brd_jw_kstr(&o->w, "name", m->parts[i].name);
		brd_jw_kraw(&o->w, "arguments", m->parts[i].json);
		brd_jw_end_obj(&o->w);
		brd_jw_end_obj(&o->w);
	}
	if (n)
		brd_jw_end_arr(&o->w);
}

static void write_results(struct request_draft *o, const struct bread_message *m)
{
	for (size_t i = 0; i < m->count; i++) {
		brd_jw_obj(&o->w);
		brd_jw_kstr(&o->w, "role", BRD_STR("tool"));
		brd_jw_kstr(&o->w, "tool_name", m->parts[i].name);
		brd_jw_kstr(&o->w, "content", brd_result_as_text(&m->parts[i]));
		brd_jw_end_obj(&o->w);
	}
}

static void write_message(struct request_draft *o, const struct bread_message *m)
{
	if (m->role == BREAD_ROLE_TOOL) {
		write_results(o, m);
		return;
	}
	brd_jw_obj(&o->w);
	brd_jw_kstr(
		&o->w, "role", m->role == BREAD_ROLE_USER ? BRD_STR("user") : BRD_STR("assistant"));
	write_joined(o, "content", m, BREAD_PART_TEXT);
	write_joined(o, "thinking", m, BREAD_PART_REASONING);
	write_images(o, m);
	write_calls(o, m);
	brd_jw_end_obj(&o->w);
}

static void write_messages(struct request_draft *o)
{
	struct bread_str system = brd_replay_clean(o->req->system, o->a);
	struct replay r;

	brd_replay(&r, o->req, IDS_ANY, o->a);
	if (!brd_body_key(o, "messages"))
		return;
	brd_jw_arr(&o->w);
	if (brd_str_trim(system).n) {
		brd_jw_obj(&o->w);
		brd_jw_kstr(&o->w, "role", BRD_STR("system"));
		brd_jw_kstr(&o->w, "content", system);
		brd_jw_end_obj(&o->w);
	}
	for (size_t i = 0; i < r.count; i++)
		write_message(o, &r.messages[i]);
	brd_jw_end_arr(&o->w);
}

static void write_tools(struct request_draft *o)
{
	if (!o->req->tool_count || !brd_body_key(o, "tools"))
		return;
	brd_jw_arr(&o->w);
	for (size_t i = 0; i < o->req->tool_count; i++) {
		const struct bread_tool_offer *t = &o->req->tools[i];

		brd_jw_obj(&o->w);
		brd_jw_kstr(&o->w, "type", BRD_STR("function"));
		brd_jw_key(&o->w, "function");
		brd_jw_obj(&o->w);
		brd_jw_kstr(&o->w, "name", t->name);
		brd_jw_kstr(&o->w, "description", t->description);
		brd_jw_key(&o->w, "parameters");
		brd_write_schema(&o->w, t->schema, o->a);
		brd_jw_end_obj(&o->w);
		brd_jw_end_obj(&o->w);
	}
	brd_jw_end_arr(&o->w);
}

static void write_options(struct request_draft *o)
{
	static const struct {
		const char *setting, *option;
	} names[] = {
		{ "temperature", "temperature" },
		{ "maxOutputTokens", "num_predict" },
		{ "topP", "top_p" },
		{ "topK", "top_k" },
		{ "seed", "seed" },
		{ "stopSequences", "stop" },
		{ "presencePenalty", "presence_penalty" },
		{ "frequencyPenalty", "frequency_penalty" },
	};

	if (!brd_body_key(o, "options"))
		return;
	brd_jw_obj(&o->w);
	for (struct json_iter it = brd_json_each(brd_json_get(o->p->options, "options"));
		brd_json_next(&it);) {
		brd_jw_keys(&o->w, brd_json_str(it.key, o->a));
		brd_jw_raw(&o->w, brd_json_raw(it.value));
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct jval v = brd_setting(o, names[i].setting);

		if (brd_json_type(v) != JSON_NONE && brd_json_type(v) != JSON_NULL)
			brd_jw_kraw(&o->w, names[i].option, brd_json_raw(v));
	}
	brd_jw_end_obj(&o->w);
}

static int request(struct request_draft *o, struct bread_err *err)
{
	struct bread_str level = brd_setting_str(o, "reasoning");

	o->path = BRD_STR("/api/chat");
	brd_header_bearer(o);
	brd_header(o, "Accept", BRD_STR("application/x-ndjson"));
	brd_body_begin(o);
	brd_body_str(o, "model", o->req->model);
	write_messages(o);
	write_tools(o);
	if (o->req->schema.n && brd_body_key(o, "format"))
		brd_write_schema(&o->w, o->req->schema, o->a);
	if (o->req->want_likely)
		brd_body_bool(o, "logprobs", true);
	if (level.n)
		brd_body_bool(o, "think", !brd_reasoning_off(level));
	write_options(o);
	brd_body_bool(o, "stream", true);
	brd_body_end(o);
	return BREAD_OK;
}

static const struct family family = {
	.name = "ollama",
	.request = request,
	.parser_new = brd_ollama_parser,
	.parser_feed = brd_ollama_feed,
	.parser_finish = brd_ollama_finish,
	.parser_free = brd_ollama_free,
};

static int ollama_open(struct bread_model *m, struct bread_str name, struct bread_str options,
	struct bread_err *err)
{
	return brd_provider_open((struct http_provider *)m, &family, name, options, err);
}

const struct bread_model_ops bread_model_ollama = {
	.name = "ollama",
	.size = sizeof(struct http_provider),
	.open = ollama_open,
	.close = brd_provider_close,
	.start = brd_provider_start,
	.pause = brd_provider_pause,
};
