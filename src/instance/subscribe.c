/* SPDX-License-Identifier: MIT */
/* Subscriptions: a run's crumbs as calls of a function.
 *
 * A subscription is a follower with a framing of its own, in which a frame is a
 * crumb's fields and texts as they lie in memory. So subscriptions of one run
 * share those frames as viewers share theirs, and replay, live and lag are one
 * piece of code with what the wire does. */
#include <stdlib.h>
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "crumb/crumb.h"
#include "instance/follow.h"
#include "instance/internal.h"

/* In front of each crumb's texts: type, json, where it differs public_json, and in a tree the run
 * and its path. */
struct record {
	size_t type, json, public_json, run_id, path;
	int64_t seq, tree_seq;
	uint32_t offset, offset_other;
	unsigned flags;
};

static void add(struct bread_sink *s, const struct bread_crumb *c, struct record r)
{
	r.type = c->type.n;
	r.json = c->json.n;
	r.public_json = c->public_json.p == c->json.p ? 0 : c->public_json.n;
	r.seq = c->seq;
	r.offset = c->offset;
	r.offset_other = c->offset_other;
	r.flags = c->flags;
	bread_sink_add(s, (struct bread_str){ (const char *)&r, sizeof(r) });
	bread_sink_add(s, c->type);
	bread_sink_add(s, c->json);
	bread_sink_add(s, (struct bread_str){ c->public_json.p, r.public_json });
}

static void add_record(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	add(s, c, (struct record){ 0 });
}

static void add_tree_record(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	add(s, c,
		(struct record){
			.run_id = c->run_id.n, .path = c->path.n, .tree_seq = c->tree_seq });
	bread_sink_add(s, c->run_id);
	bread_sink_add(s, c->path);
}

static const struct bread_framing records = { .name = "records", .crumb = add_record };
static const struct bread_framing tree_records = {
	.name = "tree-records", .crumb = add_tree_record, .tree = 1
};

struct bread_subscription {
	struct list link; /* in the instance's */
	struct bread *bread;
	struct follow *follow;
	struct bread_subscriber to;
	struct timer first;
	bool calling; /* freed when the call is over */
	bool gone;
	char run_id[];
};

/* The next n of the bytes at *p. */
static struct bread_str next(const char **p, size_t n)
{
	struct bread_str ret = { *p, n };

	*p += n;
	return ret;
}

/* Reads the record at p; returns its length. Of a run that is alone all crumbs are run_id's. */
static size_t read_record(const char *p, struct bread_str run_id, struct bread_crumb *ret)
{
	const char *start = p;
	struct record r;

	memcpy(&r, p, sizeof(r));
	p += sizeof(r);
	*ret = (struct bread_crumb){ .run_id = run_id,
		.seq = r.seq,
		.tree_seq = r.tree_seq,
		.offset = r.offset,
		.offset_other = r.offset_other,
		.flags = r.flags };
	ret->type = next(&p, r.type);
	ret->json = ret->public_json = next(&p, r.json);
	if (r.public_json)
		ret->public_json = next(&p, r.public_json);
	if (r.run_id)
		ret->run_id = next(&p, r.run_id);
	ret->path = next(&p, r.path);
	return (size_t)(p - start);
}

static void subscription_free(struct bread_subscription *s)
{
	pthread_mutex_lock(&s->bread->lock);
	brd_list_remove(&s->link);
	pthread_mutex_unlock(&s->bread->lock);
	brd_timer_stop(&s->first);
	brd_follow_free(s->follow);
	free(s);
}

static void give(struct bread_subscription *s, struct iovec v)
{
	for (size_t at = 0; at < v.iov_len && !s->gone;) {
		struct bread_crumb c;

		at += read_record((char *)v.iov_base + at, brd_str(s->run_id), &c);
		s->to.on_crumb(&c, s->to.arg);
	}
	if (!s->gone)
		brd_follow_advance(s->follow, v.iov_len);
}

static void say_end(struct bread_subscription *s, enum follow_state state)
{
	struct bread_err err = { 0 };

	if (state == FOLLOW_FAILED)
		brd_follow_error(s->follow, &err);
	s->gone = true;
	s->to.on_end(err.code, &err, s->to.arg);
}

static void on_ready(void *arg)
{
	struct bread_subscription *s = arg;
	enum follow_state state = FOLLOW_WAIT;
	struct iovec v;

	s->calling = true;
	while (!s->gone && (state = brd_follow_peek(s->follow, &v)) == FOLLOW_BYTES)
		give(s, v);
	if (!s->gone && state != FOLLOW_WAIT)
		say_end(s, state);
	s->calling = false;
	if (s->gone)
		subscription_free(s);
}

static void on_first(struct timer *t)
{
	on_ready(brd_list_of(t, struct bread_subscription, first));
}

static struct bread_subscription *subscribe(struct bread *b, struct bread_str run_id, int64_t after,
	bool tree, const struct bread_subscriber *to)
{
	struct follow_spec spec = { .framing = tree ? &tree_records : &records,
		.flags = CURSOR_ALL | CURSOR_FULL,
		.after = after < 0 ? 0 : after,
		.tree = tree };
	struct bread_subscription *s;
	struct loop *l = bread_here(b);

	if (run_id.n >= BREAD_RUN_ID_MAX)
		run_id.n = BREAD_RUN_ID_MAX - 1; /* nobody has that id: it is not found */
	s = brd_alloc(sizeof(*s) + run_id.n + 1);
	if (run_id.n)
		memcpy(s->run_id, run_id.p, run_id.n);
	s->to = *to;
	s->bread = b;
	pthread_mutex_lock(&b->lock);
	brd_list_push(&b->subscriptions, &s->link);
	pthread_mutex_unlock(&b->lock);
	s->follow = brd_follow_new(b, l, brd_str(s->run_id), &spec, on_ready, s);
	/* nobody is called back from inside this call */
	brd_timer_start(&s->first, l, 0, on_first);
	return s;
}

struct bread_subscription *bread_subscribe(
	struct bread *b, struct bread_str run_id, int64_t after, const struct bread_subscriber *to)
{
	return subscribe(b, run_id, after, false, to);
}

struct bread_subscription *bread_subscribe_tree(
	struct bread *b, struct bread_str root_id, int64_t after, const struct bread_subscriber *to)
{
	return subscribe(b, root_id, after, true, to);
}

void bread_unsubscribe(struct bread_subscription *s)
{
	if (!s)
		return;
	s->gone = true;
	if (!s->calling)
		subscription_free(s);
}

void brd_subscriptions_end(struct bread *b)
{
	while (!brd_list_empty(&b->subscriptions)) {
		struct bread_subscription *s =
			brd_list_of(b->subscriptions.next, struct bread_subscription, link);
		struct bread_err err;

		brd_fail_as(&err, BREAD_E_BUSY, "DRAINING", "bread",
			"the instance has stopped; the run goes on with the next one");
		s->gone = s->calling = true;
		s->to.on_end(err.code, &err, s->to.arg);
		subscription_free(s);
	}
}
