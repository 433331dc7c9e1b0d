/* SPDX-License-Identifier: MIT */
/* The choke point: the only place that emits.
 *
 * A crumb gets its number, its log row, and its place in the queue of what goes
 * out. A numbered crumb goes out once its row is committed (so that nobody has
 * seen a number that a crash takes back); a delta goes out at once, unless something
 * before it still waits: the order is one order (contract C1, C6). What goes out
 * is seen by local listeners, then by the hub. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "run/internal.h"

struct outgoing {
	struct list link;
	struct crumb *crumb; /* NULL: a mark */
	int64_t seq;
	uint64_t tx; /* goes out when this transaction is done; 0: when it is first */
};

static void publish(struct run *r, struct crumb *c, int64_t seq)
{
	if (!c) {
		brd_topic_mark(r->topic, seq);
		return;
	}
	if (r->env->on_crumb)
		r->env->on_crumb(r->env->arg, c);
	atomic_fetch_add_explicit(&r->env->counts->crumbs, 1, memory_order_relaxed);
	brd_topic_publish(r->topic, c);
}

/* Takes the caller's reference. */
static void send(struct run *r, struct crumb *c, int64_t seq, uint64_t tx)
{
	struct outgoing *o;

	if (!tx && brd_list_empty(&r->out)) {
		publish(r, c, seq);
		brd_crumb_unref(c);
		return;
	}
	o = brd_alloc(sizeof(*o));
	o->crumb = c;
	o->seq = seq;
	o->tx = tx;
	brd_list_push(&r->out, &o->link);
}

static void log_row(struct run *r, struct crumb *c)
{
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_CRUMB);

	rec->crumb = (struct bread_crumb_row){
		.run_id = r->base.run_id,
		.session_id = r->base.session_id,
		.agent_id = r->base.agent_id,
		.type = brd_str(brd_crumb_kinds[c->type].name),
		.crumb = c->json,
		.seq = c->seq,
		.created_at = brd_clock_wall(),
	};
	brd_tx_hold(r, c);
}

void brd_choke_close_windows(struct run *r)
{
	struct crumb *closed[2];
	unsigned n = brd_seq_close(&r->seq, &r->base, closed);

	for (unsigned i = 0; i < n; i++) {
		log_row(r, closed[i]);
		send(r, NULL, closed[i]->seq, 0);
		brd_crumb_unref(closed[i]);
	}
	brd_timer_stop(&r->window_timer);
}

static void on_window_age(struct timer *t)
{
	brd_choke_close_windows(brd_list_of(t, struct run, window_timer));
}

void brd_choke_begin(struct run *r, struct crumb_draft *d, enum crumb_type t)
{
	brd_crumb_begin(d, t, &r->base, brd_clock_wall());
}

static void mark_filtered(struct run *r, struct crumb *c)
{
	if (r->env->filtered[c->type])
		c->flags |= BREAD_CRUMB_FILTERED;
}

void brd_choke_emit(struct run *r, struct crumb_draft *d)
{
	struct crumb *c;

	brd_choke_close_windows(r);
	c = brd_crumb_seal(d, brd_seq_next(&r->seq));
	mark_filtered(r, c);
	log_row(r, c);
	send(r, c, c->seq, r->tx->number);
}

void brd_choke_delta(struct run *r, enum crumb_type t, struct bread_str delta)
{
	struct crumb *c = brd_crumb_delta(t, &r->base, brd_clock_wall(), delta, r->seq.head);
	bool full = brd_seq_delta(&r->seq, c, delta);

	mark_filtered(r, c);
	send(r, c, c->seq, 0);
	if (full)
		brd_choke_close_windows(r);
	else if (!brd_timer_active(&r->window_timer))
		brd_timer_start(&r->window_timer, r->loop, WINDOW_MS, on_window_age);
}

static void outgoing_free(struct outgoing *o)
{
	brd_crumb_unref(o->crumb);
	free(o);
}

void brd_choke_release(struct run *r)
{
	while (!brd_list_empty(&r->out)) {
		struct outgoing *o = brd_list_of(r->out.next, struct outgoing, link);

		if (o->tx > r->tx_done)
			return;
		brd_list_remove(&o->link);
		publish(r, o->crumb, o->seq);
		outgoing_free(o);
	}
}

void brd_choke_drop(struct run *r)
{
	for (struct list *l; (l = brd_list_pop(&r->out));)
		outgoing_free(brd_list_of(l, struct outgoing, link));
}
