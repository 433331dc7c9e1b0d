/* SPDX-License-Identifier: MIT */
#include "test.h"
#include "base/str.h"
#include "net/sse.h"

/* What was heard, as text: "[event|id|data]" for each event, "(line)" for each line. */
static struct buf heard;

static void on_event(void *arg, const struct sse_event *ev)
{
	brd_buf_addf(
		&heard, "[%.*s|%.*s|%.*s]", BRD_ARG(ev->event), BRD_ARG(ev->id), BRD_ARG(ev->data));
}

static void on_line(void *arg, struct bread_str line)
{
	brd_buf_addf(&heard, "(%.*s)", BRD_ARG(line));
}

static int setup(void **state)
{
	brd_buf_init(&heard, 1 << 20);
	return 0;
}

static int teardown(void **state)
{
	brd_buf_fini(&heard);
	return 0;
}

static bool read_in_pieces(struct bread_str in, size_t piece, size_t max)
{
	struct sse_reader r;
	bool ok = true;

	brd_buf_clear(&heard);
	brd_sse_init(&r, max, on_event, NULL);
	while (in.n) {
		size_t n = in.n < piece ? in.n : piece;

		ok = brd_sse_feed(&r, brd_sub(in, 0, n));
		in = brd_sub(in, n, in.n - n);
	}
	brd_sse_finish(&r);
	brd_sse_fini(&r);
	return ok;
}

/* The same, however it is cut. */
static void expect(const char *in, const char *out)
{
	for (size_t piece = 1; piece <= strlen(in) + 1; piece++) {
		assert_true(read_in_pieces(brd_str(in), piece, 1000));
		assert_string_equal(heard.data, out);
	}
}

static void events_with_all_line_ends(void **state)
{
	expect("data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n", "[||a][||b][||c][||d]");
}

static void names_and_ids(void **state)
{
	expect("event: x\nid: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "[x|7|a][|7|b][||c]");
}

static void data_lines_join(void **state)
{
	expect("data: a\ndata\ndata:  b\ndata:c\n\n", "[||a\n\n b\nc]");
}

static void comments_and_unknown_fields_are_skipped(void **state)
{
	expect(": hello\n\nretry: 5\nfoo: bar\ndata: a\n:\n\n", "[||a]");
}

static void no_data_no_event(void **state)
{
	expect("event: x\n\ndata: a\n\n", "[||a]");
	expect("data:\n\n", "[||]");
}

static void a_byte_order_mark_is_dropped_once(void **state)
{
	expect("\xef\xbb\xbf"
	       "data: a\n\n\xef\xbb\xbf"
	       "data: b\n\n",
		"[||a]");
}

static void the_end_dispatches_what_is_pending(void **state)
{
	expect("data: a", "[||a]");
	expect("data: a\n", "[||a]");
	expect("event: x\ndata: a\r", "[x||a]");
	expect("", "");
}

static void id_with_nul_is_ignored(void **state)
{
	const char in[] = "id: 1\nid: a\0b\ndata: x\n\n";

	assert_true(read_in_pieces((struct bread_str){ in, sizeof(in) - 1 }, 100, 100));
	assert_string_equal(heard.data, "[|1|x]");
}

static void too_long_a_line_is_bad(void **state)
{
	const char *in = "data: a\n\ndata: 0123456789\n\ndata: b\n\n";

	for (size_t piece = 1; piece < 40; piece++) {
		assert_false(read_in_pieces(brd_str(in), piece, 15));
		assert_string_equal(heard.data, "[||a]");
		assert_true(read_in_pieces(brd_str(in), piece, 16));
	}
}

static void too_much_data_in_one_event_is_bad(void **state)
{
	const char *in = "data: 01234\ndata: 01234\ndata: 01234\n\n";

	for (size_t piece = 1; piece < 40; piece++) {
		assert_false(read_in_pieces(brd_str(in), piece, 16));
		assert_string_equal(heard.data, "");
	}
}

static bool lines_in_pieces(struct bread_str in, size_t piece, size_t max)
{
	struct line_reader r;
	bool ok = true;

	brd_buf_clear(&heard);
	brd_lines_init(&r, max, on_line, NULL);
	while (in.n) {
		size_t n = in.n < piece ? in.n : piece;

		ok = brd_lines_feed(&r, brd_sub(in, 0, n));
		in = brd_sub(in, n, in.n - n);
	}
	brd_lines_finish(&r);
	brd_lines_fini(&r);
	return ok;
}

static void lines_are_trimmed_and_empty_ones_left_out(void **state)
{
	const char *in = "{\"a\":1}\n\n  {} \r\n \r\nlast";

	for (size_t piece = 1; piece < 40; piece++) {
		assert_true(lines_in_pieces(brd_str(in), piece, 100));
		assert_string_equal(heard.data, "({\"a\":1})({})(last)");
	}
}

static void too_long_a_line_ends_the_lines(void **state)
{
	for (size_t piece = 1; piece < 20; piece++) {
		assert_false(lines_in_pieces(BRD_STR("ab\n0123456789\ncd\n"), piece, 9));
		assert_string_equal(heard.data, "(ab)");
		assert_true(lines_in_pieces(BRD_STR("ab\n0123456789\ncd\n"), piece, 10));
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(events_with_all_line_ends),
		T(names_and_ids),
		T(data_lines_join),
		T(comments_and_unknown_fields_are_skipped),
		T(no_data_no_event),
		T(a_byte_order_mark_is_dropped_once),
		T(the_end_dispatches_what_is_pending),
		T(id_with_nul_is_ignored),
		T(too_long_a_line_is_bad),
		T(too_much_data_in_one_event_is_bad),
		T(lines_are_trimmed_and_empty_ones_left_out),
		T(too_long_a_line_ends_the_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
