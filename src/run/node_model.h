/* SPDX-License-Identifier: MIT */
/* A call of the model: one assistant message, however many attempts it takes. */
#pragma once
#include "model/model.h"
#include "run/node.h"

extern const struct node_ops brd_model_node;

/* A part of the message, as the model's stream brings it. */
struct model_part {
	struct bread_part part;
	struct buf text; /* what came so far; part.text is this, once it has ended */
	bool ended;      /* a call runs only if it was */
	bool announced;  /* tool:input:start was emitted */
	bool bad;        /* a call whose arguments are no JSON object */
};

/* A call of the turn that ended with the message: its part, and the node that answers it. */
struct turn_call {
	unsigned part;
	struct node *node; /* NULL: not looked for yet */
};

/* What a model may send for one message, however many attempts it takes. */
#define MODEL_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct model_node {
	struct node node;
	struct arena arena;
	unsigned turn, attempt;
	bool called;
	struct bread_model *model;
	struct bread_model_call call;
	struct bread_model_request req;
	bool call_running, put_running, paused;
	bool beyond;              /* the tree's budget was spent before it was called */
	bool structured;          /* the answer is JSON, shown only as the output */
	bool emitted;             /* something of this attempt was shown */
	struct model_part *parts; /* in order of their starts: index is the place */
	unsigned count, room;
	unsigned *at; /* from the stream's index to the place */
	unsigned at_room;
	size_t taken;            /* bytes of all attempts */
	struct turn_call *calls; /* once it has ended */
	unsigned call_count;
	enum bread_stop reason;
	struct bread_usage usage;
	struct run_error fault; /* of the last attempt */
	struct timer backoff;
	struct bread_blob_put put; /* the file that is being stored */
	struct buf put_bytes;
	struct list held;           /* events that wait behind it */
	struct bread_str recovered; /* JSON: the run's output instead of what failed */
};

/* knowledge.c: what the agent knows is read before its first call; false: it is being read, and the
 * node is woken. */
bool brd_knowledge_ready(struct node *n);

/* model_events.c: takes an event of the stream in, and emits its crumbs. */
void brd_model_event(struct model_node *m, const struct bread_event *ev);
void brd_model_parts_clear(struct model_node *m); /* of a broken attempt, or stored for good */
struct model_part *brd_model_part_new(
	struct model_node *m, unsigned index, enum bread_part_kind kind);
/* model_file.c: takes a file in; what comes until it is stored is copied behind it. */
void brd_model_file(struct model_node *m, const struct bread_event *ev);
void brd_model_hold(struct model_node *m, const struct bread_event *ev);
void brd_model_held_clear(struct model_node *m);
/* node_model.c */
void brd_model_settle(struct model_node *m); /* all of the attempt is over: what now? */
void brd_model_fault(struct model_node *m, struct run_error e); /* the attempt fails with this */
/* What was shown of an attempt does not count (contract C21). */
void brd_model_void(struct run *r, unsigned attempt, struct bread_str reason);
size_t brd_model_calls(const struct model_node *m); /* of its message, once it has ended */
const struct model_part *brd_model_call_at(const struct model_node *m, size_t i);
