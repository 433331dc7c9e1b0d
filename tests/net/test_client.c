/* SPDX-License-Identifier: MIT */
/* The client with peers that behave. */
#include "calltest.h"

/* ---- the peer ---- */

static void answer(int conn, const char *body)
{
	char head[200];

	snprintf(
		head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", strlen(body));
	peer_send(conn, head);
	peer_send(conn, body);
}

static void send_large(int conn)
{
	size_t n = 4 << 20;
	char *big = malloc(n);

	for (size_t i = 0; i < n; i++)
		big[i] = (char)('a' + i % 23);
	peer_send(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n");
	peer_send_n(conn, big, n);
	free(big);
}

static void send_chunks(int conn)
{
	peer_send(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
			"Content-Type: text/event-stream\r\n\r\n");
	peer_send(conn, "5\r\nhello\r\n");
	peer_send(conn, "6\r\n world\r\n0\r\nX-Trailer: late\r\n\r\n");
}

static void send_hints(int conn)
{
	peer_send(conn, "HTTP/1.1 103 Early Hints\r\nLink: early\r\n\r\n");
	peer_send(conn, "HTTP/1.1 404 No\r\nX-Kind:  final \r\nContent-Length: 0\r\n\r\n");
}

/* To the same server under another name. */
static void send_away(struct peer *p, int conn)
{
	char head[200];

	snprintf(head, sizeof(head),
		"HTTP/1.1 307 Over There\r\nLocation: http://localhost:%d/hello\r\n"
		"Content-Length: 0\r\n\r\n",
		p->port);
	peer_send(conn, head);
}

static void serve(struct peer *p, int conn)
{
	static _Thread_local char req[2 << 20];

	while (peer_read(p, conn, req, sizeof(req))) {
		if (strstr(req, " /large "))
			send_large(conn);
		else if (strstr(req, " /chunks "))
			send_chunks(conn);
		else if (strstr(req, " /hints "))
			send_hints(conn);
		else if (strstr(req, " /moved "))
			peer_send(conn, "HTTP/1.1 302 Found\r\nLocation: /hello\r\nX-Kind: "
					"moved\r\nContent-Length: 4\r\n\r\nmove");
		else if (strstr(req, " /round "))
			peer_send(conn, "HTTP/1.1 302 Found\r\nLocation: /round\r\n"
					"Content-Length: 0\r\n\r\n");
		else if (strstr(req, " /away "))
			send_away(p, conn);
		else if (strstr(req, " /file "))
			peer_send(conn, "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n"
					"Content-Length: 0\r\n\r\n");
		else if (strstr(req, " /echo"))
			answer(conn, req);
		else if (strncmp(req, "HEAD ", 5) == 0)
			peer_send(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
		else
			answer(conn, "hello");
	}
	p->closed++;
}

static int setup(void **state)
{
	return begin(serve);
}

/* ---- plain calls ---- */

static void gets_status_headers_and_body(void **state)
{
	struct fetch *f = fetch_new("/hello");

	fetch_run(f);
	assert_int_equal(f->op.code, BREAD_OK);
	assert_int_equal(brd_http_call_status(f->call), 200);
	assert_str(brd_http_call_header(f->call, "content-LENGTH"), "5");
	assert_null(brd_http_call_header(f->call, "x-none").p);
	assert_string_equal(f->body.data, "hello");
	assert_int_equal(f->heads, 1);
	fetch_free(f);
}

static void status_is_0_before_the_answer(void **state)
{
	struct fetch *f = fetch_new("/hello");

	fetch_start(f);
	assert_int_equal(brd_http_call_status(f->call), 0);
	assert_null(brd_http_call_header(f->call, "content-length").p);
	fetch_wait(f);
	fetch_free(f);
}

static void posts_with_its_headers_and_nothing_else(void **state)
{
	static const char *const headers[] = { "X-Key: secret", "Content-Type: application/json",
		NULL };
	struct fetch *f = fetch_new("/echo");

	f->spec.method = "POST";
	f->spec.headers = headers;
	f->spec.body = BRD_STR("{\"a\":1}");
	fetch_run(f);
	assert_non_null(strstr(f->body.data, "POST /echo HTTP/1.1\r\n"));
	assert_non_null(strstr(f->body.data, "\r\nX-Key: secret\r\n"));
	assert_non_null(strstr(f->body.data, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(f->body.data, "\r\nContent-Length: 7\r\n"));
	assert_non_null(strstr(f->body.data, "\r\n\r\n{\"a\":1}"));
	assert_null(strcasestr(f->body.data, "expect"));
	assert_null(strcasestr(f->body.data, "accept-encoding"));
	assert_null(strcasestr(f->body.data, "user-agent"));
	fetch_free(f);
}

static void other_methods(void **state)
{
	static const char *const methods[] = { "PUT", "DELETE", "PATCH", "POST" };

	for (int i = 0; i < 4; i++) {
		struct fetch *f = fetch_new("/echo");

		f->spec.method = methods[i];
		fetch_run(f);
		assert_memory_equal(f->body.data, methods[i], strlen(methods[i]));
		assert_null(strcasestr(f->body.data, "content-type"));
		fetch_free(f);
	}
}

static void head_has_no_body(void **state)
{
	struct fetch *f = fetch_new("/hello");

	f->spec.method = "HEAD";
	fetch_run(f);
	assert_int_equal(f->op.code, BREAD_OK);
	assert_int_equal(brd_http_call_status(f->call), 200);
	assert_int_equal(f->datas, 0);
	fetch_free(f);
}

static void a_large_body_goes_out(void **state)
{
	struct fetch *f = fetch_new("/echo");
	size_t n = 1500000;
	char *big = malloc(n);

	memset(big, 'x', n);
	f->spec.method = "POST";
	f->spec.body = (struct bread_str){ big, n };
	fetch_start(f);
	memset(big, 'y', n); /* it was copied */
	fetch_wait(f);
	assert_true(f->body.len > n);
	assert_int_equal(f->body.data[f->body.len - 1], 'x');
	free(big);
	fetch_free(f);
}

static void chunks_and_trailers(void **state)
{
	struct fetch *f = fetch_new("/chunks");

	fetch_run(f);
	assert_string_equal(f->body.data, "hello world");
	assert_null(brd_http_call_header(f->call, "x-trailer").p);
	fetch_free(f);
}

static void only_the_final_head_counts(void **state)
{
	struct fetch *f = fetch_new("/hints");

	fetch_run(f);
	assert_int_equal(f->heads, 1);
	assert_int_equal(f->op.code, BREAD_OK);
	assert_int_equal(brd_http_call_status(f->call), 404);
	assert_null(brd_http_call_header(f->call, "link").p);
	assert_str(brd_http_call_header(f->call, "x-kind"), "final");
	fetch_free(f);
}

/* ---- redirects ---- */

static void redirects_are_not_followed_unasked(void **state)
{
	struct fetch *f = fetch_new("/moved");

	fetch_run(f);
	assert_int_equal(brd_http_call_status(f->call), 302);
	assert_string_equal(f->body.data, "move");
	fetch_free(f);
}

static void redirects_are_followed_when_asked(void **state)
{
	struct fetch *f = fetch_new("/moved");

	f->spec.max_redirects = 2;
	fetch_run(f);
	assert_int_equal(f->heads, 1);
	assert_int_equal(brd_http_call_status(f->call), 200);
	assert_null(brd_http_call_header(f->call, "x-kind").p);
	assert_string_equal(f->body.data, "hello");
	fetch_free(f);
}

static void redirects_have_a_limit_and_stay_http(void **state)
{
	struct fetch *f = fetch_new("/round");

	f->spec.max_redirects = 3;
	fetch_fails(f, BREAD_E_UPSTREAM, "redirects");
	f = fetch_new("/file");
	f->spec.max_redirects = 3;
	fetch_fails(f, BREAD_E_UPSTREAM, "redirects");
}

static void headers_do_not_go_to_another_host(void **state)
{
	static const char *const plain[] = { "Accept: application/json", NULL };
	static const char *const secret[] = { "X-Api-Key: secret", NULL };
	struct fetch *f = fetch_new("/away");

	f->spec.max_redirects = 1;
	f->spec.headers = plain;
	fetch_run(f);
	assert_int_equal(brd_http_call_status(f->call), 200);
	fetch_free(f);
	f = fetch_new("/away");
	f->spec.max_redirects = 1;
	f->spec.headers = secret;
	fetch_fails(f, BREAD_E_UPSTREAM, "redirects");
	f = fetch_new("/moved");
	f->spec.max_redirects = 1;
	f->spec.headers = secret;
	fetch_run(f);
	assert_int_equal(brd_http_call_status(f->call), 200);
	fetch_free(f);
}

/* ---- connections ---- */

static void connections_are_used_again(void **state)
{
	for (int i = 0; i < 5; i++) {
		struct fetch *f = fetch_new("/hello");

		fetch_run(f);
		fetch_free(f);
	}
	assert_int_equal(peer.conns, 1);
	assert_int_equal(peer.requests, 5);
}

static void many_at_once(void **state)
{
	struct fetch *f[40];

	for (int i = 0; i < 40; i++)
		fetch_start(f[i] = fetch_new("/hello"));
	for (int i = 0; i < 40; i++) {
		fetch_wait(f[i]);
		assert_int_equal(f[i]->op.code, BREAD_OK);
		assert_string_equal(f[i]->body.data, "hello");
		fetch_free(f[i]);
	}
}

static void proxies_of_the_environment_are_ignored(void **state)
{
	struct fetch *f = fetch_new("/hello");

	setenv("http_proxy", "http://127.0.0.1:1/", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1/", 1);
	fetch_run(f);
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
	assert_int_equal(f->op.code, BREAD_OK);
	fetch_free(f);
}

static bool no_loopback(void *arg, const void *sa)
{
	return false;
}

static void addresses_may_be_vetoed(void **state)
{
	struct fetch *f = fetch_new("/hello");

	f->spec.allow_addr = no_loopback;
	fetch_fails(f, BREAD_E_INVALID, "address");
	assert_int_equal(peer.requests, 0);
}

static void a_kept_connection_is_vetoed_too(void **state)
{
	struct fetch *f = fetch_new("/hello");

	fetch_run(f);
	fetch_free(f);
	f = fetch_new("/hello");
	f->spec.allow_addr = no_loopback;
	fetch_fails(f, BREAD_E_INVALID, "address");
	assert_int_equal(peer.requests, 1);
}

/* ---- pausing ---- */

static bool pause_after_the_first(void *arg, struct bread_str bytes)
{
	struct fetch *f = arg;

	on_data(arg, bytes);
	if (f->datas == 1)
		brd_http_call_pause(f->call, true);
	return true;
}

static void paused_means_no_more_data(void **state)
{
	struct fetch *f = fetch_new("/large");

	f->spec.on_data = pause_after_the_first;
	fetch_start(f);
	while (!f->datas)
		brd_loop_turn(loop, -1);
	for (int i = 0; i < 20; i++)
		brd_loop_turn(loop, 2);
	assert_int_equal(f->datas, 1);
	assert_false(f->ended);
	brd_http_call_pause(f->call, false);
	fetch_wait(f);
	assert_int_equal(f->op.code, BREAD_OK);
	assert_int_equal(f->body.len, 4 << 20);
	for (size_t i = 0; i < f->body.len; i += 4093)
		assert_int_equal(f->body.data[i], 'a' + i % 23);
	fetch_free(f);
}

static bool pause_each(void *arg, struct bread_str bytes)
{
	struct fetch *f = arg;

	brd_http_call_pause(f->call, true);
	return on_data(arg, bytes);
}

static void pause_and_go_on_many_times(void **state)
{
	struct fetch *f = fetch_new("/large");

	f->spec.on_data = pause_each;
	fetch_start(f);
	while (!f->ended) {
		brd_loop_turn(loop, 1);
		brd_http_call_pause(f->call, false);
	}
	assert_int_equal(f->body.len, 4 << 20);
	for (size_t i = 0; i < f->body.len; i += 4093)
		assert_int_equal(f->body.data[i], 'a' + i % 23);
	fetch_free(f);
}

static void a_paused_call_may_be_cancelled(void **state)
{
	struct fetch *f = fetch_new("/large");

	f->spec.on_data = pause_after_the_first;
	fetch_start(f);
	while (!f->datas)
		brd_loop_turn(loop, -1);
	bread_op_cancel(&f->op);
	fetch_wait(f);
	assert_int_equal(f->op.code, BREAD_E_CANCELED);
	fetch_free(f);
}

/* ---- calls in callbacks ---- */

static struct fetch *second;

static bool start_second(void *arg, struct bread_str bytes)
{
	if (!second->call)
		fetch_start(second);
	return on_data(arg, bytes);
}

static void a_call_may_be_started_in_a_callback(void **state)
{
	struct fetch *f = fetch_new("/hello");

	second = fetch_new("/chunks");
	f->spec.on_data = start_second;
	fetch_run(f);
	fetch_wait(second);
	assert_string_equal(second->body.data, "hello world");
	fetch_free(f);
	fetch_free(second);
}

static bool cancel_second(void *arg, struct bread_str bytes)
{
	bread_op_cancel(&second->op);
	bread_op_cancel(&((struct fetch *)arg)->op);
	return on_data(arg, bytes);
}

static void calls_may_be_cancelled_in_a_callback(void **state)
{
	struct fetch *f = fetch_new("/large");

	second = fetch_new("/large");
	f->spec.on_data = cancel_second;
	second->spec.on_data = pause_after_the_first;
	fetch_start(second);
	fetch_run(f);
	fetch_wait(second);
	assert_int_equal(f->datas, 1);
	assert_int_equal(f->op.code, BREAD_E_CANCELED);
	assert_int_equal(second->op.code, BREAD_E_CANCELED);
	fetch_free(f);
	fetch_free(second);
}

static bool enough(void *arg, struct bread_str bytes)
{
	on_data(arg, bytes);
	return false;
}

static void reader_may_have_enough(void **state)
{
	struct fetch *f = fetch_new("/large");

	f->spec.on_data = enough;
	fetch_run(f);
	assert_int_equal(f->op.code, BREAD_E_CANCELED);
	assert_int_equal(f->datas, 1);
	fetch_free(f);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(gets_status_headers_and_body),
		T(status_is_0_before_the_answer),
		T(posts_with_its_headers_and_nothing_else),
		T(other_methods),
		T(head_has_no_body),
		T(a_large_body_goes_out),
		T(chunks_and_trailers),
		T(only_the_final_head_counts),
		T(redirects_are_not_followed_unasked),
		T(redirects_are_followed_when_asked),
		T(redirects_have_a_limit_and_stay_http),
		T(headers_do_not_go_to_another_host),
		T(connections_are_used_again),
		T(many_at_once),
		T(proxies_of_the_environment_are_ignored),
		T(addresses_may_be_vetoed),
		T(a_kept_connection_is_vetoed_too),
		T(paused_means_no_more_data),
		T(pause_and_go_on_many_times),
		T(a_paused_call_may_be_cancelled),
		T(a_call_may_be_started_in_a_callback),
		T(calls_may_be_cancelled_in_a_callback),
		T(reader_may_have_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
