/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include "tooltest.h"
#include "../net/peer.h"

static struct loop *loop;
static struct peer peer;
static char request[4096]; /* the last one; read after the call has ended */

static void answer(int conn, const char *head, const char *body)
{
	char text[512];

	snprintf(text, sizeof(text),
		"HTTP/1.1 %sContent-Length: %zu\r\nConnection: close\r\n\r\n%s", head, strlen(body),
		body);
	peer_send(conn, text);
}

static void answer_without_end(int conn, const char *head)
{
	char text[65536];

	peer_send(conn, head);
	memset(text, '1', sizeof(text));
	for (int i = 0; i < 129; i++) /* 64 KiB more than 8 MiB */
		peer_send_n(conn, text, sizeof(text));
}

/* Answers by the path of the request. */
static void serve(struct peer *p, int conn)
{
	if (!peer_read(p, conn, request, sizeof(request)))
		return;
	if (strstr(request, "/json "))
		answer(conn, "200 OK\r\n", "{\"a\":1}");
	else if (strstr(request, "/text "))
		answer(conn, "200 OK\r\n", "hi");
	else if (strstr(request, "/none "))
		answer(conn, "200 OK\r\n", "");
	else if (strstr(request, "/lines "))
		answer(conn, "200 OK\r\nContent-Type: application/x-ndjson\r\n", "1\n2\n");
	else if (strstr(request, "/refused "))
		answer(conn, "403 Forbidden\r\n", "{\"error\":\"not today\"}");
	else if (strstr(request, "/gone "))
		answer(conn, "410 Gone\r\n", "");
	else if (strstr(request, "/long-body "))
		answer_without_end(conn, "HTTP/1.1 200 OK\r\n\r\n");
	else if (strstr(request, "/long-line "))
		answer_without_end(
			conn, "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n");
}

static void fetch(struct called *c, const char *path, const char *more)
{
	char def[256];

	snprintf(def, sizeof(def), "{\"http\":{\"url\":\"http://127.0.0.1:%d%s\"%s}}", peer.port,
		path, more);
	call_tool(c, loop, def, "{\"q\":true}");
}

#define ALLOWED ",\"allowPrivate\":true"

static void posts_arguments_and_takes_json(void **state)
{
	struct called c;

	fetch(&c, "/json", ALLOWED);
	assert_int_equal(c.call.op.code, BREAD_OK);
	assert_str(result_of(&c), "{\"a\":1}");
	assert_non_null(strstr(request, "POST /json HTTP/1.1\r\n"));
	assert_non_null(strstr(request, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(request, "\r\n\r\n{\"q\":true}"));
	called_fini(&c);
}

static void what_is_no_json_is_a_text(void **state)
{
	struct called c;

	fetch(&c, "/text", ALLOWED);
	assert_str(result_of(&c), "\"hi\"");
	called_fini(&c);
}

static void an_empty_body_is_no_value(void **state)
{
	struct called c;

	fetch(&c, "/none", ALLOWED);
	assert_int_equal(c.call.op.code, BREAD_OK);
	assert_null(c.call.result);
	called_fini(&c);
}

static void lines_are_values_on_the_way(void **state)
{
	struct called c;

	fetch(&c, "/lines", ALLOWED);
	assert_str(brd_buf_str(&c.partials), "1\n2\n");
	assert_str(result_of(&c), "2");
	called_fini(&c);
}

static void a_status_is_a_failure_with_the_bodys_error(void **state)
{
	struct called c;

	fetch(&c, "/refused", ALLOWED);
	assert_int_equal(c.call.op.code, BREAD_E_UPSTREAM);
	assert_string_equal(c.call.error_text, "not today");
	called_fini(&c);
	fetch(&c, "/gone", ALLOWED);
	assert_string_equal(c.call.error_text, "the tool's server answered 410 Gone");
	called_fini(&c);
}

static void an_answer_over_the_limit_is_a_failure(void **state)
{
	static const char *const paths[] = { "/long-body", "/long-line" };

	for (size_t i = 0; i < 2; i++) {
		struct called c;

		fetch(&c, paths[i], ALLOWED);
		assert_int_equal(c.call.op.code, BREAD_E_UPSTREAM);
		assert_string_equal(c.call.op.err.text, "the result is over 8 MiB");
		assert_null(c.call.result);
		called_fini(&c);
	}
}

static void addresses_that_are_not_public_are_refused(void **state)
{
	int before = atomic_load(&peer.conns);
	struct called c;

	fetch(&c, "/json", "");
	assert_int_equal(c.call.op.code, BREAD_E_INVALID);
	assert_int_equal(atomic_load(&peer.conns), before);
	called_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posts_arguments_and_takes_json),
		cmocka_unit_test(what_is_no_json_is_a_text),
		cmocka_unit_test(an_empty_body_is_no_value),
		cmocka_unit_test(lines_are_values_on_the_way),
		cmocka_unit_test(a_status_is_a_failure_with_the_bodys_error),
		cmocka_unit_test(an_answer_over_the_limit_is_a_failure),
		cmocka_unit_test(addresses_that_are_not_public_are_refused),
	};
	struct bread_err err;
	int r;

	if (brd_loop_new(&loop, &err))
		return 1;
	peer_start(&peer, serve);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	brd_loop_free(loop);
	peer_stop(&peer);
	return r;
}
