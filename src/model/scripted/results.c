/* SPDX-License-Identifier: MIT */
/* What a scripted answer may look at in its request: the last texts, and the
 * results of the last turn of tools (tool messages in a row are one turn). */
#include "base/str.h"
#include "model/scripted/template.h"

static struct bread_str text_of(const struct bread_message *m, struct arena *a)
{
	struct buf b;
	struct bread_str ret;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (size_t i = 0; i < m->count; i++) {
		const struct bread_part *p = &m->parts[i];

		if (p->kind == BREAD_PART_TEXT)
			brd_buf_add(&b, p->text);
		if (p->kind == BREAD_PART_RESULT && b.len)
			brd_buf_addc(&b, '\n');
		if (p->kind == BREAD_PART_RESULT)
			brd_buf_add(&b, brd_result_text(p, a));
	}
	ret = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return ret;
}

struct bread_str brd_last_text(const struct bread_model_request *req, struct arena *a)
{
	if (!req->message_count)
		return BRD_STR("");
	return text_of(&req->messages[req->message_count - 1], a);
}

struct bread_str brd_input_text(const struct bread_model_request *req, struct arena *a)
{
	for (size_t i = req->message_count; i-- > 0;)
		if (req->messages[i].role == BREAD_ROLE_USER)
			return text_of(&req->messages[i], a);
	return BRD_STR("");
}

/* The last turn of tools is messages[*from .. *to). */
static void last_turn(const struct bread_model_request *req, size_t *from, size_t *to)
{
	size_t i = req->message_count;

	while (i > 0 && req->messages[i - 1].role != BREAD_ROLE_TOOL)
		i--;
	*to = i;
	while (i > 0 && req->messages[i - 1].role == BREAD_ROLE_TOOL)
		i--;
	*from = i;
}

size_t brd_result_count(const struct bread_model_request *req)
{
	size_t from, to, n = 0;

	last_turn(req, &from, &to);
	for (; from < to; from++)
		n += req->messages[from].count;
	return n;
}

const struct bread_part *brd_last_result(const struct bread_model_request *req, size_t n)
{
	size_t from, to;

	last_turn(req, &from, &to);
	for (; from < to; from++) {
		const struct bread_message *m = &req->messages[from];

		if (n < m->count)
			return &m->parts[n];
		n -= m->count;
	}
	return NULL;
}

const struct bread_part *brd_result_of(const struct bread_model_request *req, struct bread_str tool)
{
	for (size_t n = brd_result_count(req); n-- > 0;) {
		const struct bread_part *p = brd_last_result(req, n);

		if (brd_str_eq(p->name, tool))
			return p;
	}
	return NULL;
}

struct bread_str brd_result_text(const struct bread_part *p, struct arena *a)
{
	struct jval v;

	if (!p->json.n)
		return p->text;
	v = brd_result_json(p, a);
	return brd_json_type(v) == JSON_STRING ? brd_json_str(v, a) : p->json;
}

struct jval brd_result_json(const struct bread_part *p, struct arena *a)
{
	struct jval v = { 0 };

	if (brd_json_parse(a, p->json.n ? p->json : p->text, 0, &v, NULL))
		return (struct jval){ 0 };
	return v;
}
