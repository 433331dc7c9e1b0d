/* SPDX-License-Identifier: MIT */
/* A run's life: made, begun, put aside, taken up again, ended. */
#pragma once
#include "run/run.h"

/* ---- start.c ---- */

/* A run in memory, with a tree of its own if there is none. parent NULL: the root. It takes a
 * reference of its definition. */
struct run *brd_run_make(struct tree *t, struct run *parent, struct agent_def *def,
	struct pipeline_def *pipeline, struct bread_str id, struct bread_str session_id);
void brd_run_free(struct run *r);
/* Its longest time begins; the time that it waits for humans does not count. */
void brd_run_clock(struct run *r, int64_t spent_ms);
/* The deadline is set, its nodes are driven. at: as for brd_node_root. */
void brd_run_go(struct run *r, struct node *at, int64_t spent_ms);
/* The rows that make a run known: its session (a pipeline has none), its definition, itself. They
 * borrow from r. */
#define RUN_ROWS 3
void brd_run_rows(const struct run *r, struct bread_str session_tags, enum bread_run_status status,
	struct bread_rec recs[RUN_ROWS]);
void brd_run_add_rows(
	struct run *r, struct bread_str session_tags); /* in this turn's transaction */
void brd_run_begin(struct run *r, struct node *at);    /* its first turn, unless hooks come first */
void brd_run_announce(struct run *r);                  /* its user's message, agent:run:start */

/* ---- queue.c ---- */

/* Begins when its session is free (ifBusy; contract C12). interrupt: the others are cancelled. */
void brd_run_queue(struct run *r, struct bread_str session_tags, bool interrupt);

/* ---- recover.c ---- */

/* Builds a tree that this instance has claimed and just taken (row: its root's, as it was before)
 * and drives it on. done: once, before the first turn; NULL when it could not be read. */
void brd_run_build(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	void (*done)(void *arg, struct tree *t), void *arg);

/* The nodes of a run that was read from the store, with what its journal has. */
void brd_run_rebuild(struct run *r, struct node *at);

/* ---- finish.c ---- */

void brd_run_complete(struct run *r, struct buf *output); /* output: JSON; it is taken */
void brd_run_fail(struct run *r, const struct run_error *e, bool cancelled); /* e is copied */
/* It waits for humans only: what it said is stored. When it is the root, the tree leaves memory. */
void brd_run_suspend(struct run *r);
void brd_run_unsuspend(struct run *r); /* its row says running again */
/* An error with {"agentId"}; it borrows the message. */
struct run_error brd_run_error(struct run *r, const char *code, struct bread_str message);
