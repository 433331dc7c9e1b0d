/* SPDX-License-Identifier: MIT */
/* Rows of the log as frames: what a replay shows. */
#pragma once
#include "instance/instance.h"

#define PAGE_BYTES (128 * 1024)

struct page_spec {
	const struct bread *bread;
	const struct bread_framing *framing;
	unsigned flags; /* enum cursor_flags */
	bool tree;      /* rows of a tree's log: its numbers count */
	bool first;     /* a hole before the first row is retention's: say so */

	/* in and out */
	int64_t after;           /* the number of the last row */
	int64_t text, reasoning; /* units to leave out of the windows that follow after */
	bool terminal;           /* out: the last row is the run's end */
};

/* Appends the rows' frames to out, as one HTTP chunk if they are to be chunked. */
void brd_page_rows(struct page_spec *spec, struct bread_str run_id,
	const struct bread_crumb_row *rows, size_t n, struct buf *out);
void brd_page_failure(const struct page_spec *spec, const struct bread_failure *f, struct buf *out);
