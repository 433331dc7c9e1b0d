/* SPDX-License-Identifier: MIT */
/* What the tests of tools share: one call of a tool, from its definition to its end. */
#pragma once
#include <stdlib.h>
#include "test.h"
#include "base/str.h"
#include "loop/loop.h"
#include "tool/tool.h"

struct called {
	struct bread_tool *tool;
	struct bread_tool_call call;
	struct buf partials; /* a line each */
	bool ended;
};

static inline void on_called(struct bread_op *op)
{
	((struct called *)op->arg)->ended = true;
}

static inline void on_called_partial(struct bread_tool_call *call, struct bread_str json)
{
	struct buf *b = call->arg;

	brd_buf_add(b, json);
	brd_buf_addc(b, '\n');
}

/* Starts a call of c->tool. */
static inline void begin_call(struct called *c, struct loop *l, const char *args)
{
	c->call = (struct bread_tool_call){ .args = brd_str(args),
		.run_id = BRD_STR("run-1"),
		.loop = l,
		.on_partial = on_called_partial,
		.arg = &c->partials };
	c->ended = false;
	brd_buf_init(&c->partials, BUF_NO_LIMIT);
	bread_op_init(&c->call.op, l, on_called, c);
	brd_tool_start(c->tool, &c->call);
}

static inline void await_call(struct called *c, struct loop *l)
{
	while (!c->ended)
		brd_loop_turn(l, 1000);
}

/* A whole call. def: the tool's file as JSON. */
static inline void call_tool(struct called *c, struct loop *l, const char *def, const char *args)
{
	struct arena a = { 0 };
	struct bread_err err = { 0 };
	struct jval v;

	assert_int_equal(brd_json_parse(&a, brd_str(def), 0, &v, NULL), 0);
	assert_int_equal(brd_tool_open(&c->tool, v, NULL, &err), 0);
	begin_call(c, l, args);
	await_call(c, l);
	brd_arena_fini(&a);
}

static inline void called_fini(struct called *c)
{
	brd_tool_call_fini(&c->call);
	brd_tool_close(c->tool);
	brd_buf_fini(&c->partials);
}

static inline struct bread_str result_of(const struct called *c)
{
	return (struct bread_str){ c->call.result, c->call.result_len };
}
