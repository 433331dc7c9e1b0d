/* SPDX-License-Identifier: MIT */
/* One step of a pipeline: announced, run, its output passed on (docs/pipelines.md).
 *
 * Its start is in the journal with what it needs to go on after a crash (the run it started, the
 * arm it took: a branch is not evaluated twice), its end with its output and label. What happens in
 * between depends on its kind: step_agent.c, step_parallel.c, step_map.c, step_branch.c,
 * step_decision.c. */
#include "base/clock.h"
#include "run/choke.h"
#include "run/step.h"
#include "run/tree.h"

static const struct step_kind_ops *const kinds[] = {
	[STEP_AGENT] = &brd_step_agent,
	[STEP_PARALLEL] = &brd_step_parallel,
	[STEP_MAP] = &brd_step_map,
	[STEP_DECISION] = &brd_step_decision,
	[STEP_BRANCH] = &brd_step_branch,
};

/* ---- crumbs ---- */

struct bread_str brd_step_spoken(const struct step_def *d)
{
	switch (d->kind) {
	case STEP_PARALLEL:
		return BRD_STR("parallel");
	case STEP_DECISION:
		return BRD_STR("decision");
	case STEP_BRANCH:
		return BRD_STR("branch");
	default:
		return brd_str(d->agent_id);
	}
}

void brd_step_crumb(struct step_node *s, struct crumb_draft *d, enum crumb_type t)
{
	struct run *r = s->node.run;

	if (!s->base.ids.n) {
		brd_crumb_base_step(&s->base, s->pid, (int64_t)s->index, brd_step_spoken(s->def),
			r->tree->root->base.run_id, &r->arena);
		s->base.log_id = r->base.run_id;
		s->base.path = brd_arena_printf(
			&r->arena, "%.*s,\"%s\"]", (int)r->path.n - 1, r->path.p, s->node.name);
	}
	brd_crumb_begin(d, t, &s->base, brd_clock_wall());
}

/* ---- the journal ---- */

void brd_step_journal(struct step_node *s, enum bread_node_state state)
{
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	if (state == BREAD_NODE_ENDED) {
		brd_jw_kraw(&w, "output", s->out.value);
		if (s->out.label.p)
			brd_jw_kstr(&w, "label", s->out.label);
	} else {
		if (s->child.id[0])
			brd_child_journal(&s->child, &w);
		if (s->def->kind == STEP_BRANCH)
			brd_jw_kint(&w, "case", s->taken);
	}
	brd_jw_end_obj(&w);
	brd_node_journal(&s->node, state, brd_buf_str(&b));
	brd_buf_fini(&b);
}

/* Others beside it may go on for long, and a crash in between must not take back why it failed:
 * the run that it had started has ended. */
enum flow brd_step_journal_failure(struct node *n)
{
	struct buf b;
	struct jsonw w;

	if (n->end != END_FAILED)
		return FLOW_WAIT;
	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_key(&w, "error");
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "code", n->error.code);
	brd_jw_kstr(&w, "message", n->error.message);
	brd_jw_kraw(&w, "context", n->error.context);
	brd_jw_end_obj(&w);
	brd_jw_end_obj(&w);
	brd_node_journal(n, BREAD_NODE_ENDED, brd_buf_str(&b));
	brd_buf_fini(&b);
	return FLOW_WAIT;
}

void brd_step_load_end(struct node *n, struct jval data)
{
	struct arena *a = &n->run->arena;
	struct jval e = brd_json_get(data, "error");

	n->end = END_OK;
	if (brd_json_type(e) != JSON_OBJECT)
		return;
	n->end = END_FAILED;
	n->error = (struct run_error){ brd_json_str(brd_json_get(e, "code"), a),
		brd_json_str(brd_json_get(e, "message"), a),
		brd_json_raw(brd_json_get(e, "context")) };
}

static void step_load(struct node *n, enum bread_node_state state, struct jval data)
{
	struct step_node *s = (struct step_node *)n;
	struct arena *a = &n->run->arena;

	s->out.value = brd_json_raw(brd_json_get(data, "output"));
	if (brd_json_type(brd_json_get(data, "label")) == JSON_STRING)
		s->out.label = brd_json_str(brd_json_get(data, "label"), a);
	n->begun = true;
	s->taken = brd_json_int_or(brd_json_get(data, "case"), -1);
	if (state == BREAD_NODE_ENDED)
		brd_step_load_end(n, data);
	else if (brd_json_type(brd_json_get(data, "runId")) == JSON_STRING)
		brd_child_found(n, &s->child, data, SHOW_ALL);
}

/* ---- life ---- */

void brd_step_init(struct step_node *s, const struct step_def *def, struct bread_str pid,
	size_t index, const struct flow_value *in)
{
	s->def = def;
	s->pid = pid;
	s->index = index;
	s->in = *in;
}

enum flow brd_step_end(
	struct step_node *s, struct bread_str value, struct bread_str label, struct bread_str shown)
{
	struct run *r = s->node.run;
	struct crumb_draft d;

	s->out.value = brd_arena_copy(&r->arena, value);
	s->out.label = label;
	brd_step_crumb(s, &d, CRUMB_STEP_END);
	brd_jw_kraw(&d.w, "output", shown);
	brd_choke_emit(r, &d);
	brd_step_journal(s, BREAD_NODE_ENDED);
	return brd_node_end(&s->node, END_OK);
}

void brd_step_give_up(struct step_node *s)
{
	for (size_t i = 0; i < s->part_count && s->parts[i]; i++)
		if (s->parts[i]->end == END_NONE)
			brd_node_cancel_runs(s->parts[i]);
}

static enum flow begin(struct step_node *s)
{
	struct crumb_draft d;
	enum flow flow;

	s->node.begun = true;
	brd_step_crumb(s, &d, CRUMB_STEP_START);
	brd_choke_emit(s->node.run, &d);
	flow = kinds[s->def->kind]->begin(s);
	if (s->node.end == END_NONE)
		brd_step_journal(s, BREAD_NODE_STARTED);
	return flow;
}

static enum flow step_advance(struct node *n)
{
	struct step_node *s = (struct step_node *)n;
	enum flow flow;

	if (!n->begun && n->run->cancelled)
		return brd_node_end(n, END_CANCELED);
	if (!n->begun && (brd_tree_held_back(n->run->tree) || brd_node_stall(n)))
		return FLOW_WAIT;
	flow = n->begun ? kinds[s->def->kind]->advance(s) : begin(s);
	return n->end == END_FAILED ? brd_step_journal_failure(n) : flow;
}

static void step_cancel(struct node *n)
{
	struct step_node *s = (struct step_node *)n;

	if (s->def && kinds[s->def->kind]->cancel)
		kinds[s->def->kind]->cancel(s);
}

static void step_fini(struct node *n)
{
	struct step_node *s = (struct step_node *)n;

	if (s->def && kinds[s->def->kind]->fini)
		kinds[s->def->kind]->fini(s);
}

const struct node_ops brd_step_node = {
	.kind = "step",
	.size = sizeof(struct step_node),
	.advance = step_advance,
	.cancel = step_cancel,
	.load = step_load,
	.fini = step_fini,
};
