/* SPDX-License-Identifier: MIT */
/* Reading the Chat Completions stream, as many servers write it: calls without
 * ids, without indexes or all with index 0, arguments as objects, the reason
 * "stop" beside calls, usage in four places, no [DONE] at the end. What is never
 * forgiven is the absence of both a finish reason and [DONE]: that was cut. */
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "model/openai/parse.h"
#include "net/sse.h"

/* One call of theirs. */
struct chat_call {
	int64_t index; /* -1: none was given */
	int block;
};

struct chat_parser {
	struct mstream *s;
	struct sse_reader sse;
	struct arena a; /* of one event */
	struct chat_call *calls;
	size_t count;
	int text, thinking; /* blocks; -1: not opened */
	bool signed_thinking;
	bool done; /* [DONE] came */
	char finish[64];
};

static struct bread_str str(struct chat_parser *p, struct jval v, const char *key)
{
	return brd_json_str(brd_json_get(v, key), &p->a);
}

/* ---- reasoning and text ---- */

static void add_text(struct chat_parser *p, struct bread_str text)
{
	brd_mstream_add_to(p->s, &p->text, BREAD_PART_TEXT, text);
}

static void add_reasoning(struct chat_parser *p, struct bread_str text)
{
	brd_mstream_add_to(p->s, &p->thinking, BREAD_PART_REASONING, text);
}

/* The first field that holds any; its name is the signature, and it goes back under that name. */
static void take_reasoning(struct chat_parser *p, struct jval delta)
{
	static const char *const fields[] = { "reasoning_content", "reasoning", "reasoning_text" };

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		struct bread_str text = str(p, delta, fields[i]);

		if (!text.n)
			continue;
		add_reasoning(p, text);
		if (!p->signed_thinking)
			brd_mstream_sign(p->s, p->thinking, brd_str(fields[i]));
		p->signed_thinking = true;
		return;
	}
}

/* Mistral: thinking is a list of text parts, too. */
static void take_thinking_part(struct chat_parser *p, struct jval part)
{
	struct jval thinking = brd_json_get(part, "thinking");

	add_reasoning(p, brd_json_str(thinking, &p->a));
	for (struct json_iter it = brd_json_each(thinking); brd_json_next(&it);)
		add_reasoning(p, str(p, it.value, "text"));
}

static void take_content(struct chat_parser *p, struct jval content)
{
	if (brd_json_type(content) == JSON_STRING) {
		add_text(p, brd_json_str(content, &p->a));
		return;
	}
	for (struct json_iter it = brd_json_each(content); brd_json_next(&it);) {
		struct jval type = brd_json_get(it.value, "type");

		if (brd_json_is(type, "text"))
			add_text(p, str(p, it.value, "text"));
		else if (brd_json_is(type, "thinking"))
			take_thinking_part(p, it.value);
	}
}

/* ---- calls ---- */

static struct chat_call *find_call(struct chat_parser *p, int64_t index, struct bread_str id)
{
	for (size_t i = p->count; i-- > 0;) {
		if (index >= 0 && p->calls[i].index == index)
			return &p->calls[i];
		if (index < 0 && id.n &&
			brd_str_eq(brd_mstream_call_id(p->s, p->calls[i].block), id))
			return &p->calls[i];
	}
	return index < 0 && !id.n && p->count ? &p->calls[p->count - 1] : NULL;
}

static struct chat_call *new_call(struct chat_parser *p, int64_t index)
{
	if (p->count == MSTREAM_BLOCKS_MAX)
		return NULL;
	p->calls = brd_realloc(p->calls, (p->count + 1) * sizeof(*p->calls));
	p->calls[p->count] = (struct chat_call){ index, brd_mstream_open(p->s, BREAD_PART_CALL) };
	return &p->calls[p->count++];
}

static void take_arguments(struct chat_parser *p, int block, struct jval args)
{
	struct buf b;

	if (brd_json_type(args) == JSON_STRING) {
		brd_mstream_add(p->s, block, brd_json_str(args, &p->a));
		return;
	}
	if (brd_json_type(args) != JSON_OBJECT && brd_json_type(args) != JSON_ARRAY)
		return;
	brd_buf_init(&b, MSTREAM_TEXT_MAX);
	brd_json_compact(args, &b);
	brd_mstream_add(p->s, block, brd_buf_str(&b));
	brd_buf_fini(&b);
}

/* Gemini's compatible endpoint wants its signature back with the call. */
static void take_call_signature(struct chat_parser *p, int block, struct jval call)
{
	struct jval extra = brd_json_path(call, "extra_content.google.thought_signature");

	if (brd_json_type(extra) == JSON_STRING)
		brd_mstream_sign(p->s, block, brd_json_str(extra, &p->a));
}

static void take_call(struct chat_parser *p, struct jval v)
{
	struct jval f = brd_json_get(v, "function");
	struct bread_str id = str(p, v, "id"), name = str(p, f, "name"), known;
	int64_t index = brd_json_int_or(brd_json_get(v, "index"), -1);
	struct chat_call *c;

	if (brd_str_is(id, "null"))
		id.n = 0;
	c = find_call(p, index, id);
	known = c ? brd_mstream_call_id(p->s, c->block) : id;
	/* another id with a name is another call, whatever the index says */
	if (!c || (known.n && id.n && name.n && !brd_str_eq(known, id)))
		c = new_call(p, index);
	if (!c || c->block < 0)
		return;
	brd_mstream_call(p->s, c->block, id, name);
	take_arguments(p, c->block, brd_json_get(f, "arguments"));
	take_call_signature(p, c->block, v);
}

/* Encrypted reasoning that belongs to a call: the detail itself is the signature. */
static void take_details(struct chat_parser *p, struct jval details)
{
	for (struct json_iter it = brd_json_each(details); brd_json_next(&it);) {
		struct bread_str id = str(p, it.value, "id");
		struct chat_call *c = id.n ? find_call(p, -1, id) : NULL;

		if (c && brd_json_is(brd_json_get(it.value, "type"), "reasoning.encrypted"))
			brd_mstream_sign(p->s, c->block, brd_json_raw(it.value));
	}
}

/* ---- usage and the end ---- */

static void take_usage(struct chat_parser *p, struct jval u)
{
	struct bread_usage n = { 0 };
	struct jval cached = brd_json_path(u, "prompt_tokens_details.cached_tokens");

	if (brd_json_type(u) != JSON_OBJECT)
		return;
	if (brd_json_type(cached) != JSON_NUMBER)
		cached = brd_json_get(u, "prompt_cache_hit_tokens");
	brd_usage_take(&n.input, brd_json_get(u, "prompt_tokens"));
	brd_usage_take(&n.output, brd_json_get(u, "completion_tokens"));
	brd_usage_take(&n.cache_read, cached);
	brd_usage_take(
		&n.cache_write, brd_json_path(u, "prompt_tokens_details.cache_write_tokens"));
	n.cache_read -= n.cache_write < n.cache_read ? n.cache_write : n.cache_read;
	n.input -= n.cache_read + n.cache_write;
	if (n.input < 0)
		n.input = 0;
	p->s->usage = n;
}

static void fail_finished(struct chat_parser *p, enum bread_model_fault kind)
{
	char text[128];
	struct fault f = { .kind = kind,
		.retryable = kind == BREAD_FAULT_SERVER || kind == BREAD_FAULT_OVERLOADED,
		.finished = true,
		.retry_after_ms = -1 };

	snprintf(text, sizeof(text), "the provider ended with \"%s\"", p->finish);
	f.text = brd_str(text);
	brd_mstream_fail(p->s, &f);
}

static bool finish_is(const struct chat_parser *p, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(p->finish, *words))
			return true;
	return false;
}

static void end(struct chat_parser *p)
{
	static const char *const length[] = { "length", "model_length", "max_tokens", NULL };
	static const char *const server[] = { "error", "network_error", "abort", NULL };

	if (p->s->ended)
		return;
	if (!p->done && !p->finish[0])
		brd_stream_truncated(p->s, "the finish reason");
	else if (!strcmp(p->finish, "content_filter"))
		brd_stream_refused(p->s, brd_str(p->finish));
	else if (finish_is(p, server))
		fail_finished(p, BREAD_FAULT_SERVER);
	else if (!strcmp(p->finish, "insufficient_system_resource"))
		fail_finished(p, BREAD_FAULT_OVERLOADED);
	else if (!strcmp(p->finish, "model_context_window_exceeded"))
		fail_finished(p, BREAD_FAULT_OVERFLOW);
	else
		/* all that is left, known or not, is a stop; with calls it becomes one for tools */
		brd_mstream_done(p->s, finish_is(p, length) ? BREAD_STOP_LENGTH : BREAD_STOP_STOP);
}

/* ---- chunks ---- */

static void keep_first(struct buf *b, struct bread_str s)
{
	if (!b->len)
		brd_buf_add(b, s);
}

static void on_chunk(struct chat_parser *p, struct jval v)
{
	struct jval choice = brd_json_at(brd_json_get(v, "choices"), 0);
	struct jval delta = brd_json_get(choice, "delta"), error = brd_json_get(v, "error");
	struct bread_str finish = str(p, choice, "finish_reason");

	if (brd_json_type(error) != JSON_NONE && brd_json_type(error) != JSON_NULL) {
		brd_stream_error(p->s, error, 0, &p->a);
		return;
	}
	keep_first(&p->s->response_id, str(p, v, "id"));
	keep_first(&p->s->response_model, str(p, v, "model"));
	take_usage(p, brd_json_get(choice, "usage"));
	take_usage(p, brd_json_path(v, "x_groq.usage"));
	take_usage(p, brd_json_get(v, "usage"));
	if (finish.n)
		snprintf(p->finish, sizeof(p->finish), "%.*s", BRD_ARG(finish));
	take_reasoning(p, delta);
	take_content(p, brd_json_get(delta, "content"));
	brd_mstream_likely(p->s, brd_json_path(choice, "logprobs.content"));
	add_text(p, str(p, delta, "refusal"));
	for (struct json_iter it = brd_json_each(brd_json_get(delta, "tool_calls"));
		brd_json_next(&it);)
		take_call(p, it.value);
	take_details(p, brd_json_get(delta, "reasoning_details"));
}

static void on_sse(void *arg, const struct sse_event *e)
{
	struct chat_parser *p = arg;
	struct jval v;

	if (p->s->ended || p->done)
		return;
	if (brd_str_is(brd_str_trim(e->data), "[DONE]")) {
		p->done = true;
		end(p);
		return;
	}
	if (!brd_event_parse(p->s, e->data, &p->a, &v))
		return;
	if (brd_json_type(v) == JSON_ARRAY) /* Gemini wraps its errors */
		v = brd_json_at(v, 0);
	/* some say event: error and put the error itself into data */
	if (brd_str_is(e->event, "error") && brd_json_type(brd_json_get(v, "error")) == JSON_NONE)
		brd_stream_error(p->s, v, 0, &p->a);
	else
		on_chunk(p, v);
	brd_arena_reset(&p->a);
}

void *brd_chat_parser(struct mstream *s, struct bread_str json_tool)
{
	struct chat_parser *p = brd_alloc(sizeof(*p));

	p->s = s;
	p->text = p->thinking = -1;
	brd_sse_init(&p->sse, EVENT_LINE_MAX, on_sse, p);
	return p;
}

void brd_chat_feed(void *parser, struct bread_str bytes)
{
	struct chat_parser *p = parser;

	if (!p->s->ended && !brd_sse_feed(&p->sse, bytes))
		brd_stream_too_long(p->s);
}

void brd_chat_finish(void *parser)
{
	struct chat_parser *p = parser;

	brd_sse_finish(&p->sse);
	end(p);
}

void brd_chat_free(void *parser)
{
	struct chat_parser *p = parser;

	free(p->calls);
	brd_sse_fini(&p->sse);
	brd_arena_fini(&p->a);
	free(p);
}
