/* SPDX-License-Identifier: MIT */
/* A tool call that is an operation: run, and what it gave taken in.
 *
 * Its start is in the journal before it runs. After a crash "started, no result"
 * is a fact that the tool's definition decides: again if it is idempotent, else
 * an error that the model can react to (contract C11). */
#include "base/clock.h"
#include "base/err.h"
#include "run/call.h"
#include "run/choke.h"
#include "run/core_tool.h"
#include "run/tree.h"

static void on_partial(struct bread_tool_call *call, struct bread_str json)
{
	struct tool_node *t = call->arg;
	struct crumb_draft d;

	if (t->node.run->cancelled || t->node.run->tree->lost)
		return;
	brd_tool_crumb(t, &d, CRUMB_TOOL_RESULT_PARTIAL);
	brd_jw_kraw(&d.w, "result", json);
	brd_choke_emit(t->node.run, &d);
}

static struct run_error tool_error(struct tool_node *t)
{
	const struct bread_tool_call *c = &t->call;
	struct run_error e = {
		.code = brd_str(c->error_code ? c->error_code : "TOOL_ERROR"),
		.message = brd_str(c->error_text ? c->error_text : c->op.err.text),
		.context = brd_str(c->error_context),
	};

	if (!c->error_code && !e.context.n)
		e.context =
			brd_arena_printf(&t->arena, "{\"toolName\":\"%.*s\"}", BRD_ARG(t->name));
	return e;
}

/* A cancelled run hears what the tool itself had to say, and nothing of what came too late. */
static void stopped(struct tool_node *t)
{
	if (t->call.op.code != BREAD_OK && t->call.error_text && !t->node.run->tree->lost) {
		struct run_error e = tool_error(t);

		brd_tool_fail_crumb(t, &e);
	}
	brd_node_end(&t->node, END_CANCELED);
	brd_tree_dirty(t->node.run->tree);
}

static void on_end(struct bread_op *op)
{
	struct tool_node *t = op->arg;
	struct run *r = t->node.run;

	t->node.busy = false;
	if (r->cancelled || r->tree->lost) {
		stopped(t);
	} else if (op->code == BREAD_OK) {
		brd_tool_succeed(t, (struct bread_str){ t->call.result, t->call.result_len });
	} else {
		struct run_error e = tool_error(t);

		brd_tool_failed(t, &e);
	}
	brd_tool_call_fini(&t->call);
	brd_tree_release(r->tree);
}

static void tool_launch(struct node *n)
{
	struct tool_node *t = (struct tool_node *)n;
	struct run *r = n->run;
	struct bread_tool_call *c = &t->call;

	memset(c, 0, sizeof(*c));
	c->agent_id = r->base.agent_id;
	c->run_id = r->base.run_id;
	c->session_id = r->base.session_id;
	c->tool_name = t->name;
	c->call_id = t->call_id;
	c->args = t->args;
	c->loop = r->loop;
	c->credentials = r->env->core.credentials;
	c->on_partial = t->tool->streams ? on_partial : NULL;
	c->arg = t;
	if (!t->began_mono)
		t->began_mono = brd_clock_mono();
	n->busy = true;
	brd_tree_hold(r->tree);
	bread_op_init(&c->op, r->loop, on_end, t);
	if (t->tool->core)
		t->tool->core->start(r->env, r->def, c);
	else
		brd_tool_start(t->tool->tool, c);
	bread_op_deadline(&c->op, t->tool->timeout_ms ? t->tool->timeout_ms : r->env->tool_ms);
}

static enum flow tool_advance(struct node *n)
{
	struct tool_node *t = (struct tool_node *)n;

	if (brd_tool_asked(t) == FLOW_WAIT)
		return FLOW_WAIT;
	if (n->run->cancelled)
		return brd_node_end(n, END_CANCELED);
	if (t->again) {
		t->again = false;
		tool_launch(n);
		return FLOW_WAIT;
	}
	if (n->begun)
		return FLOW_WAIT;
	if (t->interrupted && !(t->tool && t->tool->idempotent)) {
		n->begun = true;
		return brd_tool_interrupted(t);
	}
	if (!t->interrupted) {
		if (!brd_tool_may_begin(t))
			return FLOW_WAIT;
		brd_tool_began(t, NULL, NULL);
	}
	n->begun = true;
	brd_node_launch(n);
	return FLOW_WAIT;
}

static void tool_cancel(struct node *n)
{
	struct tool_node *t = (struct tool_node *)n;

	brd_timer_stop(&t->backoff);
	if (n->busy)
		bread_op_cancel(&t->call.op);
}

const struct node_ops brd_tool_node = {
	.kind = "tool",
	.size = sizeof(struct tool_node),
	.advance = tool_advance,
	.launch = tool_launch,
	.cancel = tool_cancel,
	.load = brd_tool_load,
	.fini = brd_tool_fini,
};
