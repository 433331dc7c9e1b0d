/* SPDX-License-Identifier: MIT */
/* Agents: a model call, the tools that it asks for, and again, until it asks for
 * none or has had its steps.
 *
 * What the model said and what the tools gave is in the journal under the
 * children's names, so advance may be called at any time, also on a tree that was
 * just read from the store: it walks over what has ended and stops at the first
 * thing that has not. */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"
#include "script/format.h"
#include "run/asking.h"
#include "run/call.h"
#include "run/history.h"
#include "run/life.h"
#include "run/links.h"
#include "run/loop_state.h"
#include "run/tree.h"

struct agent_node {
	struct node node;
	unsigned turn;
	bool told;         /* that it is put aside */
	struct buf output; /* JSON, while hooks are asked about it */
	struct format_call format;
	bool formatted; /* it has ended */
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
	if (!r->announced)
		brd_run_announce(r);
	brd_history_store(r, HISTORY_CANCELLED);
	return fail(n, e, !r->timed_out);
}

/* ---- the end, with the hooks that see it ---- */

static enum flow end_well(struct agent_node *a, struct buf *output)
{
	brd_loop_close(a->node.run, "completed");
	brd_run_complete(a->node.run, output);
	return brd_node_end(&a->node, END_OK);
}

/* output: JSON; it is taken. */
static enum flow finish(struct agent_node *a, struct buf *output)
{
	struct run *r = a->node.run;
	struct hook_chain c = brd_agent_chain(r);
	struct hook_run *h;

	if (!brd_hooks_hear(&c, BREAD_HOOK_AGENT, BREAD_HOOK_AFTER_RUN))
		return end_well(a, output);
	brd_history_journal(r); /* its turns are stored before the run has ended */
	a->output = *output;
	h = brd_node_ask(&a->node, &c, BREAD_HOOK_AGENT, BREAD_HOOK_AFTER_RUN);
	h->input = r->input;
	h->output = brd_buf_str(&a->output);
	h->duration_ms = brd_clock_mono() - r->started_mono;
	brd_hooks_start(h);
	return FLOW_WAIT;
}

static enum flow take_after(struct agent_node *a)
{
	struct hook_run *h = a->node.hook;
	struct buf out = a->output;

	brd_buf_init(&a->output, BUF_NO_LIMIT);
	if (h->op.code != BREAD_OK) {
		struct run_error e = brd_hook_error(a->node.run, h);

		brd_buf_fini(&out);
		brd_node_asked(&a->node);
		return fail(&a->node, e, false);
	}
	if (h->answer == BREAD_HOOK_OUTPUT) {
		brd_buf_clear(&out);
		brd_buf_add(&out, h->value);
	}
	brd_node_asked(&a->node);
	return end_well(a, &out);
}

/* ---- a custom form of the output ---- */

static void on_formatted(struct bread_op *op)
{
	struct agent_node *a = op->arg;
	struct tree *t = a->node.run->tree;

	a->node.busy = false;
	a->formatted = true;
	brd_node_wake(&a->node);
	brd_tree_dirty(t);
	brd_tree_release(t);
}

/* It may be a script, and is an operation like any other. */
static enum flow reshape(struct agent_node *a)
{
	struct run *r = a->node.run;

	brd_history_journal(r); /* its turns are stored before the run has ended */
	a->format.text = brd_buf_str(&r->text);
	a->node.busy = true;
	brd_tree_hold(r->tree);
	bread_op_init(&a->format.op, r->loop, on_formatted, a);
	r->env->format_start(r->env->arg, r->def->format_name, &a->format);
	return FLOW_WAIT;
}

static enum flow take_format(struct agent_node *a)
{
	struct run *r = a->node.run;
	struct buf out;

	a->formatted = false;
	if (r->cancelled)
		return stopped(&a->node);
	if (a->format.op.code != BREAD_OK)
		return fail(&a->node,
			brd_run_error(r, "AGENT_ERROR",
				brd_arena_copy(&r->arena, brd_str(a->format.op.err.text))),
			false);
	brd_buf_init(&out, BUF_NO_LIMIT);
	brd_buf_addn(&out, a->format.json, a->format.json_len);
	return finish(a, &out);
}

/* The text of all steps, in the form that the agent's definition asks for. It may be long: each
 * copy of it goes before the next one is made. */
static enum flow complete(struct agent_node *a, const struct model_node *last)
{
	struct run *r = a->node.run;
	struct buf out;

	brd_buf_init(&out, BUF_NO_LIMIT);
	if (last->recovered.n) { /* what failed is not stored */
		brd_buf_add(&out, last->recovered);
		return finish(a, &out);
	}
	brd_history_store(r, HISTORY_ENDED);
	if (!last->structured && r->def->format == FORMAT_CUSTOM)
		return reshape(a);
	if (last->structured)
		brd_buf_add(&out, brd_buf_str(&r->text));
	else
		brd_json_quote(&out, brd_buf_str(&r->text));
	brd_buf_fini(&r->text);
	return finish(a, &out);
}

/* ---- the beginning ---- */

static enum flow ask_before(struct agent_node *a)
{
	struct run *r = a->node.run;
	struct hook_chain c = brd_agent_chain(r);
	struct hook_run *h = brd_node_ask(&a->node, &c, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN);

	h->input = r->input;
	brd_hooks_start(h);
	return FLOW_WAIT;
}

static enum flow cut_short(struct agent_node *a, struct bread_str value)
{
	struct run *r = a->node.run;
	struct buf out;

	brd_history_answer(r, value);
	brd_buf_init(&out, BUF_NO_LIMIT);
	brd_buf_add(&out, value);
	return finish(a, &out);
}

static enum flow take_before(struct agent_node *a)
{
	struct run *r = a->node.run;
	struct hook_run *h = a->node.hook;
	struct bread_str value = brd_arena_copy(&r->arena, h->value);
	enum bread_hook_answer answer = h->answer;
	struct run_error e;
	bool broke = h->op.code != BREAD_OK;

	if (broke)
		e = brd_hook_error(r, h);
	brd_node_asked(&a->node);
	if (answer == BREAD_HOOK_INPUT)
		r->input = value;
	brd_run_announce(r);
	if (broke)
		return fail(&a->node, e, false);
	return answer == BREAD_HOOK_OUTPUT ? cut_short(a, value) : FLOW_AGAIN;
}

/* Goes on with what a chain of hooks has answered. FLOW_AGAIN: with the turns. */
static enum flow take_hook(struct agent_node *a)
{
	struct hook_run *h = a->node.hook;

	if (a->node.run->cancelled) {
		brd_node_asked(&a->node);
		return a->node.run->announced ? FLOW_AGAIN : stopped(&a->node);
	}
	switch (h->point) {
	case BREAD_HOOK_BEFORE_RUN:
		return take_before(a);
	case BREAD_HOOK_AFTER_RUN:
		return take_after(a);
	default: /* it was told that the run is put aside */
		if (h->op.code != BREAD_OK)
			log_warn("run.hook", "onSuspend of agent %s failed: %s",
				a->node.run->def->id, h->op.err.text);
		brd_node_asked(&a->node);
		return FLOW_AGAIN;
	}
}

/* ---- waiting ---- */

static enum flow tell_suspend(struct agent_node *a)
{
	struct hook_chain c = brd_agent_chain(a->node.run);
	struct hook_run *h = brd_node_ask(&a->node, &c, BREAD_HOOK_AGENT, BREAD_HOOK_ON_SUSPEND);

	a->told = true;
	h->input = a->node.run->input;
	brd_hooks_start(h);
	return FLOW_WAIT;
}

/* What the session had before this run must be known when the run is put aside. */
static enum flow wait(struct node *n)
{
	struct agent_node *a = (struct agent_node *)n;

	if (n->run->history_before < 0 && !brd_history_ready(n))
		return FLOW_WAIT;
	if (!a->told && brd_agent_hears(n->run, BREAD_HOOK_ON_SUSPEND))
		return tell_suspend(a);
	return brd_node_park(n);
}

static enum flow agent_advance(struct node *n)
{
	struct agent_node *a = (struct agent_node *)n;
	struct run *r = n->run;

	if (n->busy)
		return FLOW_WAIT;
	if (a->formatted)
		return take_format(a);
	if (n->hook && take_hook(a) == FLOW_WAIT)
		return FLOW_WAIT;
	if (!r->announced)
		return r->cancelled ? stopped(n) : ask_before(a);
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
		if (m->recovered.n)
			return complete(a, m);
		switch (look_at_calls(n, m)) {
		case TURN_RUNS:
			return FLOW_WAIT;
		case TURN_WAITS:
			return r->cancelled ? FLOW_WAIT : wait(n);
		case TURN_ENDED:
			brd_links_forget(r, a->turn);
			a->told = false;
			break;
		}
		if (model_known(n, a->turn + 1))
			continue; /* it was decided before a crash */
		if (r->cancelled)
			return stopped(n);
		if (!brd_model_calls(m) || a->turn + 1 >= r->def->steps_max || m->beyond)
			return complete(a, m);
	}
}

static void agent_cancel(struct node *n)
{
	struct agent_node *a = (struct agent_node *)n;

	if (n->busy && a->format.text.p && !n->hook)
		bread_op_cancel(&a->format.op);
}

static void agent_fini(struct node *n)
{
	struct agent_node *a = (struct agent_node *)n;

	brd_buf_fini(&a->output);
	free(a->format.json);
}

const struct node_ops brd_agent_node = {
	.kind = "agent",
	.size = sizeof(struct agent_node),
	.advance = agent_advance,
	.cancel = agent_cancel,
	.fini = agent_fini,
};
