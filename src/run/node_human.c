/* SPDX-License-Identifier: MIT */
/* A question to a human: a call that is answered from outside, or a tool that runs only if
 * somebody says so.
 *
 * Each has its own checkpoint, written with the crumb that asks. A node that waits has nothing
 * running: it is parked, and when all of a tree is, the tree leaves memory. The answer is written
 * into the journal by whoever claims the checkpoint (resume.c), also by somebody who does not own
 * the run; here it is taken in: the crumb that says so, the session's message, the end of the node
 * are one transaction.
 *
 * An approved tool is a node of its own below the question, with the journal of any tool. */
#include <stdio.h>
#include "base/clock.h"
#include "run/call.h"
#include "run/choke.h"
#include "run/history.h"
#include "run/tx.h"

static const char denied[] = "{\"denied\":true,\"reason\":\"rejected by human\"}";

static struct bread_str kind_of(const struct human_node *h)
{
	return h->approval ? BRD_STR("approval") : BRD_STR("input");
}

/* With the call's own members: all that an answer needs. */
static void put_question(struct jsonw *w, const void *arg)
{
	const struct human_node *h = arg;

	brd_jw_kstr(w, "checkpointId", brd_str(h->checkpoint_id));
	brd_jw_kstr(w, "kind", kind_of(h));
}

static void write_checkpoint(struct human_node *h)
{
	struct run *r = h->tool.node.run;
	const struct tool_def *tool = h->tool.tool;
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_CHECKPOINT);
	int64_t now = brd_clock_wall();

	rec->checkpoint = (struct bread_checkpoint_row){
		.id = brd_tx_copy(r, brd_str(h->checkpoint_id)),
		.agent_id = r->base.agent_id,
		.run_id = r->base.run_id,
		.session_id = r->base.session_id,
		.tool_name = brd_tx_copy(r, h->tool.name),
		.tool_call_id = brd_tx_copy(r, h->tool.call_id),
		.schema = brd_tx_copy(r, h->tool.args),
		.skill = r->def->skill ? brd_str(r->def->skill->id) : (struct bread_str){ 0 },
		.created_at = now,
		.root_id = r->tree->root->base.run_id,
		.node = brd_tx_copy(r, brd_str(h->tool.node.name)),
		.kind = kind_of(h),
		.answer_schema = tool->answer_text,
		.fallback = tool->fallback,
		.deadline = tool->deadline_ms ? now + tool->deadline_ms : 0,
	};
}

static void fill_required(struct jsonw *w, const void *arg)
{
	const struct human_node *h = arg;

	brd_jw_kstr(w, "checkpointId", brd_str(h->checkpoint_id));
	brd_jw_kstr(w, "toolName", h->tool.name);
	brd_jw_kraw(w, "schema", h->tool.args);
	brd_jw_kstr(w, "kind", kind_of(h));
}

static void ask(struct human_node *h)
{
	brd_uuid7(h->checkpoint_id);
	write_checkpoint(h);
	brd_tool_began(&h->tool, put_question, h);
	brd_choke_emit_human(h->tool.node.run, CRUMB_HUMAN_REQUIRED, fill_required, h);
}

/* ---- the answer ---- */

static void fill_resumed(struct jsonw *w, const void *arg)
{
	const struct human_node *h = arg;

	brd_jw_kstr(w, "checkpointId", brd_str(h->checkpoint_id));
	brd_jw_kraw(w, "response", h->response);
	brd_jw_kstr(w, "kind", kind_of(h));
	if (h->expired)
		brd_jw_kbool(w, "expired", true);
}

/* The call has its result: everybody is told, and the session has it. */
static enum flow resumed(struct human_node *h)
{
	struct tool_node *t = &h->tool;

	brd_choke_emit_human(t->node.run, CRUMB_HUMAN_RESUMED, fill_resumed, h);
	brd_history_late(t->node.run, t);
	return brd_tool_ended(t);
}

static bool approves(struct human_node *h)
{
	struct jval v = { 0 };

	return h->response.n && !brd_json_parse(&h->tool.arena, h->response, 0, &v, NULL) &&
	       brd_json_bool(brd_json_get(v, "approved"), false);
}

/* The tool itself, below the question. */
static enum flow run_tool(struct human_node *h)
{
	struct tool_node *t = &h->tool, *call;
	struct node *c = brd_node_child(&t->node, &brd_tool_node, "%s.call", t->node.name);

	call = (struct tool_node *)c;
	call->inner = true; /* also one that was read from the store */
	if (!call->call_id.p)
		brd_tool_init_as(call, t);
	if (c->end == END_NONE)
		return FLOW_WAIT;
	if (c->end == END_CANCELED)
		return brd_node_end(&t->node, END_CANCELED);
	t->result = call->result;
	if (!t->result.failed && !t->result.json.n) { /* what a human let pass is always JSON */
		struct buf b;

		brd_buf_init(&b, BUF_NO_LIMIT);
		brd_json_quote(&b, t->result.text);
		brd_tool_answer(t, (struct bread_str){ 0 }, brd_buf_str(&b), false);
		brd_buf_fini(&b);
	}
	return resumed(h);
}

static enum flow expire(struct human_node *h)
{
	brd_tool_answer(&h->tool,
		BRD_STR("CHECKPOINT_EXPIRED: nobody answered before the deadline"),
		(struct bread_str){ 0 }, true);
	return resumed(h);
}

/* What the model is told of a refusal: the reason that was given, if there is one. */
static struct bread_str refusal(struct human_node *h)
{
	struct arena *a = &h->tool.arena;
	struct jval v = { 0 }, reason;

	if (!h->response.n || brd_json_parse(a, h->response, 0, &v, NULL))
		return BRD_STR(denied);
	reason = brd_json_get(v, "reason");
	if (brd_json_type(reason) != JSON_STRING)
		return BRD_STR(denied);
	return brd_arena_printf(
		a, "{\"denied\":true,\"reason\":%.*s}", BRD_ARG(brd_json_raw(reason)));
}

static enum flow take_answer(struct human_node *h)
{
	if (h->expired && !h->response.n)
		return expire(h);
	if (h->approval && approves(h))
		return run_tool(h);
	brd_tool_answer(
		&h->tool, (struct bread_str){ 0 }, h->approval ? refusal(h) : h->response, false);
	h->tool.result.text = (struct bread_str){ 0 }; /* no answer is no value, and no text */
	return resumed(h);
}

static enum flow human_advance(struct node *n)
{
	struct human_node *h = (struct human_node *)n;

	if (n->run->cancelled && brd_list_empty(&n->children))
		return brd_node_end(n, END_CANCELED);
	if (h->answered)
		return take_answer(h);
	if (n->begun)
		return brd_node_park(n);
	n->begun = true;
	if (brd_tool_refused(&h->tool))
		return brd_tool_ended(&h->tool);
	h->approval = h->tool.tool->kind != TOOL_HUMAN;
	ask(h);
	return brd_node_park(n);
}

static struct bread_str text_of(struct human_node *h, struct jval data, const char *key)
{
	return brd_json_str(brd_json_get(data, key), &h->tool.arena);
}

static void human_load(struct node *n, enum bread_node_state state, struct jval data)
{
	struct human_node *h = (struct human_node *)n;

	if (n->end != END_NONE || h->answered)
		return;
	brd_tool_load(n, state == BREAD_NODE_ANSWERED ? BREAD_NODE_STARTED : state, data);
	if (state == BREAD_NODE_ENDED)
		return;
	h->tool.interrupted = false;
	n->begun = true;
	h->approval = brd_json_is(brd_json_get(data, "kind"), "approval");
	snprintf(h->checkpoint_id, sizeof(h->checkpoint_id), "%.*s",
		BRD_ARG(text_of(h, data, "checkpointId")));
	if (state != BREAD_NODE_ANSWERED)
		return;
	h->answered = true;
	brd_node_unpark(n);
	h->expired = brd_json_bool(brd_json_get(data, "expired"), false);
	h->response = brd_arena_copy(&h->tool.arena, brd_json_raw(brd_json_get(data, "response")));
}

const struct node_ops brd_human_node = {
	.kind = "human",
	.size = sizeof(struct human_node),
	.advance = human_advance,
	.load = human_load,
	.fini = brd_tool_fini,
};
