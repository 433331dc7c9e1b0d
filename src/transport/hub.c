/* SPDX-License-Identifier: MIT */
/* The hub and its topics: the publisher's side.
 *
 * A topic lives as long as somebody holds it. References are counted under the
 * hub's lock, so that looking one up and letting the last one go cannot meet. A
 * publish encodes the crumb once for each ring while it holds the topic's lock;
 * there is nothing else under that lock that takes time. */
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "transport/impl.h"

#define SINCE_KEEP 64 /* places kept for the next window */

struct hub *brd_hub_new(size_t ring_keep)
{
	struct hub *h = brd_alloc(sizeof(*h));

	h->ring_keep = ring_keep ? ring_keep : RING_KEEP;
	brd_hub_configure(h, 0, true);
	pthread_mutex_init(&h->lock, NULL);
	return h;
}

void brd_hub_configure(struct hub *h, size_t max_event, bool filtering)
{
	h->max_event = max_event ? max_event : 1 << 20;
	h->filtering = filtering;
}

size_t brd_hub_max_event(const struct hub *h)
{
	return h->max_event;
}

void brd_hub_free(struct hub *h)
{
	if (!h)
		return;
	brd_assert(h->topics.count == 0 && h->trees.count == 0);
	brd_map_fini(&h->topics);
	brd_map_fini(&h->trees);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

size_t brd_hub_topics(struct hub *h)
{
	size_t n;

	pthread_mutex_lock(&h->lock);
	n = h->topics.count + h->trees.count;
	pthread_mutex_unlock(&h->lock);
	return n;
}

/* ---- topics ---- */

static struct map *topics_of(struct hub *h, bool tree)
{
	return tree ? &h->trees : &h->topics;
}

static struct topic *topic_new(struct hub *h, struct bread_str run_id, bool tree)
{
	struct topic *t = brd_alloc(sizeof(*t));

	t->hub = h;
	t->run_id = (struct bread_str){ brd_strndup(run_id), run_id.n };
	t->tree = tree;
	pthread_mutex_init(&t->lock, NULL);
	brd_list_init(&t->rings);
	brd_list_init(&t->readers);
	return t;
}

static void clear_since(struct topic *t)
{
	for (size_t i = 0; i < t->since_count; i++)
		brd_crumb_unref(t->since[i]);
	t->since_count = 0;
	if (t->since_cap > SINCE_KEEP) {
		t->since_cap = SINCE_KEEP;
		t->since = brd_realloc(t->since, t->since_cap * sizeof(struct crumb *));
	}
}

static void topic_free(struct topic *t)
{
	brd_assert(brd_list_empty(&t->rings) && brd_list_empty(&t->readers));
	clear_since(t);
	free(t->since);
	brd_arena_fini(&t->arena);
	pthread_mutex_destroy(&t->lock);
	free((char *)t->run_id.p);
	free(t);
}

struct topic *brd_topic_get(struct hub *h, struct bread_str run_id, bool tree)
{
	struct topic *t;

	pthread_mutex_lock(&h->lock);
	t = brd_map_get(topics_of(h, tree), run_id);
	if (!t) {
		t = topic_new(h, run_id, tree);
		brd_map_put(topics_of(h, tree), t->run_id, t);
	}
	t->refs++;
	pthread_mutex_unlock(&h->lock);
	return t;
}

struct topic *brd_topic_peek(struct hub *h, struct bread_str run_id, bool tree)
{
	struct topic *t;

	pthread_mutex_lock(&h->lock);
	t = brd_map_get(topics_of(h, tree), run_id);
	if (t)
		t->refs++;
	pthread_mutex_unlock(&h->lock);
	return t;
}

struct topic *brd_topic_ref(struct topic *t)
{
	pthread_mutex_lock(&t->hub->lock);
	t->refs++;
	pthread_mutex_unlock(&t->hub->lock);
	return t;
}

void brd_topic_unref(struct topic *t)
{
	struct hub *h;
	bool last;

	if (!t)
		return;
	h = t->hub;
	pthread_mutex_lock(&h->lock);
	last = --t->refs == 0;
	if (last)
		brd_map_del(topics_of(h, t->tree), t->run_id);
	pthread_mutex_unlock(&h->lock);
	if (last)
		topic_free(t);
}

/* ---- publishing ---- */

void brd_topic_begin(struct topic *t, int64_t head)
{
	pthread_mutex_lock(&t->lock);
	clear_since(t);
	t->head = head;
	t->state = TOPIC_LIVE;
	t->failed = false;
	brd_list_each(it, &t->rings)
		brd_ring_restart(t, brd_list_of(it, struct ring, link), head);
	brd_readers_wake(t, 0);
	pthread_mutex_unlock(&t->lock);
}

static void mark(struct topic *t, int64_t seq)
{
	clear_since(t);
	t->head = seq;
	brd_list_each(it, &t->rings)
		brd_ring_mark(t, brd_list_of(it, struct ring, link), seq);
}

static void remember(struct topic *t, struct crumb *c)
{
	if (t->since_count == t->since_cap) {
		t->since_cap = t->since_cap ? 2 * t->since_cap : 8;
		t->since = brd_realloc(t->since, t->since_cap * sizeof(struct crumb *));
	}
	t->since[t->since_count++] = brd_crumb_ref(c);
}

void brd_topic_publish(struct topic *t, struct crumb *c, int64_t seq)
{
	pthread_mutex_lock(&t->lock);
	brd_assert(t->state == TOPIC_LIVE);
	brd_list_each(it, &t->rings)
		brd_ring_crumb(t, brd_list_of(it, struct ring, link), c);
	if (c->flags & BREAD_CRUMB_DURABLE)
		mark(t, seq);
	else
		remember(t, c);
	brd_readers_wake(t, c->json.n);
	pthread_mutex_unlock(&t->lock);
}

void brd_topic_mark(struct topic *t, int64_t seq)
{
	pthread_mutex_lock(&t->lock);
	brd_assert(t->state == TOPIC_LIVE);
	mark(t, seq);
	brd_readers_wake(t, 0);
	pthread_mutex_unlock(&t->lock);
}

static void keep_failure(struct topic *t, const struct bread_failure *f)
{
	t->failed = f != NULL;
	if (!f)
		return;
	t->failure = (struct bread_failure){
		.agent_id = brd_arena_copy(&t->arena, f->agent_id),
		.run_id = brd_arena_copy(&t->arena, f->run_id),
		.code = brd_arena_copy(&t->arena, f->code),
		.message = brd_arena_copy(&t->arena, f->message),
		.context = brd_arena_copy(&t->arena, f->context),
		.timestamp = f->timestamp,
	};
}

void brd_topic_end(struct topic *t, bool terminal, const struct bread_failure *failure)
{
	pthread_mutex_lock(&t->lock);
	clear_since(t);
	t->state = terminal ? TOPIC_ENDED : TOPIC_IDLE;
	keep_failure(t, failure);
	brd_readers_wake(t, 0);
	pthread_mutex_unlock(&t->lock);
}

int64_t brd_topic_head(struct topic *t)
{
	int64_t head;

	pthread_mutex_lock(&t->lock);
	head = t->state == TOPIC_LIVE ? t->head : -1;
	pthread_mutex_unlock(&t->lock);
	return head;
}

bool brd_topic_begun(struct topic *t)
{
	bool begun;

	pthread_mutex_lock(&t->lock);
	begun = t->state != TOPIC_NEW;
	pthread_mutex_unlock(&t->lock);
	return begun;
}
