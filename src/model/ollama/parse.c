/* SPDX-License-Identifier: MIT */
/* Reading Ollama's NDJSON: one thinking and one text block a message, calls that
 * come whole and without ids, and a last line with done:true; without it the
 * answer was cut. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "base/uuid.h"
#include "model/ollama/parse.h"
#include "net/sse.h"

struct ollama_parser {
	struct mstream *s;
	struct line_reader lines;
	struct arena a;
	int text, thinking; /* blocks; -1: not opened */
	bool done;
};

static void on_call(struct ollama_parser *p, struct jval call)
{
	struct jval f = brd_json_get(call, "function"), args = brd_json_get(f, "arguments");
	struct bread_str id = brd_json_str(brd_json_get(call, "id"), &p->a);
	int at = brd_mstream_open(p->s, BREAD_PART_CALL);
	struct buf b;

	if (!id.n) {
		char uuid[UUID_LEN + 1];

		brd_uuid7(uuid);
		id = brd_arena_printf(&p->a, "call_%s", uuid);
	}
	brd_mstream_call(p->s, at, id, brd_json_str(brd_json_get(f, "name"), &p->a));
	brd_buf_init(&b, MSTREAM_TEXT_MAX);
	if (brd_json_type(args) == JSON_STRING)
		brd_json_str_add(args, &b);
	else if (brd_json_type(args) != JSON_NONE)
		brd_json_compact(args, &b);
	brd_mstream_add(p->s, at, brd_buf_str(&b));
	brd_buf_fini(&b);
	brd_mstream_end(p->s, at);
}

static void on_done(struct ollama_parser *p, struct jval v)
{
	struct jval reason = brd_json_get(v, "done_reason");

	p->done = true;
	brd_usage_take(&p->s->usage.input, brd_json_get(v, "prompt_eval_count"));
	brd_usage_take(&p->s->usage.output, brd_json_get(v, "eval_count"));
	brd_mstream_done(p->s, brd_json_is(reason, "length") ? BREAD_STOP_LENGTH : BREAD_STOP_STOP);
}

static void on_line(void *arg, struct bread_str line)
{
	struct ollama_parser *p = arg;
	struct jval v, m, error;

	if (p->s->ended || !brd_event_parse(p->s, line, &p->a, &v))
		return;
	error = brd_json_get(v, "error");
	m = brd_json_get(v, "message");
	if (brd_json_type(error) != JSON_NONE) {
		brd_stream_error(p->s, error, 500, &p->a);
		return;
	}
	if (!p->s->response_model.len)
		brd_buf_add(&p->s->response_model, brd_json_str(brd_json_get(v, "model"), &p->a));
	brd_mstream_add_to(p->s, &p->thinking, BREAD_PART_REASONING,
		brd_json_str(brd_json_get(m, "thinking"), &p->a));
	brd_mstream_add_to(
		p->s, &p->text, BREAD_PART_TEXT, brd_json_str(brd_json_get(m, "content"), &p->a));
	brd_mstream_likely(p->s, brd_json_get(v, "logprobs"));
	for (struct json_iter it = brd_json_each(brd_json_get(m, "tool_calls"));
		brd_json_next(&it);)
		on_call(p, it.value);
	if (brd_json_bool(brd_json_get(v, "done"), false))
		on_done(p, v);
	brd_arena_reset(&p->a);
}

void *brd_ollama_parser(struct mstream *s, struct bread_str json_tool)
{
	struct ollama_parser *p = brd_alloc(sizeof(*p));

	p->s = s;
	p->text = p->thinking = -1;
	brd_lines_init(&p->lines, EVENT_LINE_MAX, on_line, p);
	return p;
}

void brd_ollama_feed(void *parser, struct bread_str bytes)
{
	struct ollama_parser *p = parser;

	if (!p->s->ended && !brd_lines_feed(&p->lines, bytes))
		brd_stream_too_long(p->s);
}

void brd_ollama_finish(void *parser)
{
	struct ollama_parser *p = parser;

	brd_lines_finish(&p->lines);
	if (!p->done)
		brd_stream_truncated(p->s, "the line with done:true");
}

void brd_ollama_free(void *parser)
{
	struct ollama_parser *p = parser;

	brd_lines_fini(&p->lines);
	brd_arena_fini(&p->a);
	free(p);
}
