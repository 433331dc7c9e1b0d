/* SPDX-License-Identifier: MIT */
/* A tree at work hears the answers that were written for it, and wishes that one of its runs ends.
 *
 * First its row says that nobody needs to wake it any more, then the answers are read: one that
 * comes in between is read now or wakes it again. What was heard before does no harm. Until they
 * are read the tree is not put aside (brd_node_park): nobody else would look for them. */
#include <stdlib.h>
#include "base/log.h"
#include "base/mem.h"
#include "run/call.h"
#include "run/tree.h"

#define READS_MAX 7
#define AGAIN_MS 50 /* twice as long each time */

struct hearing {
	struct tree *tree;
	struct timer timer;
	unsigned reads;
	struct bread_tx tx;
	struct bread_rec rec;
	struct bread_read read;
	bool again; /* somebody called meanwhile */
};

static void over(struct hearing *h)
{
	struct tree *t = h->tree;
	bool again = h->again;

	t->hearing = NULL;
	bread_read_fini(&h->read);
	free(h);
	if (again && !t->lost)
		brd_tree_hear(t);
	if (!t->hearing && t->root->root)
		brd_node_wake(t->root->root); /* it may be put aside now */
	brd_tree_release(t);
}

static void take_in(struct tree *t, const struct bread_node_row *row)
{
	struct run *r = brd_tree_run(t, row->run_id);
	struct node *n;
	char *name;
	struct jval data;

	if (!r || !r->root || r->ended)
		return;
	if (brd_str_is(row->kind, "cancel")) {
		brd_tree_cancel_run(t, row->run_id);
		return;
	}
	name = brd_arena_strz(&r->arena, row->name);
	n = brd_node_find(r->root, name);
	if (!n || n->end != END_NONE || n->ops != &brd_human_node ||
		brd_json_parse(&r->arena, brd_arena_copy(&r->arena, row->data), 0, &data, NULL))
		return;
	n->ops->load(n, row->state, data);
	brd_node_unpark(n);
}

static void read_answers(struct hearing *h);

static void on_timer(struct timer *timer)
{
	struct hearing *h = brd_list_of(timer, struct hearing, timer);

	if (h->tree->lost)
		over(h);
	else
		read_answers(h);
}

/* Nobody else looks for them. */
static void read_again(struct hearing *h)
{
	struct tree *t = h->tree;

	if (h->reads < READS_MAX) {
		brd_timer_start(&h->timer, t->loop, AGAIN_MS << h->reads++, on_timer);
		return;
	}
	log_warn("run.hear", "answers for run %s could not be read (%s)", t->root->id,
		h->read.op.err.text);
	brd_tree_lose(t, "STORE_FAILED", h->read.op.err.text);
	over(h);
}

static void on_answers(struct bread_op *op)
{
	struct hearing *h = op->arg;
	struct tree *t = h->tree;

	if (op->code != BREAD_OK && !t->lost) {
		read_again(h);
		return;
	}
	for (size_t i = 0; op->code == BREAD_OK && i < h->read.count; i++)
		if (!t->lost && t->phase == RUN_GOING)
			take_in(t, &h->read.nodes[i]);
	over(h);
}

static void read_answers(struct hearing *h)
{
	struct tree *t = h->tree;

	brd_read_again(&h->read, BREAD_READ_ANSWERS, t->root->base.run_id);
	bread_op_init(&h->read.op, t->loop, on_answers, h);
	brd_store_read(t->env->store, &h->read);
}

static void on_heard(struct bread_op *op)
{
	struct hearing *h = op->arg;

	if (op->code == BREAD_E_CONFLICT || h->tree->lost)
		over(h); /* another owner has it */
	else
		read_answers(h); /* also after a failure: it may be true all the same */
}

void brd_hear_abandon(struct tree *t)
{
	if (!t->hearing || !brd_timer_active(&t->hearing->timer))
		return;
	brd_timer_stop(&t->hearing->timer);
	over(t->hearing);
}

void brd_tree_hear(struct tree *t)
{
	struct hearing *h = t->hearing;

	if (h) {
		h->again = true;
		return;
	}
	if (t->lost || t->phase != RUN_GOING)
		return; /* who suspends it looks for answers */
	h = brd_alloc(sizeof(*h));
	t->hearing = h;
	h->tree = t;
	brd_tree_hold(t);
	h->rec.kind = BREAD_REC_RUN_HEARD;
	h->rec.run.id = t->root->base.run_id;
	h->tx.fence = t->root->base.run_id;
	h->tx.fence_epoch = t->epoch;
	h->tx.recs = &h->rec;
	h->tx.count = 1;
	bread_op_init(&h->tx.op, t->loop, on_heard, h);
	brd_store_commit(t->env->store, &h->tx);
}
