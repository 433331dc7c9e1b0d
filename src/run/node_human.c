/* SPDX-License-Identifier: MIT */
/* A question to a human: a call that is answered from outside.
 *
 * Each has its own checkpoint, written with the crumb that asks. A node that
 * waits has nothing running: the agent sees that only humans are waited for,
 * and the run leaves memory. The answer is written by whoever claims the
 * checkpoint (resume.c); here it is only read back. */
#include <stdio.h>
#include "base/clock.h"
#include "run/internal.h"

bool brd_human_waits(const struct node *n)
{
	return n->begun && n->end == END_NONE;
}

/* {"callId","name","args","checkpointId"}: all that an answer needs. */
static void journal_question(struct human_node *h)
{
	struct tool_node *t = &h->tool;
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "callId", t->call_id);
	brd_jw_kstr(&w, "name", t->name);
	brd_jw_kraw(&w, "args", t->args);
	brd_jw_kstr(&w, "checkpointId", brd_str(h->checkpoint_id));
	brd_jw_end_obj(&w);
	brd_node_journal(&t->node, 1, brd_buf_str(&b));
	brd_buf_fini(&b);
}

static void write_checkpoint(struct human_node *h)
{
	struct run *r = h->tool.node.run;
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_CHECKPOINT);

	rec->checkpoint = (struct bread_checkpoint_row){
		.id = brd_tx_copy(r, brd_str(h->checkpoint_id)),
		.agent_id = r->base.agent_id,
		.run_id = r->base.run_id,
		.session_id = r->base.session_id,
		.tool_name = brd_tx_copy(r, h->tool.name),
		.tool_call_id = brd_tx_copy(r, h->tool.call_id),
		.schema = brd_tx_copy(r, h->tool.args),
		.created_at = brd_clock_wall(),
	};
}

static void ask(struct human_node *h)
{
	struct run *r = h->tool.node.run;
	struct crumb_draft d;

	brd_uuid7(h->checkpoint_id);
	write_checkpoint(h);
	journal_question(h);
	brd_choke_begin(r, &d, CRUMB_HUMAN_REQUIRED);
	brd_jw_kstr(&d.w, "checkpointId", brd_str(h->checkpoint_id));
	brd_jw_kstr(&d.w, "toolName", h->tool.name);
	brd_jw_kraw(&d.w, "schema", h->tool.args);
	brd_jw_kstr(&d.w, "kind", BRD_STR("input"));
	brd_choke_emit(r, &d);
}

static enum flow human_advance(struct node *n)
{
	struct human_node *h = (struct human_node *)n;

	if (n->run->cancelled)
		return brd_node_end(n, END_CANCELED);
	if (n->begun)
		return FLOW_WAIT;
	n->begun = true;
	if (brd_tool_refused(&h->tool))
		return brd_tool_ended(&h->tool);
	ask(h);
	brd_node_wake(n->parent);
	return FLOW_WAIT;
}

static void human_load(struct node *n, int state, struct jval data)
{
	struct human_node *h = (struct human_node *)n;
	struct tool_node *t = &h->tool;

	brd_tool_node.load(n, state, data);
	if (state == 2) {
		/* what was said before a human answered is no part of the output */
		brd_buf_clear(&n->run->text);
		return;
	}
	t->interrupted = false;
	n->begun = true;
	snprintf(h->checkpoint_id, sizeof(h->checkpoint_id), "%.*s",
		BRD_ARG(brd_json_str(brd_json_get(data, "checkpointId"), &t->arena)));
}

static void human_fini(struct node *n)
{
	brd_tool_node.fini(n);
}

const struct node_ops brd_human_node = {
	.kind = "human",
	.size = sizeof(struct human_node),
	.advance = human_advance,
	.load = human_load,
	.fini = human_fini,
};
