/* SPDX-License-Identifier: MIT */
/* A store that fails and dawdles as it is told, over one that does not.
 *
 * The good store outlives the instances that are opened over it: what is frozen
 * from commit n on is the state in which a crash after commit n leaves the world.
 * Commits and reads of owners are never touched and never counted: they go by time. */
#pragma once
#include <stdbool.h>
#include "bread/instance.h"
#include "store/store.h"

enum commit_fault {
	FAULT_FAIL,  /* nothing is true, the caller is told UPSTREAM */
	FAULT_LIE,   /* all of it is true, the caller is told UPSTREAM */
	FAULT_STEAL, /* another owner takes the run just before it: the caller is told CONFLICT */
};

struct faulty {
	struct bread_store *inner;
	/* plan */
	unsigned commit_at;  /* the first commit (from 1) that the fault meets; 0: none */
	unsigned commit_for; /* how many in a row; 0: for ever */
	enum commit_fault fault;
	unsigned read_at, read_for; /* the same for reads, which fail */
	unsigned hold_at;           /* the end of this read is kept; 0: of none */
	unsigned freeze_after;      /* no commit after this one comes true; 0: all do */
	unsigned
		delay; /* ends come up to so many ms late, in an order made from seed; 0: at once */
	unsigned seed;
	/* what happened */
	unsigned commits, reads; /* that were asked for */
	unsigned true_commits;
	bool frozen;
	unsigned in_flight;
	struct bread_op *held; /* the read that is kept; it succeeded */
};

/* One at a time: the table of functions has no room for an argument. */
void faulty_open(struct faulty *f, const char *word, const char *url);
void faulty_close(struct faulty *f);
void faulty_reset(struct faulty *f); /* a new plan, the same store */
void faulty_let_go(struct faulty *f); /* what is held ends */
extern const struct bread_store_ops faulty_ops;

/* To the good store itself, on a loop of its own, which faulty_close ends. */
enum bread_code faulty_commit(
	struct faulty *f, struct bread_rec *recs, size_t count, const char *fence, int64_t epoch);
void faulty_read(struct faulty *f, struct bread_read *r);
