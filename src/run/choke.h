/* SPDX-License-Identifier: MIT */
/* The only place that emits. */
#pragma once
#include "run/run.h"

void brd_choke_begin(struct run *r, struct crumb_draft *d, enum crumb_type t);
void brd_choke_emit(struct run *r, struct crumb_draft *d);
/* A human's crumb: seen whatever is hidden, and on the root's own stream, too (contract C17). fill
 * writes its members, once or twice. */
void brd_choke_emit_human(struct run *r, enum crumb_type t,
	void (*fill)(struct jsonw *w, const void *arg), const void *arg);
void brd_choke_delta(struct run *r, enum crumb_type t, struct bread_str delta);
void brd_choke_close_windows(struct tree *t);
void brd_choke_release(struct tree *t); /* what is committed goes out */
void brd_choke_drop(struct tree *t);    /* forgets what waits: the tree was lost */
