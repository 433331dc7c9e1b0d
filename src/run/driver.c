/* SPDX-License-Identifier: MIT */
/* The driver: takes ready nodes from a tree's queue and advances them, and settles
 * a turn into one transaction.
 *
 * advance never calls advance: it ends its node or wakes others, so the C stack
 * stays flat however deep the tree is. Entry points (events, ends of operations,
 * timers) only change nodes and wake them; the work is done once, at the end of
 * the loop's turn. */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/life.h"
#include "run/node.h"
#include "run/tree.h"
#include "run/tx.h"

#define CHILDREN_FEW 16 /* that many are found faster one by one */

/* ---- the trees of a loop that want settling at the end of its turn ---- */

struct tree_loop {
	struct loop_hook hook;
	struct list dirty;
};

static void settle(struct tree *t)
{
	if (t->phase == RUN_ENDED)
		return;
	if (!t->lost) {
		brd_tree_drive(t);
		brd_tx_submit(t);
	}
	brd_tree_check_end(t);
}

static void on_turn(struct loop_hook *h)
{
	struct tree_loop *tl = brd_list_of(h, struct tree_loop, hook);
	struct list now;

	brd_list_init(&now);
	brd_list_splice(&now, &tl->dirty);
	for (struct list *l; (l = brd_list_pop(&now));) {
		struct tree *t = brd_list_of(l, struct tree, dirty);

		settle(t);
		brd_tree_release(t);
	}
}

static void *tree_loop_make(struct loop *l)
{
	struct tree_loop *tl = brd_alloc(sizeof(*tl));

	brd_list_init(&tl->dirty);
	tl->hook.run = on_turn;
	brd_loop_hook(l, &tl->hook);
	return tl;
}

static void tree_loop_free(void *thing)
{
	struct tree_loop *tl = thing;

	brd_loop_unhook(&tl->hook);
	free(tl);
}

void brd_tree_dirty(struct tree *t)
{
	static const char key;
	struct tree_loop *tl;

	if (brd_list_linked(&t->dirty))
		return;
	tl = brd_loop_local(t->loop, &key, tree_loop_make, tree_loop_free);
	brd_tree_hold(t);
	brd_list_push(&tl->dirty, &t->dirty);
	brd_loop_mark(t->loop);
}

/* ---- nodes ---- */

/* Names are looked up among the nodes of one run; they stay until their parent goes. */
static void note_name(struct node *parent, struct node *n)
{
	if (n->run != parent->run)
		return;
	if (parent->by_name)
		brd_map_put(parent->by_name, brd_str(n->name), n);
	if (++parent->own != CHILDREN_FEW)
		return;
	parent->by_name = brd_alloc(sizeof(*parent->by_name));
	brd_list_each(l, &parent->children) {
		struct node *c = brd_list_of(l, struct node, siblings);

		if (c->run == parent->run)
			brd_map_put(parent->by_name, brd_str(c->name), c);
	}
}

static struct node *node_new(
	struct run *r, struct node *parent, const struct node_ops *ops, const char *name)
{
	struct node *n = brd_alloc(ops->size);

	n->ops = ops;
	n->run = r;
	n->parent = parent;
	n->name = brd_arena_strz(&r->arena, brd_str(name));
	brd_list_init(&n->children);
	if (!parent)
		return n;
	brd_list_push(&parent->children, &n->siblings);
	note_name(parent, n);
	return n;
}

struct node *brd_node_root(
	struct run *r, struct node *at, const struct node_ops *ops, const char *name)
{
	r->root = node_new(r, at, ops, name);
	return r->root;
}

struct node *brd_node_find(const struct node *parent, const char *name)
{
	if (parent->by_name)
		return brd_map_get(parent->by_name, brd_str(name));
	/* the youngest are asked for most: from the end */
	for (struct list *l = parent->children.prev; l != &parent->children; l = l->prev) {
		struct node *n = brd_list_of(l, struct node, siblings);

		if (n->run == parent->run && !strcmp(n->name, name))
			return n;
	}
	return NULL;
}

bool brd_node_written(const struct run *r, const char *name)
{
	return r->journal && brd_map_get(&r->journal->by_name, brd_str(name));
}

/* What the journal has of a node that is only made now. */
static void load(struct node *n)
{
	struct journal *journal = n->run->journal;
	const struct journal_row *own =
		journal ? brd_map_del(&journal->by_name, brd_str(n->name)) : NULL;
	struct jval data = { 0 };

	if (!own || !n->ops->load)
		return;
	if (own->row.data.n)
		brd_json_parse(&n->run->arena, own->row.data, 0, &data, NULL);
	n->ops->load(n, own->row.state, data);
}

struct node *brd_node_child(struct node *parent, const struct node_ops *ops, const char *fmt, ...)
{
	char name[NODE_NAME_MAX];
	va_list ap;
	struct node *n;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	n = brd_node_find(parent, name);
	if (n) {
		brd_assert(n->ops == ops);
		return n;
	}
	n = node_new(parent->run, parent, ops, name);
	load(n);
	brd_node_wake(n);
	return n;
}

void brd_node_wake(struct node *n)
{
	if (n->end != END_NONE || brd_list_linked(&n->ready))
		return;
	brd_list_push(&n->run->tree->queue, &n->ready);
	brd_tree_dirty(n->run->tree);
}

enum flow brd_node_end(struct node *n, enum node_end end)
{
	brd_assert(n->end == END_NONE && end != END_NONE);
	log_trace("run.node", "run %s: %s ended (%d)", n->run->id, n->name, end);
	n->end = end;
	n->parked = false;
	/* whatever woke it: the run is at work again, and so are those above it */
	if (n->run->status == BREAD_RUN_SUSPENDED && n->run->root)
		brd_node_unpark(n->run->root);
	brd_list_remove(&n->ready);
	brd_list_remove(&n->launch);
	brd_list_remove(&n->stall);
	if (n->parent)
		brd_node_wake(n->parent);
	return FLOW_WAIT;
}

enum flow brd_node_fail(struct node *n, const struct run_error *e)
{
	struct arena *a = &n->run->arena;

	n->error.code = brd_arena_copy(a, e->code);
	n->error.message = brd_arena_copy(a, e->message);
	n->error.context = brd_arena_copy(a, e->context);
	return brd_node_end(n, END_FAILED);
}

enum flow brd_node_park(struct node *n)
{
	if (n->parked || (!n->parent && n->run->tree->hearing))
		return FLOW_WAIT; /* answers are being read: it is woken when they are */
	n->parked = true;
	if (n == n->run->root)
		brd_run_suspend(n->run);
	if (n->parent)
		brd_node_wake(n->parent);
	return FLOW_WAIT;
}

void brd_node_unpark(struct node *n)
{
	for (; n; n = n->parent) {
		if (n == n->run->root && n->run->status == BREAD_RUN_SUSPENDED)
			brd_run_unsuspend(n->run);
		n->parked = false;
		brd_node_wake(n);
	}
}

void brd_node_journal(struct node *n, enum bread_node_state state, struct bread_str data)
{
	struct run *r = n->run;
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_NODE);

	rec->node = (struct bread_node_row){
		.run_id = r->base.run_id,
		.name = brd_str(n->name),
		.kind = brd_str(n->ops->kind),
		.state = state,
		.data = brd_tx_copy(r, data),
	};
}

void brd_node_launch(struct node *n)
{
	struct tree *t = n->run->tree;

	if (t->tx)
		brd_list_push(&t->tx->launches, &n->launch);
	else if (t->flying)
		brd_list_push(&t->flying->launches, &n->launch);
	else
		n->ops->launch(n);
}

bool brd_node_stall(struct node *n)
{
	struct tree *t = n->run->tree;

	if (brd_tx_bytes(t) <= RUN_BACKLOG)
		return false;
	if (!brd_list_linked(&n->stall))
		brd_list_push(&t->stalled, &n->stall);
	return true;
}

void brd_tree_unstall(struct tree *t)
{
	struct list now;

	brd_list_init(&now);
	brd_list_splice(&now, &t->stalled);
	for (struct list *l; (l = brd_list_pop(&now));)
		brd_node_wake(brd_list_of(l, struct node, stall));
}

void brd_node_free(struct node *n)
{
	if (!n)
		return;
	for (struct list *l; (l = brd_list_pop(&n->children));)
		brd_node_free(brd_list_of(l, struct node, siblings));
	if (n->by_name)
		brd_map_fini(n->by_name);
	free(n->by_name);
	if (n->ops->fini)
		n->ops->fini(n);
	brd_hook_run_free(n->hook);
	brd_list_remove(&n->siblings);
	brd_list_remove(&n->ready);
	brd_list_remove(&n->launch);
	brd_list_remove(&n->stall);
	free(n);
}

void brd_tree_drive(struct tree *t)
{
	char note[200];

	for (struct list *l; (l = brd_list_pop(&t->queue));) {
		struct node *n = brd_list_of(l, struct node, ready);

		snprintf(note, sizeof(note), "run %s, node %s", n->run->id, n->name);
		brd_assert_context(note);
		log_trace("run.step", "run %s: %s", n->run->id, n->name);
		while (n->end == END_NONE && n->ops->advance(n) == FLOW_AGAIN)
			;
	}
	brd_assert_context(NULL);
}

void brd_node_cancel(struct node *n)
{
	n->run->cancelled = true;
	brd_list_each(l, &n->children) {
		brd_node_cancel(brd_list_of(l, struct node, siblings));
	}
	if (n->end != END_NONE)
		return;
	if (n->ops->cancel)
		n->ops->cancel(n);
	if (n->hook && n->busy)
		bread_op_cancel(&n->hook->op);
	brd_node_wake(n);
}

void brd_node_cancel_runs(struct node *n)
{
	brd_list_each(l, &n->children) {
		struct node *c = brd_list_of(l, struct node, siblings);

		if (c->run == n->run) {
			brd_node_cancel_runs(c);
		} else if (c->end == END_NONE) {
			brd_node_cancel(c);
			brd_node_unpark(c);
		}
	}
}
