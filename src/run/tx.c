/* SPDX-License-Identifier: MIT */
/* The transaction of a turn: everything that a run decided since the last one.
 *
 * A run has one being filled and at most one on its way, so its rows become true
 * in the order in which they were decided, and a failed one can be tried again
 * without overtaking. Its records borrow from the runs' arenas, from the crumbs
 * it holds, and from its own arena.
 *
 * A conflict means that another owner has the tree: it stops here, without a word
 * (contract C1); in the first one, that the run cannot begin: its caller is told why.
 * Any other failure is tried again for some seconds; after that its caller is told
 * STORE_FAILED, and the run stays in the store, to be taken up. */
#include <stdlib.h>
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/choke.h"
#include "run/node.h"
#include "run/tree.h"
#include "run/tx.h"

#define TRIES_MAX 7
#define AGAIN_MS 50 /* twice as long each time: over six seconds in all */

static void on_committed(struct bread_op *op);

static struct run_tx *tx_new(struct tree *t)
{
	struct run_tx *x = brd_alloc(sizeof(*x));

	x->tree = t;
	x->number = ++t->tx_made;
	brd_list_init(&x->launches);
	return x;
}

static struct run_tx *tx_of(struct run *r)
{
	struct tree *t = r->tree;

	if (!t->tx)
		t->tx = tx_new(t);
	r->tx_last = t->tx->number;
	return t->tx;
}

struct bread_rec *brd_tx_add(struct run *r, enum bread_rec_kind kind)
{
	struct run_tx *x = tx_of(r);
	struct bread_rec *rec;

	if (x->tx.count == x->room) {
		x->room = x->room ? x->room * 2 : 8;
		x->tx.recs = brd_realloc(x->tx.recs, x->room * sizeof(*rec));
	}
	rec = &x->tx.recs[x->tx.count++];
	memset(rec, 0, sizeof(*rec));
	rec->kind = kind;
	brd_tree_dirty(r->tree);
	return rec;
}

struct bread_str brd_tx_copy(struct run *r, struct bread_str s)
{
	struct run_tx *x = tx_of(r);

	x->bytes += s.n;
	return brd_arena_copy(&x->arena, s);
}

void brd_tx_hold(struct run *r, struct crumb *c)
{
	struct run_tx *x = tx_of(r);

	if (x->held_count == x->held_room) {
		x->held_room = x->held_room ? x->held_room * 2 : 8;
		x->held = brd_realloc(x->held, x->held_room * sizeof(*x->held));
	}
	x->held[x->held_count++] = (struct held){ brd_crumb_ref(c), r };
	x->bytes += c->json.n;
}

void brd_tx_free(struct run_tx *x)
{
	if (!x)
		return;
	for (struct list *l; (l = brd_list_pop(&x->launches));)
		;
	for (size_t i = 0; i < x->held_count; i++)
		brd_crumb_unref(x->held[i].crumb);
	free(x->held);
	free(x->tx.recs);
	brd_arena_fini(&x->arena);
	free(x);
}

static void start(struct run_tx *x)
{
	struct tree *t = x->tree;

	bread_op_init(&x->tx.op, t->loop, on_committed, x);
	x->tx.fence = x->first ? (struct bread_str){ 0 } : t->root->base.run_id;
	x->tx.fence_epoch = t->epoch;
	brd_tree_hold(t);
	brd_store_commit(t->env->store, &x->tx);
}

void brd_tx_submit(struct tree *t)
{
	struct run_tx *x = t->tx;

	if (!x || t->flying || t->lost)
		return;
	t->tx = NULL;
	t->flying = x;
	x->first = x->number == 1 && t->fresh;
	start(x);
}

size_t brd_tx_bytes(const struct tree *t)
{
	return (t->tx ? t->tx->bytes : 0) + (t->flying ? t->flying->bytes : 0);
}

static void launch_all(struct run_tx *x)
{
	for (struct list *l; (l = brd_list_pop(&x->launches));) {
		struct node *n = brd_list_of(l, struct node, launch);

		if (n->end != END_NONE)
			continue;
		if (n->run->cancelled)
			brd_node_end(n, END_CANCELED);
		else
			n->ops->launch(n);
	}
}

static void try_again(struct timer *timer)
{
	struct tree *t = brd_list_of(timer, struct tree, again);

	start(t->flying);
	brd_tree_release(t);
}

void brd_tx_abandon(struct tree *t)
{
	if (!brd_timer_active(&t->again))
		return;
	brd_timer_stop(&t->again);
	brd_tx_free(t->flying);
	t->flying = NULL;
	brd_tree_release(t);
}

/* What was tried before may have been done after all: then it is our own row that is in the way,
 * and the run is found and taken up as one that nobody works on. */
static void on_conflict(struct tree *t, const struct run_tx *x)
{
	const struct bread_err *e = &x->tx.op.err;

	if (x->first && !t->store_tries) {
		brd_tree_lose(t, e->name[0] ? e->name : "RUN_EXISTS", e->text);
		return;
	}
	log_warn("run.lost", "run %s has another owner now; this process stops working on it",
		t->root->id);
	brd_tree_lose(t, NULL, NULL);
}

/* true: it is tried again later. */
static bool on_trouble(struct tree *t, const struct run_tx *x)
{
	const struct bread_err *e = &x->tx.op.err;

	if (x->tx.op.code == BREAD_E_CONFLICT) {
		on_conflict(t, x);
		return false;
	}
	if (t->store_tries < TRIES_MAX) {
		log_warn("run.store", "run %s could not be written (%s); trying again", t->root->id,
			e->text);
		brd_tree_hold(t);
		brd_timer_start(&t->again, t->loop, AGAIN_MS << t->store_tries++, try_again);
		return true;
	}
	log_error("run.store",
		"run %s could not be written and stops here (%s); it is taken up when the store "
		"works",
		t->root->id, e->text);
	brd_tree_lose(t, "STORE_FAILED", e->text);
	return false;
}

static void note_stored(struct tree *t, const struct run_tx *x)
{
	t->store_tries = 0;
	t->tx_done = x->number;
	for (size_t i = 0; i < x->held_count; i++) {
		x->held[i].run->stored = x->held[i].crumb->seq;
		if (x->held[i].crumb->tree_seq)
			t->stored = x->held[i].crumb->tree_seq;
	}
	brd_tree_stored(t);
}

static void on_committed(struct bread_op *op)
{
	struct run_tx *x = op->arg;
	struct tree *t = x->tree;

	if (op->code != BREAD_OK && !t->lost && on_trouble(t, x)) {
		brd_tree_release(t);
		return;
	}
	t->flying = NULL;
	if (op->code == BREAD_OK)
		note_stored(t, x);
	if (!t->lost) {
		brd_choke_release(t);
		launch_all(x);
		brd_tree_unstall(t);
		brd_tree_reap(t);
	}
	brd_tree_dirty(t);
	brd_tx_free(x);
	brd_tree_release(t);
}
