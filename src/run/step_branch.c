/* SPDX-License-Identifier: MIT */
/* One of several arms, chosen by a text in the value or by the latest decision. The choice is in
 * the journal: it is made once. An empty arm lets the value pass. */
#include "run/choke.h"
#include "run/step.h"

static enum flow no_label(struct step_node *s)
{
	struct run *r = s->node.run;
	struct run_error e = {
		BRD_STR("PIPELINE_BRANCH_NO_LABEL"),
		brd_arena_printf(&r->arena,
			"Pipeline \"%.*s\" step %zu is a branch without `on` and no decision step "
			"has run.",
			BRD_ARG(s->pid), s->index),
		brd_arena_printf(&r->arena, "{\"pipelineId\":\"%.*s\",\"stepIndex\":%zu}",
			BRD_ARG(s->pid), s->index),
	};

	return brd_node_fail(&s->node, &e);
}

/* The member of an object, or of a list by its index. */
static struct jval member(struct jval v, struct bread_str key)
{
	size_t i = 0;

	if (brd_json_type(v) != JSON_ARRAY)
		return brd_json_gets(v, key);
	for (size_t k = 0; k < key.n; k++) {
		if (key.p[k] < '0' || key.p[k] > '9' || i > 1000000)
			return (struct jval){ 0 };
		i = i * 10 + (size_t)(key.p[k] - '0');
	}
	return key.n ? brd_json_at(v, i) : (struct jval){ 0 };
}

/* The text at a path in dots; p NULL: there is none. */
static struct bread_str text_at(struct step_node *s, struct bread_str path)
{
	struct arena *a = &s->node.run->arena;
	struct jval v = { 0 };

	if (!s->in.value.n || brd_json_parse(a, s->in.value, 0, &v, NULL))
		return (struct bread_str){ 0 };
	while (path.n) {
		const char *dot = memchr(path.p, '.', path.n);
		struct bread_str key = { path.p, dot ? (size_t)(dot - path.p) : path.n };

		path = dot ? brd_sub(path, key.n + 1, path.n - key.n - 1) : (struct bread_str){ 0 };
		v = member(v, key);
	}
	return brd_json_type(v) == JSON_STRING ? brd_json_str(v, a) : (struct bread_str){ 0 };
}

static void announce(struct step_node *s, struct bread_str eq)
{
	struct crumb_draft d;

	brd_step_crumb(s, &d, CRUMB_BRANCH_TAKEN);
	if (s->taken < 0)
		brd_jw_kraw(&d.w, "eq", BRD_STR("null"));
	else
		brd_jw_kstr(&d.w, "eq", eq);
	brd_jw_kint(&d.w, "caseIndex", s->taken);
	brd_choke_emit(s->node.run, &d);
}

static enum flow begin(struct step_node *s)
{
	const struct step_def *d = s->def;
	struct bread_str label = d->on.n ? text_at(s, d->on) : s->in.label;

	if (!d->on.n && !label.p)
		return no_label(s);
	s->taken = -1;
	for (size_t i = 0; i < d->case_count && s->taken < 0 && label.p; i++)
		if (brd_str_eq(d->cases[i].eq, label))
			s->taken = (int64_t)i;
	announce(s, label);
	return FLOW_AGAIN;
}

static enum flow advance(struct step_node *s)
{
	struct run *r = s->node.run;
	const struct step_list *arm =
		s->taken < 0 ? &s->def->otherwise : &s->def->cases[s->taken].steps;

	if (!arm->count)
		return brd_step_end(s, s->in.value, s->in.label, s->in.value);
	if (!s->arm)
		s->arm = brd_steps_child(&s->node, arm,
			brd_arena_printf(&r->arena, "%.*s:%zu:branch", BRD_ARG(s->pid), s->index),
			&s->in, "branch");
	switch (s->arm->node.end) {
	case END_NONE:
		return s->arm->node.parked && !r->cancelled ? brd_node_park(&s->node) : FLOW_WAIT;
	case END_OK:
		return brd_step_end(s, s->arm->out.value, s->arm->out.label, s->arm->out.value);
	case END_FAILED:
		return brd_node_fail(&s->node, &s->arm->node.error);
	case END_CANCELED:
		break;
	}
	return brd_node_end(&s->node, END_CANCELED);
}

const struct step_kind_ops brd_step_branch = { .begin = begin, .advance = advance };
