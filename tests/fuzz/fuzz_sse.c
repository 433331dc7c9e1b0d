/* SPDX-License-Identifier: MIT */
/* Any bytes as an event stream and as lines. What is read must not depend on how
 * the bytes were cut: whole, byte by byte, and in pieces whose size is the first
 * byte. That byte also sets the limit of a line, so that limits are met. */
#include <stdlib.h>
#include "base/err.h"
#include "base/str.h"
#include "net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define HEARD_MAX ((size_t)16 << 20)

static void add_part(struct buf *b, char tag, struct bread_str s)
{
	brd_buf_addc(b, tag);
	brd_buf_addu(b, s.n);
	brd_buf_addc(b, ':');
	brd_buf_add(b, s);
}

static void on_event(void *arg, const struct sse_event *ev)
{
	add_part(arg, 'e', ev->event);
	add_part(arg, 'i', ev->id);
	add_part(arg, 'd', ev->data);
}

static void on_line(void *arg, struct bread_str line)
{
	brd_assert(line.n > 0);
	add_part(arg, 'l', line);
}

/* A copy of exactly its size, so that the sanitizer sees a read past its end. */
static char *copy_of(struct bread_str s)
{
	char *p = malloc(s.n ? s.n : 1);

	brd_assert(p);
	if (s.n)
		memcpy(p, s.p, s.n);
	return p;
}

static void read_all(struct bread_str in, size_t piece, size_t max, struct buf *heard)
{
	struct sse_reader sse;
	struct line_reader lines;
	bool sse_ok = true, lines_ok = true;

	brd_buf_init(heard, HEARD_MAX);
	brd_sse_init(&sse, max, on_event, heard);
	for (size_t at = 0; at < in.n; at += piece) {
		struct bread_str s = brd_sub(in, at, in.n - at < piece ? in.n - at : piece);
		char *p = copy_of(s);

		sse_ok = brd_sse_feed(&sse, (struct bread_str){ p, s.n });
		free(p);
	}
	brd_sse_finish(&sse);
	brd_sse_fini(&sse);
	brd_buf_addc(heard, sse_ok ? 'y' : 'n');

	brd_lines_init(&lines, max, on_line, heard);
	for (size_t at = 0; at < in.n; at += piece)
		lines_ok = brd_lines_feed(
			&lines, brd_sub(in, at, in.n - at < piece ? in.n - at : piece));
	brd_lines_finish(&lines);
	brd_lines_fini(&lines);
	brd_buf_addc(heard, lines_ok ? 'y' : 'n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf whole, bytes, pieces;
	struct bread_str in;
	size_t max;

	if (n < 2)
		return 0;
	max = data[0] < 128 ? 8 + data[0] : 1 << 20;
	in = (struct bread_str){ (const char *)data + 1, n - 1 };
	read_all(in, in.n, max, &whole);
	read_all(in, 1, max, &bytes);
	read_all(in, data[0] ? data[0] : 1, max, &pieces);
	brd_assert(brd_str_eq(brd_buf_str(&whole), brd_buf_str(&bytes)));
	brd_assert(brd_str_eq(brd_buf_str(&whole), brd_buf_str(&pieces)));
	brd_buf_fini(&whole);
	brd_buf_fini(&bytes);
	brd_buf_fini(&pieces);
	return 0;
}
