/* SPDX-License-Identifier: MIT */
/* The runs that this instance works on.
 *
 * Each has an entry under its id: from before its first row, or from before it is
 * taken up, until it is gone. So nothing is taken up twice, and nothing that is
 * about to live here looks dead to a scan. Other threads reach a run by its id alone,
 * through a post to its loop. */
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "instance/internal.h"

/* Under the lock. */
static void entry_link(struct bread *b, struct active *a)
{
	brd_map_put(&b->active, brd_str(a->id), a);
	if (a->session_id[0] && !brd_map_get(&b->sessions, brd_str(a->session_id)))
		brd_map_put(&b->sessions, brd_str(a->session_id), a);
	b->active_count++;
}

static void entry_unlink(struct bread *b, struct active *a)
{
	brd_map_del(&b->active, brd_str(a->id));
	if (brd_map_get(&b->sessions, brd_str(a->session_id)) == a)
		brd_map_del(&b->sessions, brd_str(a->session_id));
	b->active_count--;
}

struct active *brd_active_new(
	struct bread_str id, struct bread_str session, bool composed, struct loop *l)
{
	struct active *a = brd_alloc(sizeof(*a));

	snprintf(a->id, sizeof(a->id), "%.*s", BRD_ARG(id));
	snprintf(a->session_id, sizeof(a->session_id), "%.*s", BRD_ARG(session));
	a->composed = composed;
	a->loop = l;
	return a;
}

static int over_cap(struct bread *b, struct bread_err *err)
{
	int64_t max = b->conf.concurrency.max;

	if (!max || (int64_t)b->active_count < max)
		return 0;
	brd_fail_as(err, BREAD_E_BUSY, "CONCURRENCY_LIMIT", "bread",
		"Max concurrency reached (%lld)", (long long)max);
	if (err)
		snprintf(err->context, sizeof(err->context), "{\"inFlight\":%zu,\"max\":%lld}",
			b->active_count, (long long)max);
	return BREAD_E_BUSY;
}

int brd_active_room(struct bread *b, struct bread_err *err)
{
	int r;

	pthread_mutex_lock(&b->lock);
	r = over_cap(b, err);
	pthread_mutex_unlock(&b->lock);
	return r;
}

static int session_busy(struct bread_err *err, const struct active *a, const struct active *with)
{
	brd_fail_as(err, BREAD_E_CONFLICT, "SESSION_BUSY", "bread",
		"Session \"%s\" is busy with run %s; wait for it, or cancel it", a->session_id,
		with->id);
	if (err)
		snprintf(err->context, sizeof(err->context), "{\"runId\":\"%s\"}", with->id);
	return BREAD_E_CONFLICT;
}

int brd_active_reserve(struct bread *b, struct active *a, bool alone, struct bread_err *err)
{
	struct active *with;
	int r;

	pthread_mutex_lock(&b->lock);
	with = alone ? brd_map_get(&b->sessions, brd_str(a->session_id)) : NULL;
	r = over_cap(b, err);
	if (!r && brd_map_get(&b->active, brd_str(a->id)))
		r = brd_fail_as(err, BREAD_E_CONFLICT, "RUN_EXISTS", "bread",
			"run %s exists already", a->id);
	else if (!r && with)
		r = session_busy(err, a, with);
	if (!r)
		entry_link(b, a);
	pthread_mutex_unlock(&b->lock);
	return r;
}

/* ---- what runs say of themselves (run_env) ---- */

bool brd_active_claim(
	void *arg, struct bread_str id, struct bread_str session, bool composed, struct loop *l)
{
	struct bread *b = arg;
	struct active *a = brd_active_new(id, session, composed, l);
	bool known;

	pthread_mutex_lock(&b->lock);
	known = brd_map_get(&b->active, id);
	if (!known)
		entry_link(b, a);
	pthread_mutex_unlock(&b->lock);
	if (known)
		free(a);
	return !known;
}

static void drop(struct bread *b, struct bread_str id)
{
	struct active *a;

	pthread_mutex_lock(&b->lock);
	a = brd_map_get(&b->active, id);
	if (a)
		entry_unlink(b, a);
	pthread_mutex_unlock(&b->lock);
	free(a);
}

void brd_active_unclaim(void *arg, struct bread_str id)
{
	drop(arg, id);
}

void brd_active_up(void *arg, struct tree *t)
{
	struct bread *b = arg;
	struct active *a;

	pthread_mutex_lock(&b->lock);
	a = brd_map_get(&b->active, t->root->base.run_id);
	brd_assert(a && !a->tree);
	a->tree = t;
	pthread_mutex_unlock(&b->lock);
	if (b->leaving)
		brd_tree_leave(t);
}

void brd_active_gone(void *arg, struct tree *t)
{
	struct bread *b = arg;
	struct run *r = t->root;

	drop(b, r->base.run_id);
	if (!t->lost && r->status == BREAD_RUN_SUSPENDED && !b->stopping)
		brd_cancel_suspended(b, r->base.run_id, r->cancelled || t->cancel_late);
}

/* ---- looking ---- */

bool brd_active_known(struct bread *b, struct bread_str run_id)
{
	bool known;

	pthread_mutex_lock(&b->lock);
	known = brd_map_get(&b->active, run_id);
	pthread_mutex_unlock(&b->lock);
	return known;
}

size_t brd_active_count(struct bread *b)
{
	size_t n;

	pthread_mutex_lock(&b->lock);
	n = b->active_count;
	pthread_mutex_unlock(&b->lock);
	return n;
}

void brd_active_place(struct bread *b, int n)
{
	pthread_mutex_lock(&b->lock);
	b->active_count += (size_t)n;
	pthread_mutex_unlock(&b->lock);
}

int brd_active_composed(struct bread *b, struct bread_str run_id)
{
	struct active *a;
	int composed;

	pthread_mutex_lock(&b->lock);
	a = brd_map_get(&b->active, run_id);
	composed = a ? a->composed : -1;
	pthread_mutex_unlock(&b->lock);
	return composed;
}

/* ---- a call on a tree's own loop, by its root's id ---- */

struct errand {
	struct post post;
	struct bread *b;
	void (*fn)(struct bread *b, struct tree *t, struct errand *e);
	/* It has gone meanwhile. NULL: nobody wants to know. */
	void (*missed)(struct bread *b, struct errand *e);
	char id[UUID_MAX], run_id[UUID_MAX]; /* the root's; of one of its runs */
	void (*each)(struct tree *t);
	struct waking *waking;
};

static void run_errand(struct post *p)
{
	struct errand *e = brd_list_of(p, struct errand, post);
	struct active *a;
	struct tree *t = NULL;

	pthread_mutex_lock(&e->b->lock);
	a = brd_map_get(&e->b->active, brd_str(e->id));
	if (a)
		t = a->tree;
	pthread_mutex_unlock(&e->b->lock);
	if (t)
		e->fn(e->b, t, e);
	else if (e->missed)
		e->missed(e->b, e);
	free(e);
}

static struct errand *errand_new(
	struct bread *b, void (*fn)(struct bread *b, struct tree *t, struct errand *e))
{
	struct errand *e = brd_alloc(sizeof(*e));

	e->post.run = run_errand;
	e->b = b;
	e->fn = fn;
	return e;
}

/* Under the lock. */
static void send(const struct active *a, struct errand *e)
{
	memcpy(e->id, a->id, sizeof(e->id));
	brd_loop_post(a->loop, &e->post);
}

/* false: it is not live here; the errand is the caller's. */
static bool send_to(struct bread *b, struct bread_str root_id, struct errand *e)
{
	struct active *a;
	bool live;

	pthread_mutex_lock(&b->lock);
	a = brd_map_get(&b->active, root_id);
	live = a && a->tree;
	if (live)
		send(a, e);
	pthread_mutex_unlock(&b->lock);
	return live;
}

static void do_each(struct bread *b, struct tree *t, struct errand *e)
{
	e->each(t);
}

void brd_active_each(struct bread *b, void (*fn)(struct tree *t))
{
	struct map_slot *slot;

	pthread_mutex_lock(&b->lock);
	for (size_t at = 0; brd_map_next(&b->active, &at, &slot);) {
		struct errand *e = errand_new(b, do_each);

		e->each = fn;
		send(slot->value, e);
	}
	pthread_mutex_unlock(&b->lock);
}

/* ---- cancelling ---- */

static void miss_cancel(struct bread *b, struct errand *e)
{
	brd_cancel_ask(b, brd_str(e->run_id));
}

static void do_cancel(struct bread *b, struct tree *t, struct errand *e)
{
	if (!brd_tree_cancel_run(t, brd_str(e->run_id)))
		brd_cancel_ask(b, brd_str(e->run_id)); /* it has ended, or is put aside */
}

bool brd_active_cancel(struct bread *b, struct bread_str root_id, struct bread_str run_id)
{
	struct errand *e = errand_new(b, do_cancel);
	bool live;

	snprintf(e->run_id, sizeof(e->run_id), "%.*s", BRD_ARG(run_id));
	e->missed = miss_cancel;
	live = send_to(b, root_id, e);
	if (!live)
		free(e);
	return live;
}

/* ---- answers ---- */

static void on_woken(struct post *p)
{
	struct waking *w = brd_list_of(p, struct waking, post);

	w->done(w);
}

/* Back to the loop of who asks. */
static void tell_woken(struct waking *w, int outcome)
{
	w->outcome = outcome;
	w->post.run = on_woken;
	brd_loop_post(w->loop, &w->post);
}

static void miss_answer(struct bread *b, struct errand *e)
{
	if (e->waking)
		tell_woken(e->waking, WAKE_MISSED);
}

static void do_hear(struct bread *b, struct tree *t, struct errand *e)
{
	struct waking *w = e->waking;

	if (w && t->phase != RUN_GOING) { /* whoever asks looks where it has gone */
		tell_woken(w, WAKE_MISSED);
		return;
	}
	if (w && w->on_end)
		brd_list_push(
			&t->endings, &brd_waiter_new(w->loop, w->on_end, w->end_arg)->ending.link);
	brd_tree_hear(t);
	if (w)
		tell_woken(w, WAKE_HEARD);
}

static bool hear(struct bread *b, struct bread_str root_id, struct waking *w)
{
	struct errand *e = errand_new(b, do_hear);
	bool live;

	e->waking = w;
	e->missed = miss_answer;
	live = send_to(b, root_id, e);
	if (!live)
		free(e);
	return live;
}

void brd_active_hear(struct bread *b, struct bread_str root_id)
{
	hear(b, root_id, NULL);
}

void brd_active_wake(void *arg, struct bread_str root_id, struct waking *w)
{
	struct bread *b = arg;

	if (!hear(b, root_id, w))
		tell_woken(w, brd_active_known(b, root_id) ? WAKE_MISSED : WAKE_ELSEWHERE);
}
