/* SPDX-License-Identifier: MIT */
/* The events of a model's stream: each joins the message that is being made, and
 * becomes the crumbs that viewers see.
 *
 * Parts stand in the order of their starts. A part's text stays in the buf that it
 * grew in, as it may be long; what is open when an attempt breaks is kept until the
 * run decides what to do with it. */
#include "base/err.h"
#include "run/choke.h"
#include "run/life.h"
#include "run/node_model.h"

struct model_part *brd_model_part_new(
	struct model_node *m, unsigned index, enum bread_part_kind kind)
{
	struct model_part *p;

	if (m->count == m->room) {
		unsigned room = m->room ? m->room * 2 : 4;
		struct model_part *more = brd_arena_array(&m->arena, room, sizeof(*more));

		if (m->count)
			memcpy(more, m->parts, m->count * sizeof(*more));
		m->parts = more;
		m->room = room;
	}
	if (index >= m->at_room) {
		unsigned room = index + 8;
		unsigned *more = brd_arena_array(&m->arena, room, sizeof(*more));

		if (m->at_room)
			memcpy(more, m->at, m->at_room * sizeof(*more));
		m->at = more;
		m->at_room = room;
	}
	m->at[index] = m->count;
	p = &m->parts[m->count++];
	memset(p, 0, sizeof(*p));
	p->part.kind = kind;
	brd_buf_init(&p->text, BUF_NO_LIMIT);
	return p;
}

/* Indexes were checked by the seam (brd_model_start): a part of that index was begun. */
static struct model_part *part_at(struct model_node *m, unsigned index)
{
	brd_assert(index < m->at_room && m->at[index] < m->count);
	return &m->parts[m->at[index]];
}

void brd_model_parts_clear(struct model_node *m)
{
	for (unsigned i = 0; i < m->count; i++)
		brd_buf_fini(&m->parts[i].text);
	m->count = 0;
}

static void part_end(struct model_node *m, struct model_part *p, const struct bread_event *ev)
{
	p->part.text = brd_buf_str(&p->text);
	p->part.signature = brd_arena_copy(&m->arena, ev->signature);
	p->part.redacted = ev->redacted;
	p->ended = true;
}

static void on_text(struct model_node *m, const struct bread_event *ev, enum crumb_type t)
{
	struct run *r = m->node.run;

	brd_buf_add(&part_at(m, ev->index)->text, ev->text);
	if (m->structured)
		return;
	m->emitted = true;
	brd_choke_delta(r, t, ev->text);
}

static void input_crumb(struct model_node *m, enum crumb_type t, struct bread_str id,
	const char *key, struct bread_str value)
{
	struct crumb_draft d;

	m->emitted = true;
	brd_choke_begin(m->node.run, &d, t);
	brd_jw_kstr(&d.w, "toolCallId", id);
	if (key)
		brd_jw_kstr(&d.w, key, value);
	brd_choke_emit(m->node.run, &d);
}

static void on_call_start(struct model_node *m, const struct bread_event *ev)
{
	struct model_part *p = brd_model_part_new(m, ev->index, BREAD_PART_CALL);

	p->part.id = brd_arena_copy(&m->arena, ev->id);
	p->part.name = brd_arena_copy(&m->arena, ev->name);
}

static void on_call_delta(struct model_node *m, const struct bread_event *ev)
{
	struct model_part *p = part_at(m, ev->index);

	if (!p->announced)
		input_crumb(m, CRUMB_TOOL_INPUT_START, p->part.id, "toolName", p->part.name);
	p->announced = true;
	input_crumb(m, CRUMB_TOOL_INPUT_DELTA, p->part.id, "delta", ev->text);
}

/* The provider has read the arguments as an object, or the call is bad: it is kept
 * with {} and never runs. */
static void on_call_end(struct model_node *m, const struct bread_event *ev)
{
	struct model_part *p = part_at(m, ev->index);
	struct arena a = { 0 };
	struct buf compact;
	struct jval v = { 0 };

	if (p->announced)
		input_crumb(m, CRUMB_TOOL_INPUT_END, p->part.id, NULL, (struct bread_str){ 0 });
	brd_buf_init(&compact, BUF_NO_LIMIT);
	p->bad = ev->incomplete || brd_json_parse(&a, ev->json, 0, &v, NULL);
	if (p->bad)
		brd_buf_addz(&compact, "{}");
	else
		brd_json_compact(v, &compact);
	p->part.json = brd_arena_copy(&m->arena, brd_buf_str(&compact));
	p->part.signature = brd_arena_copy(&m->arena, ev->signature);
	p->ended = true;
	brd_buf_fini(&compact);
	brd_arena_fini(&a);
}

static void on_text_end(struct model_node *m, const struct bread_event *ev)
{
	struct model_part *p = part_at(m, ev->index);

	part_end(m, p, ev);
	if (!m->structured)
		brd_buf_add(&m->node.run->text, p->part.text);
}

static void on_error(struct model_node *m, const struct bread_event *ev)
{
	struct run_error e = brd_run_error(m->node.run, "AGENT_ERROR", ev->text);

	if (ev->code.n && ev->code.n < 64)
		e.code = ev->code;
	brd_model_fault(m, e);
}

/* A model that does not stop is stopped: what it sends is kept until it has ended. */
static bool too_much(struct model_node *m, const struct bread_event *ev)
{
	if (ev->kind != BREAD_EV_TEXT_END && ev->kind != BREAD_EV_THINKING_END)
		m->taken += ev->text.n;
	if (m->taken + m->node.run->text.len <= MODEL_BYTES_MAX)
		return false;
	brd_model_fault(m, brd_run_error(m->node.run, "OUTPUT_TOO_LARGE",
				   BRD_STR("the model sent more than 64 MiB")));
	return true;
}

void brd_model_event(struct model_node *m, const struct bread_event *ev)
{
	/* what was spent counts, also when nobody wants the rest (contract C21) */
	if (ev->kind == BREAD_EV_DONE || ev->kind == BREAD_EV_ERROR)
		m->usage = ev->usage;
	if (m->fault.code.p || m->node.run->cancelled || too_much(m, ev))
		return;
	switch (ev->kind) {
	case BREAD_EV_START:
		break;
	case BREAD_EV_TEXT_START:
		brd_model_part_new(m, ev->index, BREAD_PART_TEXT);
		break;
	case BREAD_EV_THINKING_START:
		brd_model_part_new(m, ev->index, BREAD_PART_REASONING);
		break;
	case BREAD_EV_TEXT_DELTA:
		on_text(m, ev, CRUMB_TEXT_DELTA);
		break;
	case BREAD_EV_THINKING_DELTA:
		on_text(m, ev, CRUMB_REASONING_DELTA);
		break;
	case BREAD_EV_TEXT_END:
		on_text_end(m, ev);
		break;
	case BREAD_EV_THINKING_END:
		part_end(m, part_at(m, ev->index), ev);
		break;
	case BREAD_EV_CALL_START:
		on_call_start(m, ev);
		break;
	case BREAD_EV_CALL_DELTA:
		on_call_delta(m, ev);
		break;
	case BREAD_EV_CALL_END:
		on_call_end(m, ev);
		break;
	case BREAD_EV_FILE:
		brd_model_file(m, ev);
		break;
	case BREAD_EV_DONE:
		m->reason = ev->reason;
		break;
	case BREAD_EV_ERROR:
		on_error(m, ev);
		break;
	}
}
