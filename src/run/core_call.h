/* SPDX-License-Identifier: MIT */
/* What calls of our own tools share: arguments, one step at the store, an end. */
#pragma once
#include "base/arena.h"
#include "base/jsonw.h"
#include "base/uuid.h"
#include "run/core_tool.h"
#include "run/run.h"

struct core_call {
	struct bread_tool_call *call;
	struct run_env *env;
	struct arena arena;
	struct jval args;
	char id[UUID_LEN + 1]; /* of what is made */
	struct bread_tx tx;
	struct bread_rec rec; /* the one of tx */
	struct bread_read read;
	struct bread_op *step; /* what it waits for; NULL: nothing */
	/* The step went well. It starts another one, or ends the call. */
	void (*done)(struct core_call *c);
};

/* Begins call->op. */
struct core_call *brd_core_begin(struct run_env *env, struct bread_tool_call *call);
struct bread_str brd_core_arg(struct core_call *c, const char *name); /* a string; empty: none */

/* Steps. c->rec, or c->read but for its op, are filled before. */
void brd_core_commit(struct core_call *c, void (*done)(struct core_call *c));
void brd_core_read(struct core_call *c, void (*done)(struct core_call *c));
/* Reads what the agent has of kind in which the argument `query` stands: the argument `limit`
 * of them, or most. */
void brd_core_search(struct core_call *c, enum bread_read_kind kind, int most,
	void (*done)(struct core_call *c));
/* An operation of the caller's: on_end is called with op->arg, and tells the call of its end. */
void brd_core_step(struct core_call *c, struct bread_op *op, void (*on_end)(struct bread_op *op));
/* Has the step failed? Then the call has ended. */
bool brd_core_failed(struct core_call *c, const struct bread_op *op);

/* Ends; c is gone. json is taken. */
void brd_core_return(struct core_call *c, struct buf *json);
__attribute__((format(printf, 3, 4))) void brd_core_fail(
	struct core_call *c, const char *code, const char *fmt, ...); /* code NULL: TOOL_ERROR */
