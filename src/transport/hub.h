/* SPDX-License-Identifier: MIT */
/* The hub: what runs of this process emit, on its way to viewers.
 *
 * A run that is live has a topic. For each framing somebody watches it in, the
 * topic has a ring: an append-only byte log of encoded frames in shared,
 * reference-counted segments of up to 64 KiB, of which the newest 256 KiB (or
 * so) are kept, for two seconds at most. A frame is encoded there once. A viewer is a cursor
 * (segment, offset): no queue, no allocation and no copy per delivery. It asks for the bytes
 * between itself and the head when its socket can take more.
 *
 * Marks tie a ring to the log: mark(N) is the place at which everything up to
 * number N, and nothing else, has been written. Windows that close together make one. A segment
 * begins at a mark. So a viewer that has replayed the log up to N goes on at mark(N), exactly
 * (contract C2); and one that fell behind finishes the segment it stands in, which it holds, and
 * goes back to the log after that segment's last number (C7).
 *
 * A ring that is made in the middle of a delta window begins with the deltas of
 * that window: the topic keeps the crumbs since the last mark.
 *
 * Publishing is done by one loop at a time (the run's); cursors may stand on any
 * loop. A topic's lock is held only to append or to move a cursor; wake-ups go
 * to each loop with cursors once, until that loop has looked. */
#pragma once
#include <sys/uio.h>
#include "crumb/crumb.h"
#include "crumb/sink.h"
#include "loop/loop.h"

struct hub;
struct topic;

#define RING_KEEP (256 * 1024)
#define RING_SEGMENT (64 * 1024)

struct hub *brd_hub_new(size_t ring_keep); /* 0: RING_KEEP */
/* Before the first topic. max_event: crumbs over it go out as previews (contract C8), 0: 1 MiB.
 * filtering: crumbs may be marked BREAD_CRUMB_FILTERED (else all viewers of a framing share a
 * ring, whether they asked for CURSOR_ALL or not). */
void brd_hub_configure(struct hub *h, size_t max_event, bool filtering);
size_t brd_hub_max_event(const struct hub *h);
void brd_hub_free(struct hub *h); /* no topic is held by now */
size_t brd_hub_topics(struct hub *h);

/* The run's topic, made when there is none; a reference. peek: NULL when there is none. tree: not
 * the run's own, but that of the tree whose root it is. */
struct topic *brd_topic_get(struct hub *h, struct bread_str run_id, bool tree);
struct topic *brd_topic_peek(struct hub *h, struct bread_str run_id, bool tree);
struct topic *brd_topic_ref(struct topic *t);
void brd_topic_unref(struct topic *t); /* the last one removes it from the hub */

/* The publisher's side. begin: the log stands at head and the run goes on from
 * there; marks beyond head that were made before are void, and viewers who stand
 * there read the log after head again. publish: one crumb, in order, whose number here is seq; a
 * durable one is a mark too. mark: a window was closed and its aggregate has this number. end:
 * nothing more comes from here for now (the run ended, was suspended, or goes to another owner);
 * terminal: it ended for good; failure: what its own caller is told beside the crumbs (NULL:
 * nothing). A topic can begin again after end (a resume). */
void brd_topic_begin(struct topic *t, int64_t head);
void brd_topic_publish(struct topic *t, struct crumb *c, int64_t seq);
void brd_topic_mark(struct topic *t, int64_t seq);
void brd_topic_end(struct topic *t, bool terminal, const struct bread_failure *failure);

/* The viewer's side, on a loop's thread. */
struct cursor {
	struct list link; /* among the topic's cursors of this loop */
	struct topic *topic;
	struct ring *ring;
	struct segment *segment; /* held; NULL: not live */
	size_t offset;
	int64_t after; /* the log's place: valid after BEHIND, IDLE and ENDED */
	/* In the loop's hook, after a publish, mark, begin or end. */
	void (*on_ready)(struct cursor *c);
	void *arg;
	struct reader *reader; /* where this loop reads the topic */
};

enum cursor_flags {
	CURSOR_ALL = 1,     /* also crumbs that the filter keeps from passive viewers: the run's own
			       stream */
	CURSOR_EXACT = 2,   /* ids with offsets (?exact=1) */
	CURSOR_CHUNKED = 4, /* frames come wrapped in HTTP chunks */
	CURSOR_FULL = 8,    /* no previews: crumbs as they are, however large */
};

enum cursor_state {
	CURSOR_LIVE,   /* stands in the ring; at its head or before it */
	CURSOR_BEHIND, /* must read the log after c->after, then seek again */
	CURSOR_IDLE,   /* no publisher here; the log has what there is */
	CURSOR_ENDED,  /* the run ended and all that the ring has was taken */
};

void brd_cursor_open(struct cursor *c, struct topic *t, const struct bread_framing *f,
	unsigned flags, struct loop *l, void (*on_ready)(struct cursor *c), void *arg);
void brd_cursor_close(struct cursor *c); /* one that is not open, too */

/* Tries to stand at mark(after): the log was read up to there. A number that is in the log
 * but was not published yet is waited for (CURSOR_LIVE). */
enum cursor_state brd_cursor_seek(struct cursor *c, int64_t after);
/* The same for a viewer that has so many units of the windows that are open after that number:
 * passes over their deltas. BEHIND: those windows are closed by now, or about to be. */
enum cursor_state brd_cursor_seek_exact(
	struct cursor *c, int64_t after, int64_t text, int64_t reasoning);
/* The bytes from the cursor to the head of its segment. They stay unchanged and
 * in memory until advance has passed them or the cursor is closed. n 0: see the state. */
enum cursor_state brd_cursor_peek(struct cursor *c, struct iovec *ret);
void brd_cursor_advance(struct cursor *c, size_t n);
/* What the publisher said at its end. false: none. Strings live as long as the topic. */
bool brd_cursor_failure(const struct cursor *c, struct bread_failure *ret);
/* Where a publisher is at work: its last mark. -1: there is none. */
int64_t brd_topic_head(struct topic *t);
bool brd_topic_begun(struct topic *t); /* somebody has published, or still does */
