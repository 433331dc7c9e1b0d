/* SPDX-License-Identifier: MIT */
/* A delegation: a call of core_delegate, answered by a run of another agent.
 *
 * What the supervisor may not do is refused as a tool error that its model can react to. A run that
 * waits for a human parks the call, and with it the supervisor once nothing else of the turn is at
 * work; its answer then comes late, as a message of its own. */
#include <stdio.h>
#include "run/call.h"
#include "run/tree.h"

struct delegate_node {
	struct tool_node tool;
	struct child child;
	const struct roster_entry *entry;
};

static const struct roster_entry *find(const struct agent_def *d, struct bread_str agent_id)
{
	for (size_t i = 0; i < d->roster_count; i++)
		if (brd_str_is(agent_id, d->roster[i].agent_id))
			return &d->roster[i];
	return NULL;
}

/* Delegations of this run that are at work, to that agent or (NULL) to any. */
static int64_t active(const struct node *supervisor, const struct roster_entry *entry)
{
	int64_t n = 0;

	brd_list_each(l, &supervisor->children) {
		const struct node *c = brd_list_of(l, struct node, siblings);
		const struct delegate_node *d = (const struct delegate_node *)c;

		if (c->ops == &brd_delegate_node && c->end == END_NONE && d->child.run &&
			(!entry || d->entry == entry))
			n++;
	}
	return n;
}

/* ---- refusals ---- */

static void add_roster(const struct agent_def *d, struct buf *text, struct jsonw *w)
{
	brd_jw_key(w, "roster");
	brd_jw_arr(w);
	for (size_t i = 0; i < d->roster_count; i++) {
		brd_buf_addf(text, "%s%s", i ? ", " : "", d->roster[i].agent_id);
		brd_jw_str(w, brd_str(d->roster[i].agent_id));
	}
	brd_jw_end_arr(w);
}

static enum flow refuse_stranger(struct delegate_node *n, struct bread_str agent_id)
{
	struct tool_node *t = &n->tool;
	struct run *r = t->node.run;
	struct run_error e = { .code = BRD_STR("DELEGATE_AGENT_NOT_CONFIGURED") };
	struct buf text, ctx;
	struct jsonw w;

	brd_buf_init(&text, BUF_NO_LIMIT);
	brd_buf_addf(&text,
		"\"%.*s\" is not in this supervisor's sub-agent roster. Configured sub-agents: ",
		BRD_ARG(agent_id));
	w = brd_jw_begin(&ctx);
	brd_jw_kstr(&w, "agentId", r->base.agent_id);
	brd_jw_kstr(&w, "subAgentId", agent_id);
	add_roster(r->def, &text, &w);
	brd_buf_addc(&text, '.');
	e.message = brd_arena_copy(&t->arena, brd_buf_str(&text));
	e.context = brd_jw_finish(&w, &t->arena);
	brd_buf_fini(&text);
	return brd_tool_fail(t, &e);
}

static struct run_error limit(
	struct delegate_node *n, struct bread_str agent_id, bool own, int64_t max, int64_t at_work)
{
	struct tool_node *t = &n->tool;
	struct bread_str who = own ? agent_id : t->node.run->base.agent_id;

	return (struct run_error){
		BRD_STR("DELEGATION_LIMIT"),
		brd_arena_printf(&t->arena,
			"Delegation limit reached for \"%.*s\": at most %lld concurrent "
			"delegation(s)%s. Wait for %s to finish first.",
			BRD_ARG(who), (long long)max, own ? " to this sub-agent" : "",
			own ? "its active run(s)" : "an active one"),
		brd_arena_printf(&t->arena,
			"{\"agentId\":\"%.*s\",\"subAgentId\":\"%.*s\",\"max\":%lld,\"active\":%"
			"lld}",
			BRD_ARG(t->node.run->base.agent_id), BRD_ARG(agent_id), (long long)max,
			(long long)at_work),
	};
}

static bool over_cap(struct delegate_node *n, struct bread_str agent_id, struct run_error *e)
{
	struct node *supervisor = n->tool.node.parent;
	const struct agent_def *d = n->tool.node.run->def;
	int64_t all = active(supervisor, NULL), own = active(supervisor, n->entry);

	if (d->delegations_max && all >= d->delegations_max)
		*e = limit(n, agent_id, false, d->delegations_max, all);
	else if (n->entry->max && own >= n->entry->max)
		*e = limit(n, agent_id, true, n->entry->max, own);
	else
		return false;
	return true;
}

/* ---- running ---- */

static enum flow refuse(struct delegate_node *n, const struct run_error *e)
{
	return brd_tool_failed(&n->tool, e);
}

static enum flow start(struct delegate_node *n, struct bread_str agent_id, struct bread_str input)
{
	struct tool_node *t = &n->tool;
	struct run *r = t->node.run;
	struct run_error e;
	struct agent_def *def;
	struct child_spec spec = { .input = input };

	n->entry = find(r->def, agent_id);
	if (!n->entry)
		return refuse_stranger(n, agent_id);
	def = brd_child_agent(r, agent_id, NULL, input, &t->arena, &e);
	if (!def) {
		e.context = brd_arena_printf(&t->arena,
			"{\"agentId\":\"%.*s\",\"subAgentId\":\"%.*s\"}", BRD_ARG(r->base.agent_id),
			BRD_ARG(agent_id));
		return refuse(n, &e);
	}
	if (over_cap(n, agent_id, &e) || !brd_run_may_start(r, agent_id, &t->arena, &e)) {
		brd_agent_def_unref(def);
		return refuse(n, &e);
	}
	spec.def = def;
	spec.show = n->entry->show;
	spec.path = brd_arena_printf(&t->arena, "\"%s\",\"%.*s\"", t->node.name, BRD_ARG(agent_id));
	n->child.run = brd_run_child(&t->node, &spec);
	snprintf(n->child.id, sizeof(n->child.id), "%s", n->child.run->id);
	brd_tool_began_run(t, &n->child);
	brd_agent_def_unref(def);
	return FLOW_WAIT;
}

static enum flow begin(struct delegate_node *n)
{
	struct tool_node *t = &n->tool;
	struct jval args;

	if (!brd_tool_may_begin(t))
		return FLOW_WAIT;
	t->node.begun = true;
	t->again = false;
	brd_json_parse(&t->arena, t->args, 0, &args, NULL);
	return start(n, brd_json_str(brd_json_get(args, "agentId"), &t->arena),
		brd_json_raw(brd_json_get(args, "input")));
}

static enum flow take_end(struct delegate_node *n, bool ok)
{
	struct run *c = n->child.run;

	n->child.run = NULL;
	return ok ? brd_tool_succeed(&n->tool, c->output) : brd_tool_failed(&n->tool, &c->error);
}

static enum flow delegate_advance(struct node *node)
{
	struct delegate_node *n = (struct delegate_node *)node;

	if (brd_tool_asked(&n->tool) == FLOW_WAIT)
		return FLOW_WAIT;
	switch (brd_child_state(&n->child)) {
	case CHILD_NONE:
		if (node->run->cancelled)
			return brd_node_end(node, END_CANCELED);
		if (node->begun && !n->tool.again) /* the store has a call of it, and no run */
			return brd_tool_interrupted(&n->tool);
		return brd_tree_held_back(node->run->tree) ? FLOW_WAIT : begin(n);
	case CHILD_RUNS:
		return FLOW_WAIT;
	case CHILD_PARKED:
		return brd_node_park(node);
	case CHILD_OK:
		return take_end(n, true);
	case CHILD_CANCELED:
		if (node->run->cancelled) {
			n->child.run = NULL;
			return brd_node_end(node, END_CANCELED);
		}
		return take_end(n, false);
	case CHILD_FAILED:
		break;
	}
	return take_end(n, false);
}

static void delegate_load(struct node *node, enum bread_node_state state, struct jval data)
{
	struct delegate_node *n = (struct delegate_node *)node;
	struct jval args = brd_json_get(data, "args");

	brd_tool_load(node, state, data);
	if (state == BREAD_NODE_ENDED)
		return;
	node->begun = true;
	n->tool.interrupted = false;
	n->entry =
		find(node->run->def, brd_json_str(brd_json_get(args, "agentId"), &n->tool.arena));
	brd_child_found(node, &n->child, data, n->entry ? n->entry->show : SHOW_ALL);
}

const struct node_ops brd_delegate_node = {
	.kind = "delegate",
	.size = sizeof(struct delegate_node),
	.advance = delegate_advance,
	.load = delegate_load,
	.fini = brd_tool_fini,
};
