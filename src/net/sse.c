/* SPDX-License-Identifier: MIT */
/* Reading text/event-stream. What comes out does not depend on where the bytes
 * were cut, which the fuzz target checks.
 *
 * A line that lies whole in the bytes given is not copied. The data of an event
 * has the same limit as a line, or a peer could grow it line by line. The id stays
 * until another is given, as browsers have it; the name does not. */
#include "base/str.h"
#include "net/sse.h"

void brd_sse_init(struct sse_reader *r, size_t max_line,
	void (*on_event)(void *arg, const struct sse_event *ev), void *arg)
{
	memset(r, 0, sizeof(*r));
	brd_buf_init(&r->line, max_line);
	brd_buf_init(&r->data, max_line);
	brd_buf_init(&r->event, max_line);
	brd_buf_init(&r->id, max_line);
	r->max_line = max_line;
	r->on_event = on_event;
	r->arg = arg;
}

void brd_sse_fini(struct sse_reader *r)
{
	brd_buf_fini(&r->line);
	brd_buf_fini(&r->data);
	brd_buf_fini(&r->event);
	brd_buf_fini(&r->id);
}

static void dispatch(struct sse_reader *r)
{
	struct sse_event ev = { brd_buf_str(&r->event), brd_buf_str(&r->id),
		brd_buf_str(&r->data) };

	if (r->has_data)
		r->on_event(r->arg, &ev);
	r->has_data = false;
	brd_buf_clear(&r->data);
	brd_buf_clear(&r->event);
}

static void replace(struct buf *b, struct bread_str value)
{
	brd_buf_clear(b);
	brd_buf_add(b, value);
}

static void take_field(struct sse_reader *r, struct bread_str name, struct bread_str value)
{
	if (brd_str_is(name, "data")) {
		if (r->has_data)
			brd_buf_addc(&r->data, '\n');
		brd_buf_add(&r->data, value);
		r->has_data = true;
		r->bad |= r->data.bad;
	} else if (brd_str_is(name, "event")) {
		replace(&r->event, value);
	} else if (brd_str_is(name, "id") && (!value.n || !memchr(value.p, '\0', value.n))) {
		replace(&r->id, value);
	}
}

static void take_line(struct sse_reader *r, struct bread_str line)
{
	struct bread_str value = { NULL, 0 };
	const char *colon;

	if (!r->began && brd_str_starts(line, BRD_STR("\xef\xbb\xbf")))
		line = brd_sub(line, 3, line.n - 3);
	r->began = true;
	if (!line.n) {
		dispatch(r);
		return;
	}
	colon = memchr(line.p, ':', line.n);
	if (colon) {
		value = brd_sub(
			line, (size_t)(colon - line.p) + 1, line.n - (size_t)(colon - line.p) - 1);
		line.n = (size_t)(colon - line.p);
		if (value.n && value.p[0] == ' ')
			value = brd_sub(value, 1, value.n - 1);
	}
	if (line.n) /* none: a comment */
		take_field(r, line, value);
}

static size_t line_end(struct bread_str s)
{
	size_t i = 0;

	while (i < s.n && s.p[i] != '\n' && s.p[i] != '\r')
		i++;
	return i;
}

/* The first bytes of s, which hold no line end, belong to the line at work. */
static void end_line(struct sse_reader *r, struct bread_str s)
{
	if (!r->line.len) {
		take_line(r, s);
		return;
	}
	brd_buf_add(&r->line, s);
	take_line(r, brd_buf_str(&r->line));
	brd_buf_clear(&r->line);
}

bool brd_sse_feed(struct sse_reader *r, struct bread_str bytes)
{
	while (bytes.n && !r->bad) {
		size_t n;

		if (r->skip_lf) {
			r->skip_lf = false;
			if (bytes.p[0] == '\n') {
				bytes = brd_sub(bytes, 1, bytes.n - 1);
				continue;
			}
		}
		n = line_end(bytes);
		if (r->line.len + n > r->max_line) {
			r->bad = true;
		} else if (n == bytes.n) {
			brd_buf_add(&r->line, bytes);
			break;
		} else {
			r->skip_lf = bytes.p[n] == '\r';
			end_line(r, brd_sub(bytes, 0, n));
			bytes = brd_sub(bytes, n + 1, bytes.n - n - 1);
		}
	}
	return !r->bad;
}

void brd_sse_finish(struct sse_reader *r)
{
	if (!r->bad && r->line.len)
		end_line(r, (struct bread_str){ NULL, 0 });
	if (!r->bad)
		dispatch(r);
}
