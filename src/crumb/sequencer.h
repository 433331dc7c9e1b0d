/* SPDX-License-Identifier: MIT */
/* The numbers of one run, and its delta windows (docs/runs-and-crumbs.md).
 *
 * A durable crumb takes the next number. Deltas carry the last one (a watermark)
 * and join their kind's window; windows close together, oldest first, each as one
 * aggregated log entry with its own number: before a durable crumb, at 4096
 * UTF-16 units, at 64 KiB of frames, 1000 ms after the first of them opened, and
 * at the end. They close together so that after any number the live stream and
 * the log stand at the same place: what was numbered is in the log, what comes
 * after is not. */
#pragma once
#include "base/arena.h"
#include "crumb/crumb.h"

#define WINDOW_UNITS 4096
#define WINDOW_BYTES (64 * 1024)
#define WINDOW_MS 1000

struct window {
	bool open;
	int64_t timestamp; /* of its first delta */
	struct buf text;
	uint32_t units;
	unsigned order; /* 0 opened first */
};

struct sequencer {
	int64_t head;             /* the last number given out */
	struct window windows[2]; /* text, reasoning */
	size_t bytes;             /* of the open windows' frames */
	int64_t opened_mono;      /* when the first of them opened; 0: none is open */
};

void brd_seq_init(struct sequencer *s, int64_t head);
void brd_seq_fini(struct sequencer *s);
int64_t brd_seq_next(struct sequencer *s); /* windows must be closed */
/* Joins its window. true: a limit is reached, close the windows now. c->offset is set. */
bool brd_seq_delta(struct sequencer *s, struct crumb *c, struct bread_str delta);
bool brd_seq_open(const struct sequencer *s);
int64_t brd_seq_due(const struct sequencer *s); /* mono ms at which age closes them; 0: none open */
/* Closes all open windows, oldest first: gives one aggregated crumb each (a
 * reference for the caller). Returns how many (0..2). */
unsigned brd_seq_close(struct sequencer *s, const struct crumb_base *base, struct crumb *ret[2]);
