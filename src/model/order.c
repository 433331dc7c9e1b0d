/* SPDX-License-Identifier: MIT */
/* The promised order of a stream's events: indexes 0, 1, 2 … without a gap; a
 * start, deltas and at most one end of one kind for each; START before all else;
 * one terminal, last. A success has ended every block but calls that were
 * withdrawn: those have no end, and nobody runs them. */
#include "model/order.h"
#include <stdlib.h>
#include "base/mem.h"

enum { TEXT = 1, THINKING = 2, CALL = 3, ENDED = 0x80 }; /* ENDED is or'ed to one of the others */

static const char *on_start(struct event_order *o, unsigned index, unsigned char kind)
{
	if (index != o->count)
		return "a block's index is not the next one";
	if (o->count == o->cap) {
		o->cap = o->cap ? o->cap * 2 : 8;
		o->blocks = brd_realloc(o->blocks, o->cap);
	}
	o->blocks[o->count++] = kind;
	return NULL;
}

static const char *on_delta(struct event_order *o, const struct bread_event *ev, unsigned char kind)
{
	if (ev->index >= o->count || o->blocks[ev->index] != kind)
		return "a delta belongs to no open block of its kind";
	return ev->text.n ? NULL : "a delta is empty";
}

static const char *on_end(struct event_order *o, const struct bread_event *ev, unsigned char kind)
{
	if (ev->index >= o->count || o->blocks[ev->index] != kind)
		return "an end belongs to no open block of its kind";
	o->blocks[ev->index] |= ENDED;
	return NULL;
}

static const char *on_done(struct event_order *o)
{
	o->ended = true;
	for (unsigned i = 0; i < o->count; i++)
		if (o->blocks[i] == TEXT || o->blocks[i] == THINKING)
			return "a success has left a block open";
	return NULL;
}

static const char *block_event(struct event_order *o, const struct bread_event *ev)
{
	switch (ev->kind) {
	case BREAD_EV_TEXT_START:
		return on_start(o, ev->index, TEXT);
	case BREAD_EV_THINKING_START:
		return on_start(o, ev->index, THINKING);
	case BREAD_EV_CALL_START:
		return on_start(o, ev->index, CALL);
	case BREAD_EV_TEXT_DELTA:
		return on_delta(o, ev, TEXT);
	case BREAD_EV_THINKING_DELTA:
		return on_delta(o, ev, THINKING);
	case BREAD_EV_CALL_DELTA:
		return on_delta(o, ev, CALL);
	case BREAD_EV_TEXT_END:
		return on_end(o, ev, TEXT);
	case BREAD_EV_THINKING_END:
		return on_end(o, ev, THINKING);
	case BREAD_EV_CALL_END:
		return on_end(o, ev, CALL);
	default:
		return NULL;
	}
}

const char *brd_event_order(struct event_order *o, const struct bread_event *ev)
{
	bool first = !o->started;

	if (o->ended)
		return "an event follows the terminal one";
	if (ev->kind == BREAD_EV_ERROR) {
		o->ended = true;
		return NULL;
	}
	o->started = true;
	if (ev->kind == BREAD_EV_START)
		return first ? NULL : "START is not the first event";
	if (first)
		return "START is missing";
	return ev->kind == BREAD_EV_DONE ? on_done(o) : block_event(o, ev);
}

void brd_event_order_fini(struct event_order *o)
{
	free(o->blocks);
	*o = (struct event_order){ 0 };
}
