/* SPDX-License-Identifier: MIT */
/* The client with peers that do not behave, and with names that are looked up
 * slowly or in vain: this program has its own getaddrinfo, which libcurl uses. */
#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>
#include <unistd.h>
#include "calltest.h"

/* ---- names ---- */

static sem_t slow_name; /* what a look-up of slow.test waits for */
static atomic_int looking_up;

static int really(
	const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
{
	int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	*(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
	return next(node, service, hints, ret);
}

__attribute__((visibility("default"))) int getaddrinfo(
	const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
{
	if (node && strcmp(node, "nowhere.test") == 0)
		return EAI_NONAME;
	if (node && strcmp(node, "slow.test") == 0) {
		looking_up++;
		sem_wait(&slow_name);
		return EAI_NONAME;
	}
	return really(node, service, hints, ret);
}

/* ---- the peer ---- */

static void serve(struct peer *p, int conn)
{
	char req[4096];

	if (!peer_read(p, conn, req, sizeof(req)))
		return;
	if (strstr(req, " /reset ")) {
		peer_send(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
		usleep(20000); /* so that the bytes are read before the reset throws them away */
		peer_reset(conn);
	} else if (strstr(req, " /cut-chunks ")) {
		peer_send(
			conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	} else if (strstr(req, " /cut-length ")) {
		peer_send(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
	} else if (strstr(req, " /cut-head ")) {
		peer_send(conn, "HTTP/1.1 200 OK\r\nContent-Le");
	} else if (strstr(req, " /nothing ")) {
		return;
	} else if (strstr(req, " /garbage ")) {
		peer_send(conn, "SSH-2.0-OpenSSH\r\n\r\n");
	} else if (strstr(req, " /bad-chunk ")) {
		peer_send(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
		peer_wait_closed(p, conn);
	} else if (strstr(req, " /big-head ")) {
		peer_send(conn, "HTTP/1.1 200 OK\r\n");
		for (int i = 0; i < 20000; i++)
			peer_send(conn, "X-Header: some value that takes room\r\n");
		peer_wait_closed(p, conn);
	} else if (strstr(req, " /stream ")) {
		peer_send(
			conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
		peer_wait_closed(p, conn);
	} else {
		peer_wait_closed(p, conn); /* and no answer */
	}
}

static int setup(void **state)
{
	sem_init(&slow_name, 0, 0);
	looking_up = 0;
	return begin(serve);
}

static int teardown(void **state)
{
	for (int i = 0; i < looking_up; i++)
		sem_post(&slow_name);
	return finish(state);
}

static void until_requested(int n)
{
	while (peer.requests < n)
		brd_loop_turn(loop, 1);
	for (int i = 0; i < 3; i++)
		brd_loop_turn(loop, 1);
}

static void until_closed(int n)
{
	for (int i = 0; peer.closed < n; i++) {
		assert_true(i < 5000);
		usleep(1000); /* no turn of the loop: it is closed already */
	}
}

/* ---- no connection ---- */

static void nobody_listens(void **state)
{
	struct peer other;
	struct fetch *f;

	peer_start(&other, serve);
	peer_stop(&other);
	f = fetch_at(other.port, "/");
	fetch_run(f);
	assert_non_null(strstr(f->op.err.text, "127.0.0.1:"));
	assert_non_null(strstr(f->op.err.text, "check that it runs"));
	fetch_fails(f, BREAD_E_UPSTREAM, "refused");
}

static struct fetch *fetch_url(const char *url)
{
	struct fetch *f = fetch_new("/");

	f->spec.url = url;
	return f;
}

static void name_is_not_known(void **state)
{
	fetch_fails(fetch_url("http://nowhere.test/"), BREAD_E_UPSTREAM, "dns");
}

static void cancel_does_not_wait_for_a_slow_name(void **state)
{
	struct fetch *f = fetch_url("http://slow.test/");

	fetch_start(f);
	while (!looking_up)
		brd_loop_turn(loop, 1);
	bread_op_cancel(&f->op);
	brd_loop_turn(loop, 0);
	assert_true(f->ended);
	assert_int_equal(f->op.code, BREAD_E_CANCELED);
	fetch_free(f);
}

static void connecting_takes_too_long(void **state)
{
	struct fetch *f = fetch_url("http://slow.test/");

	brd_clock_freeze(0);
	fetch_start(f);
	while (!looking_up)
		brd_loop_turn(loop, 1);
	brd_clock_turn(9999);
	brd_loop_turn(loop, 0);
	assert_false(f->ended);
	brd_clock_turn(1);
	fetch_wait(f);
	assert_non_null(strstr(f->op.err.text, "connect"));
	fetch_fails(f, BREAD_E_TIMEOUT, "connect");
}

static void serve_no_tls(struct peer *p, int conn)
{
	peer_send(conn, "220 this is another protocol\r\n");
	peer_wait_closed(p, conn);
}

static void a_peer_without_tls(void **state)
{
	struct peer other;
	char url[100];

	peer_start(&other, serve_no_tls);
	snprintf(url, sizeof(url), "https://127.0.0.1:%d/", other.port);
	fetch_fails(fetch_url(url), BREAD_E_UPSTREAM, "tls");
	peer_stop(&other);
}

/* ---- cut connections ---- */

static void reset_in_the_middle(void **state)
{
	struct fetch *f = fetch_new("/reset");

	fetch_run(f);
	assert_string_equal(f->body.data, "abc");
	assert_int_equal(brd_http_call_status(f->call), 200);
	assert_non_null(strstr(f->op.err.text, "in the middle"));
	fetch_fails(f, BREAD_E_UPSTREAM, "reset");
}

static void cut_bodies(void **state)
{
	fetch_fails(fetch_new("/cut-chunks"), BREAD_E_UPSTREAM, "reset");
	fetch_fails(fetch_new("/cut-length"), BREAD_E_UPSTREAM, "reset");
	fetch_fails(fetch_new("/cut-head"), BREAD_E_UPSTREAM, "reset");
	fetch_fails(fetch_new("/nothing"), BREAD_E_UPSTREAM, "reset");
}

static void no_http(void **state)
{
	fetch_fails(fetch_new("/garbage"), BREAD_E_UPSTREAM, "protocol");
	fetch_fails(fetch_new("/bad-chunk"), BREAD_E_UPSTREAM, "protocol");
	fetch_fails(fetch_new("/big-head"), BREAD_E_UPSTREAM, "protocol");
}

/* ---- watchdogs ---- */

static void no_answer(void **state)
{
	struct fetch *f = fetch_new("/silent");

	brd_clock_freeze(0);
	fetch_start(f);
	until_requested(1);
	brd_clock_turn(299999);
	brd_loop_turn(loop, 0);
	assert_false(f->ended);
	brd_clock_turn(1);
	brd_loop_turn(loop, 0);
	assert_true(f->ended);
	assert_non_null(strstr(f->op.err.text, "did not begin its answer"));
	fetch_fails(f, BREAD_E_TIMEOUT, "headers");
	until_closed(1);
}

static void silence_in_the_body(void **state)
{
	struct fetch *f = fetch_new("/stream");

	brd_clock_freeze(0);
	f->spec.silence_ms = 5000;
	fetch_start(f);
	while (!f->datas)
		brd_loop_turn(loop, 1);
	brd_clock_turn(4999);
	brd_loop_turn(loop, 0);
	assert_false(f->ended);
	brd_clock_turn(1);
	brd_loop_turn(loop, 0);
	assert_true(f->ended);
	assert_non_null(strstr(f->op.err.text, "silent"));
	fetch_fails(f, BREAD_E_TIMEOUT, "silence");
	until_closed(1);
}

static void silence_is_allowed_by_default_and_while_paused(void **state)
{
	struct fetch *a = fetch_new("/stream"), *b = fetch_new("/stream");

	brd_clock_freeze(0);
	b->spec.silence_ms = 5000;
	fetch_start(a);
	fetch_start(b);
	while (!a->datas || !b->datas)
		brd_loop_turn(loop, 1);
	brd_http_call_pause(b->call, true);
	brd_clock_turn(100000000);
	brd_loop_turn(loop, 0);
	assert_false(a->ended || b->ended);
	brd_http_call_pause(b->call, false);
	brd_clock_turn(5000);
	brd_loop_turn(loop, 0);
	assert_true(b->ended);
	bread_op_cancel(&a->op);
	fetch_wait(a);
	fetch_free(a);
	fetch_free(b);
}

static void deadline_of_the_op(void **state)
{
	struct fetch *f = fetch_new("/stream");

	brd_clock_freeze(0);
	bread_op_deadline(&f->op, 1000);
	fetch_start(f);
	while (!f->datas)
		brd_loop_turn(loop, 1);
	brd_clock_turn(1000);
	brd_loop_turn(loop, 0);
	assert_true(f->ended);
	assert_int_equal(f->op.code, BREAD_E_TIMEOUT);
	fetch_free(f);
}

/* ---- cancel ---- */

static void cancel_closes_at_once(void **state)
{
	struct fetch *f = fetch_new("/stream");

	fetch_start(f);
	while (!f->datas)
		brd_loop_turn(loop, -1);
	bread_op_cancel(&f->op);
	until_closed(1);
	assert_false(f->ended);
	brd_loop_turn(loop, 0);
	assert_true(f->ended);
	assert_int_equal(f->op.code, BREAD_E_CANCELED);
	fetch_free(f);
}

/* Cancelled at every turn of a call in turn: always one end, nothing left. */
static void cancel_at_any_turn(void **state)
{
	for (int turns = 0; turns < 12; turns++) {
		struct fetch *f = fetch_new("/stream");

		fetch_start(f);
		for (int i = 0; i < turns; i++)
			brd_loop_turn(loop, 1);
		bread_op_cancel(&f->op);
		brd_loop_turn(loop, 0);
		assert_true(f->ended);
		assert_int_equal(f->op.code, BREAD_E_CANCELED);
		fetch_free(f);
	}
}

static void client_ends_before_its_calls(void **state)
{
	struct fetch *f = fetch_new("/stream"), *g = fetch_url("http://slow.test/");
	struct bread_err err;

	fetch_start(f);
	fetch_start(g);
	while (!f->datas || !looking_up)
		brd_loop_turn(loop, 1);
	brd_http_client_free(client);
	until_closed(1);
	fetch_wait(f);
	fetch_wait(g);
	assert_int_equal(f->op.code, BREAD_E_CANCELED);
	assert_int_equal(g->op.code, BREAD_E_CANCELED);
	fetch_free(f);
	fetch_free(g);
	assert_int_equal(brd_http_client_new(&client, loop, &err), 0);
}

/* ---- what is not even tried ---- */

static void bad_requests_are_refused(void **state)
{
	static const char *const split[] = { "X: a\r\nY: b", NULL };
	static const char *const no_colon[] = { "nonsense", NULL };
	struct fetch *f = fetch_new("/");

	f->spec.headers = split;
	fetch_fails(f, BREAD_E_INVALID, "header");
	f = fetch_new("/");
	f->spec.headers = no_colon;
	fetch_fails(f, BREAD_E_INVALID, "header");
	f = fetch_new("/");
	f->spec.method = "GET / HTTP/1.1\r\nX: y";
	fetch_fails(f, BREAD_E_INVALID, "method");
	fetch_fails(fetch_url("file:///etc/passwd"), BREAD_E_INVALID, "url");
	fetch_fails(fetch_url("http://user:pw@127.0.0.1/"), BREAD_E_INVALID, "url");
	assert_int_equal(peer.conns, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nobody_listens),
		T(name_is_not_known),
		T(cancel_does_not_wait_for_a_slow_name),
		T(connecting_takes_too_long),
		T(a_peer_without_tls),
		T(reset_in_the_middle),
		T(cut_bodies),
		T(no_http),
		T(no_answer),
		T(silence_in_the_body),
		T(silence_is_allowed_by_default_and_while_paused),
		T(deadline_of_the_op),
		T(cancel_closes_at_once),
		T(cancel_at_any_turn),
		T(client_ends_before_its_calls),
		T(bad_requests_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
