/* SPDX-License-Identifier: MIT */
/* Reading NDJSON line by line. A line that lies whole in the bytes given is not
 * copied. line.bad remembers that one was too long: nothing comes after it. */
#include "base/str.h"
#include "net/sse.h"

void brd_lines_init(struct line_reader *r, size_t max_line,
	void (*on_line)(void *arg, struct bread_str line), void *arg)
{
	brd_buf_init(&r->line, max_line);
	r->max_line = max_line;
	r->on_line = on_line;
	r->arg = arg;
}

void brd_lines_fini(struct line_reader *r)
{
	brd_buf_fini(&r->line);
}

static void give(struct line_reader *r, struct bread_str line)
{
	line = brd_str_trim(line);
	if (line.n)
		r->on_line(r->arg, line);
}

static void end_line(struct line_reader *r, struct bread_str s)
{
	if (!r->line.len) {
		give(r, s);
		return;
	}
	brd_buf_add(&r->line, s);
	give(r, brd_buf_str(&r->line));
	brd_buf_clear(&r->line);
}

bool brd_lines_feed(struct line_reader *r, struct bread_str bytes)
{
	while (bytes.n && !r->line.bad) {
		const char *lf = memchr(bytes.p, '\n', bytes.n);
		size_t n = lf ? (size_t)(lf - bytes.p) : bytes.n;

		if (r->line.len + n > r->max_line) {
			r->line.bad = true;
		} else if (!lf) {
			brd_buf_add(&r->line, bytes);
			break;
		} else {
			end_line(r, brd_sub(bytes, 0, n));
			bytes = brd_sub(bytes, n + 1, bytes.n - n - 1);
		}
	}
	return !r->line.bad;
}

void brd_lines_finish(struct line_reader *r)
{
	if (!r->line.bad && r->line.len)
		end_line(r, (struct bread_str){ NULL, 0 });
}
