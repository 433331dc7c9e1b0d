/* SPDX-License-Identifier: MIT */
#include "test.h"
#include "base/json.h"

static struct arena arena;

static int drop_arena(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

static struct jval parse(struct bread_str text)
{
	struct jval v;

	assert_int_equal(brd_json_parse(&arena, text, 1u << 20, &v, NULL), BREAD_OK);
	return v;
}

static bool equal(const char *a, const char *b)
{
	struct jval x = parse(brd_str(a)), y = parse(brd_str(b));
	bool one = brd_json_equal(x, y);

	assert_int_equal(brd_json_equal(y, x), one);
	return one;
}

static void scalars_compare_by_value(void **state)
{
	assert_true(equal("1", "1.0"));
	assert_true(equal("null", " null "));
	assert_true(equal("\"a\\u0062\"", "\"ab\""));
	assert_true(equal("\"\\/\"", "\"\\u002f\""));
	assert_false(equal("1", "\"1\""));
	assert_false(equal("0", "false"));
	assert_false(equal("true", "false"));
	assert_false(equal("\"a\"", "\"b\""));
	assert_false(equal("null", "0"));
}

static void a_missing_value_equals_only_itself(void **state)
{
	struct jval none = { NULL, NULL };

	assert_true(brd_json_equal(none, none));
	assert_false(brd_json_equal(none, parse(BRD_STR("null"))));
}

static void arrays_have_an_order(void **state)
{
	assert_true(equal("[1,[2,[]],{}]", "[1.0, [2e0,[ ]], {}]"));
	assert_false(equal("[1,2]", "[2,1]"));
	assert_false(equal("[1,2]", "[1]"));
	assert_false(equal("[[1]]", "[[2]]"));
	assert_false(equal("[]", "{}"));
}

static void objects_have_none(void **state)
{
	assert_true(equal("{\"a\":1,\"b\":{\"c\":[1]}}", "{\"b\":{\"c\":[1.0]},\"\\u0061\":1}"));
	assert_false(equal("{\"a\":1}", "{\"b\":1}"));
	assert_false(equal("{\"a\":1}", "{\"a\":1,\"b\":1}"));
	assert_false(equal("{\"a\":null}", "{}"));
	assert_false(equal("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":2}}"));
}

static void the_last_duplicate_counts(void **state)
{
	assert_true(equal("{\"a\":1,\"a\":2}", "{\"a\":2}"));
	assert_true(equal("{\"a\":1,\"b\":3,\"a\":2}", "{\"b\":0,\"b\":3,\"a\":2}"));
	assert_false(equal("{\"a\":1,\"a\":2}", "{\"a\":1}"));
	assert_false(equal("{\"a\":1,\"a\":1}", "{\"a\":1,\"b\":1}"));
}

/* An object of n keys; the values from i*step on, in the order of step. */
static struct jval many(size_t n, size_t step, const char *more)
{
	struct buf b;
	struct bread_str text;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (size_t i = 0; i < n; i++)
		brd_buf_addf(&b, "%s\"k%zu\":%zu", i ? "," : "{", i * step % n, i * step % n);
	brd_buf_addz(&b, more);
	brd_buf_addc(&b, '}');
	text = brd_arena_copy(&arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return parse(text);
}

static void large_objects_compare_the_same(void **state)
{
	size_t n = 20011; /* a prime: every step meets each key */

	assert_true(brd_json_equal(many(n, 1, ""), many(n, 7, "")));
	assert_true(brd_json_equal(many(n, 1, ",\"k5\":6"), many(n, 7, ",\"k5\":6")));
	assert_false(brd_json_equal(many(n, 1, ""), many(n, 7, ",\"k5\":6")));
	assert_false(brd_json_equal(many(n, 1, ",\"x\":1"), many(n, 7, ",\"y\":1")));
	assert_false(brd_json_equal(many(n, 1, ""), many(n - 1, 1, "")));
}

static void depth_costs_no_stack(void **state)
{
	size_t n = 200000;
	char *a = brd_arena_alloc(&arena, 2 * n + 1), *b = brd_arena_alloc(&arena, 2 * n + 2);

	memset(a, '[', n);
	memset(a + n, ']', n);
	memcpy(b, a, 2 * n);
	memmove(b + n + 1, b + n, n);
	b[n] = ' ';
	assert_true(brd_json_equal(parse(brd_str(a)), parse(brd_str(b))));
	b[n] = '1';
	assert_false(brd_json_equal(parse(brd_str(a)), parse(brd_str(b))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(scalars_compare_by_value, drop_arena),
		cmocka_unit_test_teardown(a_missing_value_equals_only_itself, drop_arena),
		cmocka_unit_test_teardown(arrays_have_an_order, drop_arena),
		cmocka_unit_test_teardown(objects_have_none, drop_arena),
		cmocka_unit_test_teardown(the_last_duplicate_counts, drop_arena),
		cmocka_unit_test_teardown(large_objects_compare_the_same, drop_arena),
		cmocka_unit_test_teardown(depth_costs_no_stack, drop_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
