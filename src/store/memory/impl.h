/* SPDX-License-Identifier: MIT */
/* The inside of the store in memory, for the files of this folder only.
 *
 * Rows are never changed: a change is a new copy in the place of the old one, so
 * that a tx that is refused half-way puts the old ones back. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include "base/list.h"
#include "base/map.h"
#include "store/answer.h"

/* rows.c: what kinds of rows have in common: texts, which are copied with the row. */
struct row_kind {
	size_t size;
	const size_t *texts; /* offsets */
	size_t count;
};
extern const struct row_kind brd_mem_run, brd_mem_session, brd_mem_message, brd_mem_crumb,
	brd_mem_node, brd_mem_owner, brd_mem_definition, brd_mem_checkpoint;

/* One block; free() frees it. */
void *brd_mem_copy(const struct row_kind *k, const void *row);
void brd_mem_answer(struct answer *a, const struct row_kind *k, const void *row);

/* A growing array of pointers. */
struct mem_vec {
	void **at;
	size_t count, cap;
};
void brd_mem_insert(struct mem_vec *v, size_t i, void *p);
void brd_mem_remove(struct mem_vec *v, size_t i);

/* Places are made when first spoken of; row is NULL as long as there is none. */
struct mem_session {
	struct list link; /* in mem_store.sessions_list while row is there */
	struct list runs; /* mem_run.of_session */
	struct bread_session_row *row;
	struct mem_vec messages; /* struct bread_message_row, by timestamp and id */
	bool gone;               /* deleted by the tx that is running */
	struct bread_str id;
};

struct mem_run {
	struct list link;       /* in mem_store.runs_list while row is there */
	struct list open;       /* in mem_store.open while it has not ended */
	struct list of_session; /* in mem_session.runs */
	struct bread_run_row *row;
	struct mem_vec crumbs; /* struct bread_crumb_row, by seq */
	struct mem_vec nodes;  /* struct mem_node, in order of first writing */
	struct map nodes_by_name;
	struct bread_str id;
};

struct mem_node {
	struct bread_node_row *row;
	struct bread_str name;
};

struct mem_owner {
	struct bread_owner_row *row; /* NULL: gone */
	struct bread_str id;
};

struct mem_definition {
	struct bread_str key, value;
};

struct mem_store {
	struct bread_store store;
	pthread_mutex_t lock;
	struct map sessions, runs, messages, definitions, owners; /* by id */
	struct map checkpoints;                     /* by id: struct bread_checkpoint_row */
	struct list sessions_list, runs_list, open; /* in order of creation */
	struct mem_undo *undo;                      /* of the tx that is running, newest first */
};

/* places.c */
struct mem_session *brd_mem_session_at(struct mem_store *m, struct bread_str id, bool make);
struct mem_run *brd_mem_run_at(struct mem_store *m, struct bread_str id, bool make);
void brd_mem_run_free(struct mem_run *run);
void brd_mem_session_free(struct mem_store *m, struct mem_session *s); /* with its runs */
void brd_mem_free_all(struct mem_store *m);
/* The first crumb whose seq is seq or more. */
size_t brd_mem_crumb_find(const struct mem_run *run, int64_t seq);
/* Puts the run into the lists, or out of them, as its row says. */
void brd_mem_run_listed(struct mem_store *m, struct mem_run *run);

/* write.c: all of it or nothing; under the lock. */
int brd_mem_apply(struct mem_store *m, struct bread_tx *tx, struct bread_err *err);

/* read.c: under the lock. */
void brd_mem_read(struct mem_store *m, struct bread_read *r);
