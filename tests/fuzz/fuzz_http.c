/* SPDX-License-Identifier: MIT */
/* Any bytes as a request: read whole and cut in pieces (whose size is the first
 * byte), the verdict must be the same; what follows the head is read as chunks,
 * whole and in pieces, and must give the same body. */
#include <stdlib.h>
#include "base/err.h"
#include "net/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_same(struct bread_str a, struct bread_str b)
{
	brd_assert(brd_str_eq(a, b));
}

static void check_same_head(const struct http_head *a, const struct http_head *b)
{
	check_same(a->method, b->method);
	check_same(a->target, b->target);
	check_same(a->path, b->path);
	check_same(a->query, b->query);
	brd_assert(a->content_length == b->content_length && a->chunked == b->chunked &&
		   a->keep_alive == b->keep_alive && a->header_count == b->header_count);
	for (size_t i = 0; i < a->header_count; i++) {
		check_same(a->headers[i].name, b->headers[i].name);
		check_same(a->headers[i].value, b->headers[i].value);
	}
}

/* What must hold of every head that was taken. */
static void check_sane(const struct http_head *h)
{
	brd_assert(h->method.n > 0 && h->target.n > 0 && h->path.n > 0);
	brd_assert(!(h->chunked && h->content_length >= 0));
	brd_assert(h->minor == 0 || brd_http_get(h, "host").p);
	brd_assert(h->header_count <= HTTP_HEADERS_MAX);
	brd_assert(!memchr(h->path.p, 0, h->path.n));
	for (size_t i = 0; i < h->header_count; i++) {
		brd_assert(h->headers[i].name.n > 0);
		brd_assert(!memchr(h->headers[i].value.p, '\r', h->headers[i].value.n));
		brd_assert(!memchr(h->headers[i].value.p, '\n', h->headers[i].value.n));
	}
}

/* A copy of exactly its size, so that the sanitizer sees a read past its end. */
static ptrdiff_t parse_prefix(struct bread_str in, size_t n, size_t seen, struct arena *a,
	struct http_head *ret, char **ret_copy)
{
	struct bread_str copy = { malloc(n ? n : 1), n };
	ptrdiff_t r;

	memcpy((char *)copy.p, in.p, n);
	r = brd_http_head_end(copy, seen, ret);
	if (r > 0)
		r = brd_http_head_parse(brd_sub(copy, 0, (size_t)r), a, ret);
	*ret_copy = (char *)copy.p;
	return r;
}

static ptrdiff_t parse_in_pieces(
	struct bread_str in, size_t step, struct arena *a, struct http_head *ret, char **ret_copy)
{
	size_t seen = 0, n = 0;
	ptrdiff_t r = 0;

	*ret_copy = NULL;
	while (n < in.n && r == 0) {
		free(*ret_copy);
		n = in.n - n < step ? in.n : n + step;
		r = parse_prefix(in, n, seen, a, ret, ret_copy);
		seen = n;
	}
	return r;
}

static size_t fuzz_head(struct bread_str in, size_t step)
{
	struct arena a = { 0 };
	struct http_head whole, cut;
	ptrdiff_t r = brd_http_head_parse(in, &a, &whole);
	char *copy;

	brd_assert(r <= (ptrdiff_t)in.n && r <= HTTP_HEAD_MAX);
	brd_assert(parse_in_pieces(in, step, &a, &cut, &copy) == r);
	if (r > 0) {
		check_sane(&whole);
		check_same_head(&whole, &cut);
	} else if (r < 0) {
		brd_assert(whole.fault && cut.fault && strcmp(whole.fault, cut.fault) == 0);
	}
	free(copy);
	brd_arena_fini(&a);
	return r > 0 ? (size_t)r : 0;
}

static ptrdiff_t feed(struct bread_str in, size_t step, struct buf *out, bool *ret_done)
{
	struct http_chunks c = { 0 };
	size_t at = 0;

	*ret_done = false;
	while (at < in.n && !*ret_done) {
		size_t n = in.n - at < step ? in.n - at : step;
		ptrdiff_t r = brd_http_chunks_feed(&c, brd_sub(in, at, n), out, ret_done);

		if (r < 0)
			return r;
		brd_assert(r > 0 && (size_t)r <= n);
		at += (size_t)r;
	}
	return (ptrdiff_t)at;
}

static void fuzz_chunks(struct bread_str in, size_t step)
{
	struct buf whole, cut;
	bool whole_done, cut_done;

	brd_buf_init(&whole, 1 << 20);
	brd_buf_init(&cut, 1 << 20);
	brd_assert(feed(in, in.n, &whole, &whole_done) == feed(in, step, &cut, &cut_done));
	brd_assert(whole_done == cut_done);
	check_same(brd_buf_str(&whole), brd_buf_str(&cut));
	brd_buf_fini(&whole);
	brd_buf_fini(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct bread_str in = { (const char *)data, n };
	size_t step, head;

	if (n < 2)
		return 0;
	step = data[0] ? data[0] : 256;
	in = brd_sub(in, 1, n - 1);
	head = fuzz_head(in, step);
	fuzz_chunks(brd_sub(in, head, in.n - head), step);
	return 0;
}
