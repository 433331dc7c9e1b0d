/* SPDX-License-Identifier: MIT */
#include "test.h"
#include "base/json.h"

static struct arena arena;
static struct buf out;

static int set_up(void **state)
{
	brd_buf_init(&out, 1 << 16);
	return 0;
}

static int tear_down(void **state)
{
	brd_arena_fini(&arena);
	brd_buf_fini(&out);
	return 0;
}

static struct jval parse(const char *text)
{
	struct jval v;

	assert_int_equal(brd_json_parse(&arena, brd_str(text), 0, &v, NULL), BREAD_OK);
	return v;
}

static const char spaced[] =
	"{ \"a\" : [ 1 , 2.50 , { } , [ ] ] ,\n \"b\":{\"c d\": \"x, y: [ ]\"} }";

static void compacting_drops_blanks_only(void **state)
{
	brd_json_compact(parse(spaced), &out);
	assert_str(brd_buf_str(&out), "{\"a\":[1,2.50,{},[]],\"b\":{\"c d\":\"x, y: [ ]\"}}");
}

static void a_part_is_compacted_alone(void **state)
{
	struct jval v = parse(spaced);

	brd_json_compact(brd_json_get(v, "a"), &out);
	assert_str(brd_buf_str(&out), "[1,2.50,{},[]]");
	brd_buf_clear(&out);
	brd_json_compact(brd_json_path(v, "b.c d"), &out);
	assert_str(brd_buf_str(&out), "\"x, y: [ ]\"");
	brd_buf_clear(&out);
	brd_json_compact(brd_json_get(v, "none"), &out);
	assert_int_equal(out.len, 0);
}

static void indents_as_javascript_does(void **state)
{
	brd_json_indent(parse(spaced), &out);
	assert_str(brd_buf_str(&out), "{\n  \"a\": [\n    1,\n    2.50,\n    {},\n    []\n  ],\n"
				      "  \"b\": {\n    \"c d\": \"x, y: [ ]\"\n  }\n}");
}

static void small_values_need_no_indent(void **state)
{
	brd_json_indent(parse(" { } "), &out);
	brd_json_indent(parse(" [\n] "), &out);
	brd_json_indent(parse(" 5 "), &out);
	brd_json_indent(brd_json_get(parse("1"), "x"), &out);
	assert_str(brd_buf_str(&out), "{}[]5");
}

static void a_limit_stops_the_indent(void **state)
{
	char deep[801];

	memset(deep, '[', 400);
	memset(deep + 400, ']', 400);
	deep[800] = 0;
	brd_json_indent(parse(deep), &out);
	assert_true(out.bad);
	assert_true(out.len <= 1 << 16);
}

static void a_copy_stands_alone(void **state)
{
	char text[] = " [ {\"a\" : [1, \"x\"]} ] ";
	struct arena other = { 0 };
	struct jval v, copy;

	assert_int_equal(brd_json_parse(&other, brd_str(text), 0, &v, NULL), BREAD_OK);
	copy = brd_json_copy(brd_json_at(v, 0), &arena);
	brd_arena_fini(&other);
	memset(text, 'z', sizeof(text));
	assert_str(brd_json_raw(copy), "{\"a\" : [1, \"x\"]}");
	assert_true(brd_json_is(brd_json_path(copy, "a.1"), "x"));
	brd_json_compact(copy, &out);
	assert_str(brd_buf_str(&out), "{\"a\":[1,\"x\"]}");
	assert_int_equal(
		brd_json_type(brd_json_copy((struct jval){ NULL, NULL }, &arena)), JSON_NONE);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(compacting_drops_blanks_only),
		test(a_part_is_compacted_alone),
		test(indents_as_javascript_does),
		test(small_values_need_no_indent),
		test(a_limit_stops_the_indent),
		test(a_copy_stands_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
