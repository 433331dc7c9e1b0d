/* SPDX-License-Identifier: MIT */
/* The numbers of one run, and its delta windows.
 *
 * A window is the text of its deltas and the stamp of the first; closing turns it
 * into one crumb that looks like a delta and has a number of its own. Nothing
 * here writes or publishes: the caller logs what close gives and marks the
 * topic with it. */
#include "crumb/sequencer.h"
#include "base/clock.h"
#include "base/err.h"

/* A window's memory is kept for the next one unless a giant delta has blown it up. */
#define WINDOW_KEEP (16 * 1024)

void brd_seq_init(struct sequencer *s, int64_t head)
{
	*s = (struct sequencer){ .head = head };
	for (int i = 0; i < 2; i++)
		brd_buf_init(&s->windows[i].text, BUF_NO_LIMIT);
}

void brd_seq_fini(struct sequencer *s)
{
	for (int i = 0; i < 2; i++)
		brd_buf_fini(&s->windows[i].text);
}

bool brd_seq_open(const struct sequencer *s)
{
	return s->windows[0].open || s->windows[1].open;
}

int64_t brd_seq_next(struct sequencer *s)
{
	brd_assert(!brd_seq_open(s));
	return ++s->head;
}

int64_t brd_seq_due(const struct sequencer *s)
{
	return brd_seq_open(s) ? s->opened_mono + WINDOW_MS : 0;
}

static void window_open(struct sequencer *s, struct window *w, int64_t timestamp)
{
	w->order = brd_seq_open(s);
	if (w->order == 0)
		s->opened_mono = brd_clock_mono();
	w->open = true;
	w->timestamp = timestamp;
	w->units = 0;
}

bool brd_seq_delta(struct sequencer *s, struct crumb *c, struct bread_str delta)
{
	int at = c->type == CRUMB_REASONING_DELTA;
	struct window *w = &s->windows[at], *other = &s->windows[!at];

	brd_assert(!(c->flags & BREAD_CRUMB_DURABLE) && c->seq == s->head);
	if (!w->open)
		window_open(s, w, c->timestamp);
	brd_buf_add(&w->text, delta);
	w->units += c->units;
	c->offset = w->units;
	c->offset_other = other->open ? other->units : 0;
	s->bytes += c->json.n;
	return w->units >= WINDOW_UNITS || s->bytes >= WINDOW_BYTES;
}

static struct crumb *window_close(
	struct sequencer *s, struct window *w, const struct crumb_base *base)
{
	enum crumb_type t = w == &s->windows[1] ? CRUMB_REASONING_DELTA : CRUMB_TEXT_DELTA;
	struct crumb *c = brd_crumb_delta(t, base, w->timestamp, brd_buf_str(&w->text), ++s->head);

	c->flags |= BREAD_CRUMB_DURABLE;
	w->open = false;
	w->units = 0;
	if (w->text.cap > WINDOW_KEEP)
		brd_buf_fini(&w->text);
	else
		brd_buf_clear(&w->text);
	return c;
}

unsigned brd_seq_close(struct sequencer *s, const struct crumb_base *base, struct crumb *ret[2])
{
	unsigned n = 0;

	for (unsigned order = 0; order < 2; order++)
		for (int i = 0; i < 2; i++)
			if (s->windows[i].open && s->windows[i].order == order)
				ret[n++] = window_close(s, &s->windows[i], base);
	s->bytes = 0;
	s->opened_mono = 0;
	return n;
}
