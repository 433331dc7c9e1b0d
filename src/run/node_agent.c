/* SPDX-License-Identifier: MIT */
/* Agents: a model call, the tools that it asks for, and again, until it asks for
 * none or has had its steps.
 *
 * What the model said and what the tools gave is in the journal under the
 * children's names, so advance may be called at any time, also on a tree that was
 * just read from the store: it walks over what has ended and stops at the first
 * thing that has not. */
#include <stdio.h>
#include "run/internal.h"

struct agent_node {
	struct node node;
	unsigned turn;
};

static struct model_node *model_at(struct node *n, unsigned turn)
{
	struct node *c = brd_node_child(n, &brd_model_node, "model.%u", turn);
	struct model_node *m = (struct model_node *)c;

	m->turn = turn;
	return m;
}

static bool model_known(const struct node *n, unsigned turn)
{
	char name[48];

	snprintf(name, sizeof(name), "model.%u", turn);
	return brd_node_find(n, name);
}

static struct node *call_node(struct node *n, struct model_node *m, size_t i, bool human)
{
	struct node *c = m->calls[i].node;
	struct tool_node *t;

	if (c)
		return c;
	c = brd_node_child(n, human ? &brd_human_node : &brd_tool_node, "tool.%u.%zu", m->turn, i);
	t = (struct tool_node *)c;
	if (!t->call_id.p)
		brd_tool_init(t, brd_model_call_at(m, i), i);
	m->calls[i].node = c;
	return c;
}

static bool for_human(const struct run *r, const struct model_part *call)
{
	const struct tool_def *t = brd_agent_def_tool(r->def, call->part.name);

	return t && t->kind == TOOL_HUMAN;
}

enum turn_state { TURN_RUNS, TURN_WAITS, TURN_ENDED };

/* The turn's calls: tools first; humans are asked when all tools have ended, so
 * that what they gave is stored before the run waits. */
static enum turn_state look_at_calls(struct node *n, struct model_node *m)
{
	size_t calls = brd_model_calls(m);
	enum turn_state state = TURN_ENDED;

	for (size_t i = 0; i < calls; i++)
		if (!for_human(n->run, brd_model_call_at(m, i)) &&
			call_node(n, m, i, false)->end == END_NONE)
			state = TURN_RUNS;
	if (state == TURN_RUNS)
		return state;
	for (size_t i = 0; i < calls; i++) {
		struct node *c;

		if (!for_human(n->run, brd_model_call_at(m, i)))
			continue;
		c = call_node(n, m, i, true);
		if (c->end != END_NONE)
			continue;
		if (!brd_human_waits(c))
			return TURN_RUNS;
		state = TURN_WAITS;
	}
	return state;
}

static enum flow fail(struct node *n, struct run_error e, bool cancelled)
{
	brd_run_fail(n->run, &e, cancelled);
	return brd_node_end(n, cancelled ? END_CANCELED : END_FAILED);
}

static enum flow stopped(struct node *n)
{
	struct run *r = n->run;
	struct run_error e = { BRD_STR("RUN_CANCELLED"), BRD_STR("run cancelled"), r->ids_context };

	if (r->timed_out) {
		e.code = BRD_STR("RUN_TIMEOUT");
		e.message = BRD_STR("the run took longer than it may");
	}
	brd_history_store(r, HISTORY_CANCELLED);
	return fail(n, e, !r->timed_out);
}

/* The text of all steps, in the form that the agent's definition asks for. It may be long: each
 * copy of it goes before the next one is made. */
static enum flow complete(struct node *n, const struct model_node *last)
{
	struct run *r = n->run;
	struct buf out;
	const char *why = "the format failed";
	bool ok = true;

	brd_history_store(r, HISTORY_ENDED);
	brd_buf_init(&out, BUF_NO_LIMIT);
	if (last->structured)
		brd_buf_add(&out, brd_buf_str(&r->text));
	else if (r->def->format == FORMAT_CUSTOM)
		ok = r->env->format(
			r->env->arg, r->def->format_name, brd_buf_str(&r->text), &out, &why);
	else
		brd_json_quote(&out, brd_buf_str(&r->text));
	brd_buf_fini(&r->text);
	if (!ok) {
		brd_buf_fini(&out);
		return fail(n, brd_run_error(r, "AGENT_ERROR", brd_str(why)), false);
	}
	brd_run_complete(r, &out);
	return brd_node_end(n, END_OK);
}

static enum flow agent_advance(struct node *n)
{
	struct agent_node *a = (struct agent_node *)n;
	struct run *r = n->run;

	for (;; a->turn++) {
		struct model_node *m;

		if (a->turn && r->env->draining && !model_known(n, a->turn)) {
			brd_run_leave(r);
			return FLOW_WAIT;
		}
		m = model_at(n, a->turn);
		if (m->node.end == END_NONE)
			return FLOW_WAIT;
		if (m->node.end == END_FAILED)
			return fail(n, m->node.error, false);
		if (m->node.end == END_CANCELED)
			return stopped(n);
		switch (look_at_calls(n, m)) {
		case TURN_RUNS:
			return FLOW_WAIT;
		case TURN_WAITS:
			if (!r->cancelled)
				brd_run_suspend(r);
			return FLOW_WAIT;
		case TURN_ENDED:
			break;
		}
		if (r->cancelled)
			return stopped(n);
		if (!brd_model_calls(m) || a->turn + 1 >= r->def->steps_max)
			return complete(n, m);
	}
}

const struct node_ops brd_agent_node = {
	.kind = "agent",
	.size = sizeof(struct agent_node),
	.advance = agent_advance,
};
