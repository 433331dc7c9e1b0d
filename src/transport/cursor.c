/* SPDX-License-Identifier: MIT */
/* Cursors: the viewer's side.
 *
 * A cursor is a place in a ring and a reference to the segment it stands in. It
 * moves under the topic's lock; the bytes it was shown are read without. What a
 * cursor can be told: there is more (LIVE), it was lapped or never stood in the
 * ring (BEHIND: the log has it), nobody publishes here (IDLE), all is said (ENDED).
 * Relies on marks: any two neighbouring groups that meet at one number join
 * without a hole. */
#include "base/err.h"
#include "transport/impl.h"

static struct ring *ring_for(struct topic *t, const struct bread_framing *f, unsigned flags)
{
	if (!t->hub->filtering)
		flags |= CURSOR_ALL;
	brd_list_each(it, &t->rings) {
		struct ring *r = brd_list_of(it, struct ring, link);

		if (r->framing == f && r->flags == flags)
			return r;
	}
	return brd_ring_new(t, f, flags);
}

void brd_cursor_open(struct cursor *c, struct topic *t, const struct bread_framing *f,
	unsigned flags, struct loop *l, void (*on_ready)(struct cursor *c), void *arg)
{
	*c = (struct cursor){ .topic = brd_topic_ref(t), .on_ready = on_ready, .arg = arg };
	pthread_mutex_lock(&t->lock);
	c->ring = ring_for(t, f, flags);
	c->ring->cursors++;
	c->reader = brd_reader_get(t, l);
	brd_reader_add(c->reader, c);
	pthread_mutex_unlock(&t->lock);
}

static void leave(struct cursor *c)
{
	brd_segment_unref(c->segment);
	c->segment = NULL;
}

void brd_cursor_close(struct cursor *c)
{
	struct topic *t = c->topic;

	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	leave(c);
	if (--c->ring->cursors == 0)
		brd_ring_free(c->ring);
	pthread_mutex_unlock(&t->lock);
	brd_reader_drop(c->reader, c);
	c->topic = NULL;
	brd_topic_unref(t);
}

static void stand(struct cursor *c, struct segment *s, size_t at)
{
	s->refs++;
	leave(c);
	c->segment = s;
	c->offset = at;
}

/* What there is to say to a cursor that has all of the ring, or will never find its place there. */
static enum cursor_state rest_state(const struct topic *t)
{
	switch (t->state) {
	case TOPIC_LIVE:
		return CURSOR_LIVE;
	case TOPIC_ENDED:
		return CURSOR_ENDED;
	default:
		return CURSOR_IDLE;
	}
}

static enum cursor_state seek(struct cursor *c, int64_t after)
{
	struct topic *t = c->topic;
	struct segment *s;
	size_t at;

	c->after = after;
	if (t->state != TOPIC_NEW && brd_ring_find(c->ring, after, &s, &at)) {
		stand(c, s, at);
		return CURSOR_LIVE;
	}
	leave(c);
	if (t->state != TOPIC_NEW && after < t->head)
		return CURSOR_BEHIND;
	return rest_state(t);
}

enum cursor_state brd_cursor_seek(struct cursor *c, int64_t after)
{
	enum cursor_state state;

	pthread_mutex_lock(&c->topic->lock);
	state = seek(c, after);
	pthread_mutex_unlock(&c->topic->lock);
	return state;
}

/* Moves over segments that were read to their end. false: the chain is broken, by a lap or
 * by a publisher that went on from another number. */
static bool step(struct cursor *c)
{
	while (c->offset == c->segment->len && c->segment->next) {
		struct segment *s = c->segment, *next = s->next;

		if (next->group != s->group && next->first != s->last)
			return false;
		stand(c, next, 0);
	}
	return c->offset < c->segment->len || c->segment == c->ring->newest;
}

/* Where the log is to be read from after a broken chain. A publisher whose last marks never came
 * true began again before them: what it shows from there on is all new. */
static int64_t log_place(const struct segment *s)
{
	return s->next && s->next->first < s->last ? s->next->first : s->last;
}

enum cursor_state brd_cursor_peek(struct cursor *c, struct iovec *ret)
{
	struct topic *t = c->topic;
	enum cursor_state state = CURSOR_LIVE;

	*ret = (struct iovec){ 0 };
	pthread_mutex_lock(&t->lock);
	if (!c->segment)
		state = seek(c, c->after);
	if (c->segment && !step(c)) {
		c->after = log_place(c->segment);
		leave(c);
		state = CURSOR_BEHIND;
	}
	if (c->segment && c->offset < c->segment->len) {
		ret->iov_base = c->segment->data + c->offset;
		ret->iov_len = c->segment->len - c->offset;
	} else if (c->segment) {
		c->after = c->segment->last;
		state = rest_state(t);
	}
	pthread_mutex_unlock(&t->lock);
	return state;
}

void brd_cursor_advance(struct cursor *c, size_t n)
{
	/* Only this loop moves the cursor, and its segment is held: no lock. */
	c->offset += n;
}

/* ---- inside an open window ---- */

static bool had(const struct crumb *c, int64_t text, int64_t reasoning)
{
	bool is_text = c->type == CRUMB_TEXT_DELTA;

	return (is_text ? c->offset : c->offset_other) <= text &&
	       (is_text ? c->offset_other : c->offset) <= reasoning;
}

static void pass(struct cursor *c, size_t n)
{
	while (n) {
		size_t here = c->segment->len - c->offset;

		here = here < n ? here : n;
		c->offset += here;
		n -= here;
		if (n)
			stand(c, c->segment->next, 0);
	}
}

enum cursor_state brd_cursor_seek_exact(
	struct cursor *c, int64_t after, int64_t text, int64_t reasoning)
{
	struct topic *t = c->topic;
	enum cursor_state state;

	pthread_mutex_lock(&t->lock);
	state = seek(c, after);
	if (state == CURSOR_LIVE && t->head != after) {
		leave(c);
		state = CURSOR_BEHIND;
	}
	if (c->segment)
		for (size_t i = 0; i < t->since_count && had(t->since[i], text, reasoning); i++)
			pass(c, brd_ring_frame_len(t, c->ring, t->since[i]));
	pthread_mutex_unlock(&t->lock);
	return state;
}

bool brd_cursor_failure(const struct cursor *c, struct bread_failure *ret)
{
	struct topic *t = c->topic;
	bool failed;

	pthread_mutex_lock(&t->lock);
	failed = t->failed;
	if (failed)
		*ret = t->failure;
	pthread_mutex_unlock(&t->lock);
	return failed;
}
