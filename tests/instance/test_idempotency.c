/* SPDX-License-Identifier: MIT */
/* Requests that come twice count once (contract C13). */
#include "run/faults.h"
#include "base/clock.h"
#include "run/key.h"

#define SAYS "{\"text\":\"hello\"}"
#define ASKS "{\"tool_call\":{\"id\":\"h1\",\"name\":\"human_ask\",\"args\":{}}}"

static const struct scenario says = {
	.name = "says",
	.agent = "{\"model\":{\"provider\":\"mock\",\"model\":\"m1\"}}",
	.models = "{\"m1\":{\"when\":[{\"stream\":[" SAYS "]}]}}",
};
static const struct scenario asks = {
	.name = "asks",
	.agent = "{\"model\":{\"provider\":\"mock\",\"model\":\"m1\"},\"humanTools\":[{\"name\":"
		 "\"ask\"}]}",
	.models = "{\"m1\":{\"when\":[{\"match\":{\"role\":\"tool\"},\"stream\":[" SAYS
		  "]},{\"stream\":[" ASKS "]}]}}",
};

/* A request, and what its sender was told. */
struct sent {
	char run_id[BREAD_RUN_ID_MAX];
	int64_t after;
	unsigned runs, stored, ended;
	bool again, told; /* told: there is nothing to wait for */
	enum bread_run_status status;
	char error[64];
};

static void on_run(struct bread_str run_id, int again, void *arg)
{
	struct sent *s = arg;

	s->runs++;
	s->again = again;
	snprintf(s->run_id, sizeof(s->run_id), "%.*s", BRD_ARG(run_id));
}

static void on_stored(void *arg)
{
	((struct sent *)arg)->stored++;
}

static void on_end(const struct bread_outcome *o, void *arg)
{
	struct sent *s = arg;

	s->ended++;
	s->told = true;
	s->status = o->status;
	snprintf(s->error, sizeof(s->error), "%.*s", BRD_ARG(o->error_code));
}

static void send(struct bread *b, const char *key, const char *input, struct sent *s)
{
	struct bread_run_request req = { .agent_id = BRD_STR("a"),
		.input = brd_str(input),
		.session_id = BRD_STR("conv"),
		.idempotency_key = brd_str(key),
		.on_run = on_run,
		.on_stored = on_stored,
		.on_end = on_end,
		.arg = s };
	struct bread_err err = { 0 };
	char id[BREAD_RUN_ID_MAX];

	memset(s, 0, sizeof(*s));
	if (!bread_run(b, &req, id, &err)) {
		assert_string_equal(id, "");
		return;
	}
	s->told = true;
	snprintf(s->error, sizeof(s->error), "%s", err.name);
}

static void on_claimed(
	struct bread_str run_id, int64_t after, const struct bread_err *err, void *arg)
{
	struct sent *s = arg;

	s->runs++;
	s->after = after;
	snprintf(s->run_id, sizeof(s->run_id), "%.*s", BRD_ARG(run_id));
	if (!err)
		return;
	s->told = true;
	snprintf(s->error, sizeof(s->error), "%s", err->name);
}

static void answer(struct bread *b, struct bread_str checkpoint, const char *key,
	const char *response, struct sent *s)
{
	struct bread_resume_request req = { .checkpoint_id = checkpoint,
		.response = brd_str(response),
		.idempotency_key = brd_str(key),
		.on_claimed = on_claimed,
		.on_end = on_end,
		.arg = s };

	memset(s, 0, sizeof(*s));
	bread_resume(b, &req);
}

static size_t count(struct play *p, enum bread_read_kind kind)
{
	struct bread_read r = { .kind = kind, .limit = 100, .filter.status = -1 };
	size_t n;

	faulty_read(&p->store, &r);
	n = r.count;
	bread_read_fini(&r);
	return n;
}

static struct bread *open(struct play *p, const struct scenario *sc)
{
	play_open(p, sc);
	p->b = play_instance(p);
	return p->b;
}

static void again_is_the_same_run(void **state)
{
	struct play p;
	struct bread *b = open(&p, &says);
	struct sent first, second;

	send(b, "k-1", "{\"a\": 1}", &first);
	fixture_until(b, &first.told);
	assert_int_equal(first.runs, 1);
	assert_int_equal(first.stored, 1);
	assert_int_equal(first.status, BREAD_RUN_COMPLETED);
	assert_false(first.again);
	send(b, "k-1", "{\"a\":1}", &second); /* the same to whoever reads it */
	fixture_until(b, &second.told);
	assert_true(second.again);
	assert_int_equal(second.stored, 1);
	assert_string_equal(second.run_id, first.run_id);
	assert_int_equal(second.status, BREAD_RUN_COMPLETED);
	assert_int_equal(count(&p, BREAD_READ_RUNS), 1);
	play_close(&p);
}

static void for_something_else_a_key_is_refused(void **state)
{
	struct play p;
	struct bread *b = open(&p, &says);
	struct sent first, other;

	send(b, "k", "1", &first);
	fixture_until(b, &first.told);
	send(b, "k", "2", &other);
	fixture_until(b, &other.told);
	assert_string_equal(other.error, "IDEMPOTENCY_CONFLICT");
	assert_int_equal(other.runs + other.stored, 0);
	assert_int_equal(count(&p, BREAD_READ_RUNS), 1);
	play_close(&p);
}

static void keys_have_a_form(void **state)
{
	struct play p;
	struct bread *b = open(&p, &says);
	struct sent s;
	char key[257];

	memset(key, 'k', sizeof(key));
	key[256] = 0;
	send(b, key, "1", &s);
	assert_string_equal(s.error, "IDEMPOTENCY_KEY_INVALID");
	send(b, "", "1", &s);
	assert_string_equal(s.error, "IDEMPOTENCY_KEY_INVALID");
	send(b, "a b", "1", &s);
	assert_string_equal(s.error, "IDEMPOTENCY_KEY_INVALID");
	send(b, "caf\xc3\xa9", "1", &s);
	assert_string_equal(s.error, "IDEMPOTENCY_KEY_INVALID");
	key[255] = 0;
	send(b, key, "1", &s);
	fixture_until(b, &s.told);
	assert_string_equal(s.error, "");
	play_close(&p);
}

/* Both in one process, and in two that share a store. */
static void two_at_the_same_moment_are_one_run(void **state)
{
	for (int instances = 1; instances <= 2; instances++) {
		struct play p;
		struct bread *b = open(&p, &says);
		struct bread *other = instances == 2 ? play_instance(&p) : b;
		struct sent s[2];

		send(b, "k", "1", &s[0]);
		send(other, "k", "1", &s[1]);
		for (int i = 0; i < 2000 && !(s[0].told && s[1].told); i++) {
			bread_turn(b, 1);
			bread_turn(other, 1);
		}
		assert_string_equal(s[0].error, "");
		assert_string_equal(s[1].error, "");
		assert_int_equal(s[0].runs + s[1].runs, 2);
		assert_int_equal(s[0].again + s[1].again, 1);
		assert_string_equal(s[0].run_id, s[1].run_id);
		assert_int_equal(count(&p, BREAD_READ_RUNS), 1);
		if (other != b)
			bread_free(other);
		play_close(&p);
	}
}

static void a_refused_request_leaves_no_key(void **state)
{
	struct play p;
	struct bread *b = open(&p, &asks);
	struct sent first, second, answered;
	struct bread_read r = { .kind = BREAD_READ_CHECKPOINTS };

	send(b, "k-1", "1", &first);
	fixture_until(b, &first.told);
	assert_int_equal(first.status, BREAD_RUN_SUSPENDED);
	send(b, "k-2", "1", &second);
	fixture_until(b, &second.told);
	assert_string_equal(second.error, "SESSION_BUSY");
	faulty_read(&p.store, &r);
	answer(b, r.checkpoints->id, "k-1", "1", &answered);
	fixture_until(b, &answered.told);
	bread_read_fini(&r);
	send(b, "k-2", "1", &second);
	fixture_until(b, &second.told);
	assert_string_equal(second.error, "");
	assert_int_equal(second.runs, 1);
	assert_false(second.again);
	play_close(&p);
}

static void a_key_survives_its_process(void **state)
{
	struct play p;
	struct bread *b = open(&p, &says);
	struct sent first, second;

	send(b, "k", "1", &first);
	fixture_until(b, &first.told);
	play_kill(&p);
	p.b = b = play_instance(&p);
	send(b, "k", "1", &second);
	fixture_until(b, &second.told);
	assert_true(second.again);
	assert_string_equal(second.run_id, first.run_id);
	play_close(&p);
}

/* Wherever the process dies: afterwards there is one run, and the request finds it. */
static void a_crash_leaves_the_run_with_its_key_or_neither(void **state)
{
	for (unsigned turns = 0; turns < 12; turns++) {
		struct play p;
		struct bread *b = open(&p, &says);
		struct sent s;

		send(b, "k", "1", &s);
		for (unsigned i = 0; i < turns; i++)
			bread_turn(b, 1);
		play_kill(&p);
		p.b = b = play_instance(&p);
		send(b, "k", "1", &s);
		fixture_until(b, &s.told);
		assert_string_equal(s.error, "");
		fixture_turn(b, 5);
		assert_int_equal(count(&p, BREAD_READ_RUNS), 1);
		play_close(&p);
	}
}

static void after_a_day_a_key_is_new(void **state)
{
	struct play p;
	struct bread *b;
	struct sent s[3];

	brd_clock_freeze(1700000000000);
	b = open(&p, &says);
	for (int i = 0; i < 3; i++) {
		send(b, "k", i == 2 ? "2" : "1", &s[i]);
		for (int turn = 0; turn < 400 && !s[i].told; turn++) {
			bread_turn(b, 1);
			brd_clock_turn(5);
		}
		assert_true(s[i].told);
		brd_clock_turn(i ? KEY_MS : KEY_MS - 60000);
	}
	assert_true(s[1].again);
	assert_false(s[2].again);
	assert_string_equal(s[2].error, "");
	assert_string_not_equal(s[2].run_id, s[0].run_id);
	play_close(&p);
	brd_clock_thaw();
}

static void an_answer_again_leads_to_the_same_place(void **state)
{
	struct play p;
	struct bread *b = open(&p, &asks);
	struct sent run, first, second, other;
	struct bread_read r = { .kind = BREAD_READ_CHECKPOINTS };
	char id[64];

	send(b, "k", "1", &run);
	fixture_until(b, &run.told);
	faulty_read(&p.store, &r);
	snprintf(id, sizeof(id), "%.*s", BRD_ARG(r.checkpoints->id));
	bread_read_fini(&r);
	answer(b, brd_str(id), "k", "\"yes\"", &first);
	fixture_until(b, &first.told);
	assert_string_equal(first.error, "");
	answer(b, brd_str(id), "k", "\"yes\"", &second);
	fixture_until(b, &second.told);
	assert_string_equal(second.error, "");
	assert_string_equal(second.run_id, first.run_id);
	assert_int_equal(second.after, first.after);
	assert_int_equal(second.after, 2);
	assert_int_equal(second.status, BREAD_RUN_COMPLETED);
	answer(b, brd_str(id), "k", "\"no\"", &other);
	assert_int_equal(other.runs, 0);
	fixture_until(b, &other.told);
	assert_string_equal(other.error, "IDEMPOTENCY_CONFLICT");
	answer(b, brd_str(id), "k-2", "\"yes\"", &other);
	fixture_until(b, &other.told);
	assert_string_equal(other.error, "CHECKPOINT_CLAIMED");
	play_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(again_is_the_same_run),
		cmocka_unit_test(for_something_else_a_key_is_refused),
		cmocka_unit_test(keys_have_a_form),
		cmocka_unit_test(two_at_the_same_moment_are_one_run),
		cmocka_unit_test(a_refused_request_leaves_no_key),
		cmocka_unit_test(a_key_survives_its_process),
		cmocka_unit_test(a_crash_leaves_the_run_with_its_key_or_neither),
		cmocka_unit_test(after_a_day_a_key_is_new),
		cmocka_unit_test(an_answer_again_leads_to_the_same_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
