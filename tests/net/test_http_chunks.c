/* SPDX-License-Identifier: MIT */
/* Chunked bodies: whole, cut anywhere, malformed. */
#include "test.h"
#include <stdlib.h>
#include "net/http.h"

struct outcome {
	ptrdiff_t taken; /* or -400 */
	bool done;
	struct buf body;
};

static struct outcome feed(const char *z, size_t n, size_t step)
{
	struct http_chunks c = { 0 };
	struct outcome o = { 0 };

	brd_buf_init(&o.body, BUF_NO_LIMIT);
	for (size_t at = 0; at < n && !o.done;) {
		size_t part = n - at < step ? n - at : step;
		ptrdiff_t r = brd_http_chunks_feed(
			&c, (struct bread_str){ z + at, part }, &o.body, &o.done);

		if (r < 0) {
			o.taken = r;
			break;
		}
		at += (size_t)r;
		o.taken = (ptrdiff_t)at;
	}
	return o;
}

static const char whole[] = "5\r\nhello\r\nA;name=\"v;\"\r\n0123456789\r\n000b\r\n, and world\r\n"
			    "0\r\nTrailer: x\r\nOther:\r\n\r\n";

static void joins_chunks_at_every_cut(void **state)
{
	for (size_t step = 1; step <= sizeof(whole); step++) {
		struct outcome o = feed(whole, sizeof(whole) - 1, step);

		assert_true(o.done);
		assert_int_equal(o.taken, sizeof(whole) - 1);
		assert_string_equal(o.body.data, "hello0123456789, and world");
		brd_buf_fini(&o.body);
	}
}

static void leaves_what_follows(void **state)
{
	const char *z = "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1";
	struct outcome o = feed(z, strlen(z), 1000);

	assert_true(o.done);
	assert_int_equal(o.taken, strlen("1\r\na\r\n0\r\n\r\n"));
	brd_buf_fini(&o.body);
}

static void is_not_done_before_the_end(void **state)
{
	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		struct outcome o = feed(whole, n, 7);

		assert_false(o.done);
		assert_int_equal(o.taken, n);
		brd_buf_fini(&o.body);
	}
}

static void drops_bytes_when_asked_to(void **state)
{
	struct http_chunks c = { 0 };
	bool done = false;

	assert_int_equal(
		brd_http_chunks_feed(&c, BRD_STR("3\r\nabc\r\n0\r\n\r\n"), NULL, &done), 13);
	assert_true(done);
}

static void refuses_malformed_chunks(void **state)
{
	static const char *const bad[] = {
		"\r\n",
		"x\r\n",
		"0x5\r\nhello\r\n",
		"-1\r\n",
		"+1\r\na\r\n",
		" 1\r\na\r\n",
		"1 \r\na\r\n",
		"1\na\n0\n\n",
		"1\r\na\n",
		"1\r\naXX0\r\n\r\n",
		"1\r\nab\r\n",
		"1\rx",
		";a\r\n",
		"1;\x01\r\n",
		"1;a\n",
		"10000000000000000\r\n",
		"00000000000000001\r\n",
		"ffffffffffffffff\r\n",
		"0\r\nX: y\n\r\n",
		"0\r\nX\r\n\r\n",
		"0\r\n: y\r\n\r\n",
		"0\r\n X: y\r\n\r\n",
		"0\r\nX : y\r\n\r\n",
		"0\r\nX: \x02\r\n\r\n",
		"0\r\n\rx",
		"0\r\n\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		for (size_t step = 1; step < 20; step += 18) {
			struct outcome o = feed(bad[i], strlen(bad[i]), step);

			if (o.taken != -400)
				fail_msg("taken: %s", bad[i]);
			brd_buf_fini(&o.body);
		}
	}
}

static void limits_extensions_and_trailers(void **state)
{
	struct buf b;
	struct outcome o;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, "1;");
	for (int i = 0; i < 300; i++)
		brd_buf_addc(&b, 'e');
	o = feed(b.data, b.len, 1000);
	assert_int_equal(o.taken, -400);
	brd_buf_clear(&b);
	brd_buf_addz(&b, "0\r\n");
	for (int i = 0; i < 2500; i++)
		brd_buf_addz(&b, "X: y\r\n");
	o = feed(b.data, b.len, 1000);
	assert_int_equal(o.taken, -400);
	brd_buf_fini(&b);
}

static void stops_at_the_limit_of_the_buffer(void **state)
{
	struct http_chunks c = { 0 };
	bool done = false;
	struct buf out;

	brd_buf_init(&out, 4);
	brd_http_chunks_feed(&c, BRD_STR("3\r\nabc\r\n2\r\nde\r\n"), &out, &done);
	assert_true(out.bad);
	assert_int_equal(out.len, 3);
	brd_buf_fini(&out);
}

static void writes_chunk_heads(void **state)
{
	char out[HTTP_CHUNK_HEAD];

	assert_int_equal(brd_http_chunk_head(out, 420), 5);
	assert_memory_equal(out, "1a4\r\n", 5);
	assert_int_equal(brd_http_chunk_head(out, SIZE_MAX / 2), 18);
	assert_memory_equal(out, "7fffffffffffffff\r\n", 18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_chunks_at_every_cut),
		cmocka_unit_test(leaves_what_follows),
		cmocka_unit_test(is_not_done_before_the_end),
		cmocka_unit_test(drops_bytes_when_asked_to),
		cmocka_unit_test(refuses_malformed_chunks),
		cmocka_unit_test(limits_extensions_and_trailers),
		cmocka_unit_test(stops_at_the_limit_of_the_buffer),
		cmocka_unit_test(writes_chunk_heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
