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

const struct node_ops *brd_call_ops(const struct tool_def *tool)
{
	switch (tool ? tool->kind : TOOL_RUNS) {
	case TOOL_HUMAN:
		return &brd_human_node;
	case TOOL_DELEGATE:
		return &brd_delegate_node;
	case TOOL_LOOP_START:
	case TOOL_LOOP_ITERATE:
	case TOOL_LOOP_FINISH:
		return &brd_loop_node;
	case TOOL_TASK:
		return &brd_task_node;
	default:
		return &brd_tool_node;
	}
}

/* A human is asked, for the answer or for leave. */
static bool for_human(const struct tool_def *tool)
{
	return tool && (tool->kind == TOOL_HUMAN || tool->gated);
}

static const struct tool_def *tool_of(const struct node *n, const struct model_node *m, size_t i)
{
	return brd_agent_def_tool(n->run->def, brd_model_call_at(m, i)->part.name);
}

static struct node *call_node(struct node *n, struct model_node *m, size_t i)
{
	struct node *c = m->calls[i].node;
	const struct tool_def *tool;
	struct tool_node *t;

	if (c)
		return c;
	tool = tool_of(n, m, i);
	c = brd_node_child(n, for_human(tool) ? &brd_human_node : brd_call_ops(tool), "tool.%u.%zu",
		m->turn, i);
	t = (struct tool_node *)c;
	t->turn = m->turn;
	if (!t->call_id.p)
		brd_tool_init(t, m, i);
	m->calls[i].node = c;
	return c;
}

enum turn_state { TURN_RUNS, TURN_WAITS, TURN_ENDED };

/* Of the calls that ask humans, or of the others. */
static enum turn_state look_at_some(struct node *n, struct model_node *m, bool human)
{
	size_t calls = brd_model_calls(m);
	enum turn_state state = TURN_ENDED;

	for (size_t i = 0; i < calls; i++) {
		struct node *c;

		if (for_human(tool_of(n, m, i)) != human)
			continue;
		c = call_node(n, m, i);
		if (c->end == END_NONE && !c->parked)
			state = TURN_RUNS;
		else if (c->end == END_NONE && state == TURN_ENDED)
			state = TURN_WAITS;
	}
	return state;
}

/* The turn's calls: tools first; humans are asked when nothing else is at work, so
 * that what the tools gave is stored before the run waits. */
static enum turn_state look_at_calls(struct node *n, struct model_node *m)
{
	enum turn_state others = look_at_some(n, m, false), humans;

	if (others == TURN_RUNS)
		return others;
	humans = look_at_some(n, m, true);
	return humans == TURN_ENDED ? others : humans;
}

static enum flow fail(struct node *n, struct run_error e, bool cancelled)
{
	brd_loop_close(n->run, "failed");
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
	brd_loop_close(r, "completed");
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

/* What the session had before this run must be known when the run is put aside. */
static enum flow wait(struct node *n)
{
	if (n->run->history_before < 0 && !brd_history_ready(n))
		return FLOW_WAIT;
	return brd_node_park(n);
}

static enum flow agent_advance(struct node *n)
{
	struct agent_node *a = (struct agent_node *)n;
	struct run *r = n->run;

	for (;; a->turn++) {
		struct model_node *m;

		if (a->turn && !model_known(n, a->turn) && brd_tree_held_back(r->tree))
			return FLOW_WAIT;
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
			return r->cancelled ? FLOW_WAIT : wait(n);
		case TURN_ENDED:
			brd_links_forget(r, a->turn);
			break;
		}
		if (r->cancelled)
			return stopped(n);
		if (!brd_model_calls(m) || a->turn + 1 >= r->def->steps_max ||
			brd_tree_spent(r->tree))
			return complete(n, m);
	}
}

const struct node_ops brd_agent_node = {
	.kind = "agent",
	.size = sizeof(struct agent_node),
	.advance = agent_advance,
};
