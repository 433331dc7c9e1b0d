/* SPDX-License-Identifier: MIT */
/* Rings: encoded frames in segments, and the marks that tie them to the log.
 *
 * Small at first and as large as needed later, so that a thousand slow runs cost some
 * pages each. Bytes never move: what does not fit goes into a further segment. A group
 * is sealed at a mark, once it is large or a second old, so a dropped group ends
 * at a mark and whoever stood in it can go on from the log. Groups are dropped when the
 * ring is over its size, or when all of them is older than two seconds (a quarter of one
 * if nobody stands in them): who is so far behind is served by the log as well. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/http.h"
#include "transport/impl.h"

#define SEGMENT_FIRST 2048
#define GROUP_FULL (RING_SEGMENT / 4 * 3)
#define GROUP_SOME 2048 /* bytes that make a group of GROUP_MS worth closing */
#define GROUP_MS 1000
#define KEEP_MS 2000
#define KEEP_UNHELD_MS 250

static struct mark *mark_at(const struct segment *s, size_t i)
{
	return (struct mark *)(s->data + s->cap) - 1 - i;
}

static size_t room(const struct segment *s)
{
	return s->cap - s->len - s->marks * sizeof(struct mark);
}

void brd_segment_unref(struct segment *s)
{
	while (s && --s->refs == 0) {
		struct segment *next = s->next;

		free(s);
		s = next;
	}
}

/* Used bytes of the newest group. */
static size_t group_used(const struct ring *r)
{
	return r->newest ? r->group_bytes - room(r->newest) : 0;
}

/* How large the next segment is: a group as the one before it was, a further
 * segment of a group twice its neighbour. */
static size_t next_cap(const struct ring *r, bool group)
{
	size_t wanted = group ? group_used(r) : 2 * r->newest->cap, cap = SEGMENT_FIRST;

	while (cap < wanted && cap < RING_SEGMENT)
		cap *= 2;
	return cap - sizeof(struct segment);
}

/* A new newest segment with room for n bytes and a mark. */
static struct segment *segment_add(struct ring *r, size_t n, bool group, int64_t first)
{
	struct segment *prev = r->newest, *s;
	size_t cap = next_cap(r, group), least = n + 8 * sizeof(struct mark);

	cap = (cap < least ? least : cap) & ~(size_t)15;
	s = brd_realloc(NULL, sizeof(*s) + cap);
	*s = (struct segment){ .refs = 1, .cap = cap, .first = first, .last = first };
	if (group) {
		s->group = prev ? prev->group + 1 : 0;
		s->born = brd_clock_mono();
	} else {
		s->group = prev->group;
		s->born = prev->born;
		s->first = prev->first;
		s->last = prev->last;
	}
	if (prev)
		prev->next = s;
	else
		r->oldest = s;
	r->newest = s;
	r->bytes += cap;
	r->group_bytes = group ? cap : r->group_bytes + cap;
	r->sealed = false;
	return s;
}

static struct segment *group_last(struct segment *s)
{
	while (s->next && s->next->group == s->group)
		s = s->next;
	return s;
}

static void drop_group(struct ring *r)
{
	struct segment *first = r->oldest, *last = group_last(first);

	for (struct segment *s = first; s != last->next; s = s->next)
		r->bytes -= s->cap;
	r->oldest = last->next;
	last->next = NULL;
	brd_segment_unref(first);
}

/* A cursor stands in the oldest group: in it are references beside the chain's own. */
static bool oldest_held(const struct ring *r)
{
	for (struct segment *s = r->oldest; s->group == r->oldest->group; s = s->next)
		if (s->refs > 1)
			return true;
	return false;
}

static void trim(struct ring *r, size_t keep)
{
	int64_t now = brd_clock_mono();

	while (r->oldest->group != r->newest->group) {
		int64_t age = now - group_last(r->oldest)->next->born;

		if (r->bytes <= keep && age <= (oldest_held(r) ? KEEP_MS : KEEP_UNHELD_MS))
			return;
		drop_group(r);
	}
}

/* The segment that has room for n more bytes and a mark. */
static struct segment *segment_for(struct topic *t, struct ring *r, size_t n)
{
	struct segment *s = r->newest;

	if (!r->sealed && room(s) >= n + sizeof(struct mark))
		return s;
	s = segment_add(r, n, r->sealed, s->last);
	trim(r, t->hub->ring_keep);
	return s;
}

static void put_mark(struct segment *s, int64_t seq)
{
	*mark_at(s, s->marks++) = (struct mark){ seq, s->len };
	s->last = seq;
}

void brd_ring_mark(struct topic *t, struct ring *r, int64_t seq)
{
	size_t used = group_used(r);

	put_mark(segment_for(t, r, 0), seq);
	if (r->oldest->group != r->newest->group)
		trim(r, t->hub->ring_keep);
	if (used >= GROUP_FULL ||
		(used >= GROUP_SOME && brd_clock_mono() - r->newest->born >= GROUP_MS))
		r->sealed = true;
}

void brd_ring_restart(struct topic *t, struct ring *r, int64_t first)
{
	put_mark(segment_add(r, 0, true, first), first);
	trim(r, t->hub->ring_keep);
}

/* ---- frames ---- */

static void frame(
	struct topic *t, const struct ring *r, const struct crumb *c, struct bread_sink *s)
{
	struct bread_crumb v;
	struct buf preview;

	if ((c->flags & BREAD_CRUMB_FILTERED) && !(r->flags & CURSOR_ALL))
		return;
	if (t->tree && (c->flags & BREAD_CRUMB_FRAME) && !r->framing->tree)
		return;
	brd_crumb_view(c, &v);
	if (!t->tree)
		v.run_id = t->run_id; /* a step's crumbs name the step */
	if (v.json.n <= t->hub->max_event || (r->flags & CURSOR_FULL)) {
		r->framing->crumb(s, &v, (r->flags & CURSOR_EXACT) != 0);
		return;
	}
	brd_buf_init(&preview, BUF_NO_LIMIT);
	brd_crumb_preview(v.public_json, c->log_id, v.seq, t->hub->max_event, &preview);
	v.json = v.public_json = brd_buf_str(&preview);
	r->framing->crumb(s, &v, (r->flags & CURSOR_EXACT) != 0);
	brd_buf_fini(&preview);
}

/* A frame goes straight into the newest segment, if it has room: the sink's buf is the
 * segment's free space. A chunk's head has a length that is known only afterwards;
 * the guess is seldom wrong. false: no room, nothing was changed. */
static bool frame_in_place(struct topic *t, struct ring *r, const struct crumb *c, size_t guess)
{
	struct segment *s = r->newest;
	bool chunked = (r->flags & CURSOR_CHUNKED) != 0;
	char head[HTTP_CHUNK_HEAD], *to = s->data + s->len;
	size_t gap = chunked ? brd_http_chunk_head(head, guess) : 0;
	struct bread_sink sink;
	size_t n, h;

	if (r->sealed || room(s) < guess + 128)
		return false;
	n = room(s) - sizeof(struct mark) - gap - 2;
	sink.buf = (struct buf){ .data = to + gap, .cap = n, .limit = n - 1 };
	frame(t, r, c, &sink);
	n = sink.buf.len;
	if (sink.buf.bad || n == 0)
		return !sink.buf.bad;
	if (chunked) {
		h = brd_http_chunk_head(head, n);
		if (h > gap + 1)
			return false;
		if (h != gap)
			memmove(to + h, to + gap, n);
		memcpy(to, head, h);
		memcpy(to + h + n, "\r\n", 2);
		n += h + 2;
	}
	s->len += n;
	return true;
}

static void encode(struct topic *t, const struct ring *r, const struct crumb *c, struct buf *out)
{
	struct bread_sink sink;
	char head[HTTP_CHUNK_HEAD];

	brd_buf_init(&sink.buf, BUF_NO_LIMIT);
	frame(t, r, c, &sink);
	if (sink.buf.len && (r->flags & CURSOR_CHUNKED)) {
		brd_buf_addn(out, head, brd_http_chunk_head(head, sink.buf.len));
		brd_buf_add(out, brd_buf_str(&sink.buf));
		brd_buf_addn(out, "\r\n", 2);
	} else {
		brd_buf_add(out, brd_buf_str(&sink.buf));
	}
	brd_buf_fini(&sink.buf);
}

void brd_ring_crumb(struct topic *t, struct ring *r, const struct crumb *c)
{
	struct segment *s;
	struct buf bytes;

	if (frame_in_place(t, r, c, c->json.n + 64))
		return;
	brd_buf_init(&bytes, BUF_NO_LIMIT);
	encode(t, r, c, &bytes);
	if (bytes.len) {
		s = segment_for(t, r, bytes.len);
		memcpy(s->data + s->len, bytes.data, bytes.len);
		s->len += bytes.len;
	}
	brd_buf_fini(&bytes);
}

size_t brd_ring_frame_len(struct topic *t, const struct ring *r, const struct crumb *c)
{
	struct buf bytes;
	size_t n;

	brd_buf_init(&bytes, BUF_NO_LIMIT);
	encode(t, r, c, &bytes);
	n = bytes.len;
	brd_buf_fini(&bytes);
	return n;
}

/* ---- finding ---- */

static bool find_in(const struct segment *s, int64_t seq, size_t *ret_at)
{
	size_t lo = 0, hi = s->marks;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (mark_at(s, mid)->seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == s->marks || mark_at(s, lo)->seq != seq)
		return false;
	*ret_at = mark_at(s, lo)->at;
	return true;
}

/* The newest place that has the number: a publisher that began again repeats it. */
bool brd_ring_find(const struct ring *r, int64_t seq, struct segment **ret, size_t *ret_at)
{
	bool found = false;

	for (struct segment *s = r->oldest; s; s = s->next) {
		if (!s->marks || mark_at(s, 0)->seq > seq || s->last < seq)
			continue;
		if (find_in(s, seq, ret_at)) {
			*ret = s;
			found = true;
		}
	}
	return found;
}

/* ---- life ---- */

struct ring *brd_ring_new(struct topic *t, const struct bread_framing *f, unsigned flags)
{
	struct ring *r = brd_alloc(sizeof(*r));

	r->framing = f;
	r->flags = flags;
	put_mark(segment_add(r, 0, true, t->head), t->head);
	for (size_t i = 0; i < t->since_count; i++)
		brd_ring_crumb(t, r, t->since[i]);
	brd_list_push(&t->rings, &r->link);
	return r;
}

void brd_ring_free(struct ring *r)
{
	struct segment *s = r->oldest;

	/* A cursor of another ring never stands here, and this one's are all gone. */
	brd_list_remove(&r->link);
	brd_segment_unref(s);
	free(r);
}
