/* SPDX-License-Identifier: MIT */
/* See core_call.h. */
#include "run/core_call.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"

static void on_cancel(struct bread_op *op, void *by)
{
	struct core_call *c = by;

	if (c->step)
		bread_op_cancel(c->step);
}

struct core_call *brd_core_begin(struct run_env *env, struct bread_tool_call *call)
{
	struct core_call *c = brd_alloc(sizeof(*c));

	c->call = call;
	c->env = env;
	bread_op_begin(&call->op, on_cancel, c);
	/* the arguments fit the tool's schema, so this cannot fail; if it did, all were missing */
	brd_json_parse(&c->arena, call->args, 0, &c->args, NULL);
	return c;
}

struct bread_str brd_core_arg(struct core_call *c, const char *name)
{
	return brd_json_str(brd_json_get(c->args, name), &c->arena);
}

static void end(struct core_call *c, enum bread_code code, const struct bread_err *err)
{
	struct bread_tool_call *call = c->call;

	bread_read_fini(&c->read);
	brd_arena_fini(&c->arena);
	free(c);
	bread_op_end(&call->op, code, err);
}

bool brd_core_failed(struct core_call *c, const struct bread_op *op)
{
	c->step = NULL;
	if (op->code == BREAD_OK)
		return false;
	end(c, op->code, &op->err);
	return true;
}

static void on_step(struct bread_op *op)
{
	struct core_call *c = op->arg;

	if (!brd_core_failed(c, op))
		c->done(c);
}

void brd_core_step(struct core_call *c, struct bread_op *op, void (*on_end)(struct bread_op *op))
{
	bread_op_init(op, c->call->loop, on_end, c);
	c->step = op;
}

void brd_core_commit(struct core_call *c, void (*done)(struct core_call *c))
{
	c->done = done;
	c->tx.recs = &c->rec;
	c->tx.count = 1;
	brd_core_step(c, &c->tx.op, on_step);
	brd_store_commit(c->env->store, &c->tx);
}

void brd_core_read(struct core_call *c, void (*done)(struct core_call *c))
{
	c->done = done;
	brd_core_step(c, &c->read.op, on_step);
	brd_store_read(c->env->store, &c->read);
}

void brd_core_search(
	struct core_call *c, enum bread_read_kind kind, int most, void (*done)(struct core_call *c))
{
	c->read.kind = kind;
	c->read.filter.agent_id = c->call->agent_id;
	c->read.filter.text = brd_core_arg(c, "query");
	c->read.filter.status = -1;
	c->read.limit = (size_t)brd_json_int_or(brd_json_get(c->args, "limit"), most);
	brd_core_read(c, done);
}

void brd_core_return(struct core_call *c, struct buf *json)
{
	c->call->result = brd_buf_take(json, &c->call->result_len);
	end(c, BREAD_OK, NULL);
}

void brd_core_fail(struct core_call *c, const char *code, const char *fmt, ...)
{
	struct bread_err err = { 0 };
	char text[sizeof(err.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->call->error_code = code ? brd_strdup(code) : NULL;
	c->call->error_text = brd_strdup(text);
	brd_fail(&err, BREAD_E_UPSTREAM, "tool", "%s", text);
	end(c, BREAD_E_UPSTREAM, &err);
}
