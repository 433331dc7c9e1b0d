/* SPDX-License-Identifier: MIT */
/* A step that is a run of an agent, in a fresh session or in the pipeline's own. */
#include <stdio.h>
#include "run/step.h"

bool brd_step_start_run(struct node *n, struct child *c, const struct step_node *s,
	struct bread_str input, const char *name)
{
	struct run *r = n->run;
	const struct step_def *d = s->def;
	struct run_error e;
	struct child_spec spec = { .input = input };

	spec.def = brd_child_agent(r, brd_str(d->agent_id), d->skill, input, &r->arena, &e);
	if (!spec.def) {
		brd_node_fail(n, &e);
		return false;
	}
	if (!brd_run_may_start(r, brd_str(d->agent_id), &r->arena, &e)) {
		brd_agent_def_unref(spec.def);
		brd_node_fail(n, &e);
		return false;
	}
	if (d->shared_session)
		spec.session_id = brd_arena_printf(&r->arena, "%s:shared", r->id);
	spec.path = brd_arena_printf(&r->arena, "\"%s\",\"%s\"", name, d->agent_id);
	c->run = brd_run_child(n, &spec);
	snprintf(c->id, sizeof(c->id), "%s", c->run->id);
	brd_agent_def_unref(spec.def);
	return true;
}

enum flow brd_step_look_at_run(struct node *n, struct child *c, struct bread_str *ret_output)
{
	struct run *r = c->run;

	switch (brd_child_state(c)) {
	case CHILD_PARKED:
		return n->run->cancelled ? FLOW_WAIT : brd_node_park(n);
	case CHILD_OK:
		*ret_output = r->output;
		c->run = NULL;
		return FLOW_AGAIN;
	case CHILD_FAILED:
	case CHILD_CANCELED:
		c->run = NULL;
		return brd_node_fail(n, &r->error);
	case CHILD_RUNS:
		return FLOW_WAIT;
	case CHILD_NONE:
		break;
	}
	return brd_node_fail(
		n, &(struct run_error){ BRD_STR("PIPELINE_STATE_LOST"),
			   BRD_STR("the store has no run of this step; the pipeline cannot go on"),
			   n->run->ids_context });
}

static enum flow begin(struct step_node *s)
{
	brd_step_start_run(&s->node, &s->child, s, s->in.value, s->node.name);
	return FLOW_WAIT;
}

static enum flow advance(struct step_node *s)
{
	struct bread_str output = { 0 };

	if (brd_step_look_at_run(&s->node, &s->child, &output) == FLOW_WAIT)
		return FLOW_WAIT;
	return brd_step_end(s, output, s->in.label, output);
}

const struct step_kind_ops brd_step_agent = { .begin = begin, .advance = advance };
