/* SPDX-License-Identifier: MIT */
/* The transaction of a turn. */
#pragma once
#include "run/run.h"

struct held {
	struct crumb *crumb;
	struct run *run;
};
struct run_tx {
	struct bread_tx tx;
	struct tree *tree;
	struct arena arena; /* of strings in its records */
	struct held *held;
	size_t room, held_count, held_room, bytes;
	uint64_t number;
	bool first; /* makes the root's row: no fence yet */
	struct list launches;
};
struct bread_rec *brd_tx_add(struct run *r, enum bread_rec_kind kind);
/* Into the open transaction's memory. */
struct bread_str brd_tx_copy(struct run *r, struct bread_str s);
void brd_tx_hold(struct run *r, struct crumb *c); /* until it is done */
void brd_tx_submit(struct tree *t);
void brd_tx_free(struct run_tx *t);
void brd_tx_abandon(struct tree *t);       /* one that waits to be tried again */
size_t brd_tx_bytes(const struct tree *t); /* not committed yet */
