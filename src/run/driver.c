/* SPDX-License-Identifier: MIT */
/* The driver: takes ready nodes from the run's queue and advances them, settles
 * a turn into one transaction, and brings a run to its end.
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
#include "run/internal.h"

/* ---- the runs of a loop that want settling at the end of its turn ---- */

struct run_loop {
	struct loop_hook hook;
	struct list dirty;
};

static void settle(struct run *r)
{
	if (r->phase == RUN_ENDED)
		return;
	if (!r->lost) {
		brd_run_drive(r);
		brd_tx_submit(r);
	}
	brd_run_check_end(r);
}

static void on_turn(struct loop_hook *h)
{
	struct run_loop *rl = brd_list_of(h, struct run_loop, hook);
	struct list now;

	brd_list_init(&now);
	brd_list_splice(&now, &rl->dirty);
	for (struct list *l; (l = brd_list_pop(&now));) {
		struct run *r = brd_list_of(l, struct run, dirty);

		settle(r);
		brd_run_release(r);
	}
}

static void *run_loop_make(struct loop *l)
{
	struct run_loop *rl = brd_alloc(sizeof(*rl));

	brd_list_init(&rl->dirty);
	rl->hook.run = on_turn;
	brd_loop_hook(l, &rl->hook);
	return rl;
}

static void run_loop_free(void *thing)
{
	struct run_loop *rl = thing;

	brd_loop_unhook(&rl->hook);
	free(rl);
}

void brd_run_dirty(struct run *r)
{
	static const char key;
	struct run_loop *rl;

	if (brd_list_linked(&r->dirty))
		return;
	rl = brd_loop_local(r->loop, &key, run_loop_make, run_loop_free);
	brd_run_hold(r);
	brd_list_push(&rl->dirty, &r->dirty);
	brd_loop_mark(r->loop);
}

/* ---- nodes ---- */

static struct node *node_new(
	struct run *r, struct node *parent, const struct node_ops *ops, const char *name)
{
	struct node *n = brd_alloc(ops->size);

	n->ops = ops;
	n->run = r;
	n->parent = parent;
	snprintf(n->name, sizeof(n->name), "%s", name);
	brd_list_init(&n->children);
	if (parent)
		brd_list_push(&parent->children, &n->siblings);
	return n;
}

struct node *brd_node_root(struct run *r, const struct node_ops *ops, const char *name)
{
	r->root = node_new(r, NULL, ops, name);
	return r->root;
}

struct node *brd_node_find(const struct node *parent, const char *name)
{
	/* the youngest are asked for most: from the end */
	for (struct list *l = parent->children.prev; l != &parent->children; l = l->prev) {
		struct node *n = brd_list_of(l, struct node, siblings);

		if (!strcmp(n->name, name))
			return n;
	}
	return NULL;
}

struct node *brd_node_child(struct node *parent, const struct node_ops *ops, const char *fmt, ...)
{
	char name[48];
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
	brd_node_wake(n);
	return n;
}

void brd_node_wake(struct node *n)
{
	if (n->end != END_NONE || brd_list_linked(&n->ready))
		return;
	brd_list_push(&n->run->queue, &n->ready);
	brd_run_dirty(n->run);
}

enum flow brd_node_end(struct node *n, enum node_end end)
{
	brd_assert(n->end == END_NONE && end != END_NONE);
	log_trace("run.node", "run %s: %s ended (%d)", n->run->id, n->name, end);
	n->end = end;
	brd_list_remove(&n->ready);
	brd_list_remove(&n->launch);
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

void brd_node_journal(struct node *n, int state, struct bread_str data)
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
	struct run *r = n->run;

	if (r->tx)
		brd_list_push(&r->tx->launches, &n->launch);
	else if (r->flying)
		brd_list_push(&r->flying->launches, &n->launch);
	else
		n->ops->launch(n);
}

void brd_node_free(struct node *n)
{
	if (!n)
		return;
	for (struct list *l; (l = brd_list_pop(&n->children));)
		brd_node_free(brd_list_of(l, struct node, siblings));
	if (n->ops->fini)
		n->ops->fini(n);
	brd_list_remove(&n->ready);
	brd_list_remove(&n->launch);
	free(n);
}

void brd_run_drive(struct run *r)
{
	char note[200];

	for (struct list *l; (l = brd_list_pop(&r->queue));) {
		struct node *n = brd_list_of(l, struct node, ready);

		snprintf(note, sizeof(note), "run %s, node %s", r->id, n->name);
		brd_assert_context(note);
		log_trace("run.step", "run %s: %s", r->id, n->name);
		while (n->end == END_NONE && n->ops->advance(n) == FLOW_AGAIN)
			;
	}
	brd_assert_context(NULL);
}

static void cancel_tree(struct node *n)
{
	brd_list_each(l, &n->children) {
		cancel_tree(brd_list_of(l, struct node, siblings));
	}
	if (n->end != END_NONE)
		return;
	if (n->ops->cancel)
		n->ops->cancel(n);
	brd_node_wake(n);
}

void brd_run_cancel(struct run *r)
{
	if (r->phase >= RUN_ENDING) {
		r->cancel_late = true;
		return;
	}
	if (r->cancelled)
		return;
	r->cancelled = true;
	if (r->root)
		cancel_tree(r->root);
	brd_run_dirty(r);
}

/* ---- the end ---- */

void brd_run_hold(struct run *r)
{
	r->calls++;
}

static void stop_leaves(struct node *n)
{
	if (!n)
		return;
	brd_list_each(l, &n->children) {
		stop_leaves(brd_list_of(l, struct node, siblings));
	}
	if (n->end == END_NONE && n->ops->cancel)
		n->ops->cancel(n);
}

void brd_run_lose(struct run *r, const char *code, const char *text)
{
	struct bread_failure f = { 0 };

	if (r->lost || r->phase == RUN_ENDED)
		return;
	r->lost = true;
	r->cancelled = true;
	stop_leaves(r->root);
	brd_tx_abandon(r);
	brd_choke_drop(r);
	brd_timer_stop(&r->window_timer);
	brd_timer_stop(&r->deadline);
	if (code) {
		f = (struct bread_failure){ .agent_id = r->base.agent_id,
			.run_id = r->base.run_id,
			.code = brd_arena_copy(&r->arena, brd_str(code)),
			.message = brd_arena_copy(&r->arena, brd_str(text)),
			.timestamp = brd_clock_wall() };
		r->error = (struct run_error){ f.code, f.message, f.context };
	}
	brd_topic_begin(r->topic, r->stored); /* marks beyond it will not come true */
	brd_topic_end(r->topic, false, code ? &f : NULL);
	r->left = !code;
	brd_run_dirty(r);
}

void brd_run_leave(struct run *r)
{
	brd_run_lose(r, NULL, NULL);
}

static bool tree_busy(const struct node *n)
{
	if (n->busy)
		return true;
	brd_list_each(l, &n->children) {
		if (tree_busy(brd_list_of(l, struct node, siblings)))
			return true;
	}
	return false;
}

/* What its caller hears of a run that stops here: it goes on elsewhere, unless nothing of it
 * was written yet. */
static enum bread_run_status status_of_lost(struct run *r)
{
	if (r->left && (!r->fresh || r->tx_done))
		return BREAD_RUN_RUNNING;
	if (r->left)
		r->error = brd_run_error(
			r, "DRAINING", BRD_STR("the server is going down; try again in a moment"));
	return BREAD_RUN_FAILED;
}

static void tell_end(struct run *r)
{
	enum bread_run_status status = r->lost ? status_of_lost(r) : r->status;
	struct bread_outcome o = {
		.run_id = r->base.run_id,
		.session_id = r->base.session_id,
		.status = status,
		.output = r->output,
		.files = r->files,
		.error_code = r->error.code,
		.error_message = r->error.message,
		.error_context = r->error.context,
	};

	if (r->on_end)
		r->on_end(&o, r->arg);
}

static void end_topic(struct run *r)
{
	struct bread_failure f = { .agent_id = r->base.agent_id,
		.run_id = r->base.run_id,
		.code = r->error.code,
		.message = r->error.message,
		.context = r->error.context,
		.timestamp = brd_clock_wall() };

	if (!r->lost)
		brd_topic_end(
			r->topic, r->status != BREAD_RUN_SUSPENDED, r->error.code.n ? &f : NULL);
}

/* Ended for good: all that was decided is committed, nothing is running. */
void brd_run_check_end(struct run *r)
{
	if (r->phase == RUN_ENDED || r->flying || r->opening)
		return;
	if (!r->lost && (r->phase != RUN_ENDING || r->tx))
		return;
	if (r->root && tree_busy(r->root))
		return;
	r->phase = RUN_ENDED;
	brd_timer_stop(&r->deadline);
	brd_timer_stop(&r->window_timer);
	end_topic(r);
	tell_end(r);
	r->env->on_gone(r->env->arg, r);
	brd_run_release(r); /* its own hold, from birth */
}

void brd_run_free(struct run *r)
{
	brd_node_free(r->root);
	brd_choke_drop(r);
	brd_tx_free(r->tx);
	brd_seq_fini(&r->seq);
	brd_topic_unref(r->topic);
	brd_agent_def_unref(r->def);
	brd_buf_fini(&r->text);
	brd_buf_fini(&r->files_json);
	brd_buf_fini(&r->output_json);
	brd_timer_stop(&r->again);
	brd_arena_fini(&r->arena);
	free(r);
}

void brd_run_release(struct run *r)
{
	brd_assert(r->calls > 0);
	if (--r->calls == 0)
		brd_run_free(r);
}
