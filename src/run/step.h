/* SPDX-License-Identifier: MIT */
/* Pipelines: lists of steps (steps.c), and what the kinds of steps share (step*.c). */
#pragma once
#include "run/child.h"

/* A value on its way through a pipeline, and the latest decision's label. */
struct flow_value {
	struct bread_str value; /* JSON; empty: no value */
	struct bread_str label; /* p NULL: nobody has decided */
};
/* Steps one after the other. Also the root of a pipeline's run. */
struct steps_node {
	struct node node;
	const struct step_list *list;
	struct bread_str pid;  /* what numbers the steps: "p", "p:0:branch" */
	struct flow_value out; /* of the last step that has ended; before the first: what goes in */
	size_t at;
};
struct steps_node *brd_steps_child(struct node *at, const struct step_list *list,
	struct bread_str pid, const struct flow_value *in, const char *name);
extern const struct node_ops brd_steps_node, brd_step_node, brd_item_node;

struct step_node {
	struct node node;
	const struct step_def *def; /* NULL: it was only just made */
	struct bread_str pid;       /* of the list it stands in */
	size_t index;
	struct flow_value in, out;
	struct crumb_base base; /* of its crumbs */

	struct child child;     /* agent: its run */
	int64_t taken;          /* branch: the case; -1: the default */
	struct steps_node *arm; /* branch */
	struct node **parts;    /* parallel: the slots; map: the items */
	size_t part_count;
	size_t over;   /* map: that many items at the front have ended */
	size_t failed; /* of them, before those that wait were given up */
	const struct node *first_failed;
	struct bread_str *inputs;   /* map: of the items */
	struct decision_work *work; /* decision: the question that is asked */
};

struct item_node { /* of a map */
	struct node node;
	struct step_node *step;
	struct child child;
	struct bread_str input, output;
};

struct step_kind_ops {
	/* After pipeline:step:start; before its start is in the journal. */
	enum flow (*begin)(struct step_node *s);
	enum flow (*advance)(struct step_node *s); /* it has begun, here or before a crash */
	void (*cancel)(struct step_node *s);       /* optional, as fini */
	void (*fini)(struct step_node *s);
};
extern const struct step_kind_ops brd_step_agent, brd_step_parallel, brd_step_map,
	brd_step_decision, brd_step_branch;

void brd_step_init(struct step_node *s, const struct step_def *def, struct bread_str pid,
	size_t index, const struct flow_value *in);
void brd_step_crumb(struct step_node *s, struct crumb_draft *d, enum crumb_type t);
struct bread_str brd_step_spoken(const struct step_def *d); /* its name in crumbs */
void brd_step_journal(struct step_node *s, enum bread_node_state state);
/* A step or an item that has failed says so in the journal, for who takes the run up. FLOW_WAIT */
enum flow brd_step_journal_failure(struct node *n);
void brd_step_load_end(struct node *n, struct jval data); /* how it ended */
/* It has ended well: value and label are passed on, shown is what its crumb says. */
enum flow brd_step_end(struct step_node *s, struct bread_str value, struct bread_str label,
	struct bread_str shown);

/* One of its parts has failed: nobody is left who could make use of the answers that others wait
 * for. */
void brd_step_give_up(struct step_node *s);

/* Starts the run of an agent for a step or an item below it. false: the node has failed. */
bool brd_step_start_run(struct node *n, struct child *c, const struct step_node *s,
	struct bread_str input, const char *name);
/* What the run came to; FLOW_AGAIN: it ended well, and *ret_output is what it gave (in the run's
 * memory: to be copied now). */
enum flow brd_step_look_at_run(struct node *n, struct child *c, struct bread_str *ret_output);
