/* SPDX-License-Identifier: MIT */
/* What the original's own rows say of a tree that waits (docs/store.md): a checkpoint below the
 * root says what goes on when its run has ended, and a supervisor that waits for delegations has a
 * row of its own, which nobody can answer.
 *
 * Written in the transaction that puts the tree aside, for whoever reads the store: we go by our
 * journal, and so nothing here may change what a tree does. A checkpoint that somebody answers at
 * that moment is gone, and stays so. The id of a supervisor's row is derived from its run and turn:
 * it is the same however often the tree is put aside. */
#include <stdio.h>
#include "base/clock.h"
#include "base/sha256.h"
#include "run/call.h"
#include "run/links.h"
#include "run/step.h"
#include "run/tx.h"

enum {
	LINKS_MAX = 32, /* questions of a tree; with more of them nothing is written */
	LINK_BYTES_MAX = 256 * 1024,
};

/* ---- what waits ---- */

static bool asks(const struct node *n)
{
	return n->ops == &brd_human_node && n->end == END_NONE && n->parked &&
	       !((const struct human_node *)n)->answered;
}

/* The run that a node has started, while it waits. */
static struct run *waiting_below(const struct node *n)
{
	brd_list_each(l, &n->children) {
		struct node *c = brd_list_of(l, struct node, siblings);

		if (c->run != n->run && c->end == END_NONE && c->parked)
			return c->run;
	}
	return NULL;
}

static struct run *delegated(const struct node *n)
{
	return n->ops == &brd_delegate_node && n->end == END_NONE ? waiting_below(n) : NULL;
}

/* The first call that waits for a delegation; NULL: none does. */
static const struct tool_node *first_delegation(const struct run *r)
{
	brd_list_each(l, &r->root->children) {
		const struct node *n = brd_list_of(l, struct node, siblings);

		if (delegated(n))
			return (const struct tool_node *)n;
	}
	return NULL;
}

struct row_id {
	char text[UUID_LEN + 1];
};

/* A UUIDv7 with the time of the run's own id, if that is one. */
static struct row_id row_id(const struct run *r, unsigned turn)
{
	struct row_id id;
	struct sha256 s;
	unsigned char sum[SHA256_LEN];
	char of_turn[16];
	const char *time = r->id;

	snprintf(of_turn, sizeof(of_turn), "/%u", turn);
	brd_sha256_init(&s);
	brd_sha256_add(&s, r->base.run_id);
	brd_sha256_add(&s, brd_str(of_turn));
	brd_sha256_end(&s, sum);
	if (r->base.run_id.n != UUID_LEN || r->id[8] != '-' || r->id[13] != '-' || r->id[14] != '7')
		time = "00000000-0000";
	snprintf(id.text, sizeof(id.text), "%.13s-7%02x%x-%x%02x%x-%02x%02x%02x%02x%02x%02x", time,
		sum[0], sum[1] >> 4, 8 | (sum[1] & 3), sum[2], sum[3] & 15, sum[4], sum[5], sum[6],
		sum[7], sum[8], sum[9]);
	return id;
}

static bool each_own(
	struct run *r, void (*fn)(void *arg, struct bread_str checkpoint_id), void *arg)
{
	const struct tool_node *first = r->def ? first_delegation(r) : NULL;
	bool any = false;

	brd_list_each(l, &r->root->children) {
		const struct node *n = brd_list_of(l, struct node, siblings);

		if (!asks(n))
			continue;
		any = true;
		fn(arg, brd_str(((const struct human_node *)n)->checkpoint_id));
	}
	if (first) {
		struct row_id id = row_id(r, first->turn);

		fn(arg, brd_str(id.text));
	}
	return any || first;
}

static void each_below(
	struct node *n, void (*fn)(void *arg, struct bread_str checkpoint_id), void *arg)
{
	brd_list_each(l, &n->children) {
		struct node *c = brd_list_of(l, struct node, siblings);

		if (c->end != END_NONE)
			continue;
		if (c->run != n->run)
			brd_links_of_run(c->run, fn, arg);
		else
			each_below(c, fn, arg);
	}
}

void brd_links_of_run(
	struct run *r, void (*fn)(void *arg, struct bread_str checkpoint_id), void *arg)
{
	if (!each_own(r, fn, arg))
		each_below(r->root, fn, arg);
}

/* ---- what is written ---- */

/* What goes on when this run has ended; empty: nothing that the original could go on with. */
static struct bread_str link_of(struct run *r)
{
	struct node *at = r->root->parent;
	struct bread_str link = { 0 };
	struct buf b;
	struct jsonw w;
	bool known = true;

	if (!at)
		return link;
	brd_buf_init(&b, LINK_BYTES_MAX);
	w = brd_jsonw(&b);
	if (at->ops == &brd_delegate_node) {
		const struct tool_node *t = (const struct tool_node *)at;

		brd_jw_obj(&w);
		brd_jw_kstr(&w, "kind", BRD_STR("supervisor"));
		brd_jw_kstr(&w, "checkpointId", brd_str(row_id(at->run, t->turn).text));
		brd_jw_kstr(&w, "toolCallId", t->call_id);
		brd_jw_end_obj(&w);
	} else {
		known = brd_link_frames(at, &w);
	}
	if (known && !b.bad)
		link = brd_tx_copy(r, brd_buf_str(&b));
	brd_buf_fini(&b);
	return link;
}

static void link_questions(struct run *r, struct bread_str link)
{
	brd_list_each(l, &r->root->children) {
		const struct node *n = brd_list_of(l, struct node, siblings);
		struct bread_rec *rec;

		if (!asks(n))
			continue;
		rec = brd_tx_add(r, BREAD_REC_CHECKPOINT_LINK);
		rec->key = brd_tx_copy(r, brd_str(((const struct human_node *)n)->checkpoint_id));
		rec->value = link;
	}
}

static void take_first(void *arg, struct bread_str checkpoint_id)
{
	struct row_id *id = arg;

	if (!id->text[0])
		snprintf(id->text, sizeof(id->text), "%.*s", BRD_ARG(checkpoint_id));
}

/* [{"toolCallId","childCheckpointId","subAgentId"}]: of each delegation that waits. */
static struct bread_str pending(struct run *r)
{
	struct buf b;
	struct jsonw w;
	struct bread_str text;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_arr(&w);
	brd_list_each(l, &r->root->children) {
		const struct node *n = brd_list_of(l, struct node, siblings);
		struct run *below = delegated(n);
		struct row_id first = { "" };

		if (!below)
			continue;
		brd_links_of_run(below, take_first, &first);
		brd_jw_obj(&w);
		brd_jw_kstr(&w, "toolCallId", ((const struct tool_node *)n)->call_id);
		brd_jw_kstr(&w, "childCheckpointId", brd_str(first.text));
		brd_jw_kstr(&w, "subAgentId", below->base.agent_id);
		brd_jw_end_obj(&w);
	}
	brd_jw_end_arr(&w);
	text = brd_tx_copy(r, brd_buf_str(&b));
	brd_buf_fini(&b);
	return text;
}

static void write_row(struct run *r, const struct tool_node *first, struct bread_str link)
{
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_CHECKPOINT);

	r->linked = true;
	rec->checkpoint = (struct bread_checkpoint_row){
		.id = brd_tx_copy(r, brd_str(row_id(r, first->turn).text)),
		.agent_id = r->base.agent_id,
		.run_id = r->base.run_id,
		.session_id = r->base.session_id,
		.tool_name = brd_tx_copy(r, first->name),
		.tool_call_id = brd_tx_copy(r, first->call_id),
		.schema = brd_tx_copy(r, first->args),
		.skill = r->def->skill ? brd_str(r->def->skill->id) : (struct bread_str){ 0 },
		.parent = link,
		.pending = pending(r),
		.created_at = brd_clock_wall(),
		.root_id = r->tree->root->base.run_id,
		.node = brd_tx_copy(r, brd_str(first->node.name)),
		.kind = BRD_STR("delegate"),
	};
}

static void write_run(struct run *r)
{
	const struct tool_node *first = first_delegation(r);
	struct bread_str link = link_of(r);

	if (link.n)
		link_questions(r, link);
	if (first)
		write_row(r, first, link);
	else if (r->stored_turns)
		brd_links_forget(r, r->stored_turns - 1);
}

static void count_one(void *arg, struct bread_str checkpoint_id)
{
	++*(size_t *)arg;
}

void brd_links_write(struct tree *t)
{
	size_t waiting = 0;

	brd_list_each(l, &t->runs) {
		each_own(brd_list_of(l, struct run, link), count_one, &waiting);
	}
	if (waiting > LINKS_MAX)
		return;
	brd_list_each(l, &t->runs) {
		struct run *r = brd_list_of(l, struct run, link);

		if (r->def && !r->ended)
			write_run(r);
	}
}

void brd_links_forget(struct run *r, unsigned turn)
{
	struct bread_rec *rec;

	/* of a run that was read from the store nobody here knows whether there is a row */
	if (!r->def->roster_count || (!r->linked && !r->journal) || turn + 1 != r->stored_turns)
		return;
	r->linked = false;
	rec = brd_tx_add(r, BREAD_REC_CHECKPOINT_FORGET);
	rec->key = brd_tx_copy(r, brd_str(row_id(r, turn).text));
}
