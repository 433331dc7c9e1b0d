/* SPDX-License-Identifier: MIT */
/* Streams of runs, as peers see them (contract C2, C3, C5, C7 to C9). */
#include "server/wire.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "base/clock.h"

static struct wire w;

#define AGENT "{\"model\":{\"provider\":\"mock\",\"model\":\"m\"},\"prompt\":\"x\"}"
#define SCRIPT(steps) "{\"m\":{\"when\":[{\"stream\":[" steps "]}]}}"

static void open_with(const char *models, const char *config, const char *server)
{
	wire_open(&w, models, config, server);
	wire_agent(&w, "a", AGENT);
}

static int teardown(void **state)
{
	brd_clock_thaw(); /* stopping waits by the clock */
	wire_close(&w);
	return 0;
}

/* Runs the agent to its end; its id. */
static void run(char id[64])
{
	char *answer = wire_ask(&w, "POST /agents/a/run", NULL, "{\"input\":\"hi\"}");

	wire_run_id(answer, id);
	free(answer);
}

static char *stream(const char *id, const char *query, const char *headers)
{
	char line[256];

	snprintf(line, sizeof(line), "GET /runs/%s/stream%s", id, query);
	return wire_ask(&w, line, headers, NULL);
}

static void expect_stream(
	const char *id, const char *query, const char *headers, const char *const *parts)
{
	char *answer = stream(id, query, headers), *at = wire_body(answer);

	for (; *parts; parts++) {
		at = strstr(at, *parts);
		if (!at)
			fail_msg("%s: %s is missing in\n%s", query, *parts, answer);
		at += strlen(*parts);
	}
	assert_string_equal(at, "\n");
	free(answer);
}

#define PARTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void a_run_is_streamed_and_replayed(void **state)
{
	char id[64];

	open_with(SCRIPT("{\"text\":\"Hello\"},{\"text\":\", world\"}"), NULL, NULL);
	run(id);
	expect_stream(id, "", NULL,
		PARTS("\"seq\":1,\"crumb\":{\"type\":\"agent:run:start\"", "\"seq\":1}}\n",
			"\"seq\":2,\"crumb\":{\"type\":\"text:delta\"",
			"\"delta\":\"Hello, world\",\"seq\":2}}\n",
			"\"seq\":3,\"crumb\":{\"type\":\"agent:run:end\"", "\"seq\":3}}"));
	expect_stream(id, "?after=1", "Accept: text/event-stream\r\n",
		PARTS("retry: 3000\n\nid: 2\ndata: {\"type\":\"text:delta\",\"payload\":{",
			"\n\nid: 3\ndata: ", "\"seq\":3}}\n"));
}

static void cursors_have_outcomes(void **state)
{
	static const char *const bad[] = { "-1", "1.5", "4", "abc", "0x2", "2e0", "1.", "+1",
		"99999999999999999999" };
	char id[64], query[64], *answer;

	open_with(SCRIPT("{\"text\":\"Hello\"}"), NULL, NULL);
	run(id);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(query, sizeof(query), "?after=%s", bad[i]);
		answer = stream(id, query, NULL);
		assert_int_equal(atoi(answer + 9), 400);
		assert_non_null(strstr(answer, "\"code\":\"INVALID_CURSOR\""));
		free(answer);
	}
	expect_stream(id, "?after=3", NULL, PARTS("agent:run:end", "\"seq\":3}}"));
	expect_stream(
		id, "?after=9", "Last-Event-ID: 2\r\n", PARTS("agent:run:end", "\"seq\":3}}"));
	expect_stream(id, "?after=2", "Last-Event-ID: \r\n", PARTS("agent:run:end", "\"seq\":3}}"));
	answer = stream("nobody", "", NULL);
	assert_int_equal(atoi(answer + 9), 404);
	assert_non_null(strstr(answer, "\"code\":\"RUN_NOT_FOUND\""));
	free(answer);
}

static void start(struct peer *p, char id[64], const char *until)
{
	peer_open(p, &w);
	peer_request(p, "POST /agents/a/run", NULL, "{\"input\":\"hi\"}");
	peer_until(p, "agent:run:start");
	wire_run_id(p->got.data, id);
	peer_until(p, until);
}

static void watch(struct peer *p, const char *id, const char *query, const char *headers)
{
	char line[256];

	snprintf(line, sizeof(line), "GET /runs/%s/stream%s", id, query);
	peer_open(p, &w);
	peer_request(p, line, headers, NULL);
}

static size_t times(const struct peer *p, const char *text)
{
	size_t n = 0;

	for (const char *at = p->got.data; (at = strstr(at, text)); at++)
		n++;
	return n;
}

static void a_late_viewer_misses_nothing(void **state)
{
	struct peer own, late;
	char id[64];

	open_with(SCRIPT("{\"text\":\"one \"},{\"delay_ms\":60},{\"text\":\"two "
			 "\"},{\"delay_ms\":60},"
			 "{\"text\":\"three\"}"),
		NULL, NULL);
	start(&own, id, "one ");
	watch(&late, id, "", NULL);
	peer_until(&late, "0\r\n\r\n");
	peer_until(&own, "0\r\n\r\n");
	assert_int_equal(times(&late, "\"delta\":\"one \""), 1);
	assert_int_equal(times(&late, "\"delta\":\"two \""), 1);
	assert_int_equal(times(&late, "\"delta\":\"three\""), 1);
	assert_int_equal(times(&late, "agent:run:end"), 1);
	peer_close(&own);
	peer_close(&late);
}

static void exact_resumes_inside_a_window(void **state)
{
	struct peer own, first, again;
	char id[64];

	open_with(SCRIPT("{\"text\":\"one \"},{\"text\":\"two \"},{\"delay_ms\":150},"
			 "{\"text\":\"three\"},{\"delay_ms\":50}"),
		NULL, NULL);
	start(&own, id, "two ");
	watch(&first, id, "?exact=1", "Accept: text/event-stream\r\n");
	peer_until(&first, "id: 1.8\n");
	assert_true(peer_got(&first, "id: 1.4\n"));
	peer_close(&first);
	watch(&again, id, "?exact=1", "Accept: text/event-stream\r\nLast-Event-ID: 1.4\r\n");
	peer_until(&again, "id: 1.13\n");
	assert_false(peer_got(&again, "one "));
	assert_int_equal(times(&again, "\"delta\":\"two \""), 1);
	peer_close(&again);
	peer_until(&own, "0\r\n\r\n");
	watch(&again, id, "?exact=1", "Accept: text/event-stream\r\nLast-Event-ID: 1.6\r\n");
	peer_until(&again, "0\r\n\r\n");
	assert_true(peer_got(&again, "\"delta\":\"o three\""));
	assert_true(peer_got(&again, "id: 2\n"));
	peer_close(&again);
	peer_close(&own);
}

static void an_exact_place_needs_exact(void **state)
{
	char id[64], *answer;

	open_with(SCRIPT("{\"text\":\"Hello\"}"), NULL, NULL);
	run(id);
	answer = stream(id, "", "Last-Event-ID: 1.4\r\n");
	assert_int_equal(atoi(answer + 9), 400);
	free(answer);
}

static void heartbeats_come_in_silence(void **state)
{
	struct peer own, viewer;
	char id[64];

	brd_clock_freeze(1796053913733);
	open_with(
		SCRIPT("{\"text\":\"one \"},{\"delay_ms\":60000},{\"text\":\"two\"}"), NULL, NULL);
	start(&own, id, "one ");
	watch(&viewer, id, "", "Accept: text/event-stream\r\n");
	peer_until(&viewer, "one ");
	for (int i = 0; i < 18; i++) {
		brd_clock_turn(1000);
		wire_turn(&w, 2);
	}
	peer_until(&viewer, "8\r\n: ping\n\n\r\n");
	peer_until(&own, "1\r\n\n\r\n");
	assert_int_equal(times(&viewer, ": ping"), 1);
	peer_close(&own);
	peer_close(&viewer);
}

static void a_gone_peer_cancels_nothing(void **state)
{
	struct peer own;
	char id[64];

	open_with(SCRIPT("{\"text\":\"one \"},{\"delay_ms\":50},{\"text\":\"two\"}"), NULL, NULL);
	start(&own, id, "one ");
	peer_close(&own);
	wire_turn(&w, 100);
	expect_stream(id, "", NULL, PARTS("one two", "\"output\":\"one two\"", "\"seq\":3}}"));
}

static void cancel_ends_the_streams(void **state)
{
	struct peer own;
	char id[64], line[128], *answer;

	open_with(SCRIPT("{\"text\":\"one \"},{\"hang\":true}"), NULL, NULL);
	start(&own, id, "one ");
	snprintf(line, sizeof(line), "POST /runs/%s/cancel", id);
	answer = wire_ask(&w, line, NULL, NULL);
	assert_non_null(strstr(answer, "{\"ok\":true}"));
	free(answer);
	peer_until(&own, "0\r\n\r\n");
	assert_int_equal(times(&own, "\"code\":\"RUN_CANCELLED\""), 2); /* the crumb, the failure */
	answer = wire_ask(&w, line, NULL, NULL);
	assert_int_equal(atoi(answer + 9), 404);
	assert_non_null(strstr(answer, "\"status\":\"cancelled\""));
	free(answer);
	peer_close(&own);
}

static void large_crumbs_are_shown_as_previews(void **state)
{
	char id[64], line[128], *answer;

	open_with(SCRIPT("{\"text\":\"0123456789abcdef\",\"repeat\":1000}"), NULL,
		"{\"port\":0,\"host\":\"127.0.0.1\",\"maxEventBytes\":8192}");
	run(id);
	answer = stream(id, "", NULL);
	assert_non_null(strstr(answer, "\"truncated\":true,\"ref\":\"/runs/"));
	assert_true(strlen(answer) < 40000);
	free(answer);
	answer = stream(id, "?full=1", NULL);
	assert_null(strstr(answer, "truncated"));
	free(answer);
	snprintf(line, sizeof(line), "GET /runs/%s/crumbs/2", id);
	answer = wire_ask(&w, line, NULL, NULL);
	assert_non_null(strstr(answer, "\r\n\r\n{\"type\":\"text:delta\""));
	free(answer);
}

static void closing_tells_viewers_to_come_back(void **state)
{
	struct peer own;
	char id[64];

	open_with(SCRIPT("{\"text\":\"one \"},{\"hang\":true}"), NULL, NULL);
	start(&own, id, "one ");
	bread_server_close(w.server);
	w.server = NULL;
	peer_until_eof(&own);
	assert_false(peer_got(&own, "0\r\n\r\n")); /* not a clean end */
	peer_close(&own);
}

static void a_viewer_that_takes_nothing_is_closed(void **state)
{
	struct peer own, stuck;
	char id[64];
	int small = 4096;

	/* more than a socket's buffers hold */
	open_with(SCRIPT("{\"delay_ms\":100},{\"load\":{\"n\":40000,\"kind\":\"tool\"}},"
			 "{\"hang\":true}"),
		NULL, "{\"port\":0,\"host\":\"127.0.0.1\",\"stall\":1000}");
	start(&own, id, "agent:run:start");
	watch(&stuck, id, "", NULL);
	setsockopt(stuck.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	for (int i = 0; i < 30; i++) {
		wire_turn(&w, 100);
		peer_until(&own, ""); /* takes what there is */
		peer_forget(&own);
	}
	assert_false(own.eof);
	peer_until_eof(&stuck);
	assert_false(peer_got(&stuck, "0\r\n\r\n"));
	peer_close(&own);
	peer_close(&stuck);
}

static void head_of_a_stream_is_its_head(void **state)
{
	char id[64], line[128], *answer;

	open_with(SCRIPT("{\"text\":\"Hello\"}"), NULL, NULL);
	run(id);
	snprintf(line, sizeof(line), "HEAD /runs/%s/stream", id);
	answer = wire_ask(&w, line, NULL, NULL);
	assert_non_null(strstr(answer, "application/x-ndjson"));
	assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
	free(answer);
}

static void proxies_are_told_not_to_buffer(void **state)
{
	char id[64], *answer;

	open_with(SCRIPT("{\"text\":\"Hello\"}"), NULL, NULL);
	run(id);
	answer = stream(id, "", NULL);
	assert_non_null(strstr(answer, "Cache-Control: no-cache, no-transform\r\n"));
	assert_non_null(strstr(answer, "X-Accel-Buffering: no\r\n"));
	free(answer);
}

static void accept_chooses_the_wire(void **state)
{
	static const struct {
		const char *accept, *type;
	} cases[] = {
		{ "text/event-stream", "text/event-stream" },
		{ "application/x-ndjson", "application/x-ndjson" },
		{ "*/*", "application/x-ndjson" },
		{ "application/json", "application/x-ndjson" },
		{ "application/x-ndjson;q=0.5, text/event-stream", "text/event-stream" },
		{ "text/event-stream;q=0, */*", "application/x-ndjson" },
	};
	char id[64], header[128], type[64], *answer;

	open_with(SCRIPT("{\"text\":\"Hello\"}"), NULL, NULL);
	run(id);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(header, sizeof(header), "Accept: %s\r\n", cases[i].accept);
		snprintf(type, sizeof(type), "Content-Type: %s\r\n", cases[i].type);
		answer = stream(id, "", header);
		assert_non_null(strstr(answer, type));
		free(answer);
	}
}

static void http_1_0_gets_a_plain_body(void **state)
{
	struct peer p;

	open_with(SCRIPT("{\"text\":\"Hello\"}"), NULL, NULL);
	peer_open(&p, &w);
	peer_send(&p, "POST /agents/a/run HTTP/1.0\r\nHost: localhost\r\n\r\n");
	peer_until_eof(&p);
	assert_false(peer_got(&p, "chunked"));
	assert_true(peer_got(&p, "\r\n\r\n{\"v\":1,\"type\":\"crumb\","));
	peer_close(&p);
}

#define HUMAN \
	"{\"model\":{\"provider\":\"mock\",\"model\":\"m\"},\"prompt\":\"x\",\"humanTools\":" \
	"[{\"name\":\"ask\",\"schema\":{\"type\":\"object\"}}]}"

static void a_suspended_run_goes_on_in_another_stream(void **state)
{
	struct peer own, passive;
	char id[64], line[128], *answer;
	const char *at;

	open_with("{\"m\":{\"calls\":[{\"stream\":[{\"text\":\"Hmm. "
		  "\"},{\"tool_call\":{\"id\":\"c1\","
		  "\"name\":\"human_ask\",\"args\":{\"q\":1}}}]},{\"stream\":[{\"text\":\"Rome\"}]}"
		  "]}}",
		NULL, NULL);
	wire_agent(&w, "h", HUMAN);
	peer_open(&own, &w);
	peer_request(&own, "POST /agents/h/run", NULL, "{}");
	peer_until(&own, "0\r\n\r\n"); /* its own stream ends when it is suspended */
	wire_run_id(own.got.data, id);
	at = strstr(own.got.data, "\"checkpointId\":\"");
	assert_non_null(at);
	watch(&passive, id, "", NULL);
	peer_until(&passive, "human:required");
	wire_turn(&w, 50);
	assert_false(peer_got(&passive, "0\r\n\r\n")); /* this one does not */
	snprintf(line, sizeof(line), "POST /resume/%.36s", at + 16);
	answer = wire_ask(&w, line, NULL, "{\"response\":\"Rome\"}");
	assert_null(strstr(answer, "human:required"));
	assert_non_null(strstr(answer, "human:resumed"));
	assert_non_null(strstr(answer, "agent:run:end"));
	free(answer);
	peer_until(&passive, "0\r\n\r\n");
	assert_int_equal(times(&passive, "human:resumed"), 1);
	assert_int_equal(times(&passive, "\"type\":\"agent:run:end\""), 1);
	peer_close(&own);
	peer_close(&passive);
}

#define CASE(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_run_is_streamed_and_replayed),
		CASE(cursors_have_outcomes),
		CASE(a_late_viewer_misses_nothing),
		CASE(exact_resumes_inside_a_window),
		CASE(an_exact_place_needs_exact),
		CASE(heartbeats_come_in_silence),
		CASE(a_gone_peer_cancels_nothing),
		CASE(cancel_ends_the_streams),
		CASE(large_crumbs_are_shown_as_previews),
		CASE(closing_tells_viewers_to_come_back),
		CASE(a_viewer_that_takes_nothing_is_closed),
		CASE(head_of_a_stream_is_its_head),
		CASE(proxies_are_told_not_to_buffer),
		CASE(accept_chooses_the_wire),
		CASE(http_1_0_gets_a_plain_body),
		CASE(a_suspended_run_goes_on_in_another_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
