/* SPDX-License-Identifier: MIT */
/* What runs cost in memory: little while they live, nothing once they have ended or
 * wait for a human. The sums are the allocator's, so they are only asked for where no
 * sanitizer stands in its place. */
#include <malloc.h>
#include <unistd.h>
#include "run/run_fixture.h"
#include "base/clock.h"
#include "base/log.h"
#include "instance/internal.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EXACT false
#define RUNS 1000
#else
#define EXACT true
#define RUNS 10000
#endif

static const char agent[] = "{\"model\":{\"provider\":\"mock\",\"model\":\"m1\"},"
			    "\"humanTools\":[{\"name\":\"ask\",\"schema\":{\"type\":\"object\"}}]}";
static const char models[] =
	"{\"m1\":{\"when\":[{\"match\":{\"regex\":\"ask\"},\"stream\":[{\"tool_call\":{\"id\":"
	"\"h1\","
	"\"name\":\"human_ask\",\"args\":{}}}]},"
	"{\"match\":{\"regex\":\"slow\"},\"stream\":[{\"load\":{\"n\":100000,\"rate\":10}}]},"
	"{\"match\":{},\"stream\":[{\"text\":\"Hello, world\"}]}]}}";

static char dir[64];

static void silence(const struct log_record *r, void *arg)
{
}

static struct bread *open_it(void)
{
	struct bread *b;
	struct bread_err err = { 0 };
	char conf[4096];

	brd_log_sink(silence, NULL);
	snprintf(dir, sizeof(dir), "/tmp/bread-memory-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(conf, sizeof(conf),
		"{\"store\":{\"type\":\"sqlite\",\"path\":\"%s/bread.db\",\"sync\":\"normal\"},"
		"\"transport\":\"stream\",\"providers\":{\"mock\":{\"type\":\"scripted\","
		"\"models\":%s}}}",
		dir, models);
	assert_int_equal(bread_new(&b, &err), 0);
	if (bread_configure(b, brd_str(conf), &err) || bread_start(b, &err))
		fail_msg("%s: %s", err.where, err.text);
	fixture_agent(b, "a", agent);
	return b;
}

static void close_it(struct bread *b)
{
	char command[128];

	bread_free(b);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static size_t used(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static unsigned ended;

static void on_end(const struct bread_outcome *o, void *arg)
{
	ended++;
}

static void start(struct bread *b, const char *input)
{
	struct bread_run_request req = {
		.agent_id = BRD_STR("a"), .input = brd_str(input), .on_end = on_end
	};
	struct bread_err err;
	char id[BREAD_RUN_ID_MAX];

	assert_int_equal(bread_run(b, &req, id, &err), 0);
}

static void run_many(struct bread *b, const char *input, unsigned n)
{
	unsigned begun = 0;

	ended = 0;
	while (ended < n) {
		while (begun < n && begun - ended < 64) {
			start(b, input);
			begun++;
		}
		bread_turn(b, 5);
	}
	while (brd_active_count(b))
		bread_turn(b, 5);
	fixture_turn(b, 50);
}

static void nothing_is_left_of(const char *input)
{
	struct bread *b = open_it();
	struct bread_stats stats;
	size_t before;

	run_many(b, input, RUNS / 2);
	before = used();
	run_many(b, input, RUNS / 2);
	if (EXACT && used() > before)
		assert_in_range(
			used() - before, 0, RUNS * 16); /* the database's caches still grow */
	bread_stats(b, &stats);
	assert_int_equal(stats.runs_active, 0);
	assert_int_equal(stats.topics, 0);
	assert_int_equal(b->active.count, 0);
	assert_int_equal(b->sessions.count, 0);
	close_it(b);
}

static void nothing_is_left_of_runs_that_have_ended(void **state)
{
	nothing_is_left_of("\"x\"");
}

static void nothing_is_left_of_runs_that_wait(void **state)
{
	nothing_is_left_of("\"ask\"");
}

static void on_crumb(const struct bread_crumb *c, void *arg)
{
}

static void on_stream_end(enum bread_code code, const struct bread_err *err, void *arg)
{
}

#define LIVE 500

static void a_live_run_is_small(void **state)
{
	struct bread *b = open_it();
	struct bread_subscriber sub = { .on_crumb = on_crumb, .on_end = on_stream_end };
	size_t before, alone, watched;

	run_many(b, "\"x\"", 200);
	before = used();
	for (unsigned i = 0; i < LIVE; i++)
		start(b, "\"slow\"");
	fixture_turn(b, 3000);
	alone = used() - before;
	for (unsigned i = 0; i < LIVE; i++) {
		struct bread_run_request req = { .agent_id = BRD_STR("a"),
			.input = BRD_STR("\"slow\"") };
		struct bread_err err;
		char id[BREAD_RUN_ID_MAX];

		assert_int_equal(bread_run(b, &req, id, &err), 0);
		bread_subscribe(b, brd_str(id), 0, &sub);
	}
	fixture_turn(b, 3000);
	watched = used() - before - alone;
	print_message("a live run: %zu bytes; with a viewer: %zu\n", alone / LIVE, watched / LIVE);
	if (EXACT)
		assert_in_range(watched / LIVE, 0, 48 * 1024);
	close_it(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_of_runs_that_have_ended),
		cmocka_unit_test(nothing_is_left_of_runs_that_wait),
		cmocka_unit_test(a_live_run_is_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
