/* SPDX-License-Identifier: MIT */
/* Slots side by side. Each is a pipeline of its own; all get the same value and label, the output
 * is the list of theirs, in the order of the slots. The labels that they decided are joined: one
 * new one is taken over, two that differ are a fault. A slot that waits for a human does not keep
 * the others from their ends; when one has failed, those that wait are given up. */
#include <stdio.h>
#include "run/step.h"

static struct steps_node *slot(struct step_node *s, size_t i)
{
	struct run *r = s->node.run;
	char name[32];

	if (s->parts[i])
		return (struct steps_node *)s->parts[i];
	snprintf(name, sizeof(name), "parallel.%zu", i);
	s->parts[i] = (struct node *)brd_steps_child(&s->node, &s->def->slots[i],
		brd_arena_printf(&r->arena, "%.*s:%zu:parallel:%zu", BRD_ARG(s->pid), s->index, i),
		&s->in, name);
	return (struct steps_node *)s->parts[i];
}

static enum flow open_slots(struct step_node *s)
{
	s->part_count = s->def->slot_count;
	s->parts = brd_arena_array(&s->node.run->arena, s->part_count + 1, sizeof(struct node *));
	for (size_t i = 0; i < s->part_count; i++)
		slot(s, i);
	return s->part_count ? FLOW_WAIT : FLOW_AGAIN;
}

struct tally {
	size_t running, parked, failed;
	const struct node *first_failed;
};

static struct tally count(const struct step_node *s)
{
	struct tally t = { 0 };

	for (size_t i = 0; i < s->part_count; i++) {
		const struct node *n = s->parts[i];

		t.running += n->end == END_NONE && !n->parked;
		t.parked += n->end == END_NONE && n->parked;
		t.failed += n->end == END_FAILED;
		if (n->end == END_FAILED && !t.first_failed)
			t.first_failed = n;
	}
	return t;
}

static enum flow fail(struct step_node *s, size_t failed, const struct run_error *only)
{
	struct run *r = s->node.run;
	struct run_error e = { .code = BRD_STR("AGGREGATE_ERROR") };

	if (failed == 1)
		return brd_node_fail(&s->node, only);
	e.message = brd_arena_printf(&r->arena,
		"%zu of %zu parallel pipeline steps failed (pipeline \"%.*s\", step %zu)", failed,
		s->part_count, BRD_ARG(s->pid), s->index);
	return brd_node_fail(&s->node, &e);
}

/* What a slot says about the label: true, and *ret_label is new. */
static bool decided(const struct step_node *s, const struct steps_node *slot)
{
	return slot->out.label.p && !(s->in.label.p && brd_str_eq(slot->out.label, s->in.label));
}

/* false: two of them differ, *e says so. */
static bool join_labels(struct step_node *s, struct bread_str *ret, struct run_error *e)
{
	struct run *r = s->node.run;
	struct bread_str label = { 0 };

	*ret = s->in.label;
	for (size_t i = 0; i < s->part_count; i++) {
		const struct steps_node *l = slot(s, i);

		if (l->node.end != END_OK || !decided(s, l))
			continue;
		if (label.p && !brd_str_eq(label, l->out.label)) {
			*e = (struct run_error){ BRD_STR("PIPELINE_DECISION_CONFLICT"),
				brd_arena_printf(&r->arena,
					"Pipeline \"%.*s\" step %zu has parallel slots with "
					"different decision labels (\"%.*s\" and \"%.*s\").",
					BRD_ARG(s->pid), s->index, BRD_ARG(label),
					BRD_ARG(l->out.label)),
				brd_arena_printf(&r->arena,
					"{\"pipelineId\":\"%.*s\",\"stepIndex\":%zu}",
					BRD_ARG(s->pid), s->index) };
			return false;
		}
		label = l->out.label;
		*ret = label;
	}
	return true;
}

static enum flow merge(struct step_node *s, struct bread_str label)
{
	struct buf b;
	enum flow flow;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addc(&b, '[');
	for (size_t i = 0; i < s->part_count; i++) {
		struct bread_str v = slot(s, i)->out.value;

		if (i)
			brd_buf_addc(&b, ',');
		brd_buf_add(&b, v.n ? v : BRD_STR("null"));
	}
	brd_buf_addc(&b, ']');
	flow = brd_step_end(s, brd_buf_str(&b), label, brd_buf_str(&b));
	brd_buf_fini(&b);
	return flow;
}

static enum flow advance(struct step_node *s)
{
	struct tally t;
	struct bread_str label;
	struct run_error e;

	if (!s->parts && open_slots(s) == FLOW_WAIT)
		return FLOW_WAIT;
	t = count(s);
	if (t.running)
		return FLOW_WAIT;
	if (t.parked && t.failed && !s->failed) {
		s->failed = t.failed;
		s->first_failed = t.first_failed;
		brd_step_give_up(s);
	}
	if (t.parked)
		return s->failed || s->node.run->cancelled ? FLOW_WAIT : brd_node_park(&s->node);
	if (s->node.run->cancelled)
		return brd_node_end(&s->node, END_CANCELED);
	if (s->failed) {
		t.failed = s->failed;
		t.first_failed = s->first_failed;
	}
	if (!join_labels(s, &label, &e))
		return fail(s, t.failed + 1, &e);
	return t.failed ? fail(s, t.failed, &t.first_failed->error) : merge(s, label);
}

static enum flow begin(struct step_node *s)
{
	return open_slots(s);
}

const struct step_kind_ops brd_step_parallel = { .begin = begin, .advance = advance };
