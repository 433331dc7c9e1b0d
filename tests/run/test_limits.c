/* SPDX-License-Identifier: MIT */
/* What bounds a run: its time, its tools' and its model's, its steps, and how much
 * any of them may give. */
#include "run/run_fixture.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "instance/internal.h"

#define MODEL "\"model\":{\"provider\":\"mock\",\"model\":\"m1\"}"
#define HANG "{\"m1\":{\"when\":[{\"match\":{},\"stream\":[{\"text\":\"so \"},{\"hang\":true}]}]}}"
#define CALLS \
	"{\"m1\":{\"when\":[{\"match\":{\"count\":1},\"stream\":[{\"tool_call\":{\"id\":\"c1\"," \
	"\"name\":\"tool_t\",\"args\":{}}}]},{\"match\":{},\"stream\":[{\"text\":\"{{result}}\"}]" \
	"}]}}"

static void silence(const struct log_record *r, void *arg)
{
}

/* Turns the clock until its caller knows the end; gives how long that was. */
static int64_t run_frozen(struct bread *b, struct seen *s)
{
	char id[BREAD_RUN_ID_MAX];
	int64_t began = brd_clock_mono();

	fixture_start(b, "a", "\"x\"", NULL, s, id);
	for (int i = 0; !s->told; i++) {
		assert_true(i < 200000);
		if (!bread_turn(b, 0))
			brd_clock_turn(20);
	}
	return brd_clock_mono() - began;
}

static struct bread *frozen(const char *models, const char *extra, const char *agent)
{
	struct bread *b;

	brd_log_sink(silence, NULL);
	brd_clock_freeze(1700000000000);
	b = fixture_new(models, extra);
	fixture_agent(b, "a", agent);
	return b;
}

static void done(struct bread *b, struct seen *s)
{
	struct bread_stats stats;

	for (int i = 0; i < 20; i++)
		bread_turn(b, 0);
	bread_stats(b, &stats);
	assert_int_equal(stats.runs_active, 0);
	brd_clock_thaw();
	seen_fini(s);
	bread_free(b);
}

static void a_run_has_a_longest_time(void **state)
{
	struct bread *b = frozen(HANG, "\"limits\":{\"runTime\":\"10s\"}", "{" MODEL "}");
	struct seen s = { 0 };

	assert_in_range(run_frozen(b, &s), 10000, 10100);
	assert_int_equal(s.status, BREAD_RUN_FAILED);
	assert_string_equal(s.error, "RUN_TIMEOUT");
	assert_string_equal(s.types.data, "agent:run:start text:delta agent:error ");
	done(b, &s);
}

static void the_agents_own_time_is_asked_first(void **state)
{
	struct bread *b =
		frozen(HANG, "\"limits\":{\"runTime\":\"10s\"}", "{" MODEL ",\"maxTime\":\"2s\"}");
	struct seen s = { 0 };

	assert_in_range(run_frozen(b, &s), 2000, 2100);
	assert_string_equal(s.error, "RUN_TIMEOUT");
	done(b, &s);
}

static void the_wait_between_attempts_has_an_end(void **state)
{
	struct retry_def d = { .attempts = 100, .backoff_ms = 500, .multiplier = 2 };

	assert_int_equal(brd_retry_ms(&d, 1), 500);
	assert_int_equal(brd_retry_ms(&d, 3), 2000);
	d.multiplier = 100;
	assert_int_equal(brd_retry_ms(&d, 99), 3600 * 1000);
}

static void a_silent_model_is_given_up(void **state)
{
	struct bread *b =
		frozen(HANG, "\"limits\":{\"silence\":\"5s\",\"firstByte\":\"3s\"}", "{" MODEL "}");
	struct seen s = { 0 };

	assert_in_range(run_frozen(b, &s), 5000, 5200);
	assert_int_equal(s.status, BREAD_RUN_FAILED);
	done(b, &s);
}

static void a_model_that_never_begins_is_given_up(void **state)
{
	struct bread *b =
		frozen("{\"m1\":{\"when\":[{\"match\":{},\"stream\":[{\"hang\":true}]}]}}",
			"\"limits\":{\"silence\":\"5s\",\"firstByte\":\"3s\"}", "{" MODEL "}");
	struct seen s = { 0 };

	/* and is asked again: nothing was shown yet */
	assert_in_range(run_frozen(b, &s), 3000, 30000);
	assert_int_equal(s.status, BREAD_RUN_FAILED);
	done(b, &s);
}

static struct bread_tool_call *kept;

static void keep(struct bread_tool_call *call, void *arg)
{
	kept = call;
}

static void add_tool(struct bread *b, bread_tool_fn *fn)
{
	struct bread_err err;

	assert_int_equal(
		bread_agent_tool(b, "a", "t", "does", (struct bread_str){ 0 }, fn, NULL, &err), 0);
}

static void a_slow_tool_is_given_up_and_the_model_told(void **state)
{
	struct bread *b = frozen(CALLS, "\"limits\":{\"toolTime\":\"7s\"}", "{" MODEL "}");
	struct seen s = { 0 };

	add_tool(b, keep);
	assert_in_range(run_frozen(b, &s), 7000, 9500); /* two seconds of patience */
	assert_int_equal(s.status, BREAD_RUN_COMPLETED);
	assert_non_null(strstr(s.types.data, "tool:error"));
	bread_tool_return(kept, BRD_STR("1"));
	done(b, &s);
}

static void again_and_again(struct bread_tool_call *call, void *arg)
{
	bread_tool_return(call, BRD_STR("1"));
}

static void an_endless_agent_ends_at_its_steps(void **state)
{
	struct bread *b = frozen("{\"m1\":{\"when\":[{\"match\":{},\"stream\":[{\"text\":\".\"},{"
				 "\"tool_call\":{\"id\":\"c\","
				 "\"name\":\"tool_t\",\"args\":{}}}]}]}}",
		NULL, "{" MODEL ",\"steps\":{\"max\":7}}");
	struct seen s = { 0 };

	add_tool(b, again_and_again);
	run_frozen(b, &s);
	assert_int_equal(s.status, BREAD_RUN_COMPLETED);
	assert_string_equal(s.output, "\".......\"");
	done(b, &s);
}

static unsigned ran;

static void count(struct bread_tool_call *call, void *arg)
{
	ran++;
	bread_tool_return(call, BRD_STR("1"));
}

static void a_turn_has_a_bounded_number_of_calls(void **state)
{
	struct bread *b;
	struct seen s = { 0 };
	struct buf models;

	brd_buf_init(&models, BUF_NO_LIMIT);
	brd_buf_addz(&models, "{\"m1\":{\"when\":[{\"match\":{\"count\":1},\"stream\":[");
	for (int i = 0; i < 1000; i++)
		brd_buf_addf(&models,
			"%s{\"tool_call\":{\"id\":\"c%d\",\"name\":\"tool_t\",\"args\":{}}}",
			i ? "," : "", i);
	brd_buf_addz(&models, "]},{\"match\":{},\"stream\":[{\"text\":\"{{result}}\"}]}]}}");
	b = frozen(models.data, NULL, "{" MODEL "}");
	add_tool(b, count);
	ran = 0;
	run_frozen(b, &s);
	assert_int_equal(s.status, BREAD_RUN_COMPLETED);
	assert_int_equal(ran, 128);
	assert_non_null(strstr(s.output, "TooManyCalls: at most 128"));
	done(b, &s);
	brd_buf_fini(&models);
}

static void large(struct bread_tool_call *call, void *arg)
{
	size_t n = *(size_t *)arg;
	char *text = brd_alloc(n);

	memset(text, 'x', n);
	text[0] = text[n - 1] = '"';
	bread_tool_return(call, (struct bread_str){ text, n });
	free(text);
}

static void a_result_has_a_bounded_size(void **state)
{
	static size_t n = 9 << 20;
	struct bread *b = frozen(CALLS, NULL, "{" MODEL "}");
	struct seen s = { 0 };
	struct bread_err err;

	bread_agent_tool(b, "a", "t", "does", (struct bread_str){ 0 }, large, &n, &err);
	run_frozen(b, &s);
	assert_int_equal(s.status, BREAD_RUN_COMPLETED);
	assert_non_null(strstr(s.json.data, "the result is over 8 MiB"));
	done(b, &s);
}

/* ---- a model of ours that does not stop ---- */

struct flood {
	struct bread_model model;
};

struct pour {
	struct timer timer;
	struct bread_model_call *call;
	char text[1 << 20];
};

static void say(struct pour *p, struct bread_event ev)
{
	p->call->on_event(p->call, &ev);
}

static void pour(struct timer *t)
{
	struct pour *p = brd_list_of(t, struct pour, timer);

	if (!p->call->op.canceled)
		say(p, (struct bread_event){
			       .kind = BREAD_EV_TEXT_DELTA, .text = { p->text, sizeof(p->text) } });
	if (!p->call->op.canceled) {
		brd_timer_start(&p->timer, p->call->loop, 1, pour);
		return;
	}
	say(p, (struct bread_event){ .kind = BREAD_EV_ERROR,
		       .fault = BREAD_FAULT_ABORTED,
		       .reason = BREAD_STOP_ABORTED,
		       .text = BRD_STR("stopped") });
	bread_op_end(&p->call->op, BREAD_E_CANCELED, NULL);
	free(p);
}

static void flood_start(struct bread_model *m, struct bread_model_call *call)
{
	struct pour *p = brd_alloc(sizeof(*p));

	memset(p->text, 'a', sizeof(p->text));
	p->call = call;
	bread_op_begin(&call->op, NULL, NULL);
	say(p, (struct bread_event){ .kind = BREAD_EV_START });
	say(p, (struct bread_event){ .kind = BREAD_EV_TEXT_START });
	brd_timer_start(&p->timer, call->loop, 1, pour);
}

static int flood_open(struct bread_model *m, struct bread_str name, struct bread_str options,
	struct bread_err *err)
{
	return 0;
}

static void flood_close(struct bread_model *m)
{
}

static const struct bread_model_ops flood = { .name = "flood",
	.size = sizeof(struct flood),
	.open = flood_open,
	.close = flood_close,
	.start = flood_start };

static void a_model_that_does_not_stop_is_stopped(void **state)
{
	struct bread *b =
		frozen("{}", NULL, "{\"model\":{\"provider\":\"flood\",\"model\":\"m\"}}");
	struct bread_run_request req = { .agent_id = BRD_STR("a"), .input = BRD_STR("\"x\"") };
	struct bread_stats stats = { 0 };
	struct bread_err err;
	struct seen s = { 0 };
	char id[BREAD_RUN_ID_MAX];

	assert_int_equal(bread_provider(b, "flood", &flood, BRD_STR("{}"), &err), 0);
	assert_int_equal(bread_run(b, &req, id, &err), 0);
	for (int i = 0; !stats.runs_failed; i++) {
		assert_true(i < 5000);
		if (!bread_turn(b, 0))
			brd_clock_turn(1);
		bread_stats(b, &stats);
	}
	fixture_watch(b, id, 0, &s);
	while (!s.ended)
		if (!bread_turn(b, 0))
			brd_clock_turn(1);
	assert_non_null(strstr(s.json.data, "OUTPUT_TOO_LARGE"));
	done(b, &s);
}

/* ---- the cap ---- */

static void a_place_is_free_again_whatever_the_end(void **state)
{
	static const char *const models[] = {
		"{\"m1\":{\"when\":[{\"match\":{},\"stream\":[{\"text\":\"ok\"}]}]}}",
		"{\"m1\":{\"when\":[{\"match\":{},\"stream\":[{\"error\":\"no\"}]}]}}",
		HANG,
		"{\"m1\":{\"when\":[{\"match\":{},\"stream\":[{\"tool_call\":{\"id\":\"h\","
		"\"name\":"
		"\"human_ask\",\"args\":{}}}]}]}}",
	};

	for (size_t i = 0; i < 4; i++) {
		struct bread *b = frozen(models[i],
			"\"concurrency\":{\"max\":1},\"limits\":{\"runTime\":\"1s\"}",
			"{" MODEL
			",\"humanTools\":[{\"name\":\"ask\",\"schema\":{\"type\":\"object\"}}]}");
		struct seen s = { 0 };

		for (int n = 0; n < 3; n++) {
			seen_fini(&s);
			run_frozen(b, &s);
			for (int t = 0; t < 10; t++)
				bread_turn(b, 0);
			assert_int_equal(brd_active_count(b), 0);
		}
		done(b, &s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_has_a_longest_time),
		cmocka_unit_test(the_agents_own_time_is_asked_first),
		cmocka_unit_test(the_wait_between_attempts_has_an_end),
		cmocka_unit_test(a_silent_model_is_given_up),
		cmocka_unit_test(a_model_that_never_begins_is_given_up),
		cmocka_unit_test(a_slow_tool_is_given_up_and_the_model_told),
		cmocka_unit_test(an_endless_agent_ends_at_its_steps),
		cmocka_unit_test(a_turn_has_a_bounded_number_of_calls),
		cmocka_unit_test(a_result_has_a_bounded_size),
		cmocka_unit_test(a_model_that_does_not_stop_is_stopped),
		cmocka_unit_test(a_place_is_free_again_whatever_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
