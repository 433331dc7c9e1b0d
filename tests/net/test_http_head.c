/* SPDX-License-Identifier: MIT */
/* The reader of request heads: what it takes and what it refuses. */
#include "test.h"
#include "net/http.h"

static struct arena arena;

static int drop_arena(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

static ptrdiff_t parse(const char *z, struct http_head *h)
{
	return brd_http_head_parse(brd_str(z), &arena, h);
}

static void reads_a_usual_head(void **state)
{
	const char *z =
		"POST /agents/greeter/run?x=1&y HTTP/1.1\r\nHost: localhost:3000\r\n"
		"Content-Type:application/json\r\nContent-Length: \t17 \r\nX-Empty:\r\n\r\n{";
	struct http_head h;

	assert_int_equal(parse(z, &h), strlen(z) - 1);
	assert_str(h.method, "POST");
	assert_str(h.target, "/agents/greeter/run?x=1&y");
	assert_str(h.path, "/agents/greeter/run");
	assert_str(h.query, "x=1&y");
	assert_int_equal(h.minor, 1);
	assert_int_equal(h.header_count, 4);
	assert_int_equal(h.content_length, 17);
	assert_true(h.keep_alive);
	assert_false(h.chunked);
	assert_str(brd_http_get(&h, "content-type"), "application/json");
	assert_str(brd_http_get(&h, "CONTENT-LENGTH"), "17");
	assert_int_equal(brd_http_get(&h, "x-empty").n, 0);
	assert_non_null(brd_http_get(&h, "x-empty").p);
	assert_null(brd_http_get(&h, "accept").p);
}

static void wants_more_at_every_cut(void **state)
{
	const char *z = "\r\nGET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n";
	struct http_head h;

	for (size_t n = 0; n < strlen(z); n++)
		assert_int_equal(brd_http_head_parse((struct bread_str){ z, n }, &arena, &h), 0);
	assert_int_equal(parse(z, &h), strlen(z));
}

static void finds_the_end_piece_by_piece(void **state)
{
	const char *z = "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nmore";
	size_t end = strlen(z) - 4;
	struct http_head h;

	for (size_t cut = 0; cut < end; cut++) {
		assert_int_equal(brd_http_head_end((struct bread_str){ z, cut }, 0, &h), 0);
		assert_int_equal(brd_http_head_end(brd_str(z), cut, &h), end);
	}
}

struct keep_row {
	const char *version, *header;
	bool keep;
};

static void knows_who_keeps_the_connection(void **state)
{
	static const struct keep_row rows[] = {
		{ "1.1", "X: y", true },
		{ "1.1", "Connection: close", false },
		{ "1.1", "Connection: Upgrade , CLOSE", false },
		{ "1.1", "Connection: keep-alive", true },
		{ "1.0", "X: y", false },
		{ "1.0", "Connection: Keep-Alive", true },
		{ "1.0", "Connection: keep-alive, close", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bread_str z = brd_arena_printf(&arena,
			"GET / HTTP/%s\r\nHost: a\r\n%s\r\n\r\n", rows[i].version, rows[i].header);
		struct http_head h;

		assert_int_equal(brd_http_head_parse(z, &arena, &h), z.n);
		assert_int_equal(h.keep_alive, rows[i].keep);
	}
}

static void reads_what_stands_before_a_body(void **state)
{
	struct http_head h;

	assert_true(parse("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n"
			  "Expect: 100-Continue\r\n\r\n",
			    &h) > 0);
	assert_true(h.chunked);
	assert_true(h.expect_continue);
	assert_int_equal(h.content_length, -1);
	assert_true(parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n"
			  "Upgrade: websocket\r\n\r\n",
			    &h) > 0);
	assert_true(h.upgrade);
	assert_true(h.keep_alive);
}

struct path_row {
	const char *target, *path, *query; /* path NULL: refused */
};

static void decodes_paths(void **state)
{
	static const struct path_row rows[] = {
		{ "/", "/", "" },
		{ "/agents/%61?b=%62", "/agents/a", "b=%62" },
		{ "/%C3%a9", "/\xc3\xa9", "" },
		{ "/a+b", "/a+b", "" },
		{ "/a%2Fb%2f", "/a%2Fb%2F", "" },
		{ "/a%252F", "/a%2F", "" },
		{ "/?", "/", "" },
		{ "/??", "/", "?" },
		{ "http://a/x?y", "/x", "y" },
		{ "HTTP://A?y", "/", "y" },
		{ "https://a", "/", "" },
		{ "http://b/x", NULL, NULL },
		{ "ftp://a/x", NULL, NULL },
		{ "http://", NULL, NULL },
		{ "a", NULL, NULL },
		{ "*", NULL, NULL },
		{ "a:80", NULL, NULL },
		{ "/%", NULL, NULL },
		{ "/%4", NULL, NULL },
		{ "/%4x", NULL, NULL },
		{ "/%00", NULL, NULL },
		{ "/a#b", NULL, NULL },
		{ "/\x7f", NULL, NULL },
		{ "/\xc3\xa9", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bread_str z = brd_arena_printf(
			&arena, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", rows[i].target);
		struct http_head h;
		ptrdiff_t r = brd_http_head_parse(z, &arena, &h);

		if (!rows[i].path) {
			assert_int_equal(r, -400);
			assert_non_null(h.fault);
			continue;
		}
		assert_int_equal(r, z.n);
		assert_str(h.path, rows[i].path);
		assert_str(h.query, rows[i].query);
	}
}

static void takes_a_star_from_options_only(void **state)
{
	struct http_head h;

	assert_true(parse("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", &h) > 0);
	assert_str(h.path, "*");
}

struct bad_row {
	int status;
	const char *z;
};

/* Each of these has made two servers disagree somewhere, or is no HTTP at all. */
static const struct bad_row bad[] = {
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\n Content-Length: 5\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tfolded\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\nHost: a\n\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\n\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX: y\rZ: w\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX(y: z\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\nX\xc3\xa9: z\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: "
	       "chunked\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: "
	       "5\r\n\r\n" },
	{ 400, "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
	       "chunked\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
	       "x\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n" },
	{ 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0b chunked\r\n\r\n" },
	{ 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nX: y\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n" },
	{ 400, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n" },
	{ 400, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n" },
	{ 400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "GET /  HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n" },
	{ 400, "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "GET /\r\nHost: a\r\n\r\n" },
	{ 400, "GET\r\nHost: a\r\n\r\n" },
	{ 400, " GET / HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "G(T / HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "GET / http/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "GET / HTTP/1.10\r\nHost: a\r\n\r\n" },
	{ 400, "GET / HTTP/11\r\nHost: a\r\n\r\n" },
	{ 400, "GET / HTCPCP/1.1\r\nHost: a\r\n\r\n" },
	{ 505, "GET / HTTP/9.9\r\nHost: a\r\n\r\n" },
	{ 505, "GET / HTTP/1.2\r\nHost: a\r\n\r\n" },
	{ 505, "GET / HTTP/0.9\r\nHost: a\r\n\r\n" },
	{ 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
	{ 501, "AMETHODTHATISFARLONGERTHANANYBODYKNOWS / HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ 400, "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n" },
	{ 400, "\x16\x03\x01\x02" },
};

static void refuses_what_two_readers_read_differently(void **state)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct http_head h;
		ptrdiff_t r = parse(bad[i].z, &h);

		if (r != -bad[i].status)
			fail_msg("%td instead of %d for: %s", r, -bad[i].status, bad[i].z);
		assert_non_null(h.fault);
	}
}

static void refuses_a_nul_anywhere(void **state)
{
	static const char z[] = "GET /abc HTTP/1.1\r\nHost: abc\r\nX: abc\r\n\r\n";

	for (size_t i = 0; i < sizeof(z) - 1; i++) {
		char copy[sizeof(z)];
		struct http_head h;

		memcpy(copy, z, sizeof(z));
		copy[i] = 0;
		assert_true(brd_http_head_parse(
				    (struct bread_str){ copy, sizeof(z) - 1 }, &arena, &h) <= 0);
	}
}

static struct bread_str filled(const char *before, size_t n, const char *after)
{
	struct buf b;
	struct bread_str copy;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, before);
	while (n--)
		brd_buf_addc(&b, 'x');
	brd_buf_addz(&b, after);
	copy = brd_arena_copy(&arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return copy;
}

static void limits_the_request_line(void **state)
{
	struct http_head h;
	size_t around = strlen("GET / HTTP/1.1");
	const char *rest = " HTTP/1.1\r\nHost: a\r\n\r\n";
	struct bread_str most = filled("GET /", HTTP_LINE_MAX - around, rest);
	struct bread_str over = filled("GET /", HTTP_LINE_MAX - around + 1, rest);

	assert_int_equal(brd_http_head_parse(most, &arena, &h), most.n);
	assert_int_equal(brd_http_head_parse(over, &arena, &h), -414);
	assert_int_equal(brd_http_head_parse(filled("GET /", HTTP_LINE_MAX, ""), &arena, &h), -414);
}

static void limits_the_head(void **state)
{
	struct http_head h;
	const char *start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
	size_t room = HTTP_HEAD_MAX - strlen(start) - 4;
	struct bread_str most = filled(start, room, "\r\n\r\n");

	assert_int_equal(brd_http_head_parse(most, &arena, &h), most.n);
	assert_int_equal(
		brd_http_head_parse(filled(start, room + 1, "\r\n\r\n"), &arena, &h), -431);
	assert_int_equal(brd_http_head_parse(filled(start, room + 4, ""), &arena, &h), -431);
	assert_int_equal(brd_http_head_parse(filled(start, room, ""), &arena, &h), 0);
}

static void limits_the_number_of_headers(void **state)
{
	struct buf b;
	struct http_head h;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, "GET / HTTP/1.1\r\nHost: a\r\n");
	for (int i = 1; i < HTTP_HEADERS_MAX; i++)
		brd_buf_addz(&b, "X: y\r\n");
	brd_buf_addz(&b, "\r\n");
	assert_int_equal(brd_http_head_parse(brd_buf_str(&b), &arena, &h), b.len);
	assert_int_equal(h.header_count, HTTP_HEADERS_MAX);
	b.len -= 2;
	brd_buf_addz(&b, "X: y\r\n\r\n");
	assert_int_equal(brd_http_head_parse(brd_buf_str(&b), &arena, &h), -431);
	brd_buf_fini(&b);
}

/* ---- lookups ---- */

static void finds_query_parameters(void **state)
{
	struct bread_str q = BRD_STR("a=1&b=x+y%21&c&=d&a=2&%65=f&bad=%zz&e%");

	assert_str(brd_http_query(q, "a", &arena), "1");
	assert_str(brd_http_query(q, "b", &arena), "x y!");
	assert_str(brd_http_query(q, "c", &arena), "");
	assert_non_null(brd_http_query(q, "c", &arena).p);
	assert_str(brd_http_query(q, "", &arena), "d");
	assert_str(brd_http_query(q, "e", &arena), "f");
	assert_str(brd_http_query(q, "bad", &arena), "%zz");
	assert_non_null(brd_http_query(q, "e%", &arena).p);
	assert_null(brd_http_query(q, "d", &arena).p);
	assert_null(brd_http_query(BRD_STR(""), "", &arena).p);
}

static void knows_reasons(void **state)
{
	assert_string_equal(brd_http_reason(200), "OK");
	assert_string_equal(brd_http_reason(413), "Payload Too Large");
	assert_string_equal(brd_http_reason(299), "Unknown");
}

#define TEST(f) cmocka_unit_test_teardown(f, drop_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_a_usual_head),
		TEST(wants_more_at_every_cut),
		TEST(finds_the_end_piece_by_piece),
		TEST(knows_who_keeps_the_connection),
		TEST(reads_what_stands_before_a_body),
		TEST(decodes_paths),
		TEST(takes_a_star_from_options_only),
		TEST(refuses_what_two_readers_read_differently),
		TEST(refuses_a_nul_anywhere),
		TEST(limits_the_request_line),
		TEST(limits_the_head),
		TEST(limits_the_number_of_headers),
		TEST(finds_query_parameters),
		TEST(knows_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
