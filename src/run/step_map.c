/* SPDX-License-Identifier: MIT */
/* A run of one agent for each item of a list, so many at the same time; what is no list is one
 * item. The output is the list of theirs, in the order of the items; one that ended without an
 * output contributes nothing. After a failure no further item is begun. */
#include <stdio.h>
#include "run/step.h"
#include "run/tree.h"

/* ---- one item ---- */

static void journal_item(struct item_node *it, enum bread_node_state state)
{
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	if (state == BREAD_NODE_ENDED)
		brd_jw_kraw(&w, "output", it->output);
	else
		brd_child_journal(&it->child, &w);
	brd_jw_end_obj(&w);
	brd_node_journal(&it->node, state, brd_buf_str(&b));
	brd_buf_fini(&b);
}

static enum flow item_advance(struct node *n)
{
	struct item_node *it = (struct item_node *)n;
	struct bread_str output = { 0 };

	if (!n->begun && n->run->cancelled)
		return brd_node_end(n, END_CANCELED);
	if (!n->begun) {
		if (brd_tree_held_back(n->run->tree) || brd_node_stall(n))
			return FLOW_WAIT;
		n->begun = true;
		if (!brd_step_start_run(n, &it->child, it->step, it->input, n->name))
			return brd_step_journal_failure(n);
		journal_item(it, BREAD_NODE_STARTED);
		return FLOW_WAIT;
	}
	if (brd_step_look_at_run(n, &it->child, &output) == FLOW_WAIT)
		return brd_step_journal_failure(n);
	it->output = brd_arena_copy(&n->run->arena, output);
	journal_item(it, BREAD_NODE_ENDED);
	return brd_node_end(n, END_OK);
}

static void item_load(struct node *n, enum bread_node_state state, struct jval data)
{
	struct item_node *it = (struct item_node *)n;

	n->begun = true;
	it->output = brd_json_raw(brd_json_get(data, "output"));
	if (state == BREAD_NODE_ENDED)
		brd_step_load_end(n, data);
	else
		brd_child_found(n, &it->child, data, SHOW_ALL);
}

const struct node_ops brd_item_node = {
	.kind = "item",
	.size = sizeof(struct item_node),
	.advance = item_advance,
	.load = item_load,
};

/* ---- all of them ---- */

static void list_items(struct step_node *s)
{
	struct arena *a = &s->node.run->arena;
	struct jval v = { 0 };
	size_t i = 0;

	if (s->in.value.n)
		brd_json_parse(a, s->in.value, 0, &v, NULL);
	s->part_count = brd_json_type(v) == JSON_ARRAY ? brd_json_count(v) : 1;
	s->parts = brd_arena_array(a, s->part_count + 1, sizeof(struct node *));
	s->inputs = brd_arena_array(a, s->part_count + 1, sizeof(struct bread_str));
	if (brd_json_type(v) != JSON_ARRAY) {
		s->inputs[0] = s->in.value;
		return;
	}
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
		s->inputs[i++] = brd_json_raw(it.value);
}

static struct item_node *item(struct step_node *s, size_t i)
{
	struct item_node *it;

	if (s->parts[i])
		return (struct item_node *)s->parts[i];
	it = (struct item_node *)brd_node_child(
		&s->node, &brd_item_node, "%s.map.%zu", s->node.name, i);
	it->step = s;
	it->input = s->inputs[i];
	s->parts[i] = &it->node;
	return it;
}

static enum flow merge(struct step_node *s)
{
	struct buf b;
	enum flow flow;
	bool any = false;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addc(&b, '[');
	for (size_t i = 0; i < s->part_count; i++) {
		struct bread_str v = item(s, i)->output;

		if (!v.n)
			continue;
		if (any)
			brd_buf_addc(&b, ',');
		brd_buf_add(&b, v);
		any = true;
	}
	brd_buf_addc(&b, ']');
	flow = brd_step_end(s, brd_buf_str(&b), s->in.label, brd_buf_str(&b));
	brd_buf_fini(&b);
	return flow;
}

/* By an owner that died: it is to be looked after whatever came of those before it. */
static bool was_begun(const struct step_node *s, size_t i)
{
	char name[NODE_NAME_MAX];

	snprintf(name, sizeof(name), "%s.map.%zu", s->node.name, i);
	return brd_node_written(s->node.run, name);
}

/* Looks at the items in their order, past those that are known to have ended, and begins as many as
 * may run. false: one is at work. */
static bool look_at_items(struct step_node *s, size_t *ret_parked)
{
	size_t open = 0, parked = 0, most = (size_t)s->def->concurrency;

	for (size_t i = s->over; i < s->part_count; i++) {
		struct node *n;

		if (!s->parts[i] && (open >= most || s->failed) && !was_begun(s, i))
			break;
		n = &item(s, i)->node;
		open += n->end == END_NONE;
		parked += n->end == END_NONE && n->parked;
		if (n->end == END_FAILED && !s->failed) {
			s->failed = 1;
			s->first_failed = n;
		}
		if (n->end != END_NONE && s->over == i)
			s->over++;
	}
	*ret_parked = parked;
	return open == parked;
}

static enum flow advance(struct step_node *s)
{
	size_t parked;

	if (!s->parts)
		list_items(s);
	if (!look_at_items(s, &parked))
		return FLOW_WAIT;
	if (parked && s->failed)
		brd_step_give_up(s);
	if (parked)
		return s->failed || s->node.run->cancelled ? FLOW_WAIT : brd_node_park(&s->node);
	if (s->node.run->cancelled)
		return brd_node_end(&s->node, END_CANCELED);
	return s->failed ? brd_node_fail(&s->node, &s->first_failed->error) : merge(s);
}

static enum flow begin(struct step_node *s)
{
	return FLOW_AGAIN;
}

const struct step_kind_ops brd_step_map = { .begin = begin, .advance = advance };
