/* SPDX-License-Identifier: MIT */
/* Reading text/event-stream and NDJSON: bytes in, events out, split anywhere:
 * LF, CRLF and CR end a line, also when a CR ends a packet and its LF begins the
 * next; one leading byte-order mark is dropped; comments are skipped (but counted
 * as life); several data lines join with LF; at the end of the body what is
 * pending is dispatched. */
#pragma once
#include "base/buf.h"

struct sse_event {
	struct bread_str event; /* empty: none was given */
	struct bread_str id;
	struct bread_str data;
};

struct sse_reader {
	struct buf line, data, event, id;
	size_t max_line;
	bool began, has_data, skip_lf, bad;
	void (*on_event)(void *arg, const struct sse_event *ev);
	void *arg;
};
void brd_sse_init(struct sse_reader *r, size_t max_line,
	void (*on_event)(void *arg, const struct sse_event *ev), void *arg);
/* false: a line or an event is over max_line; nothing is read any more. */
bool brd_sse_feed(struct sse_reader *r, struct bread_str bytes);
void brd_sse_finish(struct sse_reader *r); /* the body has ended */
void brd_sse_fini(struct sse_reader *r);

/* Lines of NDJSON: trimmed, empty ones left out. */
struct line_reader {
	struct buf line;
	size_t max_line;
	void (*on_line)(void *arg, struct bread_str line);
	void *arg;
};
void brd_lines_init(struct line_reader *r, size_t max_line,
	void (*on_line)(void *arg, struct bread_str line), void *arg);
bool brd_lines_feed(struct line_reader *r, struct bread_str bytes); /* false: as for SSE */
void brd_lines_finish(struct line_reader *r);
void brd_lines_fini(struct line_reader *r);
