/* SPDX-License-Identifier: MIT */
/* A tree's life: planted, at work, lost, ended. What others may ask of it is in run.h. */
#pragma once
#include "run/run.h"

struct tree *brd_tree_new(struct run_env *env, struct loop *l);
/* Nothing more is written from here on. code: why, for its caller; NULL: it goes on elsewhere. */
void brd_tree_lose(struct tree *t, const char *code, const char *text);
void brd_tree_check_end(struct tree *t);
void brd_tree_plant(struct tree *t, struct run *root); /* it may have others below it, or not */
void brd_tree_go_live(struct tree *t, int64_t head);   /* its topics begin; head: the root's */
/* The process drains: nothing new is begun here, and when nothing is at work any more, the tree is
 * left to the next owner. false: go on. */
bool brd_tree_held_back(struct tree *t);
bool brd_tree_spent(const struct tree *t); /* a budget of the whole tree is (contract C14) */
void brd_tree_hold(struct tree *t);
void brd_tree_release(struct tree *t); /* frees it when nobody holds it */
/* Child runs whose end is committed leave memory. */
void brd_tree_reap(struct tree *t);
struct run *brd_tree_run(const struct tree *t, struct bread_str run_id); /* in memory; or NULL */

/* ---- its beginning (start.c) ---- */

/* Refused before anything was written: its caller is told, and it is gone. context: JSON, or "". */
void brd_tree_refuse(struct tree *t, const char *code, const char *message, const char *context);
void brd_tree_opened(struct tree *t); /* nothing of its beginning is under way any more */
void brd_tree_stored(struct tree *t); /* its row is committed; says so once to who asked */

/* ---- its turns (driver.c) ---- */

void brd_tree_drive(struct tree *t);   /* until no node is ready */
void brd_tree_dirty(struct tree *t);   /* settle it at the end of this turn of the loop */
void brd_tree_unstall(struct tree *t); /* a transaction is done */

/* ---- its answers (hear.c) ---- */

void brd_hear_abandon(struct tree *t); /* a reading that waits to be tried again */
