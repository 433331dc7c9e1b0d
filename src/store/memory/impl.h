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
#define AT(row, text) offsetof(struct bread_##row##_row, text)
#define KIND(row, list) \
	{ \
		.size = sizeof(struct bread_##row##_row), .texts = list, \
		.count = sizeof(list) / sizeof(*list) \
	}
extern const struct row_kind brd_mem_run, brd_mem_session, brd_mem_message, brd_mem_crumb,
	brd_mem_node;

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
	struct list of_root;    /* in mem_run.below of its root, unless it is one */
	struct list below;      /* mem_run.of_root, as they were made */
	struct bread_run_row *row;
	struct mem_vec crumbs; /* struct bread_crumb_row, by seq */
	struct mem_vec lines;  /* of a root: struct mem_line, by tree_seq */
	struct mem_vec nodes;  /* struct mem_node, in order of first writing */
	struct map nodes_by_name;
	bool gone; /* deleted by the tx that is running */
	struct bread_str id;
};

/* A crumb in the log of a tree; row belongs to run. */
struct mem_line {
	struct mem_run *run;
	const struct bread_crumb_row *row;
};

struct mem_node {
	struct bread_node_row *row;
	struct bread_str name;
};

struct mem_definition {
	struct bread_str key, value;
};

struct mem_edge {
	struct bread_str id, from, to, relation;
};

/* table.c: what is only put, taken away and looked through: rows by id, in the order in which
 * they were first put. */
enum mem_table_id {
	MEM_DEFINITIONS,
	MEM_OWNERS,
	MEM_CHECKPOINTS,
	MEM_LOOPS,
	MEM_ROUNDS,
	MEM_TASK_RUNS,
	MEM_KNOWLEDGE,
	MEM_EDGES,
	MEM_DOCUMENTS,
	MEM_KEYS,
	MEM_TABLES,
};
struct mem_table {
	const struct row_kind *kind;
	struct map by_id;
	struct list order; /* mem_row.link */
};
struct mem_row {
	struct list link;
	struct list emptied; /* in mem_store.emptied while row is NULL */
	struct mem_table *of;
	void *row; /* NULL: taken away by the tx that is running */
	struct bread_str id;
};
#define brd_mem_each(it, m, table) brd_list_each(it, &(m)->tables[table].order)
#define brd_mem_row_at(it) (brd_list_of(it, struct mem_row, link)->row)

struct mem_store {
	struct bread_store store;
	pthread_mutex_t lock;
	struct map sessions, runs, messages;        /* by id */
	struct list sessions_list, runs_list, open; /* in order of creation */
	struct mem_table tables[MEM_TABLES];
	struct list emptied;   /* mem_row.emptied */
	struct mem_undo *undo; /* of the tx that is running, newest first */
};

void brd_mem_tables_init(struct mem_store *m);
void brd_mem_tables_fini(struct mem_store *m);
void *brd_mem_get(struct mem_store *m, enum mem_table_id table, struct bread_str id); /* or NULL */
/* Added, or put in the place of the one that was there; NULL: taken away. */
void brd_mem_put(
	struct mem_store *m, enum mem_table_id table, struct bread_str id, const void *row);
void brd_mem_put_back(struct mem_store *m, struct mem_row *at, void *old);
void brd_mem_sweep(struct mem_store *m); /* frees the places that are empty */

/* places.c */
struct mem_session *brd_mem_session_at(struct mem_store *m, struct bread_str id, bool make);
struct mem_run *brd_mem_run_at(struct mem_store *m, struct bread_str id, bool make);
void brd_mem_run_free(struct mem_run *run);                            /* NULL, too */
void brd_mem_session_free(struct mem_store *m, struct mem_session *s); /* without its runs */
void brd_mem_free_all(struct mem_store *m);
/* The first crumb whose seq is seq or more. */
size_t brd_mem_crumb_find(const struct mem_run *run, int64_t seq);
/* The first line whose tree_seq is seq or more. */
size_t brd_mem_line_find(const struct mem_run *root, int64_t seq);
/* Puts the run into the lists, or out of them, as its row says. */
void brd_mem_run_listed(struct mem_store *m, struct mem_run *run);

/* undo.c */
enum undo_kind {
	UNDO_SESSION,      /* place: session, old: row */
	UNDO_MESSAGE,      /* place: session, old: the row that was added */
	UNDO_RUN,          /* place: run, old: row */
	UNDO_CRUMB,        /* place: run, old: the row that was added */
	UNDO_LINE,         /* place: the root, old: the line that was added */
	UNDO_NODE,         /* place: node, old: row */
	UNDO_NODE_ADDED,   /* place: run, its last node is new */
	UNDO_ROW,          /* place: mem_row, old: row */
	UNDO_SESSION_GONE, /* place: session */
	UNDO_RUN_GONE,     /* place: run */
};
void brd_mem_remember(struct mem_store *m, enum undo_kind kind, void *place, void *old);
void brd_mem_settle(struct mem_store *m, bool keep); /* the tx is done, or refused */

/* write.c: all of it or nothing; under the lock. */
#define MEM_WHERE "store.memory"
int brd_mem_apply(struct mem_store *m, struct bread_tx *tx, struct bread_err *err);

/* write_tables.c: the records that are rows of tables. */
int brd_mem_apply_table(struct mem_store *m, struct bread_rec *rec, struct bread_err *err);

/* delete.c */
void brd_mem_delete_session(struct mem_store *m, struct bread_rec *rec);
void brd_mem_clean_sessions(struct mem_store *m, struct bread_rec *rec);

/* read.c: under the lock. */
void brd_mem_read(struct mem_store *m, struct bread_read *r);

/* A page of the answer: how much is skipped, how much fits. */
struct page {
	struct bread_read *r;
	struct answer *a;
	size_t skip, limit, bytes, max_bytes;
};
/* false: the page is full, and more is set. */
bool brd_mem_give(struct page *p, const struct row_kind *k, const void *row);

/* read_tables.c: false: it is no question about a table. */
bool brd_mem_read_table(struct mem_store *m, struct page *p);
