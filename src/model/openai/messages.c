/* SPDX-License-Identifier: MIT */
/* The conversation in the form of Chat Completions. An assistant's content is a
 * plain string (a list is mirrored back by some models) or null beside calls. */
#include "base/str.h"
#include "model/openai/messages.h"

static void begin(struct request_draft *o, const char *role)
{
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "role", brd_str(role));
}

static size_t count_of(const struct bread_message *m, enum bread_part_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++)
		n += m->parts[i].kind == kind;
	return n;
}

static struct bread_str joined(
	struct request_draft *o, const struct bread_message *m, enum bread_part_kind kind)
{
	struct buf b;
	struct bread_str s;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (size_t i = 0; i < m->count; i++)
		if (m->parts[i].kind == kind)
			brd_buf_add(&b, m->parts[i].text);
	s = brd_arena_copy(o->a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return s;
}

/* ---- user ---- */

static void write_image(struct request_draft *o, const struct quirks *q, struct bread_str url)
{
	brd_jw_kstr(&o->w, "type", BRD_STR("image_url"));
	if (q->plain_image_url) {
		brd_jw_kstr(&o->w, "image_url", url);
		return;
	}
	brd_jw_key(&o->w, "image_url");
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "url", url);
	brd_jw_end_obj(&o->w);
}

static void write_file(struct request_draft *o, struct bread_str url)
{
	brd_jw_kstr(&o->w, "type", BRD_STR("file"));
	brd_jw_key(&o->w, "file");
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "filename", BRD_STR("file"));
	brd_jw_kstr(&o->w, "file_data", url);
	brd_jw_end_obj(&o->w);
}

static void write_user_part(
	struct request_draft *o, const struct quirks *q, const struct bread_part *p)
{
	struct buf url;

	brd_jw_obj(&o->w);
	if (p->kind == BREAD_PART_TEXT) {
		brd_jw_kstr(&o->w, "type", BRD_STR("text"));
		brd_jw_kstr(&o->w, "text", p->text);
	} else {
		brd_buf_init(&url, BUF_NO_LIMIT);
		brd_buf_addf(&url, "data:%.*s;base64,", BRD_ARG(p->media_type));
		brd_buf_add(&url, p->text);
		if (brd_str_starts(p->media_type, BRD_STR("image/")))
			write_image(o, q, brd_buf_str(&url));
		else
			write_file(o, brd_buf_str(&url));
		brd_buf_fini(&url);
	}
	brd_jw_end_obj(&o->w);
}

static void write_user(
	struct request_draft *o, const struct quirks *q, const struct bread_message *m)
{
	begin(o, "user");
	if (!count_of(m, BREAD_PART_FILE)) {
		brd_jw_kstr(&o->w, "content", joined(o, m, BREAD_PART_TEXT));
	} else {
		brd_jw_key(&o->w, "content");
		brd_jw_arr(&o->w);
		for (size_t i = 0; i < m->count; i++)
			if (m->parts[i].kind == BREAD_PART_TEXT ||
				m->parts[i].kind == BREAD_PART_FILE)
				write_user_part(o, q, &m->parts[i]);
		brd_jw_end_arr(&o->w);
	}
	brd_jw_end_obj(&o->w);
}

/* ---- assistant ---- */

static bool is_field_name(struct bread_str s)
{
	return brd_str_is(s, "reasoning_content") || brd_str_is(s, "reasoning") ||
	       brd_str_is(s, "reasoning_text");
}

/* Reasoning of this family goes back under the name that it came by. */
static void write_reasoning(
	struct request_draft *o, const struct quirks *q, const struct bread_message *m)
{
	struct bread_str field = { 0 }, text = joined(o, m, BREAD_PART_REASONING);

	for (size_t i = 0; i < m->count; i++)
		if (m->parts[i].kind == BREAD_PART_REASONING &&
			is_field_name(m->parts[i].signature))
			field = m->parts[i].signature;
	if (field.n)
		brd_jw_kstr(&o->w, brd_arena_strz(o->a, field), text);
	else if (q->reasoning_back)
		brd_jw_kstr(&o->w, "reasoning_content", text);
}

static void write_details(struct request_draft *o, const struct bread_message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++) {
		const struct bread_part *p = &m->parts[i];

		if (p->kind != BREAD_PART_CALL || !brd_str_starts(p->signature, BRD_STR("{")) ||
			!brd_json_ok(p->signature, 0))
			continue;
		if (!n++) {
			brd_jw_key(&o->w, "reasoning_details");
			brd_jw_arr(&o->w);
		}
		brd_jw_raw(&o->w, p->signature);
	}
	if (n)
		brd_jw_end_arr(&o->w);
}

static void write_google_signature(struct request_draft *o, struct bread_str signature)
{
	if (!signature.n || signature.p[0] == '{' || !brd_str_is(o->p->server, "google"))
		return;
	brd_jw_key(&o->w, "extra_content");
	brd_jw_obj(&o->w);
	brd_jw_key(&o->w, "google");
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "thought_signature", signature);
	brd_jw_end_obj(&o->w);
	brd_jw_end_obj(&o->w);
}

static void write_call(struct request_draft *o, const struct bread_part *p)
{
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "id", p->id);
	brd_jw_kstr(&o->w, "type", BRD_STR("function"));
	brd_jw_key(&o->w, "function");
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "name", p->name);
	brd_jw_kstr(&o->w, "arguments", p->json.n ? p->json : BRD_STR("{}"));
	brd_jw_end_obj(&o->w);
	write_google_signature(o, p->signature);
	brd_jw_end_obj(&o->w);
}

static void write_calls(struct request_draft *o, const struct bread_message *m)
{
	if (!count_of(m, BREAD_PART_CALL))
		return;
	brd_jw_key(&o->w, "tool_calls");
	brd_jw_arr(&o->w);
	for (size_t i = 0; i < m->count; i++)
		if (m->parts[i].kind == BREAD_PART_CALL)
			write_call(o, &m->parts[i]);
	brd_jw_end_arr(&o->w);
}

/* Mistral: [{"type":"thinking","thinking":[…]},{"type":"text",…}] */
static void write_content_list(
	struct request_draft *o, struct bread_str thinking, struct bread_str text)
{
	brd_jw_key(&o->w, "content");
	brd_jw_arr(&o->w);
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "type", BRD_STR("thinking"));
	brd_jw_key(&o->w, "thinking");
	brd_jw_arr(&o->w);
	brd_jw_obj(&o->w);
	brd_jw_kstr(&o->w, "type", BRD_STR("text"));
	brd_jw_kstr(&o->w, "text", thinking);
	brd_jw_end_obj(&o->w);
	brd_jw_end_arr(&o->w);
	brd_jw_end_obj(&o->w);
	if (text.n) {
		brd_jw_obj(&o->w);
		brd_jw_kstr(&o->w, "type", BRD_STR("text"));
		brd_jw_kstr(&o->w, "text", text);
		brd_jw_end_obj(&o->w);
	}
	brd_jw_end_arr(&o->w);
}

static void write_assistant(
	struct request_draft *o, const struct quirks *q, const struct bread_message *m)
{
	struct bread_str text = joined(o, m, BREAD_PART_TEXT);
	struct bread_str thinking = joined(o, m, BREAD_PART_REASONING);

	/* nothing but reasoning is no message to these servers */
	if (!text.n && !count_of(m, BREAD_PART_CALL) && !(q->content_lists && thinking.n))
		return;
	begin(o, "assistant");
	if (q->content_lists && thinking.n)
		write_content_list(o, thinking, text);
	else if (text.n)
		brd_jw_kstr(&o->w, "content", text);
	else
		brd_jw_kraw(&o->w, "content", BRD_STR("null"));
	if (!q->content_lists)
		write_reasoning(o, q, m);
	write_calls(o, m);
	write_details(o, m);
	brd_jw_end_obj(&o->w);
}

/* ---- results ---- */

static void write_result(
	struct request_draft *o, const struct quirks *q, const struct bread_part *p)
{
	struct bread_str text = brd_result_as_text(p);

	begin(o, "tool");
	if (q->content_lists && p->failed)
		text = brd_arena_printf(o->a, "[tool error] %.*s", BRD_ARG(text));
	brd_jw_kstr(&o->w, "content", text);
	brd_jw_kstr(&o->w, "tool_call_id", p->id);
	if (q->result_name)
		brd_jw_kstr(&o->w, "name", p->name);
	brd_jw_end_obj(&o->w);
}

static void write_message(
	struct request_draft *o, const struct quirks *q, const struct bread_message *m, bool more)
{
	if (m->role == BREAD_ROLE_USER)
		write_user(o, q, m);
	else if (m->role == BREAD_ROLE_ASSISTANT)
		write_assistant(o, q, m);
	for (size_t i = 0; m->role == BREAD_ROLE_TOOL && i < m->count; i++)
		write_result(o, q, &m->parts[i]);
	if (m->role == BREAD_ROLE_TOOL && q->bridge && more && m[1].role == BREAD_ROLE_USER) {
		begin(o, "assistant");
		brd_jw_kstr(&o->w, "content", BRD_STR("I have the results of the tools."));
		brd_jw_end_obj(&o->w);
	}
}

/* Where the server knows no schemas, the prompt carries the one that is wanted. */
static struct bread_str system_text(struct request_draft *o, const struct quirks *q)
{
	struct bread_str system = brd_replay_clean(o->req->system, o->a);

	if (!o->req->schema.n || q->structured != STRUCTURED_OBJECT)
		return system;
	return brd_arena_printf(o->a,
		"%.*s%sAnswer with one JSON object that fits this JSON schema, and nothing "
		"else:\n%.*s",
		BRD_ARG(system), system.n ? "\n\n" : "", BRD_ARG(o->req->schema));
}

void brd_chat_messages(struct request_draft *o, const struct quirks *q, bool reasons)
{
	struct bread_str system = system_text(o, q);
	struct replay r;

	brd_replay(&r, o->req, q->ids, o->a);
	if (!brd_body_key(o, "messages"))
		return;
	brd_jw_arr(&o->w);
	if (brd_str_trim(system).n) {
		begin(o, q->developer_role && reasons ? "developer" : "system");
		brd_jw_kstr(&o->w, "content", system);
		brd_jw_end_obj(&o->w);
	}
	for (size_t i = 0; i < r.count; i++)
		write_message(o, q, &r.messages[i], i + 1 < r.count);
	brd_jw_end_arr(&o->w);
}
