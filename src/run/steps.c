/* SPDX-License-Identifier: MIT */
/* Steps of a pipeline, one after the other: the pipeline itself, an arm of a branch, a slot of a
 * parallel step.
 *
 * A list has no line in the journal: it is walked from its start, over steps that have ended, to
 * the first that has not. The value and the latest label go from step to step. */
#include "run/life.h"
#include "run/step.h"

static struct step_node *step_at(struct steps_node *l)
{
	struct node *c;
	const char *prefix = l->node.parent && l->node.parent->run == l->node.run
				     ? l->node.name
				     : NULL; /* the root's steps are "0", "1" */

	c = prefix ? brd_node_child(&l->node, &brd_step_node, "%s.%zu", prefix, l->at)
		   : brd_node_child(&l->node, &brd_step_node, "%zu", l->at);
	return (struct step_node *)c;
}

/* The next step; what came out of the one before goes in. */
static struct step_node *step(struct steps_node *l)
{
	struct step_node *s = step_at(l);

	if (!s->def)
		brd_step_init(s, &l->list->steps[l->at], l->pid, l->at, &l->out);
	return s;
}

/* Walks on. The step that is to be waited for, or that did not end well; NULL: all have ended. */
static struct step_node *walk(struct steps_node *l)
{
	for (; l->at < l->list->count; l->at++) {
		struct step_node *s = step(l);

		if (s->node.end != END_OK)
			return s;
		l->out = s->out;
	}
	return NULL;
}

static enum flow steps_advance(struct node *n)
{
	struct steps_node *l = (struct steps_node *)n;
	struct step_node *s = walk(l);

	if (!s)
		return brd_node_end(n, END_OK);
	if (s->node.end == END_FAILED)
		return brd_node_fail(n, &s->node.error);
	if (s->node.end == END_CANCELED)
		return brd_node_end(n, END_CANCELED);
	return s->node.parked ? brd_node_park(n) : FLOW_WAIT;
}

struct steps_node *brd_steps_child(struct node *at, const struct step_list *list,
	struct bread_str pid, const struct flow_value *in, const char *name)
{
	struct steps_node *l =
		(struct steps_node *)brd_node_child(at, &brd_steps_node, "%s.%s", at->name, name);

	if (!l->list) {
		l->list = list;
		l->pid = pid;
		l->out = *in;
	}
	return l;
}

const struct node_ops brd_steps_node = {
	.kind = "steps",
	.size = sizeof(struct steps_node),
	.advance = steps_advance,
};

/* ---- a pipeline's run ---- */

static enum flow complete(struct steps_node *l)
{
	struct buf out;

	brd_buf_init(&out, BUF_NO_LIMIT);
	brd_buf_add(&out, l->out.value);
	brd_run_complete(l->node.run, &out);
	return brd_node_end(&l->node, END_OK);
}

static enum flow fail(struct steps_node *l, const struct step_node *s)
{
	struct run *r = l->node.run;
	struct run_error e = { BRD_STR("RUN_CANCELLED"), BRD_STR("run cancelled"), r->ids_context };

	if (s->node.end == END_FAILED)
		e = s->node.error;
	if (r->timed_out) {
		e.code = BRD_STR("RUN_TIMEOUT");
		e.message = BRD_STR("the run took longer than it may");
	}
	brd_run_fail(r, &e, r->cancelled && !r->timed_out);
	return brd_node_end(&l->node, r->cancelled ? END_CANCELED : END_FAILED);
}

static enum flow pipeline_advance(struct node *n)
{
	struct steps_node *l = (struct steps_node *)n;
	struct run *r = n->run;
	struct step_node *s;

	if (!l->list) {
		l->list = &r->pipeline->steps;
		l->pid = brd_str(r->pipeline->id);
		l->out.value = r->input;
	}
	s = walk(l);
	if (!s)
		return complete(l);
	if (s->node.end != END_NONE)
		return fail(l, s);
	return s->node.parked && !r->cancelled ? brd_node_park(n) : FLOW_WAIT;
}

const struct node_ops brd_pipeline_node = {
	.kind = "pipeline",
	.size = sizeof(struct steps_node),
	.advance = pipeline_advance,
};
