/* SPDX-License-Identifier: MIT */
/* The choke point: the only place that emits.
 *
 * A crumb gets its number, its log row, and its place in the queue of what goes
 * out. A numbered crumb goes out once its row is committed (so that nobody has
 * seen a number that a crash takes back); a delta goes out at once, unless something
 * before it still waits: the order is one order (contract C1, C6). What goes out
 * is seen by local listeners, then by the hub.
 *
 * In a composed tree a crumb has a number of its run and one of the tree, and goes to both logs.
 * All open windows of a tree close together, before any number is given out: so after any number of
 * the tree the live stream and its log stand at the same place (docs/decisions/002).
 *
 * What a supervisor hides of a run is dropped here, before it has a number. */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "run/choke.h"
#include "run/tx.h"

struct outgoing {
	struct list link;
	struct run *run;
	struct crumb *crumb; /* NULL: a mark */
	int64_t seq, tree_seq;
	uint64_t tx; /* goes out when this transaction is done; 0: when it is first */
};

static void publish_mark(const struct outgoing *o)
{
	brd_topic_mark(o->run->topic, o->seq);
	if (o->tree_seq)
		brd_topic_mark(o->run->tree->topic, o->tree_seq);
}

static void publish(const struct outgoing *o)
{
	struct run *r = o->run;

	if (!o->crumb) {
		publish_mark(o);
		return;
	}
	if (r->env->on_crumb && !(o->crumb->flags & BREAD_CRUMB_SURFACED))
		r->env->on_crumb(r->env->arg, o->crumb);
	atomic_fetch_add_explicit(&r->env->counts->crumbs, 1, memory_order_relaxed);
	brd_topic_publish(r->topic, o->crumb, o->crumb->seq);
	if (r->tree->topic && !(o->crumb->flags & BREAD_CRUMB_SURFACED))
		brd_topic_publish(r->tree->topic, o->crumb, o->crumb->tree_seq);
}

/* Takes the caller's reference of the crumb. */
static void send(struct outgoing now)
{
	struct tree *t = now.run->tree;
	struct outgoing *o;

	if (!now.tx && brd_list_empty(&t->out)) {
		publish(&now);
		brd_crumb_unref(now.crumb);
		return;
	}
	o = brd_alloc(sizeof(*o));
	*o = now;
	brd_list_push(&t->out, &o->link);
}

static int64_t next_of_tree(struct tree *t)
{
	return t->composed ? ++t->seq : 0;
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
		.tree_seq = c->tree_seq,
	};
	if (c->tree_seq) {
		rec->crumb.root_id = r->tree->root->base.run_id;
		rec->crumb.path = c->path;
	}
	brd_tx_hold(r, c);
}

/* One mark for all that close together: at a number between them the stream would have more than
 * the log. last: of the tree's. */
static void close_windows_of(struct run *r, bool last)
{
	struct outgoing mark = { .run = r };
	struct crumb *closed[2];
	unsigned n = brd_seq_close(&r->seq, &r->base, closed);

	brd_assert(n > 0);
	for (unsigned i = 0; i < n; i++) {
		struct crumb *c = closed[i];

		c->tree_seq = next_of_tree(r->tree);
		log_row(r, c);
		mark.seq = c->seq;
		if (last)
			mark.tree_seq = c->tree_seq;
		brd_crumb_unref(c);
	}
	send(mark);
}

void brd_choke_close_windows(struct tree *t)
{
	for (struct list *l; (l = brd_list_pop(&t->windows));)
		close_windows_of(brd_list_of(l, struct run, windows), brd_list_empty(&t->windows));
	brd_timer_stop(&t->window_timer);
}

static void on_window_age(struct timer *timer)
{
	brd_choke_close_windows(brd_list_of(timer, struct tree, window_timer));
}

/* ---- what is seen ---- */

static bool is_human(enum crumb_type t)
{
	return t == CRUMB_HUMAN_REQUIRED || t == CRUMB_HUMAN_RESUMED;
}

static bool shown(const struct run *r, enum crumb_type t)
{
	if (is_human(t) || (r->show == SHOW_ALL && !r->muted))
		return true;
	return r->show == SHOW_ENDS && !r->muted &&
	       (t == CRUMB_SUBAGENT_START || t == CRUMB_SUBAGENT_END);
}

/* Of a run whose ends alone are shown they are ends of a sub-agent. */
static enum crumb_type type_shown(const struct run *r, enum crumb_type t)
{
	if (r->show != SHOW_ENDS)
		return t;
	return t == CRUMB_RUN_START ? CRUMB_SUBAGENT_START
	       : t == CRUMB_RUN_END ? CRUMB_SUBAGENT_END
				    : t;
}

static void mark_filtered(struct run *r, struct crumb *c)
{
	if (r->env->filtered[c->type])
		c->flags |= BREAD_CRUMB_FILTERED;
	/* a pipeline's own ends are no part of what its caller is answered */
	if (r->kind == BREAD_RUN_PIPELINE &&
		(c->type == CRUMB_RUN_START || c->type == CRUMB_RUN_END ||
			c->type == CRUMB_AGENT_ERROR))
		c->flags |= BREAD_CRUMB_FRAME;
}

/* ---- numbered crumbs ---- */

void brd_choke_begin(struct run *r, struct crumb_draft *d, enum crumb_type t)
{
	brd_crumb_begin(d, type_shown(r, t), &r->base, brd_clock_wall());
}

/* Whose crumb was the last: a failure is said to come from there. */
static void note_last(struct tree *t, const struct crumb_base *base, const struct crumb *c)
{
	if (!t->composed || (c->flags & (BREAD_CRUMB_FRAME | BREAD_CRUMB_SURFACED)))
		return;
	snprintf(t->last_agent_id, sizeof(t->last_agent_id), "%.*s", BRD_ARG(base->agent_id));
	snprintf(t->last_run_id, sizeof(t->last_run_id), "%.*s", BRD_ARG(base->run_id));
}

static void number(struct run *r, struct crumb_draft *d, unsigned flags)
{
	const struct crumb_base *base = d->base;
	struct crumb *c;

	brd_choke_close_windows(r->tree);
	c = brd_crumb_seal(d, brd_seq_next(&r->seq));
	c->flags |= flags;
	if (!(flags & BREAD_CRUMB_SURFACED))
		c->tree_seq = next_of_tree(r->tree);
	mark_filtered(r, c);
	note_last(r->tree, base, c);
	log_row(r, c);
	send((struct outgoing){ .run = r, .crumb = c, .tx = r->tree->tx->number });
}

void brd_choke_emit(struct run *r, struct crumb_draft *d)
{
	if (!shown(r, d->type)) {
		brd_crumb_abandon(d);
		return;
	}
	if (d->type == CRUMB_SUBAGENT_START || d->type == CRUMB_SUBAGENT_END) {
		brd_jw_kstr(&d->w, "parentAgentId", r->parent->base.agent_id);
		brd_jw_kstr(&d->w, "subagentId", r->base.agent_id);
	}
	number(r, d, 0);
}

void brd_choke_emit_human(struct run *r, enum crumb_type t,
	void (*fill)(struct jsonw *w, const void *arg), const void *arg)
{
	struct run *root = r->tree->root;
	struct crumb_draft d;

	brd_choke_begin(r, &d, t);
	fill(&d.w, arg);
	number(r, &d, 0);
	if (r == root)
		return;
	brd_choke_begin(r, &d, t);
	fill(&d.w, arg);
	number(root, &d, BREAD_CRUMB_SURFACED);
}

/* ---- deltas ---- */

void brd_choke_delta(struct run *r, enum crumb_type t, struct bread_str delta)
{
	struct tree *tree = r->tree;
	struct crumb *c;
	bool full;

	if (!shown(r, t))
		return;
	c = brd_crumb_delta(t, &r->base, brd_clock_wall(), delta, r->seq.head);
	full = brd_seq_delta(&r->seq, c, delta);
	c->tree_seq = tree->seq;
	mark_filtered(r, c);
	if (!brd_list_linked(&r->windows))
		brd_list_push(&tree->windows, &r->windows);
	send((struct outgoing){ .run = r, .crumb = c });
	if (full)
		brd_choke_close_windows(tree);
	else if (!brd_timer_active(&tree->window_timer))
		brd_timer_start(&tree->window_timer, tree->loop, WINDOW_MS, on_window_age);
}

/* ---- out ---- */

static void outgoing_free(struct outgoing *o)
{
	brd_crumb_unref(o->crumb);
	free(o);
}

void brd_choke_release(struct tree *t)
{
	while (!brd_list_empty(&t->out)) {
		struct outgoing *o = brd_list_of(t->out.next, struct outgoing, link);

		if (o->tx > t->tx_done)
			return;
		brd_list_remove(&o->link);
		publish(o);
		outgoing_free(o);
	}
}

void brd_choke_drop(struct tree *t)
{
	for (struct list *l; (l = brd_list_pop(&t->out));)
		outgoing_free(brd_list_of(l, struct outgoing, link));
}
