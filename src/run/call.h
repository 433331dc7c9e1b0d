/* SPDX-License-Identifier: MIT */
/* A call of the model's message, and what its kinds share (call.c, node_tool.c, node_human.c,
 * node_delegate.c, node_loop.c, node_task.c). */
#pragma once
#include "run/child.h"
#include "run/node_model.h"

extern const struct node_ops brd_tool_node, brd_human_node, brd_delegate_node, brd_loop_node,
	brd_task_node;

/* One tool call of a turn. */
struct tool_node {
	struct node node;
	struct arena arena;
	struct tool_def *tool;          /* NULL: there is none of that name */
	struct bread_str call_id, name; /* name: the leaf */
	struct bread_str args;          /* a JSON object */
	struct bread_part result;       /* what the model is told, once it has ended */
	struct bread_tool_call call;
	unsigned turn;  /* of the model's message that asks for it */
	bool inner;     /* below the question that it waits for, which tells its answer */
	bool bad_json;  /* the model sent no JSON object */
	bool over;      /* the turn has more calls than may run */
	bool may_begin; /* its hooks let it pass */
	bool cut_short; /* a hook gave the result: it is told once the others have seen it */
	struct bread_str value; /* its result, while hooks are asked about it */
	struct run_error error; /* of its last attempt */
	bool interrupted;       /* it was started by an owner that died */
	bool again;             /* the wait before another attempt is over */
	unsigned attempt;
	int64_t began_mono;
	struct timer backoff;
};
/* Calls of one turn that are run; more are told to come again. */
#define TURN_CALLS_MAX 128
/* What a call is about: by the agent, from the model's message; at: its place among the calls. */
void brd_tool_init(struct tool_node *t, const struct model_node *m, size_t at);
/* The same call as another node's, which decided that it may run. */
void brd_tool_init_as(struct tool_node *t, const struct tool_node *of);
/* load and fini of every kind: what the journal has of a call, and what it owns. */
void brd_tool_load(struct node *n, enum bread_node_state state, struct jval data);
void brd_tool_fini(struct node *n);
/* A call that cannot run (arguments that do not fit, a name nobody has) is settled
 * with an answer for the model: true. */
bool brd_tool_refused(struct tool_node *t);
/* true once: it was checked, its hooks let it pass, it was announced. Else it has ended, or is
 * woken when its hooks have answered. */
bool brd_tool_may_begin(struct tool_node *t);
/* First in each advance of a call: what hooks have answered is taken in. FLOW_AGAIN: there is
 * nothing to wait for, and it has not ended. */
enum flow brd_tool_asked(struct tool_node *t);
void brd_tool_answer(
	struct tool_node *t, struct bread_str text, struct bread_str json, bool failed);
enum flow brd_tool_ended(struct tool_node *t); /* its answer goes into the journal */

/* What answers a call of that tool, once nobody needs to be asked. NULL: nobody has that name. */
const struct node_ops *brd_call_ops(const struct tool_def *tool);
void brd_tool_announce(struct tool_node *t);
void brd_tool_crumb(struct tool_node *t, struct crumb_draft *d, enum crumb_type type);
void brd_tool_fail_crumb(struct tool_node *t, const struct run_error *e);
bool brd_tool_late(const struct tool_node *t); /* its turn was put aside already */

/* Its start goes into the journal: {"callId","name","args"}, what more adds (NULL: nothing), or
 * the run that answers it. */
void brd_tool_began(
	struct tool_node *t, void (*more)(struct jsonw *w, const void *arg), const void *arg);
void brd_tool_began_run(struct tool_node *t, const struct child *c);

/* Ends of a call, each with its crumb: it has its result (JSON, or empty); an attempt has failed,
 * which hooks and the tool's definition may repeat (again is set then, and the node woken); it has
 * failed for good. */
enum flow brd_tool_succeed(struct tool_node *t, struct bread_str json);
enum flow brd_tool_failed(struct tool_node *t, const struct run_error *e);
enum flow brd_tool_fail(struct tool_node *t, const struct run_error *e);
void brd_tool_back_off(struct tool_node *t, int64_t ms); /* sets again after it */
/* It had begun before a crash, and it is not known what it did. */
enum flow brd_tool_interrupted(struct tool_node *t);

/* A question to a human: a tool call whose answer comes from outside, perhaps days
 * later (docs/tools.md). Shares the tool's struct up to its own fields. */
struct human_node {
	struct tool_node tool;
	char checkpoint_id[UUID_LEN + 1];
	bool approval; /* of a tool that runs if the answer says so */
	bool answered, expired;
	struct bread_str response; /* JSON; empty: none was given */
};
