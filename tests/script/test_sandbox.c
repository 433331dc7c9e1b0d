/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <unistd.h>
#include "scripttest.h"

static void nothing_outside_is_there(void **state)
{
	static const char *const names[] = { "io", "os", "package", "debug", "require", "dofile",
		"load", "loadfile", "loadstring", "collectgarbage", "coroutine", "string.dump" };
	char source[200];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(source, sizeof(source), "%s == nil", names[i]);
		expression_gives(source, "true");
	}
}

static void code_as_bytes_is_not_run(void **state)
{
	struct scripted t;
	struct bread_err err;

	assert_int_equal(script_open(&t, "\x1bLua", &err), BREAD_E_INVALID);
}

static void metatables_of_values_cannot_be_had(void **state)
{
	script_gives("function run(v) return getmetatable(v) end", "[]", "false");
	script_gives("function run(v) return getmetatable(v) end", "1e999", "false");
	script_fails("function run() return setmetatable(bread.array(), {}) end", "protected");
}

/* They would run where no limit holds. */
static void finalizers_cannot_be_made(void **state)
{
	script_fails("function run() setmetatable({}, {__gc = function() end}) end", "finalizers");
	script_fails(
		"function run() local m = {__gc = false} setmetatable({}, m) end", "finalizers");
}

/* ---- limits ---- */

/* run() ends because of the instructions that it ran. */
static void endless(const char *source)
{
	struct scripted t;
	struct bread_err err = { 0 };

	if (script_open(&t, source, &err))
		fail_msg("%s", err.text);
	t.code.limits.instructions = 1000000;
	script_call(&t, "null");
	if (!t.call.failed || t.call.killed != KILL_INSTRUCTIONS)
		fail_msg("%s: %s", source, t.call.failed ? t.call.error_text : "it ended");
	assert_true(t.state->bad);
	scripted_fini(&t);
}

static void endless_loops_end(void **state)
{
	endless("function run() while true do end end");
	endless("function run() ::a:: goto a end");
	endless("function run() for i = 1, math.huge do end end");
	endless("function run() while true do pcall(function() while true do end end) end end");
	endless("function run() repeat pcall(error) until false end");
	endless("function run() local f f = function() return pcall(f) end "
		"while true do f() end end");
	endless("function run() while true do xpcall(error, function() while true do end end) end "
		"end");
	script_gives(
		"function run() return {xpcall(error, function(e) return e .. '!' end, 'x')} end",
		"null", "[false,\"x!\"]");
	endless("function run() local t <close> = setmetatable({}, {__close = function() "
		"while true do end end}) while true do end end");
	endless("function run() return setmetatable({}, {__index = function(t, k) "
		"while true do end end}).x end");
	endless("function run() table.sort({3, 2, 1, 5}, function() while true do end end) end");
	endless("function run() (('x'):rep(100)):gsub('x', function() while true do end end) end");
	endless("function run() for i in function() return 1 end do end end");
}

static void patterns_count(void **state)
{
	endless("function run() return (('a'):rep(5000)):find(('.-'):rep(20) .. 'b') end");
	endless("function run() return (('a'):rep(5000)):match(('a*'):rep(20) .. 'b') end");
	endless("function run() return (('a'):rep(5000)):gsub(('a?'):rep(200) .. 'b', '') end");
	endless("function run() for _ in (('('):rep(50000)):gmatch('%b()') do end end");
	endless("function run() return (('a'):rep(500000)):find('^(a*)%1b') or run() end");
}

static void loops_of_libraries_have_bounds(void **state)
{
	expression_gives("(''):rep(1 << 62)", "\"\"");
	script_fails("function run() table.move({}, 1, math.maxinteger - 1, 2) end", "at most");
	script_fails("function run() table.move({}, math.mininteger, math.maxinteger, 1) end",
		"at most");
	script_fails("local t = setmetatable({}, {__len = function() return 1 << 60 end}) "
		     "function run() table.insert(t, 1, 1) end",
		"__len");
	script_fails("local t = setmetatable({}, {__len = function() return 1 << 60 end}) "
		     "function run() table.remove(t, 1) end",
		"__len");
	script_fails("local t = setmetatable({}, {__len = function() return 1 << 60 end}) "
		     "function run() table.concat(t) end",
		"__len");
	script_fails("local t = setmetatable({}, {__len = function() return 1 << 30 end}) "
		     "function run() table.sort(t) end",
		"__len");
}

static void memory_is_bounded(void **state)
{
	static const char *const bombs[] = {
		"function run() return ('x'):rep(1 << 40) end",
		"function run() local s = 'x' while true do s = s .. s end end",
		"function run() local t = {} while true do t[#t + 1] = {} end end",
		"function run() local t = {} for i = 1, 1e9 do t[i] = i end end",
		"function run() return bread.json.decode('[' .. ('[],'):rep(1000000) .. '1]') end",
		"function run() local s = ('x'):rep(1000) return (s:gsub('x', s):gsub('x', s)) end",
		"function run() return ('%99d'):rep(1000000):format() end",
	};

	for (size_t i = 0; i < sizeof(bombs) / sizeof(*bombs); i++) {
		struct scripted t;
		struct bread_err err;

		assert_int_equal(script_open(&t, bombs[i], &err), 0);
		script_call(&t, "null");
		assert_true(t.call.failed);
		assert_true(t.state->used <= SCRIPT_MEMORY);
		scripted_fini(&t);
	}
}

static void a_full_memory_can_be_caught_and_gone_on_from(void **state)
{
	script_gives("function run() local ok, e = pcall(string.rep, 'x', 1 << 40) "
		     "return {ok, 1} end",
		"null", "[false,1]");
}

static void recursion_is_bounded(void **state)
{
	script_fails("function run() return 1 + run() end", "");
	script_fails("function run() return (('x'):gsub('x', run)) end", "");
	script_fails(
		"function run() return tostring(setmetatable({}, {__tostring = run})) end", "");
	script_fails("function run() return ('x'):find(('('):rep(40)) end", "captures");
	script_fails("function run() return ('x'):find(('x?'):rep(1000)) end", "too long");
}

static void time_is_bounded(void **state)
{
	struct scripted t;
	struct bread_err err;

	assert_int_equal(script_open(&t, "function run() while true do end end", &err), 0);
	t.code.limits.ms = 20;
	script_call(&t, "null");
	assert_int_equal(t.call.killed, KILL_TIME);
	assert_string_equal(t.call.error_text, "the script took too long");
	scripted_fini(&t);
}

static void *stop_soon(void *arg)
{
	usleep(20000);
	atomic_store((atomic_int *)arg, 1);
	return NULL;
}

static void it_can_be_stopped(void **state)
{
	struct scripted t;
	struct bread_err err;
	pthread_t thread;

	assert_int_equal(script_open(&t, "function run() while true do end end", &err), 0);
	brd_script_call_init(&t.call);
	t.call.function = "run";
	pthread_create(&thread, NULL, stop_soon, &t.call.stop);
	brd_script_run(t.state, &t.call);
	pthread_join(thread, NULL);
	assert_int_equal(t.call.killed, KILL_CANCELED);
	scripted_fini(&t);
}

static void a_script_that_does_not_load_says_why(void **state)
{
	struct scripted t;
	struct bread_err err;

	assert_int_equal(script_open(&t, "function run( end", &err), BREAD_E_INVALID);
	assert_non_null(strstr(err.text, "test.lua:1:"));
	assert_int_equal(script_open(&t, "error('at once', 0)", &err), BREAD_E_INVALID);
	assert_string_equal(err.text, "at once");
}

/* ---- errors ---- */

static void errors_are_texts_or_tables(void **state)
{
	struct scripted t;
	struct bread_err err;

	assert_int_equal(script_open(&t,
				 "function run() error{code = 'QUOTA', message = 'no more', "
				 "context = {left = 0}} end",
				 &err),
		0);
	script_call(&t, "null");
	assert_string_equal(t.call.error_code, "QUOTA");
	assert_string_equal(t.call.error_text, "no more");
	assert_string_equal(t.call.error_context, "{\"left\":0}");
	scripted_fini(&t);
	script_fails("function run() error('plain', 0) end", "plain");
	script_fails("function run() error({}) end", "no message");
	script_fails("function run() error() end", "no message");
	script_fails("function run() local x = nil; x.y = 1 end", "test.lua:1: ");
}

/* ---- the pattern functions agree with the manual ---- */

static void patterns_match(void **state)
{
	expression_gives("{('hello'):find('l')}", "[3,3]");
	expression_gives("(('hello'):find('xyz')) == nil", "true");
	expression_gives("{('hello'):find('')}", "[1,0]");
	expression_gives("(('hello'):find('', 10)) == nil", "true");
	expression_gives("{('a.b'):find('.', 2, true)}", "[2,2]");
	expression_gives("{('key = value'):match('^(%w+)%s*=%s*(%w+)$')}", "[\"key\",\"value\"]");
	expression_gives("('  x '):match('^%s*(.-)%s*$')", "\"x\"");
	expression_gives("{('hello'):match('()ll()')}", "[3,5]");
	expression_gives("('THE (quick) fox'):find('%((%a+)%)')", "5");
	expression_gives("('f(a(b)c)d'):match('%b()')", "\"(a(b)c)\"");
	expression_gives(
		"('THE (quick) fox'):gsub('%f[%a]%a+', string.lower)", "\"the (quick) fox\"");
	expression_gives("('x = \"it\\'s\"'):match([[([\"'])(.-)%1]])", "\"\\\"\"");
	expression_gives("('abc'):match('[^b]+', -1)", "\"c\"");
	expression_gives("('a-b]c'):match('[]-]+')", "\"-\"");
	expression_gives("('2026-11-30'):gsub('(%d+)-(%d+)-(%d+)', '%3.%2.%1')", "\"30.11.2026\"");
	expression_gives("{('hello'):gsub('', '-')}", "[\"-h-e-l-l-o-\",6]");
	expression_gives("{('hello'):gsub('l', {l = 'L'}, 1)}", "[\"heLlo\",1]");
	expression_gives("{('abc'):gsub('%w', '%0%0')}", "[\"aabbcc\",3]");
	expression_gives("{('abc'):gsub('^a', 'x')}", "[\"xbc\",1]");
	expression_gives("('x^y'):match('x^y')", "\"x^y\"");
	expression_gives("('a$b'):match('a$b')", "\"a$b\"");
	script_gives("function run() local t = {} for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') "
		     "do t[k] = v end return t end",
		"null", "{\"a\":\"1\",\"b\":\"2\"}");
	script_gives("function run() local n = 0 for _ in ('abc'):gmatch('x*') do n = n + 1 end "
		     "return n end",
		"null", "4");
}

static void malformed_patterns_are_errors(void **state)
{
	static const char *const patterns[] = { "[a", "[", "%", "(", ")", "%1", "(%1)", "%b", "%bx",
		"%f", "[^", "[%" };
	char source[200];

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		snprintf(source, sizeof(source), "function run() return ('x'):find('%s') end",
			patterns[i]);
		script_fails(source, "");
	}
	script_fails("function run() return (('x'):gsub('x', '%9')) end", "capture index");
	script_fails("function run() return (('x'):gsub('x', '%a')) end", "replacement");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_outside_is_there),
		cmocka_unit_test(code_as_bytes_is_not_run),
		cmocka_unit_test(metatables_of_values_cannot_be_had),
		cmocka_unit_test(finalizers_cannot_be_made),
		cmocka_unit_test(endless_loops_end),
		cmocka_unit_test(patterns_count),
		cmocka_unit_test(loops_of_libraries_have_bounds),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(a_full_memory_can_be_caught_and_gone_on_from),
		cmocka_unit_test(recursion_is_bounded),
		cmocka_unit_test(time_is_bounded),
		cmocka_unit_test(it_can_be_stopped),
		cmocka_unit_test(a_script_that_does_not_load_says_why),
		cmocka_unit_test(errors_are_texts_or_tables),
		cmocka_unit_test(patterns_match),
		cmocka_unit_test(malformed_patterns_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
