/* SPDX-License-Identifier: MIT */
/* Questions with a deadline: who does not answer is answered for, once (contract C17). */
#include "run/faults.h"
#include "base/clock.h"

#define MINUTE ((int64_t)60 * 1000)

#define PLANNER(more) \
	"{\"model\":{\"provider\":\"mock\",\"model\":\"m1\"},\"humanTools\":[{\"name\":\"ask\"," \
	"\"answer\":{\"type\":\"integer\"},\"deadline\":\"2h\"" more "}]}"

static const char models[] =
	"{\"m1\":{\"when\":[{\"match\":{\"role\":\"tool\"},\"stream\":[{\"text\":"
	"\"went with {{result}}\"}]},{\"stream\":[{\"tool_call\":{\"id\":"
	"\"c1\",\"name\":\"human_ask\",\"args\":{}}}]}]}}";

static const struct scenario asks = {
	.name = "asks",
	.agent = PLANNER(",\"default\":7"),
	.models = models,
};

/* Turns that take a tenth of a second each. */
static void pass(struct bread *b, int64_t ms)
{
	for (int64_t done = 0; done < ms; done += 100) {
		brd_clock_turn(100);
		bread_turn(b, 1);
	}
}

static void run_to_question(struct bread *b, const char *agent, struct seen *s)
{
	char id[BREAD_RUN_ID_MAX];

	fixture_agent(b, "p", agent);
	fixture_start(b, "p", "\"x\"", "conv", s, id);
	for (int i = 0; i < 400 && !s->told; i++)
		pass(b, 100);
	assert_int_equal(s->status, BREAD_RUN_SUSPENDED);
	pass(b, 1000);
}

static void until_ended(struct bread *b, struct seen *s)
{
	for (int i = 0; i < 100 && !s->ended; i++)
		pass(b, 100);
	assert_true(s->ended);
}

static void a_default_is_the_answer_when_the_time_is_over(void **state)
{
	struct bread *b;
	struct seen s = { 0 };

	brd_clock_freeze(1700000000000);
	b = fixture_new(models, NULL);
	run_to_question(b, PLANNER(",\"default\":7"), &s);
	brd_clock_turn(119 * MINUTE);
	pass(b, 3000);
	assert_string_equal(s.types.data, "agent:run:start human:required ");
	brd_clock_turn(MINUTE);
	until_ended(b, &s);
	assert_string_equal(s.types.data, "agent:run:start human:required human:resumed text:delta "
					  "agent:run:end ");
	assert_non_null(strstr(s.json.data, "\"response\":7,\"kind\":\"input\",\"expired\":true"));
	assert_non_null(strstr(s.json.data, "\"output\":\"went with 7\""));
	seen_fini(&s);
	bread_free(b);
	brd_clock_thaw();
}

static void without_a_default_the_call_fails(void **state)
{
	struct bread *b;
	struct seen s = { 0 };

	brd_clock_freeze(1700000000000);
	b = fixture_new(models, NULL);
	run_to_question(b, PLANNER(""), &s);
	brd_clock_turn(120 * MINUTE);
	until_ended(b, &s);
	assert_non_null(strstr(s.json.data, "\"kind\":\"input\",\"expired\":true"));
	assert_non_null(strstr(s.json.data, "CHECKPOINT_EXPIRED"));
	seen_fini(&s);
	bread_free(b);
	brd_clock_thaw();
}

static void a_deadline_survives_its_process(void **state)
{
	struct play p;
	struct bread *later;
	struct bread_read r;

	brd_clock_freeze(1700000000000);
	play_open(&p, &asks);
	p.answered = 100; /* nobody answers */
	play_start(&p);
	for (int i = 0; i < 400 && !p.told; i++)
		pass(p.b, 100);
	assert_int_equal(p.status, BREAD_RUN_SUSPENDED);
	play_kill(&p);
	brd_clock_turn(121 * MINUTE);
	later = play_instance(&p);
	for (int i = 0; i < 100; i++) {
		pass(later, 100);
		if (play_row(&p, &r).status == BREAD_RUN_COMPLETED)
			i = 100;
		bread_read_fini(&r);
	}
	assert_int_equal(play_row(&p, &r).status, BREAD_RUN_COMPLETED);
	assert_str(r.runs->output, "\"went with 7\"");
	bread_read_fini(&r);
	check_log(&p);
	bread_free(later);
	play_close(&p);
	brd_clock_thaw();
}

/* Two instances that see it at the same moment. */
static void one_of_two_answers(void **state)
{
	struct play p;
	struct bread *other;
	struct bread_read r = { .kind = BREAD_READ_CRUMBS, .limit = 100 };
	unsigned resumed = 0;

	brd_clock_freeze(1700000000000);
	play_open(&p, &asks);
	p.answered = 100;
	play_start(&p);
	other = play_instance(&p);
	for (int i = 0; i < 400 && !p.told; i++)
		pass(p.b, 100);
	brd_clock_turn(121 * MINUTE);
	for (int i = 0; i < 60; i++) {
		pass(p.b, 100);
		pass(other, 100);
	}
	r.key = brd_str(p.id);
	faulty_read(&p.store, &r);
	for (size_t i = 0; i < r.count; i++)
		resumed += brd_str_is(r.crumbs[i].type, "human:resumed");
	assert_int_equal(resumed, 1);
	assert_str(r.crumbs[r.count - 1].type, "agent:run:end");
	bread_read_fini(&r);
	check_log(&p);
	bread_free(other);
	play_close(&p);
	brd_clock_thaw();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_default_is_the_answer_when_the_time_is_over),
		cmocka_unit_test(without_a_default_the_call_fails),
		cmocka_unit_test(a_deadline_survives_its_process),
		cmocka_unit_test(one_of_two_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
