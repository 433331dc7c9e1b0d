/* SPDX-License-Identifier: MIT */
/* Any bytes as a provider's stream. Whatever they are: the events come in the
 * promised order with one terminal, last; text is whole UTF-8; the deltas of a
 * block add up to its end; and nothing depends on how the bytes were cut (whole,
 * byte by byte, and in pieces whose size is the first byte). */
#pragma once
#include <stdlib.h>
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "model/family.h"
#include "model/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct fuzz_parser {
	void *(*make)(struct mstream *s, struct bread_str json_tool);
	void (*feed)(void *parser, struct bread_str bytes);
	void (*finish)(void *parser);
	void (*free_it)(void *parser);
};

struct hearing {
	struct buf heard;
	struct event_order order;
	struct buf texts[64]; /* of the first blocks */
	bool ended;
};

static void hear_block(struct hearing *h, const struct bread_event *ev)
{
	bool end = ev->kind == BREAD_EV_TEXT_END || ev->kind == BREAD_EV_THINKING_END ||
		   ev->kind == BREAD_EV_CALL_END;

	brd_assert(brd_utf8_ok(ev->text));
	if (ev->kind == BREAD_EV_CALL_START)
		brd_assert(ev->id.n && ev->name.n);
	if (ev->kind == BREAD_EV_CALL_END)
		brd_assert(ev->json.n && ev->json.p[0] == '{' && brd_json_ok(ev->json, 0));
	if (ev->index >= 64 || ev->redacted)
		return;
	if (end)
		brd_assert(brd_str_eq(brd_buf_str(&h->texts[ev->index]), ev->text));
	else
		brd_buf_add(&h->texts[ev->index], ev->text);
}

static void hear(void *arg, const struct bread_event *ev)
{
	struct hearing *h = arg;

	brd_assert(!brd_event_order(&h->order, ev));
	brd_buf_addf(&h->heard, "%d/%u/%d/%d/%lld:", ev->kind, ev->index, ev->incomplete, ev->fault,
		(long long)ev->usage.output);
	brd_buf_add(&h->heard, ev->text);
	brd_buf_add(&h->heard, ev->signature);
	h->ended = ev->kind == BREAD_EV_DONE || ev->kind == BREAD_EV_ERROR;
	if (ev->kind >= BREAD_EV_TEXT_START && ev->kind <= BREAD_EV_CALL_END)
		hear_block(h, ev);
}

/* Each piece in memory of exactly its size, so that a sanitizer sees a read past its end. */
static void feed_piece(const struct fuzz_parser *f, void *parser, struct bread_str s)
{
	char *p = malloc(s.n ? s.n : 1);

	brd_assert(p);
	memcpy(p, s.p, s.n);
	f->feed(parser, (struct bread_str){ p, s.n });
	free(p);
}

static void play_all(const struct fuzz_parser *f, struct bread_str in, size_t piece,
	struct bread_str tool, struct buf *ret)
{
	struct hearing *h = calloc(1, sizeof(*h));
	struct mstream s;
	void *parser;

	brd_assert(h);
	brd_buf_init(&h->heard, BUF_NO_LIMIT);
	for (size_t i = 0; i < 64; i++)
		brd_buf_init(&h->texts[i], BUF_NO_LIMIT);
	brd_mstream_init(&s, hear, h);
	parser = f->make(&s, tool);
	for (size_t at = 0; at < in.n; at += piece)
		feed_piece(f, parser, brd_sub(in, at, in.n - at < piece ? in.n - at : piece));
	f->finish(parser);
	brd_assert(h->ended && s.ended);
	f->free_it(parser);
	brd_mstream_fini(&s);
	brd_event_order_fini(&h->order);
	for (size_t i = 0; i < 64; i++)
		brd_buf_fini(&h->texts[i]);
	*ret = h->heard;
	free(h);
}

static int fuzz_model(const struct fuzz_parser *f, const uint8_t *data, size_t n)
{
	struct buf whole, bytes, pieces;
	struct bread_str in, tool = { 0 };

	if (n < 2)
		return 0;
	in = (struct bread_str){ (const char *)data + 1, n - 1 };
	if (data[0] & 1)
		tool = BRD_STR("output");
	play_all(f, in, in.n, tool, &whole);
	play_all(f, in, 1, tool, &bytes);
	play_all(f, in, (size_t)data[0] + 1, tool, &pieces);
	brd_assert(brd_str_eq(brd_buf_str(&whole), brd_buf_str(&bytes)));
	brd_assert(brd_str_eq(brd_buf_str(&whole), brd_buf_str(&pieces)));
	brd_buf_fini(&whole);
	brd_buf_fini(&bytes);
	brd_buf_fini(&pieces);
	return 0;
}
