/* SPDX-License-Identifier: MIT */
/* Messages as sessions keep them (the AI SDK's shapes) to canonical parts and back.
 *
 * The JSON written here is what a TypeScript replica on the same database writes
 * and reads: the order of keys is part of it. A signature that a provider needs
 * back sits in "providerOptions":{"bread":{…}}, which others carry along unread. */
#include "model/model.h"
#include "base/err.h"
#include "base/jsonw.h"

static int bad_message(struct bread_err *err, const char *what, struct bread_str detail)
{
	return brd_fail(err, BREAD_E_INVALID, "model.message", "%s%.*s", what, BRD_ARG(detail));
}

static void read_signature(struct bread_part *p, struct jval v, struct arena *a)
{
	struct jval mine = brd_json_get(brd_json_get(v, "providerOptions"), "bread");

	p->signature = brd_json_str(brd_json_get(mine, "signature"), a);
	p->redacted = brd_json_bool(brd_json_get(mine, "redacted"), false);
}

static void read_output(struct bread_part *p, struct jval output, struct arena *a)
{
	struct jval type = brd_json_get(output, "type");
	struct jval value = brd_json_get(output, "value");

	p->failed = brd_json_is(type, "error-text") || brd_json_is(type, "error-json") ||
		    brd_json_is(type, "execution-denied");
	if (brd_json_is(type, "execution-denied"))
		value = brd_json_get(output, "reason");
	if (brd_json_is(type, "json") || brd_json_is(type, "error-json") ||
		brd_json_type(value) != JSON_STRING)
		p->json = brd_json_raw(value); /* stays empty when there was no value */
	else
		p->text = brd_json_str(value, a);
}

static void read_result(struct bread_part *p, struct jval v, struct arena *a)
{
	struct jval output = brd_json_get(v, "output");

	p->kind = BREAD_PART_RESULT;
	p->id = brd_json_str(brd_json_get(v, "toolCallId"), a);
	p->name = brd_json_str(brd_json_get(v, "toolName"), a);
	if (brd_json_type(output) != JSON_NONE)
		read_output(p, output, a);
	else
		p->json = brd_json_raw(brd_json_get(v, "result"));
}

static void read_call(struct bread_part *p, struct jval v, struct arena *a)
{
	p->kind = BREAD_PART_CALL;
	p->id = brd_json_str(brd_json_get(v, "toolCallId"), a);
	p->name = brd_json_str(brd_json_get(v, "toolName"), a);
	p->json = brd_json_raw(brd_json_get(v, "input"));
	if (!p->json.n)
		p->json = BRD_STR("{}");
}

static void read_file(struct bread_part *p, struct jval v, struct arena *a)
{
	struct jval data = brd_json_get(v, "data");

	p->kind = BREAD_PART_FILE;
	p->media_type = brd_json_str(brd_json_get(v, "mediaType"), a);
	if (brd_json_type(data) == JSON_NONE)
		data = brd_json_get(v, "image");
	if (!p->media_type.n)
		p->media_type = BRD_STR("image/png");
	p->text = brd_json_str(data, a);
}

static int read_part(struct bread_part *p, struct jval v, struct arena *a, struct bread_err *err)
{
	struct jval type = brd_json_get(v, "type");

	if (brd_json_is(type, "text")) {
		p->kind = BREAD_PART_TEXT;
		p->text = brd_json_str(brd_json_get(v, "text"), a);
	} else if (brd_json_is(type, "reasoning")) {
		p->kind = BREAD_PART_REASONING;
		p->text = brd_json_str(brd_json_get(v, "text"), a);
	} else if (brd_json_is(type, "tool-call")) {
		read_call(p, v, a);
	} else if (brd_json_is(type, "tool-result")) {
		read_result(p, v, a);
	} else if (brd_json_is(type, "file") || brd_json_is(type, "image")) {
		read_file(p, v, a);
	} else {
		return bad_message(
			err, "a part of a message has an unknown type: ", brd_json_raw(type));
	}
	read_signature(p, v, a);
	return BREAD_OK;
}

static int read_role(struct bread_message *m, struct bread_str role, struct bread_err *err)
{
	if (brd_str_is(role, "user"))
		m->role = BREAD_ROLE_USER;
	else if (brd_str_is(role, "assistant"))
		m->role = BREAD_ROLE_ASSISTANT;
	else if (brd_str_is(role, "tool"))
		m->role = BREAD_ROLE_TOOL;
	else
		return bad_message(err, "a message's role is user, assistant or tool, not ", role);
	return BREAD_OK;
}

int brd_message_from_stored(struct bread_message *ret, struct bread_str role, struct jval content,
	struct arena *a, struct bread_err *err)
{
	struct bread_message m = { 0 };
	int r = read_role(&m, role, err);

	if (r)
		return r;
	if (brd_json_type(content) == JSON_STRING) {
		m.parts = brd_arena_array(a, 1, sizeof(*m.parts));
		m.parts[m.count++].text = brd_json_str(content, a);
		*ret = m;
		return BREAD_OK;
	}
	if (brd_json_type(content) != JSON_ARRAY)
		return bad_message(err, "a message's content is a string or a list, not ",
			brd_str(brd_json_type_name(brd_json_type(content))));
	m.parts = brd_arena_array(a, brd_json_count(content), sizeof(*m.parts));
	for (struct json_iter it = brd_json_each(content); brd_json_next(&it);) {
		r = read_part(&m.parts[m.count++], it.value, a, err);
		if (r)
			return r;
	}
	*ret = m;
	return BREAD_OK;
}

static void write_signature(struct jsonw *w, const struct bread_part *p)
{
	if (!p->signature.n && !p->redacted)
		return;
	brd_jw_key(w, "providerOptions");
	brd_jw_obj(w);
	brd_jw_key(w, "bread");
	brd_jw_obj(w);
	if (p->signature.n)
		brd_jw_kstr(w, "signature", p->signature);
	if (p->redacted)
		brd_jw_kbool(w, "redacted", true);
	brd_jw_end_obj(w);
	brd_jw_end_obj(w);
}

static void write_output(struct jsonw *w, const struct bread_part *p)
{
	bool json = p->json.n || !p->text.p;

	brd_jw_key(w, "output");
	brd_jw_obj(w);
	brd_jw_key(w, "type");
	if (p->failed)
		brd_jw_strz(w, json ? "error-json" : "error-text");
	else
		brd_jw_strz(w, json ? "json" : "text");
	if (json)
		brd_jw_kraw(w, "value", p->json);
	else
		brd_jw_kstr(w, "value", p->text);
	brd_jw_end_obj(w);
}

static void write_call_head(struct jsonw *w, const char *type, const struct bread_part *p)
{
	brd_jw_kstr(w, "type", brd_str(type));
	brd_jw_kstr(w, "toolCallId", p->id);
	brd_jw_kstr(w, "toolName", p->name);
}

static void write_part(struct jsonw *w, const struct bread_part *p)
{
	brd_jw_obj(w);
	switch (p->kind) {
	case BREAD_PART_TEXT:
	case BREAD_PART_REASONING:
		brd_jw_key(w, "type");
		brd_jw_strz(w, p->kind == BREAD_PART_TEXT ? "text" : "reasoning");
		brd_jw_kstr(w, "text", p->text);
		break;
	case BREAD_PART_FILE:
		brd_jw_kstr(w, "type", BRD_STR("file"));
		brd_jw_kstr(w, "data", p->text);
		brd_jw_kstr(w, "mediaType", p->media_type);
		break;
	case BREAD_PART_CALL:
		write_call_head(w, "tool-call", p);
		brd_jw_kraw(w, "input", p->json.n ? p->json : BRD_STR("{}"));
		break;
	case BREAD_PART_RESULT:
		write_call_head(w, "tool-result", p);
		write_output(w, p);
		break;
	}
	write_signature(w, p);
	brd_jw_end_obj(w);
}

void brd_message_to_stored(struct buf *out, const struct bread_message *m)
{
	struct jsonw w = brd_jsonw(out);

	if (m->role == BREAD_ROLE_USER && m->count == 1 && m->parts[0].kind == BREAD_PART_TEXT) {
		brd_jw_str(&w, m->parts[0].text);
		return;
	}
	brd_jw_arr(&w);
	for (size_t i = 0; i < m->count; i++)
		write_part(&w, &m->parts[i]);
	brd_jw_end_arr(&w);
}

static void write_prompt_parts(struct jsonw *w, const struct bread_message *m)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct bread_part *p = &m->parts[i];

		/* the SDK sends no empty text, but a user's only one stays */
		if (p->kind == BREAD_PART_TEXT && !p->text.n &&
			(m->role != BREAD_ROLE_USER || m->count > 1))
			continue;
		write_part(w, p);
	}
}

void brd_prompt_json(struct buf *out, const struct bread_model_request *req)
{
	static const char *const roles[] = { "user", "assistant", "tool" };
	struct jsonw w = brd_jsonw(out);

	brd_jw_arr(&w);
	if (req->system.n) {
		brd_jw_obj(&w);
		brd_jw_kstr(&w, "role", BRD_STR("system"));
		brd_jw_kstr(&w, "content", req->system);
		brd_jw_end_obj(&w);
	}
	for (size_t i = 0; i < req->message_count; i++) {
		brd_jw_obj(&w);
		brd_jw_kstr(&w, "role", brd_str(roles[req->messages[i].role]));
		brd_jw_key(&w, "content");
		brd_jw_arr(&w);
		write_prompt_parts(&w, &req->messages[i]);
		/* tool messages in a row are one in the prompt */
		while (req->messages[i].role == BREAD_ROLE_TOOL && i + 1 < req->message_count &&
			req->messages[i + 1].role == BREAD_ROLE_TOOL)
			write_prompt_parts(&w, &req->messages[++i]);
		brd_jw_end_arr(&w);
		brd_jw_end_obj(&w);
	}
	brd_jw_end_arr(&w);
}
