/* SPDX-License-Identifier: MIT */
/* The transaction of a turn: everything that a run decided since the last one.
 *
 * A run has one being filled and at most one on its way, so its rows become true
 * in the order in which they were decided, and a failed one can be tried again
 * without overtaking. Its records borrow from the run's arena, from the crumbs
 * it holds, and from its own arena.
 *
 * A conflict means that another owner has the run: it stops here, without a word
 * (contract C1); in the first one, that the run cannot begin: its caller is told why.
 * Any other failure is tried again for some seconds; after that its caller is told
 * STORE_FAILED, and the run stays in the store, to be taken up. */
#include <stdlib.h>
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/internal.h"

#define TRIES_MAX 7
#define AGAIN_MS 50 /* twice as long each time: over six seconds in all */

static void on_committed(struct bread_op *op);

static struct run_tx *tx_new(struct run *r)
{
	struct run_tx *t = brd_alloc(sizeof(*t));

	t->run = r;
	t->number = ++r->tx_made;
	brd_list_init(&t->launches);
	return t;
}

struct bread_rec *brd_tx_add(struct run *r, enum bread_rec_kind kind)
{
	struct run_tx *t = r->tx ? r->tx : (r->tx = tx_new(r));
	struct bread_rec *rec;

	if (t->tx.count == t->room) {
		t->room = t->room ? t->room * 2 : 8;
		t->tx.recs = brd_realloc(t->tx.recs, t->room * sizeof(*rec));
	}
	rec = &t->tx.recs[t->tx.count++];
	memset(rec, 0, sizeof(*rec));
	rec->kind = kind;
	brd_run_dirty(r);
	return rec;
}

struct bread_str brd_tx_copy(struct run *r, struct bread_str s)
{
	if (!r->tx)
		r->tx = tx_new(r);
	r->tx->bytes += s.n;
	return brd_arena_copy(&r->tx->arena, s);
}

void brd_tx_hold(struct run *r, struct crumb *c)
{
	struct run_tx *t = r->tx;

	if (t->held_count == t->held_room) {
		t->held_room = t->held_room ? t->held_room * 2 : 8;
		t->held = brd_realloc(t->held, t->held_room * sizeof(*t->held));
	}
	t->held[t->held_count++] = brd_crumb_ref(c);
	t->bytes += c->json.n;
}

void brd_tx_free(struct run_tx *t)
{
	if (!t)
		return;
	for (struct list *l; (l = brd_list_pop(&t->launches));)
		;
	for (size_t i = 0; i < t->held_count; i++)
		brd_crumb_unref(t->held[i]);
	free(t->held);
	free(t->tx.recs);
	brd_arena_fini(&t->arena);
	free(t);
}

static void start(struct run_tx *t)
{
	struct run *r = t->run;

	bread_op_init(&t->tx.op, r->loop, on_committed, t);
	t->tx.fence = t->first ? (struct bread_str){ 0 } : r->base.run_id;
	t->tx.fence_epoch = r->epoch;
	brd_run_hold(r);
	brd_store_commit(r->env->store, &t->tx);
}

void brd_tx_submit(struct run *r)
{
	struct run_tx *t = r->tx;

	if (!t || r->flying || r->lost)
		return;
	r->tx = NULL;
	r->flying = t;
	t->first = t->number == 1 && r->fresh;
	start(t);
}

size_t brd_tx_bytes(const struct run *r)
{
	return (r->tx ? r->tx->bytes : 0) + (r->flying ? r->flying->bytes : 0);
}

static void launch_all(struct run_tx *t)
{
	for (struct list *l; (l = brd_list_pop(&t->launches));) {
		struct node *n = brd_list_of(l, struct node, launch);

		if (n->end != END_NONE)
			continue;
		if (t->run->cancelled)
			brd_node_end(n, END_CANCELED);
		else
			n->ops->launch(n);
	}
}

static void try_again(struct timer *timer)
{
	struct run *r = brd_list_of(timer, struct run, again);

	start(r->flying);
	brd_run_release(r);
}

void brd_tx_abandon(struct run *r)
{
	if (!brd_timer_active(&r->again))
		return;
	brd_timer_stop(&r->again);
	brd_tx_free(r->flying);
	r->flying = NULL;
	brd_run_release(r);
}

/* What was tried before may have been done after all: then it is our own row that is in the way,
 * and the run is found and taken up as one that nobody works on. */
static void on_conflict(struct run *r, const struct run_tx *t)
{
	const struct bread_err *e = &t->tx.op.err;

	if (t->first && !r->store_tries) {
		brd_run_lose(r, e->name[0] ? e->name : "RUN_EXISTS", e->text);
		return;
	}
	log_warn("run.lost", "run %s has another owner now; this process stops working on it",
		r->id);
	brd_run_lose(r, NULL, NULL);
}

/* true: it is tried again later. */
static bool on_trouble(struct run *r, const struct run_tx *t)
{
	const struct bread_err *e = &t->tx.op.err;

	if (t->tx.op.code == BREAD_E_CONFLICT) {
		on_conflict(r, t);
		return false;
	}
	if (r->store_tries < TRIES_MAX) {
		log_warn("run.store", "run %s could not be written (%s); trying again", r->id,
			e->text);
		brd_run_hold(r);
		brd_timer_start(&r->again, r->loop, AGAIN_MS << r->store_tries++, try_again);
		return true;
	}
	log_error("run.store",
		"run %s could not be written and stops here (%s); it is taken up when the store "
		"works",
		r->id, e->text);
	brd_run_lose(r, "STORE_FAILED", e->text);
	return false;
}

static void on_committed(struct bread_op *op)
{
	struct run_tx *t = op->arg;
	struct run *r = t->run;

	if (op->code != BREAD_OK && !r->lost && on_trouble(r, t)) {
		brd_run_release(r);
		return;
	}
	r->flying = NULL;
	if (op->code == BREAD_OK) {
		r->store_tries = 0;
		r->tx_done = t->number;
		if (t->held_count)
			r->stored = t->held[t->held_count - 1]->seq;
		brd_run_stored(r);
	}
	if (!r->lost) {
		brd_choke_release(r);
		launch_all(t);
		if (r->stalled)
			brd_node_wake(r->stalled);
	}
	brd_run_dirty(r);
	brd_tx_free(t);
	brd_run_release(r);
}
