/* SPDX-License-Identifier: MIT */
/* Operations: how slow things are done without blocking a loop.
 *
 * For those who implement a seam (a store, a model, a tool). An operation is
 * started once and ends exactly once, through its loop: never inside the call
 * that started it, so a caller may start one anywhere and its on_end finds the
 * caller's state complete. It can be cancelled at any time until it has ended,
 * and may have a deadline.
 *
 *   owner                        whoever runs it at the time
 *   bread_op_init(op, ...)
 *   store->commit(..., op)   ->  bread_op_begin(op, on_cancel, self)
 *   bread_op_cancel(op)      ->  on_cancel(op, self): stop soon, then end it
 *   on_end(op)               <-  bread_op_end(op, code)     on the loop's thread
 *                            <-  bread_op_end_from(op, code) on any thread
 *
 * The memory is the owner's and may be reused or freed in or after on_end. */
#ifndef BREAD_EXT_OP_H
#define BREAD_EXT_OP_H

#include "bread/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct loop; /* one event loop; bread_op_* take it as an opaque name */

struct bread_op {
	/* the owner's */
	void (*on_end)(struct bread_op *op);
	void *arg;

	/* the outcome, valid in on_end; err.text says why unless code is BREAD_OK */
	enum bread_code code;
	struct bread_err err;

	/* private */
	struct loop *loop;
	void (*on_cancel)(struct bread_op *op, void *by);
	void *by;
	int state;
	int canceled;
	struct {
		void *p[6];
	} priv; /* links and the deadline's timer */
};

/* Makes op ready to be started on this loop. Also for one that has ended before. */
BREAD_API void bread_op_init(
	struct bread_op *op, struct loop *loop, void (*on_end)(struct bread_op *op), void *arg);

/* By the one who runs it, first thing: on_cancel (may be NULL: the cancel waits
 * for the normal end) is called on the loop's thread, at most once, and must
 * bring the end about. */
BREAD_API void bread_op_begin(
	struct bread_op *op, void (*on_cancel)(struct bread_op *op, void *by), void *by);

/* Ends it, on the loop's thread; on_end runs later in this turn of the loop (or soon after it, when
 * ends cause ends without end). code must be the first
 * and only end. A cancelled op ends BREAD_E_CANCELED whatever is given here,
 * unless it is BREAD_OK: what was done was done. err may be NULL. */
BREAD_API void bread_op_end(struct bread_op *op, enum bread_code code, const struct bread_err *err);

/* The same from another thread. */
BREAD_API void bread_op_end_from(
	struct bread_op *op, enum bread_code code, const struct bread_err *err);

/* Asks it to end soon. Nothing happens when it has ended, was not begun or was asked before. */
BREAD_API void bread_op_cancel(struct bread_op *op);

/* Ends it with BREAD_E_TIMEOUT (through on_cancel) unless it ends within ms from now; 0: there is
 * no deadline. */
BREAD_API void bread_op_deadline(struct bread_op *op, int64_t ms);

/* Between begin and on_end. */
BREAD_API int bread_op_running(const struct bread_op *op);

#ifdef __cplusplus
}
#endif
#endif
