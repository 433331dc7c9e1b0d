/* SPDX-License-Identifier: MIT */
#include "test.h"
#include <pthread.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"

/* What the sink got, a line a record. */
static struct buf got;
static pthread_mutex_t got_lock = PTHREAD_MUTEX_INITIALIZER;

static void keep(const struct log_record *r, void *arg)
{
	pthread_mutex_lock(&got_lock);
	brd_buf_addf(&got, "%d %s %.*s\n", (int)r->level, r->id, BRD_ARG(r->text));
	pthread_mutex_unlock(&got_lock);
}

static int set_up(void **state)
{
	brd_buf_init(&got, BUF_NO_LIMIT);
	brd_log_sink(keep, NULL);
	brd_log_level(LOG_INFO);
	brd_clock_freeze(1767225600123);
	return 0;
}

static int tear_down(void **state)
{
	brd_log_sink(NULL, NULL);
	brd_log_json(false);
	brd_clock_turn(600000); /* ends the windows of this test */
	brd_clock_thaw();
	brd_buf_fini(&got);
	return 0;
}

static size_t lines(void)
{
	size_t n = 0;

	for (size_t i = 0; i < got.len; i++)
		n += got.data[i] == '\n';
	return n;
}

static void levels_are_kept(void **state)
{
	log_debug("test.level", "no");
	log_info("test.level", "took %d ms", 5);
	assert_string_equal(got.data, "2 test.level took 5 ms\n");
	brd_log_level(LOG_ERROR);
	log_warn("test.level", "no");
	log_error("test.level", "yes");
	assert_int_equal(lines(), 2);
	brd_log_level(LOG_TRACE);
	log_trace("test.level", "yes");
	assert_int_equal(lines(), 3);
}

static void levels_have_names(void **state)
{
	enum log_level l;

	assert_true(brd_log_level_named(BRD_STR("Debug"), &l));
	assert_int_equal(l, LOG_DEBUG);
	assert_true(brd_log_level_named(BRD_STR("error"), &l));
	assert_int_equal(l, LOG_ERROR);
	assert_false(brd_log_level_named(BRD_STR("verbose"), &l));
}

static void warnings_are_limited_by_their_id(void **state)
{
	for (int i = 0; i < 25; i++)
		log_warn("test.many", "%d", i);
	log_warn("test.other", "once");
	assert_int_equal(lines(), 11);
	brd_clock_turn(59000);
	log_warn("test.many", "still");
	assert_int_equal(lines(), 11);
	brd_buf_clear(&got);
	brd_clock_turn(1000);
	log_info("test.other", "later");
	assert_string_equal(got.data,
		"1 test.many 16 more within a minute were left out\n2 test.other later\n");
	log_warn("test.many", "again");
	assert_int_equal(lines(), 3);
}

static void errors_and_traces_are_not_limited(void **state)
{
	brd_log_level(LOG_TRACE);
	for (int i = 0; i < 30; i++) {
		log_error("test.free", "%d", i);
		log_trace("test.free", "%d", i);
	}
	assert_int_equal(lines(), 60);
}

static void long_texts_come_whole_up_to_a_limit(void **state)
{
	log_info("test.long", "%5000d|", 1);
	assert_int_equal(got.len, 5001 + strlen("2 test.long \n"));
	brd_buf_clear(&got);
	log_info("test.long", "%50000d|", 1);
	assert_int_equal(got.len, 16384 + strlen("2 test.long \n"));
}

/* What the log's own writer puts on standard error for one record. */
static struct bread_str on_stderr(char *to, size_t cap, bool json)
{
	int fds[2], before = dup(STDERR_FILENO);
	ssize_t n;

	assert_int_equal(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	brd_log_sink(NULL, NULL);
	brd_log_json(json);
	log_warn("test.line", "one\ntwo \"%c\"", 7);
	dup2(before, STDERR_FILENO);
	n = read(fds[0], to, cap);
	close(fds[0]);
	close(fds[1]);
	close(before);
	assert_true(n > 0);
	return (struct bread_str){ to, (size_t)n };
}

static void a_record_is_one_line_of_text(void **state)
{
	char text[256];
	struct bread_str line = on_stderr(text, sizeof(text), false);

	assert_str(line, "2026-01-01T00:00:00.123Z warn  test.line: one\\ntwo \"\\x07\"\n");
}

static void a_record_is_one_object(void **state)
{
	char text[256];
	struct bread_str line = on_stderr(text, sizeof(text), true);

	assert_str(line,
		"{\"ts\":\"2026-01-01T00:00:00.123Z\",\"level\":\"warn\",\"id\":\"test.line\","
		"\"msg\":\"one\\ntwo \\\"\\u0007\\\"\"}\n");
}

static void *log_some(void *arg)
{
	for (int i = 0; i < 200; i++)
		log_warn("test.threads", "%d", i);
	return NULL;
}

static void threads_share_one_limit(void **state)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, log_some, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(lines(), 10);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(levels_are_kept),
		test(levels_have_names),
		test(warnings_are_limited_by_their_id),
		test(errors_and_traces_are_not_limited),
		test(long_texts_come_whole_up_to_a_limit),
		test(a_record_is_one_line_of_text),
		test(a_record_is_one_object),
		test(threads_share_one_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
