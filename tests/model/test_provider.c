/* SPDX-License-Identifier: MIT */
/* The exchange with a provider, against a server in this process that answers
 * each connection with the next of the given bytes and then keeps silent. */
#include <uv.h>
#include "player.h"

#define HEAD \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CHUNK(n, data) n "\r\n" data "\r\n"
#define HI "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n" /* 49 bytes */
#define END "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n"    /* 47 bytes */
#define DONE "data: [DONE]\n\n"                                         /* 14 bytes */
#define GOOD HEAD CHUNK("30", HI) CHUNK("2e", END) CHUNK("e", DONE) "0\r\n\r\n"
#define BUSY "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nretry-after-ms: 5\r\n\r\n"

struct canned {
	uv_tcp_t listener;
	const char *const *answers;
	size_t asked, open, handles;
};

struct peer {
	uv_tcp_t tcp;
	struct canned *server;
	uv_write_t write;
	char in[65536];
	size_t n;
};

static void on_peer_closed(uv_handle_t *h)
{
	struct peer *p = h->data;

	p->server->handles--;
	p->server->open--;
	free(p);
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *buf)
{
	struct peer *p = h->data;

	*buf = uv_buf_init(p->in + p->n, (unsigned)(sizeof(p->in) - p->n));
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct peer *p = s->data;
	const char *answer;
	uv_buf_t out;

	if (n < 0) {
		uv_close((uv_handle_t *)s, on_peer_closed);
		return;
	}
	p->n += (size_t)n;
	if (brd_str_find((struct bread_str){ p->in, p->n }, BRD_STR("\"stream\":true")) < 0)
		return;
	p->n = 0;
	answer = p->server->answers[p->server->asked++];
	if (!answer)
		return;
	out = uv_buf_init((char *)answer, (unsigned)strlen(answer));
	uv_write(&p->write, s, &out, 1, NULL);
}

static void on_peer(uv_stream_t *s, int status)
{
	struct canned *c = s->data;
	struct peer *p = calloc(1, sizeof(*p));

	p->server = c;
	c->handles++;
	c->open++;
	uv_tcp_init(s->loop, &p->tcp);
	p->tcp.data = p;
	uv_accept(s, (uv_stream_t *)&p->tcp);
	uv_read_start((uv_stream_t *)&p->tcp, on_alloc, on_read);
}

static void on_listener_closed(uv_handle_t *h)
{
	((struct canned *)h->data)->handles--;
}

struct bench {
	struct player p;
	struct canned server;
};

static void bench_init(struct bench *b, const char *const *answers)
{
	struct sockaddr_in at;
	struct sockaddr_storage bound;
	int len = sizeof(bound);
	char options[256];
	struct bread_err err = { 0 };
	struct jval v;

	memset(b, 0, sizeof(*b));
	player_init(&b->p, "{\"type\":\"scripted\",\"models\":{}}");
	brd_model_close(b->p.model);
	b->server = (struct canned){ .answers = answers, .handles = 1 };
	uv_tcp_init(brd_loop_uv(b->p.loop), &b->server.listener);
	b->server.listener.data = &b->server;
	uv_ip4_addr("127.0.0.1", 0, &at);
	uv_tcp_bind(&b->server.listener, (struct sockaddr *)&at, 0);
	uv_listen((uv_stream_t *)&b->server.listener, 16, on_peer);
	uv_tcp_getsockname(&b->server.listener, (struct sockaddr *)&bound, &len);
	snprintf(options, sizeof(options),
		"{\"type\":\"openai\",\"baseUrl\":\"http://127.0.0.1:%d/v1\",\"apiKey\":\"k\"}",
		ntohs(((struct sockaddr_in *)&bound)->sin_port));
	assert_int_equal(brd_json_parse(&b->p.arena, brd_arena_copy(&b->p.arena, brd_str(options)),
				 0, &v, NULL),
		0);
	assert_int_equal(brd_model_open(&b->p.model, BRD_STR("p"), v, &err), 0);
	player_say(&b->p, "user", "\"x\"");
}

static void close_peer(uv_handle_t *h, void *arg)
{
	if (h->data && h->type == UV_TCP && ((struct peer *)h->data)->server == arg &&
		!uv_is_closing(h))
		uv_close(h, on_peer_closed);
}

static void bench_fini(struct bench *b)
{
	uv_close((uv_handle_t *)&b->server.listener, on_listener_closed);
	while (b->server.handles > b->server.open)
		brd_loop_turn(b->p.loop, 5);
	uv_walk(brd_loop_uv(b->p.loop), close_peer, &b->server);
	while (b->server.handles)
		brd_loop_turn(b->p.loop, 5);
	player_fini(&b->p);
}

static void until(struct bench *b, size_t events)
{
	while (b->p.events < events)
		brd_loop_turn(b->p.loop, 5);
}

static void a_good_answer_is_done(void **state)
{
	struct bench b;

	bench_init(&b, (const char *const[]){ GOOD, GOOD });
	assert_string_equal(
		player_run(&b.p), "start\ntext+0\ntext.0 \"hi\"\ntext-0 \"hi\"\ndone stop 0/0\n");
	assert_int_equal(b.p.call.op.code, BREAD_OK);
	player_run(&b.p);
	assert_int_equal(b.server.open, 1); /* the connection was kept */
	bench_fini(&b);
}

static void a_busy_provider_is_asked_again(void **state)
{
	struct bench b;

	bench_init(&b, (const char *const[]){ BUSY, BUSY, GOOD });
	assert_non_null(strstr(player_run(&b.p), "done stop"));
	assert_int_equal(b.server.asked, 3);
	bench_fini(&b);
}

static void retries_end(void **state)
{
	struct bench b;

	bench_init(&b, (const char *const[]){ BUSY, BUSY, BUSY, GOOD });
	assert_string_equal(player_run(&b.p), "error overloaded: 503 status code (no body)\n");
	assert_int_equal(b.server.asked, 3);
	assert_int_equal(b.p.call.op.code, BREAD_E_UPSTREAM);
	b.server.asked = 0;
	b.p.req.max_retries = 0;
	player_run(&b.p);
	assert_int_equal(b.server.asked, 1);
	bench_fini(&b);
}

static void nothing_is_repeated_after_output(void **state)
{
	struct bench b;

	bench_init(&b, (const char *const[]){ HEAD CHUNK("30", HI) "0\r\n\r\n", GOOD });
	assert_string_equal(player_run(&b.p), "start\ntext+0\ntext.0 \"hi\"\n"
					      "error truncated: the provider's stream ended early: "
					      "the finish reason is missing\n");
	assert_int_equal(b.server.asked, 1);
	bench_fini(&b);
}

static void silence_before_the_first_event_times_out(void **state)
{
	struct bench b;

	bench_init(&b, (const char *const[]){ HEAD, NULL });
	b.p.req.first_byte_ms = 40;
	b.p.req.max_retries = 0;
	assert_string_equal(
		player_run(&b.p), "error timeout: the provider did not begin to answer in time\n");
	bench_fini(&b);
}

static void silence_between_events_times_out(void **state)
{
	struct bench b;

	bench_init(&b, (const char *const[]){ HEAD CHUNK("30", HI), NULL });
	b.p.req.silence_ms = 40;
	assert_non_null(strstr(player_run(&b.p),
		"text.0 \"hi\"\nerror timeout: the provider said nothing for too long\n"));
	bench_fini(&b);
}

static void a_cancel_ends_it_in_every_phase(void **state)
{
	static const char *const before[] = { NULL, NULL }, *const in[] = { HEAD CHUNK("30", HI),
		NULL };
	static const char *const waiting[] = {
		"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nretry-after: 50\r\n\r\n", GOOD
	};
	const char *const *answers[] = { before, before, in, waiting };

	for (int phase = 0; phase < 4; phase++) {
		struct bench b;
		int64_t began;

		bench_init(&b, answers[phase]);
		player_begin(&b.p);
		if (phase == 1 || phase == 3)
			while (!b.server.asked)
				brd_loop_turn(b.p.loop, 5);
		for (int i = 0; phase == 3 && i < 10; i++)
			brd_loop_turn(b.p.loop, 2); /* the answer is read, the wait has begun */
		if (phase == 2)
			until(&b, 3);
		began = brd_clock_mono();
		bread_op_cancel(&b.p.call.op);
		player_wait(&b.p);
		assert_true(brd_clock_mono() - began < 100);
		assert_non_null(strstr(b.p.log.data, "error aborted"));
		assert_int_equal(b.p.call.op.code, BREAD_E_CANCELED);
		while (b.server.open && phase != 3) /* the provider hears of it */
			brd_loop_turn(b.p.loop, 5);
		bench_fini(&b);
	}
}

static void a_refused_connection_is_the_network(void **state)
{
	struct player p;

	player_init(&p, "{\"type\":\"openai\",\"baseUrl\":\"http://127.0.0.1:1/"
			"v1\",\"apiKey\":\"k\",\"maxRetries\":0}");
	player_say(&p, "user", "\"x\"");
	assert_non_null(strstr(player_run(&p), "error network: "));
	player_fini(&p);
}

static void a_pause_stops_events_and_the_watchdog(void **state)
{
	struct bench b;
	size_t seen;

	bench_init(&b, (const char *const[]){ GOOD });
	b.p.req.first_byte_ms = 60;
	player_begin(&b.p);
	brd_model_pause(b.p.model, &b.p.call, true);
	for (int64_t began = brd_clock_mono(); brd_clock_mono() - began < 120;)
		brd_loop_turn(b.p.loop, 10);
	seen = b.p.events;
	assert_int_equal(seen, 0);
	brd_model_pause(b.p.model, &b.p.call, false);
	player_wait(&b.p);
	assert_non_null(strstr(b.p.log.data, "done stop"));
	bench_fini(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_answer_is_done),
		cmocka_unit_test(a_busy_provider_is_asked_again),
		cmocka_unit_test(retries_end),
		cmocka_unit_test(nothing_is_repeated_after_output),
		cmocka_unit_test(silence_before_the_first_event_times_out),
		cmocka_unit_test(silence_between_events_times_out),
		cmocka_unit_test(a_cancel_ends_it_in_every_phase),
		cmocka_unit_test(a_refused_connection_is_the_network),
		cmocka_unit_test(a_pause_stops_events_and_the_watchdog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
