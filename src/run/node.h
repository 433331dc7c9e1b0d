/* SPDX-License-Identifier: MIT */
/* Nodes: what runs are made of. A node is data; its kind (node_*.c, steps.c) says what is next.
 *
 * They are changed and woken from anywhere on the loop; the driver (driver.c) advances those that
 * are ready at the end of the loop's turn. */
#pragma once
#include "run/run.h"

enum node_end { END_NONE, END_OK, END_FAILED, END_CANCELED };

/* What advance gives: nothing to do until a wake; call me once more. */
enum flow { FLOW_WAIT, FLOW_AGAIN };

struct node_ops {
	const char *kind; /* "agent", "model", "tool": the word in the journal */
	size_t size;      /* of the node's struct, whose first member is struct node */
	enum flow (*advance)(struct node *n);
	/* What the last transaction of a turn made true may now be acted on. Optional. */
	void (*launch)(struct node *n);
	/* Bring the end about soon. Optional: inner nodes wait for their children. */
	void (*cancel)(struct node *n);
	/* Takes its data back from the journal. Optional. */
	void (*load)(struct node *n, enum bread_node_state state, struct jval data);
	void (*fini)(struct node *n); /* optional */
};

struct node {
	struct list siblings; /* in the parent's children */
	struct list children; /* in order of creation */
	struct map *by_name;  /* of the children, once they are many; NULL: look through the list */
	unsigned own;         /* children that are of the same run */
	struct list ready;    /* in the tree's queue */
	struct list launch;   /* in a transaction's launches */
	struct list stall;    /* in the tree's list of those that wait for the store */
	const struct node_ops *ops;
	struct run *run;
	struct node *parent; /* of a child run's root: the node that started it */
	char *name; /* its key in the run's journal: "model.2", "tool.2.0", "0.parallel.1" */
	enum node_end end;
	bool begun;             /* its start is in the journal, or need not be */
	bool busy;              /* an operation of it is running */
	struct hook_run *hook;  /* that it asks, or whose answer it is to take; NULL: none */
	bool parked;            /* it waits for humans, and for nothing else */
	struct run_error error; /* of a failed one */
};

/* What is in the store of a run's nodes, in the order of first writing; a node that is made takes
 * its row. */
struct journal_row {
	struct list link;
	struct bread_node_row row;
};
struct journal {
	struct list rows;
	struct map by_name; /* -> journal_row */
};

/* The roots of runs; what answers a call: call.h, a step: step.h. */
extern const struct node_ops brd_agent_node, brd_pipeline_node;

/* The child of that name, made (and woken) if need be; what the journal has of it is loaded. */
struct node *brd_node_child(struct node *parent, const struct node_ops *ops, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The root of a run's nodes; at: the node of its parent that started it, NULL for a root. */
struct node *brd_node_root(
	struct run *r, struct node *at, const struct node_ops *ops, const char *name);
struct node *brd_node_find(const struct node *parent, const char *name);
#define NODE_NAME_MAX 512 /* steps are nested 32 deep at the most */
/* The journal has something of a node of that name, which is not made yet. */
bool brd_node_written(const struct run *r, const char *name);
void brd_node_wake(struct node *n);
enum flow brd_node_end(struct node *n, enum node_end end); /* wakes its parent; FLOW_WAIT */
enum flow brd_node_fail(struct node *n, const struct run_error *e); /* copies e */
/* It waits for humans alone: its parent is woken, and may do the same. FLOW_WAIT */
enum flow brd_node_park(struct node *n);
/* One of the humans has answered: it and those above it go on. */
void brd_node_unpark(struct node *n);
/* A line of the journal, in this turn's transaction. */
void brd_node_journal(struct node *n, enum bread_node_state state, struct bread_str data);
/* Calls ops->launch once this turn's transaction is committed: the start of what
 * has effects is written before it happens. */
void brd_node_launch(struct node *n);
/* true: too much of its tree is not committed yet; it is woken when there is less. */
bool brd_node_stall(struct node *n);
void brd_node_cancel(struct node *n);      /* its run, with all that is below it */
void brd_node_cancel_runs(struct node *n); /* the runs below it, and not its own */
void brd_node_free(struct node *n);        /* with its children */
