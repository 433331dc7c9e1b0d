/* SPDX-License-Identifier: MIT */
/* The server's exchanges: requests in, answers out, in order. */
#include "test.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/clock.h"
#include "nettest.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"

static struct rig rig;
static struct peer peer;

static int start(void **state)
{
	rig_start(&rig, (struct http_server_conf){ 0 });
	peer_open(&peer, &rig);
	return 0;
}

static int stop(void **state)
{
	peer_close(&peer);
	rig_stop(&rig);
	return 0;
}

static void reply_held(size_t i, const char *body)
{
	brd_http_reply(rig.held[i], 200, "text/plain", BRD_STR(""), brd_str(body));
}

static void answers_and_keeps_the_connection(void **state)
{
	struct bread_str head, body;

	for (int i = 0; i < 3; i++) {
		peer_send(&peer,
			"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\n{\"a\":1}");
		assert_int_equal(peer_answer(&peer, &head, &body), 200);
		assert_str(body, "{\"a\":1}");
		assert_true(has_line(head, "HTTP/1.1 200 OK"));
		assert_true(has_line(head, "Content-Type: application/json"));
		assert_true(has_line(head, "Content-Length: 7"));
		assert_int_equal(brd_str_find(head, BRD_STR("Connection:")), -1);
	}
	assert_false(peer.eof);
}

static void hands_over_the_head_as_sent(void **state)
{
	struct bread_str head, body;

	peer_send(&peer,
		"DELETE /he%61d?q=%20 HTTP/1.1\r\nHost: a:1\r\nX-One:  two \r\nX-One:\r\n\r\n");
	assert_int_equal(peer_answer(&peer, &head, &body), 200);
	assert_str(body, "DELETE /head q=%20 1.1\nHost=a:1\nX-One=two\nX-One=\n");
	assert_true(has_line(head, "X-Extra: 1"));
}

static void answers_a_request_cut_anywhere(void **state)
{
	const char *z =
		"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" GET("/echo");

	for (size_t cut = 1; cut < strlen(z); cut++) {
		peer_sendn(&peer, z, cut);
		rig_turns(&rig, 2);
		peer_send(&peer, z + cut);
		peer_expect(&peer, 200, "hello");
		peer_expect(&peer, 200, "");
	}
}

static void answers_chunks_cut_at_every_byte(void **state)
{
	const char *z = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
			"5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nT: x\r\n\r\n";

	for (size_t cut = 1; cut < strlen(z); cut++) {
		peer_sendn(&peer, z, cut);
		rig_turns(&rig, 2);
		peer_send(&peer, z + cut);
		peer_expect(&peer, 200, "hello, world");
	}
	for (size_t i = 0; i < strlen(z); i++)
		peer_sendn(&peer, z + i, 1);
	peer_expect(&peer, 200, "hello, world");
}

static void answers_pipelined_requests_in_order(void **state)
{
	for (int i = 0; i < 50; i++)
		peer_send(&peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx" GET(
					 "/echo"));
	for (int i = 0; i < 50; i++) {
		peer_expect(&peer, 200, "x");
		peer_expect(&peer, 200, "");
	}
}

static void keeps_the_order_when_the_first_is_answered_later(void **state)
{
	peer_send(&peer, GET("/hold") GET("/hold") "POST /echo HTTP/1.1\r\nHost: a\r\n"
						   "Content-Length: 4\r\n\r\nlast");
	rig_until_held(&rig, 1);
	rig_turns(&rig, 5);
	assert_int_equal(rig.held_count, 1); /* one at a time */
	reply_held(0, "first");
	assert_int_equal(rig.held_count, 1); /* never from inside the answer */
	rig_until_held(&rig, 2);
	reply_held(1, "second");
	peer_expect(&peer, 200, "first");
	peer_expect(&peer, 200, "second");
	peer_expect(&peer, 200, "last");
}

static void takes_requests_that_come_while_one_is_held(void **state)
{
	peer_send(&peer, GET("/hold"));
	rig_until_held(&rig, 1);
	peer_send(&peer, GET("/echo") GET("/hold"));
	rig_turns(&rig, 5);
	reply_held(0, "a");
	rig_until_held(&rig, 2);
	reply_held(1, "b");
	peer_expect(&peer, 200, "a");
	peer_expect(&peer, 200, "");
	peer_expect(&peer, 200, "b");
}

static void answers_head_without_a_body(void **state)
{
	struct bread_str head;

	peer_send(&peer, "HEAD /big?n=1234 HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_int_equal(peer_answer_to_head(&peer, &head), 200);
	assert_true(has_line(head, "Content-Length: 1234"));
	peer_send(&peer, GET("/echo"));
	peer_expect(&peer, 200, "");
}

static void sends_no_length_with_no_content(void **state)
{
	struct bread_str head, body;

	peer_send(&peer, GET("/hold"));
	rig_until_held(&rig, 1);
	brd_http_reply(rig.held[0], 204, NULL, BRD_STR(""), BRD_STR(""));
	assert_int_equal(peer_answer(&peer, &head, &body), 204);
	assert_int_equal(brd_str_find(head, BRD_STR("Content-")), -1);
	peer_send(&peer, GET("/echo"));
	peer_expect(&peer, 200, "");
}

static void speaks_http_1_0(void **state)
{
	struct bread_str head, body;

	peer_send(&peer,
		"POST /echo HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx");
	assert_int_equal(peer_answer(&peer, &head, &body), 200);
	assert_true(has_line(head, "Connection: keep-alive"));
	peer_send(&peer, "GET /echo HTTP/1.0\r\n\r\n");
	assert_int_equal(peer_answer(&peer, &head, &body), 200);
	assert_true(has_line(head, "Connection: close"));
	peer_await_end(&peer);
}

static void closes_when_asked_to(void **state)
{
	struct bread_str head, body;

	peer_send(&peer, "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" GET("/echo"));
	assert_int_equal(peer_answer(&peer, &head, &body), 200);
	assert_true(has_line(head, "Connection: close"));
	peer_await_end(&peer);
	assert_int_equal(peer.got.len, 0); /* what came behind is not answered */
}

static void dates_its_answers(void **state)
{
	struct bread_str head, body;

	brd_clock_freeze(784111777000);
	peer_send(&peer, GET("/echo"));
	peer_answer(&peer, &head, &body);
	assert_true(has_line(head, "Date: Sun, 06 Nov 1994 08:49:37 GMT"));
	brd_clock_turn(1000);
	peer_send(&peer, GET("/echo"));
	peer_answer(&peer, &head, &body);
	assert_true(has_line(head, "Date: Sun, 06 Nov 1994 08:49:38 GMT"));
	brd_clock_thaw();
}

static void says_continue_when_expected(void **state)
{
	peer_send(&peer, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: "
			 "100-continue\r\nContent-Length: 2\r\n\r\n");
	peer_expect(&peer, 100, "");
	peer_send(&peer, "ok");
	peer_expect(&peer, 200, "ok");
	peer_send(&peer, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
			 "Transfer-Encoding: chunked\r\n\r\n");
	peer_expect(&peer, 100, "");
	peer_send(&peer, "2\r\nok\r\n0\r\n\r\n");
	peer_expect(&peer, 200, "ok");
	/* the body is there already */
	peer_send(&peer, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: "
			 "100-continue\r\nContent-Length: 2\r\n\r\nok");
	peer_expect(&peer, 200, "ok");
}

static void sends_a_big_answer_to_a_slow_reader(void **state)
{
	struct bread_str head, body;

	peer_send(&peer, GET("/big?n=8000000") GET("/echo"));
	rig_turns(&rig, 20);
	assert_int_equal(peer_answer(&peer, &head, &body), 200);
	assert_int_equal(body.n, 8000000);
	for (size_t i = 0; i < body.n; i += 1000)
		assert_int_equal(body.p[i], 'b');
	peer_expect(&peer, 200, "");
}

static void takes_a_body_of_exactly_the_limit(void **state)
{
	size_t n = 1 << 20;
	char *big = calloc(1, n);
	struct bread_str head, body;

	memset(big, 'z', n);
	peer_send(&peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n");
	peer_sendn(&peer, big, n);
	assert_int_equal(peer_answer(&peer, &head, &body), 200);
	assert_int_equal(body.n, n);
	assert_memory_equal(body.p, big, n);
	free(big);
}

static void knows_its_peer(void **state)
{
	struct sockaddr_in me = { 0 };
	socklen_t n = sizeof(me);
	char wanted[64], name[64];

	peer_send(&peer, GET("/hold"));
	rig_until_held(&rig, 1);
	getsockname(peer.fd, (void *)&me, &n);
	snprintf(wanted, sizeof(wanted), "127.0.0.1:%d", ntohs(me.sin_port));
	brd_http_req_peer(rig.held[0], name, sizeof(name));
	assert_string_equal(name, wanted);
	assert_true(brd_http_req_local(rig.held[0]));
	assert_ptr_equal(brd_http_req_loop(rig.held[0]), rig.loop);
	reply_held(0, "");
	peer_expect(&peer, 200, "");
}

static void counts(void **state)
{
	struct http_server_stats s;

	peer_send(&peer, GET("/echo") GET("/echo") GET("/stream"));
	rig_until_held(&rig, 1);
	brd_http_server_stats(rig.server, &s);
	assert_int_equal(s.accepted, 1);
	assert_int_equal(s.requests, 3);
	assert_int_equal(s.open, 1);
	assert_int_equal(s.streams, 1);
	brd_http_stream_abort(rig.held[0]);
	brd_http_server_stats(rig.server, &s);
	assert_int_equal(s.open, 0);
	assert_int_equal(s.streams, 0);
}

static void answers_a_peer_that_ended_its_side(void **state)
{
	peer_send(&peer, GET("/hold") GET("/echo"));
	shutdown(peer.fd, SHUT_WR);
	rig_until_held(&rig, 1);
	rig_turns(&rig, 5);
	reply_held(0, "late");
	peer_expect(&peer, 200, "late");
	peer_expect(&peer, 200, "");
	peer_await_end(&peer);
}

static void forgets_a_peer_that_left_in_the_middle(void **state)
{
	static const char *const parts[] = { "", "GET", GET("/echo") "GET",
		"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc",
		"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc" };
	struct http_server_stats s;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct peer p;

		peer_open(&p, &rig);
		peer_send(&p, parts[i]);
		rig_turns(&rig, 5);
		(i % 2 ? peer_reset : peer_close)(&p);
		rig_turns(&rig, 20);
	}
	brd_http_server_stats(rig.server, &s);
	assert_true(s.open <= 1);
}

static void reply_to_a_peer_that_has_gone_is_no_trouble(void **state)
{
	struct peer p;

	peer_open(&p, &rig);
	peer_send(&p, GET("/hold"));
	rig_until_held(&rig, 1);
	peer_reset(&p);
	rig_turns(&rig, 5);
	assert_str(brd_http_req_head(rig.held[0])->path, "/hold");
	reply_held(0, "nobody");
}

/* The server sets them on its listener; Linux hands them on. The server's end is
 * found by its peer's address among the descriptors of this process. */
static int server_end(void)
{
	struct sockaddr_in mine = { 0 }, other;
	socklen_t n = sizeof(mine);

	getsockname(peer.fd, (void *)&mine, &n);
	for (int fd = 3; fd < 1000; fd++) {
		n = sizeof(other);
		if (getpeername(fd, (void *)&other, &n) == 0 && n == sizeof(other) &&
			other.sin_port == mine.sin_port)
			return fd;
	}
	return -1;
}

static int tcp_option(int fd, int name)
{
	int v = 0;
	socklen_t n = sizeof(v);

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, name, &v, &n), 0);
	return v;
}

static void sets_tcp_options_on_what_it_accepts(void **state)
{
	int fd;

	peer_send(&peer, GET("/echo"));
	peer_expect(&peer, 200, "");
	fd = server_end();
	assert_true(fd >= 0);
	assert_int_equal(tcp_option(fd, TCP_NOTSENT_LOWAT), 32768);
	assert_int_equal(tcp_option(fd, TCP_USER_TIMEOUT), 30000);
	assert_int_not_equal(tcp_option(fd, TCP_NODELAY), 0);
}

/* ---- listening ---- */

static void serves_a_unix_socket(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char host[64];
	struct rig r;
	struct peer p = { .rig = &r };

	snprintf(host, sizeof(host), "unix:/tmp/bread-test-%d.sock", (int)getpid());
	strcpy(a.sun_path, host + 5);
	for (int i = 0; i < 2; i++) { /* the second finds the file of a server that died */
		rig_start(&r, (struct http_server_conf){ .host = host });
		p.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		brd_buf_init(&p.got, BUF_NO_LIMIT);
		assert_int_equal(connect(p.fd, (void *)&a, sizeof(a)), 0);
		peer_send(&p, GET("/hold"));
		rig_until_held(&r, 1);
		assert_true(brd_http_req_local(r.held[0]));
		brd_http_reply(r.held[0], 200, NULL, BRD_STR(""), BRD_STR("hi"));
		peer_expect(&p, 200, "hi");
		peer_close(&p);
		rig_stop(&r);
		assert_int_not_equal(access(a.sun_path, F_OK), 0);
		if (i == 0) {
			int fd = socket(AF_UNIX, SOCK_STREAM, 0);

			assert_int_equal(bind(fd, (void *)&a, sizeof(a)), 0);
			close(fd);
		}
	}
}

static void fail_to_start(struct http_server_conf c, enum bread_code code, const char *part)
{
	struct bread_err err = { 0 };
	struct http_server *s = NULL;

	c.on_request = NULL;
	assert_int_equal(brd_http_server_new(&s, rig.loop, &c, &err), code);
	assert_null(s);
	if (!strstr(err.text, part))
		fail_msg("'%s' is not in: %s", part, err.text);
}

static void says_why_it_cannot_listen(void **state)
{
	char taken[64];

	snprintf(taken, sizeof(taken), "port %d of 127.0.0.1 is taken; set server.port",
		brd_http_server_port(rig.server));
	fail_to_start((struct http_server_conf){ .host = "127.0.0.1",
			      .port = brd_http_server_port(rig.server) },
		BREAD_E_CONFLICT, taken);
	fail_to_start(
		(struct http_server_conf){ .host = "192.0.2.1" }, BREAD_E_INVALID, "server.host");
	fail_to_start((struct http_server_conf){ .host = "127.0.0.1", .port = 70000 },
		BREAD_E_INVALID, "70000 is not a port");
	fail_to_start((struct http_server_conf){ .host = "unix:" }, BREAD_E_INVALID, "empty");
	fail_to_start((struct http_server_conf){ .host = "unix:/nowhere/at/all" }, BREAD_E_INVALID,
		"/nowhere/at/all");
	rig_turns(&rig, 3);
}

static void shares_its_port_when_asked_to(void **state)
{
	struct rig one, two;

	rig_start(&one, (struct http_server_conf){ .reuse_port = true });
	rig_start(&two, (struct http_server_conf){
				.reuse_port = true, .port = brd_http_server_port(one.server) });
	assert_int_equal(brd_http_server_port(one.server), brd_http_server_port(two.server));
	rig_stop(&one);
	rig_stop(&two);
}

static void serves_localhost(void **state)
{
	struct rig r;
	struct peer p;

	rig_start(&r, (struct http_server_conf){ .host = "localhost" });
	peer_open(&p, &r);
	peer_send(&p, GET("/echo"));
	peer_expect(&p, 200, "");
	peer_close(&p);
	rig_stop(&r);
}

/* ---- many ---- */

static void serves_a_thousand_connections(void **state)
{
	enum { N = 1000 };
	static struct peer many[N];
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max < 4096 ? l.rlim_max : 4096;
	setrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_cur < 2 * N + 100)
		skip();
	for (int i = 0; i < N; i++) {
		peer_open(&many[i], &rig);
		peer_send(&many[i], GET("/stream"));
	}
	rig_until_held(&rig, N);
	for (int i = 0; i < N; i++) {
		struct iovec v = { (char *)"3\r\nabc\r\n", 8 };

		assert_true(brd_http_stream_write(rig.held[i], &v, 1));
		if (i % 2)
			brd_http_stream_end(rig.held[i]);
	}
	for (int i = 0; i < N; i++)
		peer_await(&many[i], i % 2 ? "3\r\nabc\r\n0\r\n\r\n" : "3\r\nabc\r\n");
	for (int i = 0; i < N; i++)
		peer_close(&many[i]);
	rig_until_closed(&rig, N / 2);
}

static void the_oldest_idle_one_makes_room(void **state)
{
	struct rig r;
	struct peer p[3];
	struct http_server_stats s;

	rig_start(&r, (struct http_server_conf){ .max_conns = 2 });
	for (int i = 0; i < 2; i++) {
		peer_open(&p[i], &r);
		peer_send(&p[i], GET("/echo"));
		peer_expect(&p[i], 200, "");
	}
	peer_send(&p[0], GET("/echo")); /* now the second one is the oldest */
	peer_expect(&p[0], 200, "");
	peer_open(&p[2], &r);
	peer_send(&p[2], GET("/echo"));
	peer_expect(&p[2], 200, "");
	peer_await_end(&p[1]);
	peer_send(&p[0], GET("/echo"));
	peer_expect(&p[0], 200, "");
	brd_http_server_stats(r.server, &s);
	assert_int_equal(s.open, 2);
	for (int i = 0; i < 3; i++)
		peer_close(&p[i]);
	rig_stop(&r);
}

static void turns_away_when_all_are_busy(void **state)
{
	struct rig r;
	struct peer one, two;

	rig_start(&r, (struct http_server_conf){ .max_conns = 1 });
	peer_open(&one, &r);
	peer_send(&one, GET("/hold"));
	rig_until_held(&r, 1);
	peer_open(&two, &r);
	peer_expect_refusal(&two, 503, "OVERLOADED");
	brd_http_reply(r.held[0], 200, NULL, BRD_STR(""), BRD_STR("done"));
	peer_expect(&one, 200, "done");
	peer_close(&one);
	peer_close(&two);
	rig_stop(&r);
}

static void survives_having_no_descriptor_left(void **state)
{
	static int fds[5000];
	struct rlimit old, l;
	struct peer one;
	int n = 0;

	skip_under_valgrind();
	peer_send(&peer, GET("/hold"));
	rig_until_held(&rig, 1);
	getrlimit(RLIMIT_NOFILE, &old);
	l = old;
	l.rlim_cur = 200;
	peer_open(&one, &rig);
	setrlimit(RLIMIT_NOFILE, &l);
	while (n < 5000 && (fds[n] = dup(peer.fd)) >= 0)
		n++;
	peer_expect_refusal(&one, 503, "OVERLOADED");
	rig_turns(&rig, 3);
	while (n)
		close(fds[--n]);
	setrlimit(RLIMIT_NOFILE, &old);
	peer_close(&one);
	peer_open(&one, &rig);
	peer_send(&one, GET("/echo"));
	peer_expect(&one, 200, "");
	peer_close(&one);
	reply_held(0, "still here");
	peer_expect(&peer, 200, "still here");
}

static void an_idle_one_makes_room_for_a_descriptor(void **state)
{
	static int fds[5000];
	struct rlimit old, l;
	struct peer one;
	int n = 0;

	skip_under_valgrind();
	peer_send(&peer, GET("/echo"));
	peer_expect(&peer, 200, "");
	peer_open(&one, &rig);
	getrlimit(RLIMIT_NOFILE, &old);
	l = old;
	l.rlim_cur = 200;
	setrlimit(RLIMIT_NOFILE, &l);
	while (n < 5000 && (fds[n] = dup(peer.fd)) >= 0)
		n++;
	peer_send(&one, GET("/echo"));
	peer_expect(&one, 200, "");
	peer_await_end(&peer);
	while (n)
		close(fds[--n]);
	setrlimit(RLIMIT_NOFILE, &old);
	peer_close(&one);
}

/* ---- the end ---- */

static void refuses_new_ones_and_finishes_the_old(void **state)
{
	struct peer idle, late;
	struct bread_str head, body;
	int port = brd_http_server_port(rig.server);

	peer_open(&idle, &rig);
	peer_send(&idle, GET("/echo"));
	peer_expect(&idle, 200, "");
	peer_send(&peer, GET("/hold"));
	rig_until_held(&rig, 1);
	brd_http_server_refuse(rig.server);
	assert_int_equal(brd_http_server_port(rig.server), port);
	peer_await_end(&idle);
	peer_open(&late, &rig);
	peer_await_end(&late);
	reply_held(0, "x");
	assert_int_equal(peer_answer(&peer, &head, &body), 200);
	assert_true(has_line(head, "Connection: close"));
	peer_await_end(&peer);
	peer_close(&idle);
	peer_close(&late);
}

static void a_stream_that_ends_while_refusing_closes(void **state)
{
	peer_send(&peer, GET("/stream"));
	rig_until_held(&rig, 1);
	brd_http_server_refuse(rig.server);
	brd_http_stream_end(rig.held[0]);
	peer_await_end(&peer);
	assert_true(brd_str_ends(brd_buf_str(&peer.got), BRD_STR("0\r\n\r\n")));
}

static void free_in_handler(struct http_req *req, void *arg)
{
	struct rig *r = arg;

	brd_http_server_free(r->server);
	r->server = NULL;
	brd_http_reply(req, 200, NULL, BRD_STR(""), BRD_STR(""));
}

static void may_be_freed_by_its_own_handler(void **state)
{
	struct rig r;
	struct peer p;

	rig_start(&r, (struct http_server_conf){ .on_request = free_in_handler });
	peer_open(&p, &r);
	peer_send(&p, GET("/a") GET("/b"));
	peer_await_end(&p);
	peer_close(&p);
	rig_stop(&r);
}

static void may_be_freed_after_it_refused(void **state)
{
	struct rig r;

	rig_start(&r, (struct http_server_conf){ 0 });
	brd_http_server_refuse(r.server);
	rig_turns(&r, 5);
	rig_stop(&r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_and_keeps_the_connection),
		TEST(hands_over_the_head_as_sent),
		TEST(answers_a_request_cut_anywhere),
		TEST(answers_chunks_cut_at_every_byte),
		TEST(answers_pipelined_requests_in_order),
		TEST(keeps_the_order_when_the_first_is_answered_later),
		TEST(takes_requests_that_come_while_one_is_held),
		TEST(answers_head_without_a_body),
		TEST(sends_no_length_with_no_content),
		TEST(speaks_http_1_0),
		TEST(closes_when_asked_to),
		TEST(dates_its_answers),
		TEST(says_continue_when_expected),
		TEST(sends_a_big_answer_to_a_slow_reader),
		TEST(takes_a_body_of_exactly_the_limit),
		TEST(knows_its_peer),
		TEST(counts),
		TEST(answers_a_peer_that_ended_its_side),
		TEST(forgets_a_peer_that_left_in_the_middle),
		TEST(reply_to_a_peer_that_has_gone_is_no_trouble),
		TEST(sets_tcp_options_on_what_it_accepts),
		TEST(serves_a_unix_socket),
		TEST(says_why_it_cannot_listen),
		TEST(shares_its_port_when_asked_to),
		TEST(serves_localhost),
		TEST(serves_a_thousand_connections),
		TEST(the_oldest_idle_one_makes_room),
		TEST(turns_away_when_all_are_busy),
		TEST(survives_having_no_descriptor_left),
		TEST(an_idle_one_makes_room_for_a_descriptor),
		TEST(refuses_new_ones_and_finishes_the_old),
		TEST(a_stream_that_ends_while_refusing_closes),
		TEST(may_be_freed_by_its_own_handler),
		TEST(may_be_freed_after_it_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
