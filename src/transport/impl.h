/* SPDX-License-Identifier: MIT */
/* The inside of the hub, for the files of this folder only. */
#pragma once
#include <pthread.h>
#include "base/arena.h"
#include "base/map.h"
#include "transport/hub.h"

/* The place in a segment at which the log stands at seq. */
struct mark {
	int64_t seq;
	size_t at;
};

/* Encoded frames. Bytes before len never change. The marks lie at the end of data
 * and grow towards the bytes. Segments of one group follow each other without a
 * mark at the seam; a group begins at a mark and is dropped as a whole. Guarded by
 * the topic's lock, but for the bytes before len, which anybody who holds a
 * reference may read. */
struct segment {
	struct segment *next; /* a reference; NULL: the newest, or the last of a dropped group */
	unsigned refs;
	uint64_t group;
	int64_t first; /* the mark at which the group begins */
	int64_t last;  /* the newest mark at or before this segment's end */
	int64_t born;  /* mono ms: when the group began */
	size_t len, cap, marks;
	char data[];
};

struct ring {
	struct list link; /* in the topic */
	const struct bread_framing *framing;
	unsigned flags;
	unsigned cursors;
	struct segment *oldest; /* a reference */
	struct segment *newest;
	size_t bytes;       /* of all its segments, capacity counted */
	size_t group_bytes; /* of the newest group */
	bool sealed;        /* the next append begins a new group */
};

/* A loop that reads a topic: its cursors there, and how it is woken. */
struct reader {
	struct list link;  /* in the topic */
	struct list dirty; /* in the loop's */
	struct topic *topic;
	struct loop *loop;
	struct hub_loop *home;
	struct list cursors; /* the loop's thread only */
	size_t count;        /* of cursors, also of those that are being called */
	bool calling;
	unsigned streak;         /* flushes that followed each other closely */
	int64_t flushed;         /* us */
	_Atomic size_t gathered; /* bytes since its last flush */
	bool woken;              /* topic's lock: no further wake-up is needed */
	bool posted;             /* topic's lock: post is under way */
	struct post post;
};

enum topic_state {
	TOPIC_NEW,   /* nobody has published yet */
	TOPIC_LIVE,  /* between begin and end */
	TOPIC_IDLE,  /* ended for now */
	TOPIC_ENDED, /* for good */
};

struct topic {
	struct hub *hub;
	struct bread_str run_id;
	bool tree;     /* of a tree, not of its root alone */
	unsigned refs; /* hub's lock */

	pthread_mutex_t lock; /* all below */
	enum topic_state state;
	int64_t head;         /* the last mark */
	struct crumb **since; /* the crumbs after it: deltas of open windows */
	size_t since_count, since_cap;
	struct list rings;
	struct list readers;
	struct bread_failure failure;
	bool failed;
	struct arena arena; /* of failures; as long as the topic */
};

struct hub {
	size_t ring_keep, max_event;
	bool filtering;
	pthread_mutex_t lock;
	struct map topics, trees;
};

/* ring.c; the topic's lock is held */
struct ring *brd_ring_new(struct topic *t, const struct bread_framing *f, unsigned flags);
void brd_ring_free(struct ring *r);
void brd_ring_crumb(struct topic *t, struct ring *r, const struct crumb *c);
void brd_ring_mark(struct topic *t, struct ring *r, int64_t seq);
/* A new group, at this mark. */
void brd_ring_restart(struct topic *t, struct ring *r, int64_t first);
bool brd_ring_find(const struct ring *r, int64_t seq, struct segment **ret, size_t *ret_at);
size_t brd_ring_frame_len(struct topic *t, const struct ring *r, const struct crumb *c);
void brd_segment_unref(struct segment *s); /* NULL, too */

/* wake.c */
struct reader *brd_reader_get(struct topic *t, struct loop *l); /* lock held; loop's thread */
void brd_reader_add(struct reader *rd, struct cursor *c);
void brd_reader_drop(struct reader *rd, struct cursor *c); /* lock not held; may free rd */
/* bytes: about how much there is to take now. Lock held. */
void brd_readers_wake(struct topic *t, size_t bytes);
