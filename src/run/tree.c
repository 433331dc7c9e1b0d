/* SPDX-License-Identifier: MIT */
/* The life of a tree of runs: made, cancelled, lost to another owner, ended.
 *
 * It leaves memory when its root has ended, or waits for humans alone, and what was decided is
 * committed. A run below the root leaves as soon as its end is. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "run/choke.h"
#include "run/life.h"
#include "run/node.h"
#include "run/tree.h"
#include "run/tx.h"

struct tree *brd_tree_new(struct run_env *env, struct loop *l)
{
	struct tree *t = brd_alloc(sizeof(*t));

	t->env = env;
	t->loop = l;
	t->calls = 1; /* its own, until it has ended */
	brd_list_init(&t->runs);
	brd_list_init(&t->ended);
	brd_list_init(&t->loaded);
	brd_list_init(&t->queue);
	brd_list_init(&t->stalled);
	brd_list_init(&t->endings);
	brd_list_init(&t->out);
	brd_list_init(&t->windows);
	return t;
}

void brd_tree_plant(struct tree *t, struct run *root)
{
	t->root = root;
	brd_list_push(&t->runs, &root->link);
	t->composed = root->pipeline || brd_agent_def_composes(root->def);
	if (!t->composed)
		return;
	root->path = brd_arena_printf(&root->arena, "[\"%.*s\"]", BRD_ARG(root->base.agent_id));
	root->base.path = root->path;
	t->topic = brd_topic_get(t->env->hub, root->base.run_id, true);
}

void brd_tree_go_live(struct tree *t, int64_t head)
{
	brd_topic_begin(t->root->topic, head);
	if (t->topic)
		brd_topic_begin(t->topic, t->seq);
}

void brd_tree_hold(struct tree *t)
{
	t->calls++;
}

static void runs_free(struct list *runs)
{
	for (struct list *l; (l = brd_list_pop(runs));)
		brd_run_free(brd_list_of(l, struct run, link));
}

static void tree_free(struct tree *t)
{
	brd_node_free(t->root->root);
	brd_choke_drop(t);
	brd_tx_free(t->tx);
	brd_topic_unref(t->topic);
	brd_timer_stop(&t->again);
	brd_timer_stop(&t->window_timer);
	runs_free(&t->loaded);
	runs_free(&t->ended);
	runs_free(&t->runs);
	free(t);
}

void brd_tree_release(struct tree *t)
{
	brd_assert(t->calls > 0);
	if (--t->calls == 0)
		tree_free(t);
}

struct run *brd_tree_run(const struct tree *t, struct bread_str run_id)
{
	brd_list_each(l, &t->runs) {
		struct run *r = brd_list_of(l, struct run, link);

		if (brd_str_eq(r->base.run_id, run_id))
			return r;
	}
	return NULL;
}

/* ---- cancelling ---- */

void brd_tree_cancel(struct tree *t)
{
	if (t->phase >= RUN_ENDING) {
		t->cancel_late = true;
		return;
	}
	if (t->root->cancelled)
		return;
	t->root->cancelled = true;
	if (t->root->root)
		brd_node_cancel(t->root->root);
	brd_tree_dirty(t);
}

bool brd_tree_cancel_run(struct tree *t, struct bread_str run_id)
{
	struct run *r = brd_tree_run(t, run_id);

	if (r == t->root) {
		brd_tree_cancel(t);
		return true;
	}
	if (!r || r->ended || t->phase >= RUN_ENDING)
		return false;
	if (!r->cancelled && r->root) {
		brd_node_cancel(r->root);
		brd_node_unpark(r->root);
	}
	return true;
}

/* ---- lost ---- */

static void lose_topics(struct tree *t, const struct bread_failure *f)
{
	brd_list_each(l, &t->runs) {
		struct run *r = brd_list_of(l, struct run, link);

		/* marks beyond it will not come true */
		brd_topic_begin(r->topic, r->stored);
		brd_topic_end(r->topic, false, r == t->root ? f : NULL);
	}
	if (!t->topic)
		return;
	brd_topic_begin(t->topic, t->stored);
	brd_topic_end(t->topic, false, f);
}

void brd_tree_lose(struct tree *t, const char *code, const char *text)
{
	struct run *r = t->root;
	struct bread_failure f;

	if (t->lost)
		return;
	t->lost = true;
	brd_timer_stop(&r->deadline);
	brd_timer_stop(&t->window_timer);
	brd_choke_drop(t);
	brd_tx_free(t->tx);
	t->tx = NULL;
	brd_tx_abandon(t);
	brd_hear_abandon(t);
	if (r->root)
		brd_node_cancel(r->root);
	if (code) {
		f = (struct bread_failure){ .agent_id = r->base.agent_id,
			.run_id = r->base.run_id,
			.code = brd_arena_copy(&r->arena, brd_str(code)),
			.message = brd_arena_copy(&r->arena, brd_str(text)),
			.timestamp = brd_clock_wall() };
		r->error = (struct run_error){ f.code, f.message, f.context };
	}
	lose_topics(t, code ? &f : NULL);
	t->left = !code;
	brd_tree_dirty(t);
}

void brd_tree_leave(struct tree *t)
{
	brd_tree_lose(t, NULL, NULL);
}

/* ---- the end ---- */

static bool nodes_busy(const struct node *n)
{
	if (n->busy)
		return true;
	brd_list_each(l, &n->children) {
		if (nodes_busy(brd_list_of(l, struct node, siblings)))
			return true;
	}
	return false;
}

/* What its caller hears of a tree that stops here: it goes on elsewhere, unless nothing of it
 * was written yet. */
static enum bread_run_status status_of_lost(struct tree *t)
{
	if (t->left && (!t->fresh || t->tx_done))
		return BREAD_RUN_RUNNING;
	if (t->left)
		t->root->error = brd_run_error(t->root, "DRAINING",
			BRD_STR("the server is going down; try again in a moment"));
	return BREAD_RUN_FAILED;
}

static void tell_end(struct tree *t)
{
	struct run *r = t->root;
	enum bread_run_status status = t->lost ? status_of_lost(t) : r->status;
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

	if (t->on_end)
		t->on_end(&o, t->arg);
	for (struct list *l; (l = brd_list_pop(&t->endings));) {
		struct ending *e = brd_list_of(l, struct ending, link);

		e->tell(e, &o);
	}
}

static void end_topics(struct tree *t)
{
	struct run *r = t->root;
	bool terminal = r->status != BREAD_RUN_SUSPENDED;
	struct bread_failure f = { .agent_id = r->base.agent_id,
		.run_id = r->base.run_id,
		.code = r->error.code,
		.message = r->error.message,
		.context = r->error.context,
		.timestamp = brd_clock_wall() };

	if (t->last_run_id[0]) { /* whose crumb was the last that its caller saw */
		f.agent_id = brd_str(t->last_agent_id);
		f.run_id = brd_str(t->last_run_id);
	}
	brd_list_each(l, &t->runs) {
		struct run *each = brd_list_of(l, struct run, link);

		brd_topic_end(
			each->topic, terminal && each == r, each == r && f.code.n ? &f : NULL);
	}
	if (t->topic)
		brd_topic_end(t->topic, terminal, f.code.n ? &f : NULL);
}

static void run_gone(struct run *r)
{
	brd_topic_end(r->topic, true, NULL);
	brd_list_remove(&r->link);
	brd_node_free(r->root);
	brd_run_free(r);
}

void brd_tree_reap(struct tree *t)
{
	brd_list_each_safe(l, &t->ended) {
		struct run *r = brd_list_of(l, struct run, link);

		if (r->tx_last <= t->tx_done && !nodes_busy(r->root))
			run_gone(r);
	}
}

bool brd_tree_held_back(struct tree *t)
{
	if (!t->env->draining)
		return false;
	t->held_back = true;
	brd_tree_dirty(t);
	return true;
}

/* Drained: what was begun has ended, and nothing more is. */
static bool drained(const struct tree *t)
{
	return t->held_back && t->phase == RUN_GOING && !t->tx && !t->flying &&
	       !nodes_busy(t->root->root);
}

/* Ended for good: all that was decided is committed, nothing is running. */
void brd_tree_check_end(struct tree *t)
{
	if (t->phase == RUN_ENDED || t->flying || t->opening)
		return;
	if (drained(t))
		brd_tree_leave(t);
	if (!t->lost && (t->phase != RUN_ENDING || t->tx))
		return;
	if (t->root->root && nodes_busy(t->root->root))
		return;
	t->phase = RUN_ENDED;
	brd_timer_stop(&t->root->deadline);
	brd_timer_stop(&t->window_timer);
	if (!t->lost)
		end_topics(t);
	tell_end(t);
	t->env->on_gone(t->env->arg, t);
	brd_tree_release(t); /* its own hold, from birth */
}
