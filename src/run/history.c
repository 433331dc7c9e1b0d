/* SPDX-License-Identifier: MIT */
/* The conversation: the session's messages and this run's turns, as the model is
 * given them and as the session keeps them (docs/sessions.md).
 *
 * The turns of a run are stored at its end, in the transaction of its last crumb;
 * until then they are in the journal. So a failed run leaves its user message
 * alone, and the history always pairs every call with a result (contract C12): a cancelled
 * run stores what it had, with an error in place of each result that is missing. */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "run/call.h"
#include "run/history.h"
#include "run/life.h"
#include "run/tree.h"
#include "run/tx.h"

static const char no_result[] =
	"RUN_CANCELLED: the run was cancelled before this call had a result";

void brd_history_input(struct buf *out, struct bread_str input)
{
	if (input.n && input.p[0] == '"')
		brd_buf_add(out, input);
	else
		brd_json_quote(out, input.n ? input : BRD_STR("{}"));
}

static struct bread_message *room(struct run *r, size_t n)
{
	struct bread_message *more =
		brd_arena_array(&r->arena, r->history_count + n, sizeof(*more));

	if (r->history_count)
		memcpy(more, r->history, r->history_count * sizeof(*more));
	return more;
}

/* rows gets where each message is from. */
static int load(struct run *r, const struct bread_read *messages,
	const struct bread_message_row **rows, struct bread_err *err)
{
	r->history = room(r, messages->count + 1);
	for (size_t i = 0; i < messages->count; i++) {
		const struct bread_message_row *row = &messages->messages[i];
		struct jval content;
		int code;

		if (r->input_id[0] && brd_str_is(row->id, r->input_id))
			continue;
		code = brd_json_parse(
			&r->arena, brd_arena_copy(&r->arena, row->content), 0, &content, NULL);
		if (!code)
			code = brd_message_from_stored(&r->history[r->history_count],
				brd_arena_copy(&r->arena, row->role), content, &r->arena, err);
		if (code)
			return brd_fail(err, BREAD_E_INVALID, "session",
				"message %.*s of session %.*s cannot be read", BRD_ARG(row->id),
				BRD_ARG(r->base.session_id));
		rows[r->history_count++] = row;
	}
	r->history_known = true;
	return 0;
}

int brd_history_load(struct run *r, const struct bread_read *messages, struct bread_err *err)
{
	struct arena a = { 0 };
	const struct bread_message_row **rows =
		brd_arena_array(&a, messages->count + 1, sizeof(*rows));
	int code = load(r, messages, rows, err);

	if (!code)
		brd_history_repair(r, rows, true);
	brd_arena_fini(&a);
	return code;
}

/* ---- read when it is needed: for runs that were taken up, and those in a shared session ---- */

#define READS_MAX 10
#define AGAIN_MS 50 /* twice as long each time, up to 16 times: over five seconds in all */

struct history_read {
	struct bread_read read;
	struct node *node;
	struct timer timer;
	unsigned reads; /* that failed */
};

/* Its own turns are in the journal. In a session that others have at the same time nothing is
 * written for them. */
static void take_history(struct run *r, const struct bread_read *messages)
{
	struct arena a = { 0 };
	const struct bread_message_row **rows =
		brd_arena_array(&a, messages->count + 1, sizeof(*rows));
	bool first = r->history_before < 0;
	struct bread_err err;

	if (load(r, messages, rows, &err)) {
		r->history_known = true;
		r->history_fault = brd_run_error(
			r, "INTERNAL_ERROR", brd_arena_copy(&r->arena, brd_str(err.text)));
		brd_arena_fini(&a);
		return;
	}
	if (!first && (size_t)r->history_before < r->history_count)
		r->history_count = (size_t)r->history_before;
	brd_history_repair(r, rows, first && !r->parent);
	brd_arena_fini(&a);
	brd_history_write_repairs(r);
	if (r->input_id[0])
		brd_history_own_input(r);
	if (first)
		r->history_before = (int64_t)r->history_count - r->history_extra;
}

static void history_over(struct history_read *h)
{
	struct node *n = h->node;
	struct tree *t = n->run->tree;

	n->busy = false;
	bread_read_fini(&h->read);
	free(h);
	brd_node_wake(n);
	brd_tree_dirty(t);
	brd_tree_release(t);
}

static void read_history(struct history_read *h);

static void on_timer(struct timer *timer)
{
	struct history_read *h = brd_list_of(timer, struct history_read, timer);

	if (h->node->run->cancelled || h->node->run->tree->lost)
		history_over(h);
	else
		read_history(h);
}

/* The rest of the tree goes on meanwhile: it is not given up for one answer of the store. */
static void on_history(struct bread_op *op)
{
	struct history_read *h = op->arg;
	struct run *r = h->node->run;

	if (op->code != BREAD_OK && !r->cancelled && !r->tree->lost && h->reads < READS_MAX) {
		brd_timer_start(
			&h->timer, r->loop, AGAIN_MS << (h->reads < 4 ? h->reads : 4), on_timer);
		h->reads++;
		return;
	}
	if (op->code == BREAD_OK)
		take_history(r, &h->read);
	else if (!r->tree->lost && !r->cancelled)
		brd_tree_lose(r->tree, "STORE_FAILED", op->err.text);
	history_over(h);
}

static void read_history(struct history_read *h)
{
	struct run *r = h->node->run;

	brd_read_again(&h->read, BREAD_READ_MESSAGES, r->session_id);
	bread_op_init(&h->read.op, r->loop, on_history, h);
	brd_store_read(r->env->store, &h->read);
}

bool brd_history_ready(struct node *n)
{
	struct run *r = n->run;
	struct history_read *h;

	if (r->history_known || n->busy)
		return r->history_known;
	h = brd_alloc(sizeof(*h));
	h->node = n;
	n->busy = true;
	brd_tree_hold(r->tree);
	read_history(h);
	return false;
}

void brd_history_own_input(struct run *r)
{
	struct bread_message *m;
	struct jval v;

	r->history = room(r, 1);
	m = &r->history[r->history_count++];
	m->role = BREAD_ROLE_USER;
	m->count = 1;
	m->parts = brd_arena_alloc(&r->arena, sizeof(*m->parts));
	m->parts->kind = BREAD_PART_TEXT;
	m->parts->text = r->input.n ? r->input : BRD_STR("{}");
	if (r->input.n && r->input.p[0] == '"' && !brd_json_parse(&r->arena, r->input, 0, &v, NULL))
		m->parts->text = brd_json_str(v, &r->arena);
}

static struct model_node *turn_model(const struct run *r, unsigned turn)
{
	char name[48];

	snprintf(name, sizeof(name), "model.%u", turn);
	return (struct model_node *)brd_node_find(r->root, name);
}

static const struct bread_part *turn_result(
	const struct run *r, const struct model_node *m, size_t i)
{
	const struct node *n = m->calls[i].node;
	char name[48];

	if (!n) { /* of a run that was just read from the store */
		snprintf(name, sizeof(name), "tool.%u.%zu", m->turn, i);
		n = brd_node_find(r->root, name);
	}
	return n && n->end == END_OK ? &((const struct tool_node *)n)->result : NULL;
}

/* The assistant's message of a turn: its finished parts, empty texts left out. */
static struct bread_message said(const struct model_node *m, struct arena *a)
{
	struct bread_message msg = { .role = BREAD_ROLE_ASSISTANT };

	msg.parts = brd_arena_array(a, m->count + 1, sizeof(*msg.parts));
	for (unsigned i = 0; i < m->count; i++) {
		const struct model_part *p = &m->parts[i];
		bool blank =
			p->part.kind == BREAD_PART_TEXT || p->part.kind == BREAD_PART_REASONING;

		if (p->ended && !(blank && !p->part.text.n && !p->part.signature.n))
			msg.parts[msg.count++] = p->part;
	}
	return msg;
}

static struct bread_part unanswered(const struct bread_part *call)
{
	return (struct bread_part){
		.kind = BREAD_PART_RESULT,
		.id = call->id,
		.name = call->name,
		.text = BRD_STR(no_result),
		.failed = true,
	};
}

/* The results of a turn, in call order. all: a missing one is an error; else it is left out. */
static struct bread_message heard(
	const struct run *r, const struct model_node *m, bool all, struct arena *a)
{
	struct bread_message msg = { .role = BREAD_ROLE_TOOL };
	size_t calls = brd_model_calls(m);

	msg.parts = brd_arena_array(a, calls + 1, sizeof(*msg.parts));
	for (size_t i = 0; i < calls; i++) {
		const struct bread_part *got = turn_result(r, m, i);

		if (got)
			msg.parts[msg.count++] = *got;
		else if (all)
			msg.parts[msg.count++] = unanswered(&brd_model_call_at(m, i)->part);
	}
	return msg;
}

static struct bread_str prompt(struct run *r, struct arena *a)
{
	struct buf b;
	struct bread_str s;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_agent_def_prompt(r->def, brd_buf_str(&r->knowledge), &b);
	s = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return s;
}

void brd_history_request(
	struct run *r, const struct model_node *m, struct bread_model_request *req, struct arena *a)
{
	const struct agent_def *d = r->def;
	size_t n = r->history_count;

	req->model = brd_str(d->model);
	req->system = prompt(r, a);
	req->settings = d->settings;
	req->provider_options = d->provider_options;
	req->session_id = r->base.session_id;
	req->max_retries = d->retry.attempts ? (int)d->retry.attempts : -1;
	req->first_byte_ms = r->env->first_byte_ms;
	req->silence_ms = r->env->silence_ms;
	req->messages = brd_arena_array(a, n + 2 * (size_t)m->turn + 1, sizeof(*req->messages));
	if (n)
		memcpy(req->messages, r->history, n * sizeof(*req->messages));
	for (unsigned t = 0; t < m->turn; t++) {
		const struct model_node *before = turn_model(r, t);

		req->messages[n] = said(before, a);
		n += req->messages[n].count > 0;
		req->messages[n] = heard(r, before, true, a);
		n += req->messages[n].count > 0;
	}
	req->message_count = n;
	if (m->structured) {
		req->schema = d->output_text;
		return;
	}
	req->tools = brd_arena_array(a, d->tool_count + 1, sizeof(*req->tools));
	for (size_t i = 0; i < d->tool_count; i++)
		req->tools[req->tool_count++] =
			(struct bread_tool_offer){ brd_str(d->tools[i].leaf),
				brd_str(d->tools[i].description), d->tools[i].schema_text };
}

static void add_row(struct run *r, const char *role, struct bread_str content, int64_t now)
{
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_MESSAGE);
	char id[UUID_LEN + 1];

	brd_uuid7(id);
	rec->message = (struct bread_message_row){
		.id = brd_tx_copy(r, brd_str(id)),
		.session_id = r->base.session_id,
		.role = brd_str(role),
		.content = brd_tx_copy(r, content),
		.timestamp = now,
	};
}

static void add_message(struct run *r, const struct bread_message *msg, int64_t now)
{
	struct buf b;

	if (!msg->count)
		return;
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_message_to_stored(&b, msg);
	add_row(r, msg->role == BREAD_ROLE_TOOL ? "tool" : "assistant", brd_buf_str(&b), now);
	brd_buf_fini(&b);
}

/* What was said before the run was cancelled, marked so that readers know. */
static void add_partial(struct run *r, const struct model_node *m, int64_t now)
{
	struct buf b;
	struct jsonw w;
	bool any = false;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_arr(&w);
	for (unsigned i = 0; i < m->count; i++) {
		const struct model_part *p = &m->parts[i];
		struct bread_str text = p->ended ? p->part.text : brd_buf_str(&p->text);

		if (p->part.kind != BREAD_PART_TEXT || !text.n)
			continue;
		any = true;
		brd_jw_obj(&w);
		brd_jw_kstr(&w, "type", BRD_STR("text"));
		brd_jw_kstr(&w, "text", text);
		brd_jw_kraw(&w, "providerOptions", BRD_STR("{\"bread\":{\"interrupted\":true}}"));
		brd_jw_end_obj(&w);
	}
	brd_jw_end_arr(&w);
	if (any)
		add_row(r, "assistant", brd_buf_str(&b), now);
	brd_buf_fini(&b);
}

void brd_history_answer(struct run *r, struct bread_str json)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_quote(&b, json);
	add_row(r, "assistant", brd_buf_str(&b), brd_clock_wall());
	brd_buf_fini(&b);
}

/* Questions of the last stored turn that were never answered: the history must pair them. */
static void add_unanswered(struct run *r, int64_t now)
{
	struct model_node *m = r->stored_turns ? turn_model(r, r->stored_turns - 1) : NULL;
	size_t calls = m ? brd_model_calls(m) : 0;

	for (size_t i = 0; i < calls; i++) {
		struct bread_part part;
		struct bread_message msg = { .role = BREAD_ROLE_TOOL, .parts = &part, .count = 1 };

		if (turn_result(r, m, i))
			continue;
		part = unanswered(&brd_model_call_at(m, i)->part);
		add_message(r, &msg, now);
	}
}

void brd_history_store(struct run *r, enum history_mode mode)
{
	int64_t now = brd_clock_wall();
	struct arena a = { 0 };
	struct model_node *m;

	if (mode == HISTORY_CANCELLED)
		add_unanswered(r, now);
	for (; r->root && (m = turn_model(r, r->stored_turns)); r->stored_turns++) {
		struct bread_message assistant, tool;

		if (m->node.end != END_OK) {
			if (mode == HISTORY_CANCELLED && !m->structured)
				add_partial(r, m, now);
			break;
		}
		if (m->structured) {
			brd_history_answer(r, brd_buf_str(&r->text));
			continue;
		}
		assistant = said(m, &a);
		tool = heard(r, m, mode != HISTORY_SUSPENDED, &a);
		add_message(r, &assistant, now);
		add_message(r, &tool, now);
		if (mode != HISTORY_SUSPENDED) /* else it may go on before it leaves memory */
			brd_model_parts_clear(m);
	}
	brd_arena_fini(&a);
}

/* {"turns":N,"before":K}: N turns are in the session, behind its first K messages. */
void brd_history_journal(struct run *r)
{
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_NODE);
	char data[80];

	if (r->history_before < 0)
		r->history_before = (int64_t)r->history_count - r->history_extra;
	snprintf(data, sizeof(data), "{\"turns\":%u,\"before\":%lld}", r->stored_turns,
		(long long)r->history_before);
	rec->node = (struct bread_node_row){
		.run_id = r->base.run_id,
		.name = BRD_STR("history"),
		.kind = BRD_STR("history"),
		.state = BREAD_NODE_ENDED,
		.data = brd_tx_copy(r, brd_str(data)),
	};
}

void brd_history_late(struct run *r, const struct tool_node *t)
{
	struct bread_message msg = {
		.role = BREAD_ROLE_TOOL, .parts = (struct bread_part *)&t->result, .count = 1
	};

	if (t->turn < r->stored_turns)
		add_message(r, &msg, brd_clock_wall());
	/* what was said before somebody else answered is no part of the output */
	brd_buf_clear(&r->text);
}
