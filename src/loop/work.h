/* SPDX-License-Identifier: MIT */
/* Blocking work on the thread pool.
 *
 * run() happens on a worker; then op ends on its loop with what run returned
 * (op->err too). A cancel before run has started ends it at once; after that it
 * waits for run. The pool's size is UV_THREADPOOL_SIZE (set at start). */
#pragma once
#include "loop/loop.h"

struct work {
	struct bread_op *op;
	enum bread_code (*run)(struct work *w, struct bread_err *err);
	void *arg;
	struct {
		void *p[20];
	} priv;
};
void brd_work_start(struct work *w, struct bread_op *op);
