/* SPDX-License-Identifier: MIT */
/* Another parser as judge: what we take, http-parser takes too, and sees the same
 * message in it. The other way round is not wanted: it takes forms by which
 * requests are smuggled (the table in test_http_head.c). */
#include "test.h"
#include <http_parser.h>
#include <stdlib.h>
#include "net/http.h"

static uint32_t random_state = 1;

static uint32_t pick(size_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % (uint32_t)n;
}

#define PICK(table) (table)[pick(sizeof(table) / sizeof(*(table)))]

static void change_a_byte(struct buf *b)
{
	if (pick(4) == 0)
		b->data[pick(b->len)] = (char)pick(256);
}

/* Heads put together from pieces that are right, nearly right, and wrong. */
static void make_head(struct buf *b)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS" };
	static const char *const targets[] = { "/", "/a%20b", "/a?b=c", "http://a/b", "http://a?b",
		"/%zz", "/\x80", "*", "" };
	static const char *const versions[] = { " HTTP/1.1\r\n", " HTTP/1.1\r\n", " HTTP/1.0\r\n",
		" HTTP/1.1\n", "\r\n", " HTTP/1.7\r\n" };
	static const char *const lines[] = { "Host: a\r\n", "Host: a\r\n", "Host: a\r\n",
		"X: y\r\n", "Content-Length: 3\r\n", "Content-Length:3\r\n",
		"Content-Length : 3\r\n", "Transfer-Encoding: chunked\r\n",
		"Transfer-Encoding: gzip, chunked\r\n", " folded\r\n", "Connection: close\r\n",
		"Connection: upgrade\r\n", "Upgrade: x\r\n", "X\r\n", "X: \x01\r\n", "Y: z\n",
		"\xff: y\r\n", "A|B: \xff\r\n" };

	brd_buf_clear(b);
	brd_buf_addz(b, PICK(methods));
	brd_buf_addc(b, ' ');
	brd_buf_addz(b, PICK(targets));
	brd_buf_addz(b, PICK(versions));
	for (uint32_t n = pick(6); n; n--)
		brd_buf_addz(b, PICK(lines));
	brd_buf_addz(b, "\r\n");
	change_a_byte(b);
}

/* ---- heads ---- */

static bool is_one_of_theirs(struct bread_str method)
{
	static const char *const names[] = { "GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (brd_str_is(method, names[i]))
			return true;
	}
	return false;
}

static bool other_takes(struct bread_str z, const struct http_head *h)
{
	http_parser_settings none;
	http_parser p;

	http_parser_settings_init(&none);
	http_parser_init(&p, HTTP_REQUEST);
	http_parser_execute(&p, &none, z.p, z.n);
	if (HTTP_PARSER_ERRNO(&p) != HPE_OK)
		return false;
	return h->chunked == !!(p.flags & F_CHUNKED) && h->minor == p.http_minor;
}

static void heads_that_we_take_are_taken(void **state)
{
	struct arena a = { 0 };
	size_t taken = 0;
	struct buf b;

	brd_buf_init(&b, 4096);
	for (int i = 0; i < 200000; i++) {
		struct http_head h;
		ptrdiff_t r;

		make_head(&b);
		r = brd_http_head_parse(brd_buf_str(&b), &a, &h);
		/* methods that it does not know are its own affair */
		if (r <= 0 || !is_one_of_theirs(h.method))
			continue;
		taken++;
		if (!other_takes(brd_sub(brd_buf_str(&b), 0, (size_t)r), &h))
			fail_msg("only we take: %s", b.data);
		brd_arena_reset(&a);
	}
	assert_true(taken > 5000);
	brd_buf_fini(&b);
	brd_arena_fini(&a);
}

/* ---- chunked bodies ---- */

static const char chunked_head[] =
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

static void make_chunks(struct buf *b)
{
	static const char *const parts[] = { "1\r\na\r\n", "1\r\na\r\n", "a\r\n0123456789\r\n",
		"00002\r\nab\r\n", "1;x\r\na\r\n", "1;x=\"y\"\r\na\r\n", "3\r\n\r\n0\r\n",
		"1 \r\na\r\n", "2\r\nabXX" };
	static const char *const ends[] = { "0\r\n\r\n", "0\r\n\r\n", "0\r\nT: x\r\n\r\n",
		"000\r\n\r\n", "0;x\r\n\r\n", "0\r\nT : x\r\n\r\n", "0\n\n", "" };

	brd_buf_clear(b);
	for (uint32_t n = pick(5); n; n--)
		brd_buf_addz(b, PICK(parts));
	brd_buf_addz(b, PICK(ends));
	if (b->len)
		change_a_byte(b);
}

struct seen {
	struct buf body;
	bool done;
};

static int on_body(http_parser *p, const char *at, size_t n)
{
	brd_buf_addn(&((struct seen *)p->data)->body, at, n);
	return 0;
}

static int on_done(http_parser *p)
{
	((struct seen *)p->data)->done = true;
	return 0;
}

static void other_reads(struct bread_str chunks, struct seen *ret)
{
	http_parser_settings s;
	http_parser p;

	ret->done = false;
	brd_buf_clear(&ret->body);
	http_parser_settings_init(&s);
	s.on_body = on_body;
	s.on_message_complete = on_done;
	http_parser_init(&p, HTTP_REQUEST);
	p.data = ret;
	http_parser_execute(&p, &s, chunked_head, sizeof(chunked_head) - 1);
	http_parser_execute(&p, &s, chunks.p, chunks.n);
}

static void bodies_that_we_take_are_the_same(void **state)
{
	struct seen other = { 0 };
	struct buf b, body;
	size_t taken = 0;

	brd_buf_init(&b, 4096);
	brd_buf_init(&body, 4096);
	brd_buf_init(&other.body, 4096);
	for (int i = 0; i < 200000; i++) {
		struct http_chunks c = { 0 };
		bool done = false;
		ptrdiff_t r;

		make_chunks(&b);
		brd_buf_clear(&body);
		r = brd_http_chunks_feed(&c, brd_buf_str(&b), &body, &done);
		if (r < 0 || !done)
			continue;
		taken++;
		other_reads(brd_sub(brd_buf_str(&b), 0, (size_t)r), &other);
		if (!other.done || !brd_str_eq(brd_buf_str(&body), brd_buf_str(&other.body)))
			fail_msg("only we take: %s", b.data);
	}
	assert_true(taken > 5000);
	brd_buf_fini(&b);
	brd_buf_fini(&body);
	brd_buf_fini(&other.body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_that_we_take_are_taken),
		cmocka_unit_test(bodies_that_we_take_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
