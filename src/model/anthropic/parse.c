/* SPDX-License-Identifier: MIT */
/* Reading the Messages stream. Blocks are found by their index, never by "the
 * current one"; blocks of kinds that we do not know are skipped with all that
 * belongs to them. A stream without message_stop was cut. */
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "model/anthropic/parse.h"
#include "net/sse.h"

struct anthropic_block { /* one block of theirs */
	int64_t theirs;
	int ours;               /* -1: skipped */
	bool input;             /* some arguments came */
	struct bread_str whole; /* the arguments that the block began with; owned */
};

struct anthropic_parser {
	struct mstream *s;
	struct sse_reader sse;
	struct arena a; /* of one event */
	struct anthropic_block *slots;
	size_t count;
	char stop[64];
	bool stopped; /* message_stop came */
	struct bread_str json_tool;
};

static void free_slots(struct anthropic_parser *p)
{
	for (size_t i = 0; i < p->count; i++)
		free((char *)p->slots[i].whole.p);
	free(p->slots);
	p->slots = NULL;
	p->count = 0;
}

static struct anthropic_block *find_slot(struct anthropic_parser *p, struct jval v)
{
	int64_t index = brd_json_int_or(brd_json_get(v, "index"), -1);

	for (size_t i = p->count; i-- > 0;)
		if (p->slots[i].theirs == index)
			return &p->slots[i];
	return NULL;
}

static struct bread_str str(struct anthropic_parser *p, struct jval v, const char *key)
{
	return brd_json_str(brd_json_get(v, key), &p->a);
}

static void take_usage(struct anthropic_parser *p, struct jval u)
{
	struct bread_usage *to = &p->s->usage;

	brd_usage_take(&to->input, brd_json_get(u, "input_tokens"));
	brd_usage_take(&to->output, brd_json_get(u, "output_tokens"));
	brd_usage_take(&to->cache_read, brd_json_get(u, "cache_read_input_tokens"));
	brd_usage_take(&to->cache_write, brd_json_get(u, "cache_creation_input_tokens"));
}

static void on_message_start(struct anthropic_parser *p, struct jval v)
{
	struct jval m = brd_json_get(v, "message");

	if (!p->s->response_id.len)
		brd_buf_add(&p->s->response_id, str(p, m, "id"));
	if (!p->s->response_model.len)
		brd_buf_add(&p->s->response_model, str(p, m, "model"));
	take_usage(p, brd_json_get(m, "usage"));
}

static int open_call(struct anthropic_parser *p, struct anthropic_block *slot, struct jval block)
{
	struct bread_str name = str(p, block, "name");
	struct jval input = brd_json_get(block, "input");
	int at;

	if (brd_json_count(input))
		slot->whole = (struct bread_str){ brd_strndup(brd_json_raw(input)),
			brd_json_raw(input).n };
	if (p->json_tool.n && brd_str_eq(name, p->json_tool))
		return brd_mstream_open(p->s, BREAD_PART_TEXT); /* the structured answer */
	at = brd_mstream_open(p->s, BREAD_PART_CALL);
	brd_mstream_call(p->s, at, str(p, block, "id"), name);
	return at;
}

static int open_block(struct anthropic_parser *p, struct anthropic_block *slot, struct jval block)
{
	struct jval type = brd_json_get(block, "type");
	int at = -1;

	if (brd_json_is(type, "text")) {
		at = brd_mstream_open(p->s, BREAD_PART_TEXT);
		brd_mstream_add(p->s, at, str(p, block, "text"));
	} else if (brd_json_is(type, "thinking")) {
		at = brd_mstream_open(p->s, BREAD_PART_REASONING);
		brd_mstream_add(p->s, at, str(p, block, "thinking"));
		brd_mstream_sign(p->s, at, str(p, block, "signature"));
	} else if (brd_json_is(type, "redacted_thinking")) {
		at = brd_mstream_open(p->s, BREAD_PART_REASONING);
		brd_mstream_redact(p->s, at, str(p, block, "data"));
	} else if (brd_json_is(type, "tool_use")) {
		at = open_call(p, slot, block);
	}
	return at;
}

static void on_block_start(struct anthropic_parser *p, struct jval v)
{
	struct anthropic_block slot = { .theirs = brd_json_int_or(brd_json_get(v, "index"), -1) };

	if (p->count == MSTREAM_BLOCKS_MAX)
		return;
	slot.ours = open_block(p, &slot, brd_json_get(v, "content_block"));
	p->slots = brd_realloc(p->slots, (p->count + 1) * sizeof(*p->slots));
	p->slots[p->count++] = slot;
}

static void on_block_delta(struct anthropic_parser *p, struct jval v)
{
	struct anthropic_block *slot = find_slot(p, v);
	struct jval d = brd_json_get(v, "delta"), type = brd_json_get(d, "type");

	if (!slot)
		return;
	if (brd_json_is(type, "text_delta")) {
		brd_mstream_add(p->s, slot->ours, str(p, d, "text"));
	} else if (brd_json_is(type, "thinking_delta")) {
		brd_mstream_add(p->s, slot->ours, str(p, d, "thinking"));
	} else if (brd_json_is(type, "signature_delta")) {
		brd_mstream_sign(p->s, slot->ours, str(p, d, "signature"));
	} else if (brd_json_is(type, "input_json_delta")) {
		slot->input |= str(p, d, "partial_json").n > 0;
		brd_mstream_add(p->s, slot->ours, str(p, d, "partial_json"));
	}
}

static void end_slot(struct anthropic_parser *p, struct anthropic_block *slot)
{
	if (!slot->input)
		brd_mstream_add(p->s, slot->ours, slot->whole);
	slot->input = true;
	brd_mstream_end(p->s, slot->ours);
}

static void on_message_delta(struct anthropic_parser *p, struct jval v)
{
	struct bread_str stop = str(p, brd_json_get(v, "delta"), "stop_reason");

	take_usage(p, brd_json_get(v, "usage"));
	if (stop.n)
		snprintf(p->stop, sizeof(p->stop), "%.*s", BRD_ARG(stop));
}

static void on_message_stop(struct anthropic_parser *p)
{
	enum bread_stop reason = BREAD_STOP_STOP;

	p->stopped = true;
	for (size_t i = 0; i < p->count; i++)
		end_slot(p, &p->slots[i]);
	if (!strcmp(p->stop, "refusal") || !strcmp(p->stop, "sensitive")) {
		brd_stream_refused(p->s, brd_str(p->stop));
		return;
	}
	if (!strcmp(p->stop, "max_tokens") || !strcmp(p->stop, "model_context_window_exceeded"))
		reason = BREAD_STOP_LENGTH;
	else if (!strcmp(p->stop, "tool_use") && p->s->has_calls)
		reason = BREAD_STOP_TOOL_USE;
	brd_mstream_done(p->s, reason);
}

static void on_sse(void *arg, const struct sse_event *e)
{
	struct anthropic_parser *p = arg;
	struct jval v, type;

	if (p->s->ended || brd_str_is(e->event, "ping"))
		return;
	if (!brd_event_parse(p->s, e->data, &p->a, &v))
		return;
	type = brd_json_get(v, "type");
	if (brd_json_is(type, "message_start"))
		on_message_start(p, v);
	else if (brd_json_is(type, "content_block_start"))
		on_block_start(p, v);
	else if (brd_json_is(type, "content_block_delta"))
		on_block_delta(p, v);
	else if (brd_json_is(type, "content_block_stop") && find_slot(p, v))
		end_slot(p, find_slot(p, v));
	else if (brd_json_is(type, "message_delta"))
		on_message_delta(p, v);
	else if (brd_json_is(type, "message_stop"))
		on_message_stop(p);
	else if (brd_json_is(type, "error"))
		brd_stream_error(p->s, brd_json_get(v, "error"), 0, &p->a);
	else if (brd_json_is(type, "ping"))
		p->s->alive--; /* says nothing */
	brd_arena_reset(&p->a);
}

void *brd_anthropic_parser(struct mstream *s, struct bread_str json_tool)
{
	struct anthropic_parser *p = brd_alloc(sizeof(*p));

	p->s = s;
	p->json_tool = json_tool;
	brd_sse_init(&p->sse, EVENT_LINE_MAX, on_sse, p);
	return p;
}

void brd_anthropic_feed(void *parser, struct bread_str bytes)
{
	struct anthropic_parser *p = parser;

	if (!p->s->ended && !brd_sse_feed(&p->sse, bytes))
		brd_stream_too_long(p->s);
}

void brd_anthropic_finish(void *parser)
{
	struct anthropic_parser *p = parser;

	brd_sse_finish(&p->sse);
	if (!p->stopped)
		brd_stream_truncated(p->s, "message_stop");
}

void brd_anthropic_free(void *parser)
{
	struct anthropic_parser *p = parser;

	free_slots(p);
	brd_sse_fini(&p->sse);
	brd_arena_fini(&p->a);
	free(p);
}
