/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/str.h"
#include "model/fault.h"
#include "test.h"

static void refused(int status, const char *body, enum bread_model_fault kind, bool retryable)
{
	struct arena a = { 0 };
	struct signals s = { 0 };
	struct fault f = { 0 };

	brd_fault_read_body(&s, brd_str(body), &a);
	s.status = status;
	brd_fault_classify(&f, &s);
	assert_string_equal(bread_model_fault_name(f.kind), bread_model_fault_name(kind));
	assert_int_equal(f.retryable, retryable);
	brd_arena_fini(&a);
}

static void statuses_have_kinds(void **state)
{
	refused(401, "{\"error\":{\"message\":\"x\",\"type\":\"invalid_request_error\"}}",
		BREAD_FAULT_AUTH, false);
	refused(403, "{}", BREAD_FAULT_PERMISSION, false);
	refused(404, "{\"error\":\"model not found\"}", BREAD_FAULT_NOT_FOUND, false);
	refused(408, "x", BREAD_FAULT_TIMEOUT, true);
	refused(409, "x", BREAD_FAULT_SERVER, true);
	refused(422, "{\"detail\":[{\"msg\":\"bad\"}]}", BREAD_FAULT_INVALID_REQUEST, false);
	refused(429, "{}", BREAD_FAULT_RATE_LIMIT, true);
	refused(500, "oops", BREAD_FAULT_SERVER, true);
	refused(503, "", BREAD_FAULT_OVERLOADED, true);
	refused(504, "", BREAD_FAULT_TIMEOUT, true);
	refused(529, "{}", BREAD_FAULT_OVERLOADED, true);
}

static void a_used_up_quota_is_no_rate_limit(void **state)
{
	refused(429,
		"{\"error\":{\"message\":\"You exceeded your current "
		"quota\",\"code\":\"insufficient_quota\"}}",
		BREAD_FAULT_QUOTA, false);
	refused(402, "", BREAD_FAULT_QUOTA, false);
}

static void overflow_is_told_by_words_or_size(void **state)
{
	refused(400,
		"{\"error\":{\"message\":\"prompt is too long: 213462 tokens > 200000 maximum\"}}",
		BREAD_FAULT_OVERFLOW, false);
	refused(400, "{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}",
		BREAD_FAULT_OVERFLOW, false);
	refused(400, "", BREAD_FAULT_OVERFLOW, false);
	refused(413, "<html>too large</html>", BREAD_FAULT_OVERFLOW, false);
	refused(400, "{\"error\":{\"message\":\"bad field\"}}", BREAD_FAULT_INVALID_REQUEST, false);
	refused(429, "{\"message\":\"Too many tokens, rate limit\"}", BREAD_FAULT_RATE_LIMIT, true);
}

static void overflow_patterns_take_numbers_and_gaps(void **state)
{
	assert_true(
		brd_is_overflow(BRD_STR("This model's Maximum context length is 8192 tokens.")));
	assert_true(brd_is_overflow(
		BRD_STR("The input token count (12) exceeds the maximum number of tokens")));
	assert_true(brd_is_overflow(BRD_STR("prompt too long; exceeded max context length by 5")));
	assert_false(brd_is_overflow(BRD_STR("maximum context length is unknown tokens")));
	assert_false(brd_is_overflow(BRD_STR("Throttling error: Too many tokens, please wait")));
	assert_false(brd_is_overflow(BRD_STR("Service unavailable: too many tokens")));
	assert_false(brd_is_overflow(BRD_STR("")));
}

static void message_of(const char *body, const char *expected)
{
	struct arena a = { 0 };
	struct signals s = { 0 };

	brd_fault_read_body(&s, brd_str(body), &a);
	assert_str(s.message, expected);
	brd_arena_fini(&a);
}

static void sentences_are_found_in_any_shape(void **state)
{
	message_of("{\"error\":{\"message\":\"a\"}}", "a");
	message_of("{\"error\":\"b\"}", "b");
	message_of("{\"message\":\"c\"}", "c");
	message_of("[{\"error\":{\"message\":\"d\"}}]", "d");
	message_of("{\"detail\":\"e\"}", "e");
	message_of("{\"error\":{\"message\":\"f\",\"metadata\":{\"raw\":\"from behind\"}}}",
		"f: from behind");
	message_of("<html><h1>502  Bad Gateway</h1><hr>nginx</html>", "502 Bad Gateway nginx");
	message_of("plain words", "plain words");
	message_of("", "");
}

static void waits_are_read_in_all_their_forms(void **state)
{
	struct bread_str none = { 0 };

	brd_clock_freeze(784111777000); /* Sun, 06 Nov 1994 08:49:37 GMT */
	assert_int_equal(brd_retry_after(none, none), -1);
	assert_int_equal(brd_retry_after(none, BRD_STR("7")), 7000);
	assert_int_equal(brd_retry_after(none, BRD_STR("1.5")), 1500);
	assert_int_equal(brd_retry_after(BRD_STR("8400"), BRD_STR("9")), 8400);
	assert_int_equal(brd_retry_after(none, BRD_STR("Sun, 06 Nov 1994 08:49:47 GMT")), 10000);
	assert_int_equal(brd_retry_after(none, BRD_STR("Sun, 06 Nov 1994 08:00:00 GMT")), 0);
	assert_int_equal(brd_retry_after(none, BRD_STR("soon")), -1);
	brd_clock_thaw();
}

static void backoff_doubles_up_to_eight_seconds(void **state)
{
	static const int64_t most[] = { 500, 1000, 2000, 4000, 8000, 8000 };

	for (unsigned n = 0; n < 6; n++) {
		int64_t ms = brd_retry_backoff(n);

		assert_true(ms <= most[n] && ms >= most[n] * 3 / 4);
	}
	assert_true(brd_retry_backoff(1000) <= 8000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_have_kinds),
		cmocka_unit_test(a_used_up_quota_is_no_rate_limit),
		cmocka_unit_test(overflow_is_told_by_words_or_size),
		cmocka_unit_test(overflow_patterns_take_numbers_and_gaps),
		cmocka_unit_test(sentences_are_found_in_any_shape),
		cmocka_unit_test(waits_are_read_in_all_their_forms),
		cmocka_unit_test(backoff_doubles_up_to_eight_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
