/* SPDX-License-Identifier: MIT */
/* The edge (contract C25), health, metrics, and answers that are no streams. */
#include "server/wire.h"
#include <stdio.h>
#include <stdlib.h>

static struct wire w;

static int setup(void **state)
{
	wire_open(&w, "{\"m\":{\"when\":[{\"stream\":[{\"text\":\"ok\"}]}]}}", NULL, NULL);
	wire_agent(&w, "a", "{\"model\":{\"provider\":\"mock\",\"model\":\"m\"},\"prompt\":\"x\"}");
	return 0;
}

static int teardown(void **state)
{
	wire_close(&w);
	return 0;
}

static void expect(const char *method_path, const char *headers, const char *body, int status,
	const char *text)
{
	char *answer = wire_ask(&w, method_path, headers, body);

	if (atoi(answer + 9) != status || !strstr(answer, text))
		fail_msg("%s: expected %d and %s; got:\n%s", method_path, status, text, answer);
	free(answer);
}

static void the_host_must_be_a_loopback_name(void **state)
{
	struct peer p;

	peer_open(&p, &w);
	peer_send(&p, "GET /agents HTTP/1.1\r\nHost: evil.example:3000\r\n\r\n");
	peer_until(&p, "HOST_NOT_ALLOWED");
	assert_int_equal(peer_status(&p), 403);
	peer_forget(&p);
	peer_send(&p, "GET /agents HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
	peer_until(&p, "\"outputFormat\"");
	assert_int_equal(peer_status(&p), 200);
	peer_close(&p);
}

static void other_origins_change_nothing(void **state)
{
	const char *run = "POST /agents/a/runs";

	expect(run, "Origin: http://evil.example\r\n", "{}", 403, "ORIGIN_NOT_ALLOWED");
	expect(run, "Origin: null\r\n", "{}", 403, "ORIGIN_NOT_ALLOWED");
	expect(run, "Origin: https://localhost\r\n", "{}", 403, "ORIGIN_NOT_ALLOWED");
	expect(run, "Origin: http://localhost\r\n", "{}", 202, "runId");
	expect("GET /agents", "Origin: http://evil.example\r\n", NULL, 200, "mock");
}

static void nothing_is_said_about_cors(void **state)
{
	char *answer = wire_ask(&w, "GET /agents", "Origin: http://localhost\r\n", NULL);

	assert_null(strstr(answer, "Access-Control"));
	free(answer);
	expect("OPTIONS /agents", "Origin: http://evil.example\r\n", NULL, 404, "404 Not Found");
}

static void a_form_of_a_browser_is_no_json(void **state)
{
	struct peer p;

	peer_open(&p, &w);
	peer_send(&p,
		"POST /agents/a/runs HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
		"Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}");
	peer_until(&p, "CONTENT_TYPE_NOT_ALLOWED");
	assert_int_equal(peer_status(&p), 415);
	peer_close(&p);
}

static void unknown_paths_and_methods_are_404(void **state)
{
	expect("GET /nope", NULL, NULL, 404, "Content-Type: text/plain; charset=UTF-8");
	expect("GET /agents/", NULL, NULL, 404, "\r\n\r\n404 Not Found");
	expect("DELETE /agents", NULL, NULL, 404, "\r\n\r\n404 Not Found");
}

static void paths_are_decoded(void **state)
{
	expect("GET /agents/%61", NULL, NULL, 200, "{\"id\":\"a\",");
	expect("GET /agents/%22", NULL, NULL, 404, "{\"error\":\"Agent \\\"\\\"\\\" not found\"}");
}

static void head_has_the_head_alone(void **state)
{
	char *answer = wire_ask(&w, "HEAD /agents", NULL, NULL);

	assert_non_null(strstr(answer, "200 OK"));
	assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
	free(answer);
}

static void ids_that_are_none_are_unknown(void **state)
{
	expect("GET /runs/a%20b/stream", NULL, NULL, 404, "RUN_NOT_FOUND");
	expect("GET /runs/a%0Ab", NULL, NULL, 404, "Run not found");
	expect("POST /runs/%3Cx%3E/cancel", NULL, NULL, 404, "not cancelable");
	expect("GET /sessions/a%27b", NULL, NULL, 404, "Session not found");
	expect("POST /agents/a/run", NULL, "{\"session\":{\"id\":\"a b\"}}", 400, "INVALID_ID");
}

static void health_tells_the_truth(void **state)
{
	expect("GET /health/live", NULL, NULL, 200, "ok");
	expect("GET /health/ready", NULL, NULL, 200, "\"checks\":{\"store\":\"ok\"");
	expect("GET /health", NULL, NULL, 200, "\"status\":\"ok\"");
}

static void metrics_have_routes_and_no_paths(void **state)
{
	char *answer;

	expect("GET /runs/secret-run-id", NULL, NULL, 404, "Run not found");
	expect("GET /secret-path", NULL, NULL, 404, "404");
	answer = wire_ask(&w, "GET /metrics", NULL, NULL);
	assert_non_null(strstr(answer, "text/plain; version=0.0.4; charset=utf-8"));
	assert_non_null(strstr(answer,
		"bread_http_requests_total{method=\"GET\",route=\"/runs/:id\",status=\"404\"} 1"));
	assert_non_null(strstr(answer,
		"bread_http_requests_total{method=\"_other\",route=\"_other\",status=\"404\"} 1"));
	assert_non_null(strstr(answer, "process_resident_memory_bytes "));
	assert_null(strstr(answer, "secret"));
	free(answer);
}

static void a_submitted_run_is_found_at_its_location(void **state)
{
	char *answer = wire_ask(&w, "POST /agents/a/runs", NULL,
		"{\"input\":\"x\",\"session\":{\"id\":\"s\"},\"tags\":{\"k\":\"v\"}}");
	char id[64], path[128], location[128];

	assert_non_null(strstr(answer, "202 Accepted"));
	wire_run_id(answer, id);
	snprintf(location, sizeof(location), "Location: /runs/%s\r\n", id);
	assert_non_null(strstr(answer, location));
	free(answer);
	snprintf(path, sizeof(path), "GET /runs/%s", id);
	expect(path, NULL, NULL, 200, "\"sessionId\":\"s\"");
	wire_turn(&w, 50);
	expect(path, NULL, NULL, 200, "\"output\":\"ok\"");
	expect("GET /runs?tag=k:v&status=completed&agent=a&session=s", NULL, NULL, 200, id);
	expect("GET /runs?status=failed", NULL, NULL, 200, "\r\n\r\n[]");
	expect("GET /runs?status=nope", NULL, NULL, 400, "Invalid status");
	expect("GET /sessions/s/messages", NULL, NULL, 200, "\"role\":\"user\",\"content\":\"x\"");
	expect("GET /sessions/none/messages", NULL, NULL, 404, "Session not found");
}

static void a_submission_that_is_refused_says_so(void **state)
{
	expect("POST /agents/nobody/runs", NULL, "{}", 404, "AGENT_NOT_FOUND");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_host_must_be_a_loopback_name),
		CASE(other_origins_change_nothing),
		CASE(nothing_is_said_about_cors),
		CASE(a_form_of_a_browser_is_no_json),
		CASE(unknown_paths_and_methods_are_404),
		CASE(paths_are_decoded),
		CASE(head_has_the_head_alone),
		CASE(ids_that_are_none_are_unknown),
		CASE(health_tells_the_truth),
		CASE(metrics_have_routes_and_no_paths),
		CASE(a_submitted_run_is_found_at_its_location),
		CASE(a_submission_that_is_refused_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
