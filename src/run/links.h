/* SPDX-License-Identifier: MIT */
/* What the original's own rows say of a tree that waits (docs/store.md). */
#pragma once
#include "run/node.h"

/* The tree is put aside: in this turn's transaction. */
void brd_links_write(struct tree *t);
/* All delegations of that turn have ended: the supervisor waits no more. */
void brd_links_forget(struct run *r, unsigned turn);
/* link_frames.c: where a pipeline goes on when the run below that node has ended. false: the
 * original has no words for it. */
bool brd_link_frames(struct node *at, struct jsonw *w);
/* Calls fn for each checkpoint that stands for the run: of its own questions, and of the
 * delegations that it waits for; without any, for those of the runs below it. */
void brd_links_of_run(
	struct run *r, void (*fn)(void *arg, struct bread_str checkpoint_id), void *arg);
