/* SPDX-License-Identifier: MIT */
/* Following a run: what its log has, then what comes, as one string of bytes in one
 * framing (contract C2, C3, C5, C7). Viewers and subscriptions stand on it.
 *
 * A follower asks for bytes when it can use them and is called when there may be
 * more. It starts by watching the hub, reads the log page by page, and goes on in the
 * ring at the mark that the log has reached. Lapped, it goes back to the log. When
 * nobody publishes here it asks the store every second. It ends when the run has
 * ended and everything was taken, with the terminal crumb once more if it had
 * nothing else to say. One page at a time is in memory, and none while it is live. */
#pragma once
#include "instance/instance.h"

struct follow;

struct follow_spec {
	const struct bread_framing *framing;
	unsigned flags; /* enum cursor_flags */
	int64_t after;
	int64_t text, reasoning; /* exact: units of the windows after it that are had already */
	bool own;        /* a run that the caller has just started: it need not be in the store,
			    the end of its stream is its end or its suspension, and a failure is said */
	bool until_idle; /* ends when the run is suspended */
	bool tree;       /* the whole tree of that root, in the tree's numbers */
};

enum follow_state {
	FOLLOW_BYTES,
	FOLLOW_WAIT, /* on_ready will come */
	FOLLOW_END,
	FOLLOW_FAILED, /* see brd_follow_error */
};

/* l is the calling thread's. on_ready is never called inside a call to this module; peek once
 * after this one. */
struct follow *brd_follow_new(struct bread *b, struct loop *l, struct bread_str run_id,
	const struct follow_spec *spec, void (*on_ready)(void *arg), void *arg);
void brd_follow_free(struct follow *f);        /* NULL, too */
bool brd_follow_known(const struct follow *f); /* the run exists and the place is within its log */

/* Bytes that stay where they are until advance has passed them. */
enum follow_state brd_follow_peek(struct follow *f, struct iovec *ret);
void brd_follow_advance(struct follow *f, size_t n);

/* RUN_NOT_FOUND, INVALID_CURSOR, or the store's trouble. */
void brd_follow_error(const struct follow *f, struct bread_err *ret);
