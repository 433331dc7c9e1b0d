/* SPDX-License-Identifier: MIT */
/* A family of nested compositions, each made from a seed.
 *
 * A member is a small pipeline or an agent over others: steps side by side, maps, decisions and
 * branches, supervisors, loops, tasks, tools, humans that are asked or must let a tool pass, agents
 * that fail. What must come out of it is worked out here, from what it is, by rules that know
 * nothing of runs, nodes and stores (family_eval.c). Its models answer by what stands in the
 * conversation, so they say the same in any process. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define MADE_TURNS 3 /* of an agent, before its last */
#define MADE_CALLS 3 /* in a turn */
#define MADE_STEPS 4
#define MADE_BELOW 4
#define MADE_AGENTS 12

enum call_kind {
	CALL_TOOL,
	CALL_ASK,
	CALL_GATED, /* a human must let it pass */
	CALL_TASK,
	CALL_DELEGATE,
	CALL_LOOP_START,
	CALL_LOOP_ITERATE,
	CALL_LOOP_FINISH,
};

struct made_call {
	enum call_kind kind;
	char id[16];             /* ends in 'n' if the human says no */
	struct made_agent *to;   /* delegate */
	bool feedback, no_input; /* loop */
};

struct made_turn {
	struct made_call calls[MADE_CALLS];
	unsigned count;
};

struct made_agent {
	char id[8];
	struct made_turn turns[MADE_TURNS];
	unsigned turn_count;
	bool fails; /* its last model call does */
	struct made_agent *below[MADE_BELOW];
	const char *shown[MADE_BELOW]; /* visibility */
	unsigned below_count;
	struct made_agent *pool[2];
	unsigned pool_count, rounds_max;
};

enum made_kind { MADE_AGENT, MADE_MAP, MADE_PARALLEL, MADE_DECISION, MADE_BRANCH };

struct made_list {
	struct made_step *steps[MADE_STEPS];
	unsigned count;
};

struct made_step {
	enum made_kind kind;
	struct made_agent *agent;
	bool shared, on;
	unsigned concurrency;
	char label[4], question[8];
	struct made_list arms[2]; /* slots have one step each; the second arm is the default */
	unsigned arm_count;
};

/* What must come of it. When it fails, less may have been done than these: what waits is given up.
 */
struct expected {
	bool fails;
	struct bread_str output; /* JSON */
	unsigned tools, questions, tasks, runs;
};

struct family {
	unsigned seed;
	struct arena arena;
	struct made_agent *agents[MADE_AGENTS];
	unsigned agent_count;
	bool pipeline; /* else the root is agents[0] */
	struct made_list steps;
	struct expected want;
};

#define FAMILY_INPUT "\"go\""

/* With or without humans, with or without agents that fail. */
enum family_kind { FAMILY_QUIET, FAMILY_HUMAN, FAMILY_FAILING };
void family_make(struct family *f, unsigned seed, enum family_kind kind);
void family_fini(struct family *f);
void family_evaluate(struct family *f);

/* As the instance takes them. */
void family_models(const struct family *f, struct buf *out);
void family_decisions(const struct family *f, struct buf *out);
void family_agent_json(const struct made_agent *a, struct buf *out);
void family_steps_json(const struct made_list *l, struct buf *out);
/* What stands for the n-th result (from 1) of a turn, in the model's words. */
const char *family_result_of(enum call_kind kind);
