/* SPDX-License-Identifier: MIT */
/* The one place that calls a store: it fills in defaults, measures, logs what is slow or fails, and
 * checks the contract of bread/ext/store.h.
 *
 * A store is opened and closed by the thread that owns the instance; what lies between is called
 * from any loop's. */
#pragma once
#include "bread/ext/store.h"

/* word: "memory", "sqlite"; url: what follows. BREAD_E_INVALID: names the words there are. */
int brd_store_open(struct bread_store **ret, struct bread_str word, struct bread_str url,
	struct bread_str options, struct bread_err *err);
/* The same for a table that may be an embedder's. */
int brd_store_open_ops(struct bread_store **ret, const struct bread_store_ops *ops,
	struct bread_str url, struct bread_str options, struct bread_err *err);
/* Would it be opened, as far as the word and the options say? Makes nothing. */
int brd_store_check(struct bread_str word, struct bread_str options, struct bread_err *err);
int brd_sqlite_check(struct bread_str options, struct bread_err *err); /* of sqlite */
void brd_store_close(struct bread_store *s); /* no op is in flight by now; NULL, too */
/* tx->op and r->op were made by bread_op_init for the calling loop; they end there. */
void brd_store_commit(struct bread_store *s, struct bread_tx *tx);
void brd_store_read(struct bread_store *s, struct bread_read *r);
/* Makes r ready for another question, of which all rows are wanted: the last answer goes. */
void brd_read_again(struct bread_read *r, enum bread_read_kind kind, struct bread_str key);
int brd_store_healthy(struct bread_store *s); /* 1: the last commit and read went well */

struct store_stats {
	uint64_t commits, reads, failures;
	uint64_t commit_us, read_us; /* summed */
};
void brd_store_stats(struct bread_store *s, struct store_stats *ret);
const char *brd_run_status_name(enum bread_run_status s); /* "running" */
int brd_run_status_named(struct bread_str name);          /* -1: none of them */
int brd_run_ended(enum bread_run_status s);
