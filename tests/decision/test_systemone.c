/* SPDX-License-Identifier: MIT */
/* Hosts over HTTP, against a peer that does what hosts do, and what they should not. */
#include <stdio.h>
#include "../net/peer.h"
#include "asked.h"

static struct loop *loop;
static struct peer peer;
static char request[8192]; /* the last one; read after the call has ended */

static void answer(int conn, const char *status, const char *body)
{
	char text[512];

	snprintf(text, sizeof(text),
		"HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
		strlen(body), body);
	peer_send(conn, text);
}

static void answer_for_ever(int conn)
{
	char text[65536];

	peer_send(conn, "HTTP/1.1 200 OK\r\n\r\n");
	memset(text, '1', sizeof(text));
	for (int i = 0; i < 17; i++) /* 64 KiB more than 1 MiB */
		peer_send_n(conn, text, sizeof(text));
}

/* Answers by the model that is asked. */
static void serve(struct peer *p, int conn)
{
	if (!peer_read(p, conn, request, sizeof(request)))
		return;
	if (strstr(request, "\"model\":\"good\""))
		answer(conn, "200 OK",
			"{\"answers\":{\"q0\":{\"type\":\"choice\",\"choice\":\"billing\","
			"\"confidence\":0.9}}}");
	else if (strstr(request, "\"model\":\"wrapped\""))
		answer(conn, "200 OK",
			"{\"result\":{\"answers\":{\"q0\":{\"type\":\"noul\",\"noul\":0.5}}}}");
	else if (strstr(request, "\"model\":\"none\""))
		answer(conn, "200 OK", "{\"answers\":{}}");
	else if (strstr(request, "\"model\":\"text\""))
		answer(conn, "200 OK", "<html>");
	else if (strstr(request, "\"model\":\"down\""))
		answer(conn, "503 Service Unavailable", "secret");
	else if (strstr(request, "\"model\":\"moved\""))
		answer(conn, "302 Found\r\nLocation: http://127.0.0.1:1/", "");
	else if (strstr(request, "\"model\":\"long\""))
		answer_for_ever(conn);
	else if (strstr(request, "\"model\":\"cut\""))
		peer_send(conn, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{");
	else
		peer_wait_closed(p, conn); /* silence */
}

static void open_host(struct asked *q, const char *more)
{
	char registry[256];

	snprintf(registry, sizeof(registry),
		"{\"desk\":{\"type\":\"kev\",\"baseUrl\":\"http://127.0.0.1:%d\"%s}}", peer.port,
		more);
	asked_open(q, registry);
}

static void a_question_is_posted_with_its_key(void **state)
{
	struct asked q;

	open_host(&q, ",\"apiKey\":\"k-1\"");
	ask(&q, loop, "desk", CHOICE, "\"my bill\"", "good");
	assert_answer(&q, "{\"type\":\"choice\",\"choice\":\"billing\",\"confidence\":0.9}");
	assert_non_null(strstr(request, "POST /v1/systemone HTTP/1.1\r\n"));
	assert_non_null(strstr(request, "Authorization: Bearer k-1\r\n"));
	assert_non_null(strstr(request, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(request,
		"\r\n\r\n{\"model\":\"good\",\"state\":\"my bill\",\"questions\":{\"q0\":{\"type\":"
		"\"choice\",\"instructions\":\"Which desk?\",\"criteria\":{\"billing\":null,"
		"\"shipping\":null}}}}"));
	assert_null(strstr(request, "review")); /* otherwise stays here */
	asked_fini(&q);
}

static void answers_are_unwrapped(void **state)
{
	struct asked q;

	open_host(&q, "");
	ask(&q, loop, "desk", NOUL, "1", "wrapped");
	assert_answer(&q, "{\"type\":\"noul\",\"probability\":0.5}");
	ask(&q, loop, "desk", NOUL, "1", "none");
	assert_int_equal(q.call.op.code, BREAD_OK);
	assert_null(q.call.answer);
	asked_fini(&q);
}

static void what_hosts_do_wrong_is_said(void **state)
{
	static const struct {
		const char *model, *context, *text;
	} cases[] = {
		{ "down", "{\"provider\":\"desk\",\"status\":503}",
			"Decision host \"desk\" answered 503 Service Unavailable" },
		{ "moved", "{\"provider\":\"desk\",\"status\":302}",
			"Decision host \"desk\" answered 302 Found" },
		{ "text", "{\"provider\":\"desk\",\"status\":200}",
			"Decision host \"desk\" answered with what is no JSON" },
		{ "long", "{\"provider\":\"desk\",\"status\":200}",
			"Decision host \"desk\" answered with more than 1 MiB" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct asked q;

		open_host(&q, "");
		ask(&q, loop, "desk", CHOICE, "1", cases[i].model);
		assert_failure(&q, "DECISION_HOST", cases[i].context);
		assert_string_equal(q.call.op.err.text, cases[i].text);
		asked_fini(&q);
	}
}

static void an_answer_that_is_cut_is_none(void **state)
{
	struct asked q;

	open_host(&q, "");
	ask(&q, loop, "desk", CHOICE, "1", "cut");
	assert_failure(&q, "DECISION_HOST", "{\"provider\":\"desk\",\"status\":null}");
	asked_fini(&q);
}

static void a_silent_host_is_given_up(void **state)
{
	struct asked q;

	open_host(&q, ",\"timeout\":50");
	ask(&q, loop, "desk", CHOICE, "1", "silent");
	assert_failure(&q, "DECISION_HOST", "{\"provider\":\"desk\",\"status\":null}");
	assert_string_equal(q.call.op.err.text, "Decision host \"desk\" did not answer in time");
	asked_fini(&q);
}

static void a_cancel_closes_the_connection(void **state)
{
	struct asked q;

	open_host(&q, "");
	ask_start(&q, loop, "desk", CHOICE, "1", "silent");
	bread_op_cancel(&q.call.op);
	ask_await(&q, loop);
	assert_int_equal(q.call.op.code, BREAD_E_CANCELED);
	asked_fini(&q);
}

static void without_its_variable_nothing_is_sent(void **state)
{
	int before = atomic_load(&peer.conns);
	struct asked q;

	unsetenv("DESK_KEY");
	open_host(&q, ",\"apiKeyEnv\":\"DESK_KEY\"");
	ask(&q, loop, "desk", CHOICE, "1", "good");
	assert_failure(
		&q, "PROVIDER_NOT_CONFIGURED", "{\"provider\":\"desk\",\"unset\":\"DESK_KEY\"}");
	assert_string_equal(q.call.op.err.text,
		"Decision host \"desk\" is not configured: set DESK_KEY in the environment");
	assert_int_equal(atomic_load(&peer.conns), before);
	asked_fini(&q);
}

static void without_a_model_nothing_is_sent(void **state)
{
	int before = atomic_load(&peer.conns);
	struct asked q;

	open_host(&q, "");
	ask(&q, loop, "desk", CHOICE, "1", "");
	assert_failure(&q, "DECISION_HOST", "{\"provider\":\"desk\",\"status\":null}");
	assert_int_equal(atomic_load(&peer.conns), before);
	asked_fini(&q);
}

static void a_base_that_is_no_address_is_refused(void **state)
{
	struct arena a = { 0 };
	struct decisions *ds = NULL;
	struct bread_err err = { 0 };

	assert_int_equal(brd_decisions_open(
				 &ds, parsed(&a, "{\"kev\":{\"baseUrl\":\"file:///etc\"}}"), &err),
		BREAD_E_INVALID);
	brd_decisions_close(ds);
	brd_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_is_posted_with_its_key),
		cmocka_unit_test(answers_are_unwrapped),
		cmocka_unit_test(what_hosts_do_wrong_is_said),
		cmocka_unit_test(an_answer_that_is_cut_is_none),
		cmocka_unit_test(a_silent_host_is_given_up),
		cmocka_unit_test(a_cancel_closes_the_connection),
		cmocka_unit_test(without_its_variable_nothing_is_sent),
		cmocka_unit_test(without_a_model_nothing_is_sent),
		cmocka_unit_test(a_base_that_is_no_address_is_refused),
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
