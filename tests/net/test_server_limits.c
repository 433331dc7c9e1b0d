/* SPDX-License-Identifier: MIT */
/* What peers cannot do to the server: refusals, limits, deadlines. */
#include "test.h"
#include <stdlib.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "nettest.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"

static struct rig rig;
static struct peer peer;

static int start(void **state)
{
	rig_start(&rig, (struct http_server_conf){ .max_body = 1000 });
	peer_open(&peer, &rig);
	return 0;
}

static int start_frozen(void **state)
{
	brd_clock_freeze(1000000);
	return start(state);
}

static int stop(void **state)
{
	peer_close(&peer);
	rig_stop(&rig);
	brd_clock_thaw();
	return 0;
}

static void refuses_with_a_reason(void **state)
{
	static const struct {
		int status;
		const char *code, *z;
	} rows[] = {
		{ 400, "BAD_REQUEST", "nonsense\r\n\r\n" },
		{ 400, "BAD_REQUEST", "GET / HTTP/1.1\r\n\r\n" },
		{ 400, "BAD_REQUEST", "GET / HTTP/1.1\nHost: a\n\n" },
		{ 400, "BAD_REQUEST", "\x16\x03\x01\x02\x03\x04" },
		{ 400, "BAD_REQUEST",
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
			"chunked\r\n\r\n5\r\nhelloXX" },
		{ 501, "NOT_IMPLEMENTED",
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" },
		{ 505, "HTTP_VERSION_NOT_SUPPORTED", "GET / HTTP/2.0\r\nHost: a\r\n\r\n" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct peer p;

		peer_open(&p, &rig);
		peer_send(&p, rows[i].z);
		peer_expect_refusal(&p, rows[i].status, rows[i].code);
		peer_close(&p);
	}
}

static void send_many(const char *start, size_t n)
{
	char *x = malloc(n);

	memset(x, 'x', n);
	peer_send(&peer, start);
	peer_sendn(&peer, x, n);
	free(x);
}

static void refuses_a_long_line(void **state)
{
	send_many("GET /", HTTP_LINE_MAX + 10);
	peer_expect_refusal(&peer, 414, "URI_TOO_LONG");
}

static void refuses_a_large_head(void **state)
{
	send_many("GET / HTTP/1.1\r\nHost: a\r\nX: ", HTTP_HEAD_MAX);
	peer_expect_refusal(&peer, 431, "HEADERS_TOO_LARGE");
}

static void answers_what_came_before_a_fault(void **state)
{
	peer_send(&peer, GET("/echo") "nonsense\r\n\r\n" GET("/echo"));
	peer_expect(&peer, 200, "");
	peer_expect_refusal(&peer, 400, "BAD_REQUEST");
}

#define TOO_LARGE "{\"error\":{\"code\":\"BODY_TOO_LARGE\",\"message\":\"Request body too large\"}}"

static void expect_too_large(struct peer *p)
{
	struct bread_str head, body;

	assert_int_equal(peer_answer(p, &head, &body), 413);
	assert_str(body, TOO_LARGE);
	assert_true(has_line(head, "HTTP/1.1 413 Payload Too Large"));
	assert_true(has_line(head, "Content-Type: application/json"));
	assert_true(has_line(head, "Content-Length: 70"));
	peer_await_end(p);
	assert_false(p->reset);
}

static void takes_the_limit_and_not_a_byte_more(void **state)
{
	struct bread_str head, body;

	send_many("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", 1000);
	assert_int_equal(peer_answer(&peer, &head, &body), 200);
	assert_int_equal(body.n, 1000);
	peer_send(&peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n");
	expect_too_large(&peer);
}

static void counts_chunks_against_the_limit(void **state)
{
	struct bread_str head, body;

	send_many("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n",
		1000);
	peer_send(&peer, "\r\n0\r\n\r\n");
	assert_int_equal(peer_answer(&peer, &head, &body), 200);
	assert_int_equal(body.n, 1000);
	send_many("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n",
		1000);
	peer_send(&peer, "\r\n1\r\nx");
	expect_too_large(&peer);
}

static void bodies_in_the_making_are_limited_together(void **state)
{
	enum { N = 300 };
	static struct peer many[N];
	char part[990] = { 0 };
	int refused = 0;

	for (int i = 0; i < N; i++) {
		peer_open(&many[i], &rig);
		peer_send(
			&many[i], "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
		peer_sendn(&many[i], part, sizeof(part));
	}
	rig_turns(&rig, 20);
	for (int i = 0; i < N; i++) {
		peer_take(&many[i]);
		refused += strstr(many[i].got.data, "503 Service Unavailable") != NULL;
	}
	assert_in_range(refused, N - 260, N - 256);
	for (int i = 0; i < N; i++)
		peer_close(&many[i]);
	rig_turns(&rig, 20);
	send_many("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", 1000);
	peer_await(&peer, "Content-Length: 1000");
}

static void says_continue_before_too_large(void **state)
{
	peer_send(&peer, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: "
			 "1001\r\n\r\n");
	peer_expect(&peer, 100, "");
	expect_too_large(&peer);
}

static void a_peer_that_goes_on_sending_reads_the_refusal(void **state)
{
	char some[10000] = { 0 };

	peer_send(&peer, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n");
	for (int i = 0; i < 300; i++)
		peer_sendn(&peer, some, sizeof(some));
	assert_false(peer.reset);
	expect_too_large(&peer);
}

static void lingers_only_so_long(void **state)
{
	struct http_server_stats s;

	peer_send(&peer, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n");
	expect_too_large(&peer);
	for (int i = 0; i < 8; i++) {
		brd_clock_turn(1500);
		peer_send(&peer, "more");
		rig_turns(&rig, 3);
	}
	brd_http_server_stats(rig.server, &s);
	assert_int_equal(s.open, 0);
}

static void closes_an_idle_connection_silently(void **state)
{
	peer_send(&peer, GET("/echo"));
	peer_expect(&peer, 200, "");
	brd_clock_turn(29000);
	rig_turns(&rig, 3);
	peer_take(&peer);
	assert_false(peer.eof);
	brd_clock_turn(1100);
	peer_await_end(&peer);
	assert_int_equal(peer.got.len, 0);
}

static void gives_a_head_ten_seconds_in_all(void **state)
{
	peer_send(&peer, "GET / HTTP/1.1\r\n");
	rig_turns(&rig, 3);
	for (int i = 0; i < 4; i++) {
		brd_clock_turn(2000);
		peer_send(&peer, "X: y\r\n");
		rig_turns(&rig, 3);
	}
	peer_take(&peer);
	assert_int_equal(peer.got.len, 0);
	brd_clock_turn(2100);
	peer_expect_refusal(&peer, 408, "REQUEST_TIMEOUT");
}

static void waits_for_a_body_that_keeps_coming(void **state)
{
	peer_send(&peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
	rig_turns(&rig, 3);
	brd_clock_turn(29000);
	rig_turns(&rig, 3);
	send_many("", 990);
	brd_clock_turn(1900); /* 990 bytes bought 990 ms */
	rig_turns(&rig, 3);
	peer_take(&peer);
	assert_int_equal(peer.got.len, 0);
	brd_clock_turn(100);
	peer_expect_refusal(&peer, 408, "REQUEST_TIMEOUT");
}

static void does_not_hurry_the_owner_of_a_request(void **state)
{
	peer_send(&peer, GET("/hold"));
	rig_until_held(&rig, 1);
	for (int i = 0; i < 50; i++) {
		brd_clock_turn(60000);
		rig_turns(&rig, 2);
	}
	brd_http_reply(rig.held[0], 200, NULL, BRD_STR(""), BRD_STR("late"));
	peer_expect(&peer, 200, "late");
}

static void a_peer_that_never_reads_its_answer_is_closed(void **state)
{
	struct http_server_stats s;

	peer_send(&peer, GET("/big?n=8000000"));
	rig_turns(&rig, 20);
	brd_clock_turn(31000);
	rig_turns(&rig, 5);
	brd_http_server_stats(rig.server, &s);
	assert_int_equal(s.open, 0);
}

static void a_flood_of_pipelined_requests_is_held_in_the_kernel(void **state)
{
	struct buf flood;

	brd_buf_init(&flood, BUF_NO_LIMIT);
	for (int i = 0; i < 500000; i++)
		brd_buf_addz(&flood, GET("/echo"));
	peer_send(&peer, GET("/hold"));
	rig_until_held(&rig, 1);
	for (size_t at = 0; at < flood.len;) {
		ssize_t n = send(peer.fd, flood.data + at, flood.len - at, MSG_NOSIGNAL);

		rig_turns(&rig, 1);
		if (n <= 0)
			break;
		at += (size_t)n;
		assert_true(at < flood.len); /* somewhere it must stop */
	}
	brd_http_reply(rig.held[0], 200, NULL, BRD_STR(""), BRD_STR("x"));
	peer_expect(&peer, 200, "x");
	for (int i = 0; i < 1000; i++)
		peer_expect(&peer, 200, "");
	brd_buf_fini(&flood);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
#define FROZEN(f) cmocka_unit_test_setup_teardown(f, start_frozen, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refuses_with_a_reason),
		TEST(refuses_a_long_line),
		TEST(refuses_a_large_head),
		TEST(answers_what_came_before_a_fault),
		TEST(takes_the_limit_and_not_a_byte_more),
		TEST(counts_chunks_against_the_limit),
		TEST(bodies_in_the_making_are_limited_together),
		TEST(says_continue_before_too_large),
		TEST(a_peer_that_goes_on_sending_reads_the_refusal),
		FROZEN(lingers_only_so_long),
		FROZEN(closes_an_idle_connection_silently),
		FROZEN(gives_a_head_ten_seconds_in_all),
		FROZEN(waits_for_a_body_that_keeps_coming),
		FROZEN(does_not_hurry_the_owner_of_a_request),
		FROZEN(a_peer_that_never_reads_its_answer_is_closed),
		TEST(a_flood_of_pipelined_requests_is_held_in_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
