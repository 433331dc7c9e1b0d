/* SPDX-License-Identifier: MIT */
/* Streamed answers, and requests whose owners watch for the peer's leaving. */
#include "test.h"
#include <stdlib.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "nettest.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define MUCH (8 << 20) /* more than the sockets of both ends take */

static struct rig rig;
static struct peer peer;
static char *much;

static int start(void **state)
{
	rig_start(&rig, (struct http_server_conf){ .stall_ms = 5000 });
	peer_open(&peer, &rig);
	return 0;
}

static int stop(void **state)
{
	peer_close(&peer);
	rig_stop(&rig);
	return 0;
}

static bool write_text(struct http_req *req, const char *z)
{
	struct iovec v = { (void *)z, strlen(z) };

	return brd_http_stream_write(req, &v, 1);
}

static bool write_much(struct http_req *req)
{
	struct iovec v[3] = { { much, MUCH / 4 }, { much + MUCH / 4, MUCH / 4 },
		{ much + MUCH / 2, MUCH / 2 } };

	return brd_http_stream_write(req, v, 3);
}

static struct http_req *open_stream(void)
{
	peer_send(&peer, GET("/stream"));
	rig_until_held(&rig, 1);
	return rig.held[0];
}

static void sends_the_head_at_once(void **state)
{
	open_stream();
	peer_await(&peer, "\r\n\r\n");
	assert_true(has_line(brd_buf_str(&peer.got), "HTTP/1.1 200 OK"));
	assert_true(has_line(brd_buf_str(&peer.got), "Transfer-Encoding: chunked"));
	assert_true(brd_http_stream_chunked(rig.held[0]));
	assert_false(brd_http_stream_pending(rig.held[0]));
}

static void keeps_the_connection_after_the_end(void **state)
{
	struct http_req *req = open_stream();

	assert_true(write_text(req, "2\r\nab\r\n"));
	brd_http_stream_end(req);
	peer_await(&peer, "2\r\nab\r\n0\r\n\r\n");
	brd_buf_clear(&peer.got);
	peer_send(&peer, GET("/echo"));
	peer_expect(&peer, 200, "");
	assert_int_equal(rig.closed, 0);
}

static void answers_what_was_pipelined_behind_a_stream(void **state)
{
	peer_send(&peer, GET("/stream") GET("/stream"));
	rig_until_held(&rig, 1);
	brd_http_stream_end(rig.held[0]);
	rig_until_held(&rig, 2);
	peer_send(&peer, GET("/echo"));
	brd_http_stream_end(rig.held[1]);
	peer_await(&peer, "Content-Length: 0");
}

static void ends_with_the_connection_over_1_0(void **state)
{
	peer_send(&peer, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	rig_until_held(&rig, 1);
	assert_false(brd_http_stream_chunked(rig.held[0]));
	write_text(rig.held[0], "plain");
	brd_http_stream_end(rig.held[0]);
	peer_await_end(&peer);
	assert_true(has_line(brd_buf_str(&peer.got), "Connection: close"));
	assert_true(brd_str_ends(brd_buf_str(&peer.got), BRD_STR("\r\n\r\nplain")));
}

static void streams_nothing_to_head(void **state)
{
	struct bread_str head;

	peer_send(&peer, "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	rig_until_held(&rig, 1);
	assert_true(write_text(rig.held[0], "2\r\nab\r\n"));
	brd_http_stream_end(rig.held[0]);
	assert_int_equal(peer_answer_to_head(&peer, &head), 200);
	peer_send(&peer, GET("/echo"));
	peer_expect(&peer, 200, "");
}

static void abort_cuts_without_a_last_chunk(void **state)
{
	struct http_req *req = open_stream();

	write_text(req, "2\r\nab\r\n");
	brd_http_stream_abort(req);
	peer_await_end(&peer);
	assert_true(brd_str_ends(brd_buf_str(&peer.got), BRD_STR("2\r\nab\r\n")));
	assert_int_equal(rig.closed, 0);
}

static bool is_writable(void *arg)
{
	peer_take(&peer);
	return rig.writable > 0;
}

static void a_full_socket_makes_a_write_wait(void **state)
{
	struct http_req *req = open_stream();
	const char *body;

	assert_false(write_much(req));
	assert_true(brd_http_stream_pending(req));
	rig_turns(&rig, 20);
	assert_int_equal(rig.writable, 0);
	assert_true(rig_until(&rig, is_writable, NULL));
	assert_false(brd_http_stream_pending(req));
	peer_take(&peer);
	brd_http_stream_end(req);
	peer_await(&peer, "0\r\n\r\n");
	body = strstr(peer.got.data, "\r\n\r\n") + 4;
	assert_int_equal(peer.got.len - (size_t)(body - peer.got.data), MUCH + 5);
	assert_memory_equal(body, much, MUCH);
	assert_int_equal(rig.writable, 1);
}

static void the_end_takes_over_what_waits(void **state)
{
	struct http_req *req = open_stream();
	const char *body;

	assert_false(write_much(req));
	brd_http_stream_end(req);
	peer_send(&peer, GET("/echo"));
	peer_await(&peer, "Content-Length: 0");
	body = strstr(peer.got.data, "\r\n\r\n") + 4;
	assert_memory_equal(body, much, MUCH);
	assert_memory_equal(body + MUCH, "0\r\n\r\nHTTP/1.1 200", 17);
}

static void stream_and_end(struct http_req *req, void *arg)
{
	struct http_stream_events ev = { NULL, NULL, NULL };

	brd_http_stream(req, 200, NULL, BRD_STR(""), &ev);
	write_text(req, "2\r\nab\r\n");
	brd_http_stream_end(req);
}

/* Sooner or later a head, a chunk, or an end finds no room. */
static void streams_into_a_full_socket(void **state)
{
	enum { N = 50000 };
	struct buf asks;
	struct peer p;
	struct rig r;
	size_t at = 0, each;

	rig_start(&r, (struct http_server_conf){ .on_request = stream_and_end });
	peer_open(&p, &r);
	brd_buf_init(&asks, BUF_NO_LIMIT);
	for (int i = 0; i < N; i++)
		brd_buf_addz(&asks, GET("/"));
	for (int idle = 0; at < asks.len; idle++) {
		ssize_t n = send(p.fd, asks.data + at, asks.len - at, MSG_NOSIGNAL);

		at += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle;
		brd_loop_turn(r.loop, 0);
		if (idle > 100)
			peer_take(&p);
	}
	for (size_t quiet = 0, had = 0; quiet < 200; quiet++) {
		brd_loop_turn(r.loop, 1);
		peer_take(&p);
		quiet = p.got.len > had ? 0 : quiet;
		had = p.got.len;
	}
	each = p.got.len / N;
	assert_int_equal(p.got.len, each * N);
	for (size_t i = 1; i <= N; i++)
		assert_memory_equal(p.got.data + i * each - 14, "\r\n2\r\nab\r\n0\r\n\r\n", 14);
	brd_buf_fini(&asks);
	peer_close(&p);
	rig_stop(&r);
}

static void a_peer_that_takes_nothing_is_cut(void **state)
{
	struct http_req *req;

	brd_clock_freeze(1000000);
	req = open_stream();
	assert_false(write_much(req));
	rig_turns(&rig, 20);
	brd_clock_turn(4000);
	rig_turns(&rig, 5);
	assert_int_equal(rig.closed, 0);
	brd_clock_turn(1100);
	rig_until_closed(&rig, 1);
	assert_null(rig.held[0]);
	brd_clock_thaw();
}

static void a_peer_that_takes_a_little_is_not(void **state)
{
	struct http_req *req;
	char some[65536];

	brd_clock_freeze(1000000);
	req = open_stream();
	assert_false(write_much(req));
	for (int i = 0; i < 8; i++) {
		for (size_t got = 0; got < MUCH / 10;) {
			ssize_t n = recv(peer.fd, some, sizeof(some), 0);

			got += n > 0 ? (size_t)n : 0;
			brd_loop_turn(rig.loop, 1);
		}
		brd_clock_turn(4000);
		rig_turns(&rig, 5);
	}
	assert_int_equal(rig.closed, 0);
	brd_clock_thaw();
}

static void a_silent_stream_has_no_deadline(void **state)
{
	brd_clock_freeze(1000000);
	open_stream();
	for (int i = 0; i < 100; i++) {
		brd_clock_turn(60000);
		rig_turns(&rig, 2);
	}
	assert_int_equal(rig.closed, 0);
	brd_clock_thaw();
}

static void a_half_closed_peer_has_gone(void **state)
{
	open_stream();
	shutdown(peer.fd, SHUT_WR);
	rig_until_closed(&rig, 1);
	peer_await_end(&peer);
}

static void a_half_close_behind_unread_bytes_is_seen(void **state)
{
	open_stream();
	peer_send(&peer, GET("/echo"));
	rig_turns(&rig, 5);
	shutdown(peer.fd, SHUT_WR);
	rig_until_closed(&rig, 1);
}

static void a_reset_is_seen(void **state)
{
	struct peer p;

	peer_open(&p, &rig);
	peer_send(&p, GET("/stream"));
	rig_until_held(&rig, 1);
	peer_reset(&p);
	rig_until_closed(&rig, 1);
}

static void closing_is_heard_from_the_loop_only(void **state)
{
	struct http_req *req;
	struct peer p;

	peer_open(&p, &rig);
	peer_send(&p, GET("/stream"));
	rig_until_held(&rig, 1);
	req = rig.held[0];
	peer_reset(&p);
	for (int i = 0; i < 10; i++) {
		if (brd_http_stream_pending(req))
			break;
		write_text(req, "1\r\nx\r\n");
	}
	assert_int_equal(rig.closed, 0);
	assert_true(brd_http_stream_pending(req));
	assert_false(write_text(req, "1\r\nx\r\n"));
	rig_until_closed(&rig, 1);
}

static void an_owner_may_end_what_is_about_to_close(void **state)
{
	struct http_req *req;
	struct peer p;

	for (int i = 0; i < 2; i++) {
		peer_open(&p, &rig);
		peer_send(&p, GET("/stream"));
		rig_until_held(&rig, (size_t)i + 1);
		req = rig.held[i];
		peer_reset(&p);
		while (!brd_http_stream_pending(req))
			write_text(req, "1\r\nx\r\n");
		(i ? brd_http_stream_abort : brd_http_stream_end)(req);
		rig_turns(&rig, 5);
	}
	assert_int_equal(rig.closed, 0);
}

static void a_watched_request_hears_of_the_leaving(void **state)
{
	peer_send(&peer, GET("/watch"));
	rig_until_held(&rig, 1);
	shutdown(peer.fd, SHUT_WR);
	rig_until_closed(&rig, 1);
}

static void a_watched_request_can_be_answered(void **state)
{
	peer_send(&peer, GET("/watch") GET("/watch"));
	rig_until_held(&rig, 1);
	brd_http_reply(rig.held[0], 200, NULL, BRD_STR(""), BRD_STR("ok"));
	peer_expect(&peer, 200, "ok");
	rig_until_held(&rig, 2);
	brd_http_stream(rig.held[1], 200, NULL, BRD_STR(""), NULL);
	shutdown(peer.fd, SHUT_WR);
	rig_until_closed(&rig, 1);
}

static void a_late_stream_to_a_peer_that_has_gone_closes(void **state)
{
	struct http_stream_events ev;
	struct peer p;

	peer_open(&p, &rig);
	peer_send(&p, GET("/stream"));
	rig_until_held(&rig, 1);
	ev = (struct http_stream_events){ NULL, NULL, NULL };
	brd_http_stream_abort(rig.held[0]);
	peer_close(&p);

	peer_open(&p, &rig);
	peer_send(&p, GET("/hold"));
	rig_until_held(&rig, 2);
	peer_reset(&p);
	rig_turns(&rig, 5);
	brd_http_stream(rig.held[1], 200, NULL, BRD_STR(""), &ev);
	assert_true(brd_http_stream_pending(rig.held[1]));
	rig_turns(&rig, 2);
}

static void freeing_the_server_tells_all(void **state)
{
	struct peer p[4];
	static const char *const asks[] = { GET("/stream"), GET("/watch"), GET("/stream"),
		GET("/hold") };

	for (size_t i = 0; i < 4; i++) {
		peer_open(&p[i], &rig);
		peer_send(&p[i], asks[i]);
		rig_until_held(&rig, i + 1);
	}
	write_much(rig.held[2]);
	brd_http_server_free(rig.server);
	assert_int_equal(rig.closed, 3);
	rig.server = NULL;
	rig_turns(&rig, 5);
	assert_int_equal(rig.closed, 3);
	brd_http_reply(rig.held[3], 200, NULL, BRD_STR(""), BRD_STR("too late"));
	for (size_t i = 0; i < 4; i++)
		peer_close(&p[i]);
}

static int make_much(void **state)
{
	much = malloc(MUCH);
	for (size_t i = 0; i < MUCH; i++)
		much[i] = (char)('a' + i * 7 % 23 + i / 65536 % 3);
	return much ? 0 : -1;
}

static int drop_much(void **state)
{
	free(much);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sends_the_head_at_once),
		TEST(keeps_the_connection_after_the_end),
		TEST(answers_what_was_pipelined_behind_a_stream),
		TEST(ends_with_the_connection_over_1_0),
		TEST(streams_nothing_to_head),
		TEST(abort_cuts_without_a_last_chunk),
		TEST(a_full_socket_makes_a_write_wait),
		TEST(the_end_takes_over_what_waits),
		TEST(streams_into_a_full_socket),
		TEST(a_peer_that_takes_nothing_is_cut),
		TEST(a_peer_that_takes_a_little_is_not),
		TEST(a_silent_stream_has_no_deadline),
		TEST(a_half_closed_peer_has_gone),
		TEST(a_half_close_behind_unread_bytes_is_seen),
		TEST(a_reset_is_seen),
		TEST(closing_is_heard_from_the_loop_only),
		TEST(an_owner_may_end_what_is_about_to_close),
		TEST(a_watched_request_hears_of_the_leaving),
		TEST(a_watched_request_can_be_answered),
		TEST(a_late_stream_to_a_peer_that_has_gone_closes),
		TEST(freeing_the_server_tells_all),
	};

	return cmocka_run_group_tests(tests, make_much, drop_much);
}
