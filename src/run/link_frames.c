/* SPDX-License-Identifier: MIT */
/* Where a pipeline goes on, as the original's checkpoints say it: a stack of frames, the innermost
 * step first, each with what is left behind it (docs/store.md).
 *
 * We do not read them: our own journal knows better. So what the original has no words for is left
 * out, as items of a map that run side by side. */
#include "run/links.h"
#include "run/step.h"

static void put_remaining(struct jsonw *w, const struct step_node *s)
{
	const struct steps_node *l = (const struct steps_node *)s->node.parent;

	brd_jw_key(w, "remainingSteps");
	brd_jw_arr(w);
	for (size_t i = s->index + 1; i < l->list->count; i++)
		brd_jw_raw(w, l->list->steps[i].json);
	brd_jw_end_arr(w);
}

static void put_value(struct jsonw *w, struct bread_str json)
{
	brd_jw_raw(w, json.n ? json : BRD_STR("null"));
}

/* ---- map ---- */

static bool put_map(struct jsonw *w, const struct step_node *s)
{
	bool later = false;

	if (s->def->concurrency > 1)
		return false;
	brd_jw_key(w, "map");
	brd_jw_obj(w);
	brd_jw_kstr(w, "agentId", brd_str(s->def->agent_id));
	brd_jw_key(w, "settledOutputs");
	brd_jw_arr(w);
	for (size_t i = 0; i < s->part_count && s->parts[i] && s->parts[i]->end == END_OK; i++) {
		const struct item_node *it = (const struct item_node *)s->parts[i];

		if (it->output.n)
			brd_jw_raw(w, it->output);
	}
	brd_jw_end_arr(w);
	brd_jw_key(w, "remainingItems");
	brd_jw_arr(w);
	for (size_t i = 0; i < s->part_count; i++) {
		if (later)
			put_value(w, s->inputs[i]);
		later = later || !s->parts[i] || s->parts[i]->end != END_OK;
	}
	brd_jw_end_arr(w);
	brd_jw_end_obj(w);
	return true;
}

/* ---- parallel ---- */

static void put_id(void *arg, struct bread_str checkpoint_id)
{
	brd_jw_str(arg, checkpoint_id);
}

/* Of the runs that the slot itself has started. */
static void put_waiting(struct jsonw *w, const struct node *n)
{
	brd_list_each(l, &n->children) {
		struct node *c = brd_list_of(l, struct node, siblings);

		if (c->run == n->run)
			put_waiting(w, c);
		else if (c->end == END_NONE)
			brd_links_of_run(c->run, put_id, w);
	}
}

static void put_parallel(struct jsonw *w, const struct step_node *s, const struct node *slot)
{
	brd_jw_key(w, "parallel");
	brd_jw_obj(w);
	for (size_t i = 0; i < s->part_count; i++)
		if (s->parts[i] == slot)
			brd_jw_kint(w, "branchIndex", (int64_t)i);
	brd_jw_key(w, "settledOutputs");
	brd_jw_arr(w);
	for (size_t i = 0; i < s->part_count; i++)
		put_value(w, s->parts[i]->end == END_OK
				     ? ((const struct steps_node *)s->parts[i])->out.value
				     : (struct bread_str){ 0 });
	brd_jw_end_arr(w);
	brd_jw_key(w, "pendingCheckpointIds");
	brd_jw_arr(w);
	for (size_t i = 0; i < s->part_count; i++)
		put_waiting(w, s->parts[i]);
	brd_jw_end_arr(w);
	if (s->in.label.p)
		brd_jw_kstr(w, "incomingLabel", s->in.label);
	brd_jw_end_obj(w);
}

/* ---- frames ---- */

/* below: the item, or the slot, in which it waits; NULL: the step itself. */
static bool put_frame(struct jsonw *w, struct step_node *s, const struct node *below)
{
	struct node *list = s->node.parent;

	brd_jw_obj(w);
	brd_jw_kstr(w, "kind", BRD_STR("pipeline"));
	brd_jw_kstr(w, "pipelineId", s->pid);
	brd_jw_kint(w, "stepIndex", (int64_t)s->index);
	brd_jw_kstr(w, "stepAgentId", brd_step_spoken(s->def));
	put_remaining(w, s);
	if (s->def->kind == STEP_MAP && !put_map(w, s))
		return false;
	if (s->def->kind == STEP_PARALLEL)
		put_parallel(w, s, below);
	if (s->in.label.p)
		brd_jw_kstr(w, "decisionLabel", s->in.label);
	if (list->ops == &brd_steps_node) { /* an arm or a slot */
		brd_jw_key(w, "outer");
		w->comma = false;
		if (!put_frame(w, (struct step_node *)list->parent, list))
			return false;
	}
	brd_jw_end_obj(w);
	return true;
}

bool brd_link_frames(struct node *at, struct jsonw *w)
{
	if (at->ops == &brd_item_node)
		return put_frame(w, (struct step_node *)at->parent, at);
	return at->ops == &brd_step_node && put_frame(w, (struct step_node *)at, NULL);
}
