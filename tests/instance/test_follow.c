/* SPDX-License-Identifier: MIT */
/* Following runs whose owner is elsewhere, or whose log was written by others: the
 * test plays the other process on the store, and the publisher on the hub. */
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/str.h"
#include "crumb/crumb.h"
#include "instance/follow.h"

static struct bread *b;
static struct loop *loop;

static void text_frame(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d%.1s ", (int)c->seq, c->type.p);

	bread_sink_add(s, (struct bread_str){ text, (size_t)n });
}

static void whole_frame(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	bread_sink_add(s, c->json);
}

static void failure_frame(struct bread_sink *s, const struct bread_failure *f)
{
	bread_sink_add(s, f->code);
}

static void reset_frame(struct bread_sink *s, struct bread_str run_id, int64_t first)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "reset%d ", (int)first);

	bread_sink_add(s, (struct bread_str){ text, (size_t)n });
}

static const struct bread_framing frames = {
	.name = "frames", .crumb = text_frame, .failure = failure_frame, .reset = reset_frame
};
static const struct bread_framing wholes = { .name = "wholes", .crumb = whole_frame };

static int setup(void **state)
{
	const char *conf = "{\"store\":\"memory\",\"transport\":\"stream\"}";

	brd_clock_freeze(1000);
	assert_int_equal(bread_new(&b, NULL), 0);
	assert_int_equal(bread_configure(b, brd_str(conf), NULL), 0);
	assert_int_equal(bread_start(b, NULL), 0);
	loop = bread_here(b);
	return 0;
}

static int teardown(void **state)
{
	brd_clock_thaw();
	bread_free(b);
	return 0;
}

static void turn(void)
{
	for (int i = 0; i < 20; i++)
		bread_turn(b, 1);
}

/* ---- the other process ---- */

static bool committed;

static void on_commit(struct bread_op *op)
{
	assert_int_equal(op->code, BREAD_OK);
	committed = true;
}

static void commit(struct bread_rec *rec)
{
	struct bread_tx tx = { .recs = rec, .count = 1 };

	committed = false;
	bread_op_init(&tx.op, loop, on_commit, NULL);
	brd_store_commit(brd_instance_store(b), &tx);
	while (!committed)
		bread_turn(b, 1);
}

static void add_session(void)
{
	struct bread_rec rec = { .kind = BREAD_REC_SESSION };

	rec.session = (struct bread_session_row){ .id = BRD_STR("s"), .tags = BRD_STR("{}") };
	commit(&rec);
}

static void add_run(enum bread_run_status status)
{
	struct bread_rec rec = { .kind = BREAD_REC_RUN };

	add_session();
	rec.run = (struct bread_run_row){ .id = BRD_STR("r"),
		.root_id = BRD_STR("r"),
		.agent_id = BRD_STR("a"),
		.session_id = BRD_STR("s"),
		.owner = BRD_STR("other"),
		.epoch = 1,
		.status = status,
		.created_at = 1 };
	commit(&rec);
}

static void set_status(enum bread_run_status status)
{
	struct bread_rec rec = { .kind = BREAD_REC_RUN_STATUS };

	rec.run = (struct bread_run_row){ .id = BRD_STR("r"), .status = status, .ended_at = 2 };
	commit(&rec);
}

static void add_crumb(int64_t seq, const char *type, const char *json)
{
	struct bread_rec rec = { .kind = BREAD_REC_CRUMB };

	rec.crumb = (struct bread_crumb_row){ .run_id = BRD_STR("r"),
		.session_id = BRD_STR("s"),
		.agent_id = BRD_STR("a"),
		.type = brd_str(type),
		.crumb = brd_str(json),
		.seq = seq,
		.created_at = 1 };
	commit(&rec);
}

/* ---- the one who follows ---- */

struct eye {
	struct follow *follow;
	struct buf seen;
	enum follow_state state;
};

static void look(void *arg)
{
	struct eye *e = arg;
	struct iovec v;

	if (!e->follow)
		return;
	while ((e->state = brd_follow_peek(e->follow, &v)) == FOLLOW_BYTES) {
		brd_buf_addn(&e->seen, v.iov_base, v.iov_len);
		brd_follow_advance(e->follow, v.iov_len);
	}
}

static void open_spec(struct eye *e, const struct follow_spec *spec)
{
	memset(e, 0, sizeof(*e));
	brd_buf_init(&e->seen, BUF_NO_LIMIT);
	e->follow = brd_follow_new(b, loop, BRD_STR("r"), spec, look, e);
	look(e);
	turn();
}

static void follow(struct eye *e, int64_t after)
{
	struct follow_spec spec = { .framing = &frames, .after = after };

	open_spec(e, &spec);
}

static void close_eye(struct eye *e)
{
	brd_follow_free(e->follow);
	e->follow = NULL;
	brd_buf_fini(&e->seen);
	turn();
}

static void a_run_of_another_process_is_polled(void **state)
{
	struct eye e;

	add_run(BREAD_RUN_RUNNING);
	add_crumb(1, "agent:run:start", "{}");
	follow(&e, 0);
	assert_string_equal(e.seen.data, "1a ");
	assert_int_equal(e.state, FOLLOW_WAIT);
	add_crumb(2, "tool:call", "{}");
	turn();
	assert_string_equal(e.seen.data, "1a ");
	brd_clock_turn(1000);
	turn();
	assert_string_equal(e.seen.data, "1a 2t ");
	add_crumb(3, "agent:run:end", "{}");
	set_status(BREAD_RUN_COMPLETED);
	brd_clock_turn(1000);
	turn();
	assert_string_equal(e.seen.data, "1a 2t 3a ");
	assert_int_equal(e.state, FOLLOW_END);
	close_eye(&e);
}

static void an_ended_run_says_its_end_again(void **state)
{
	struct eye e;

	add_run(BREAD_RUN_RUNNING);
	add_crumb(1, "agent:run:start", "{}");
	add_crumb(2, "agent:run:end", "{}");
	set_status(BREAD_RUN_COMPLETED);
	follow(&e, 2);
	assert_string_equal(e.seen.data, "2a ");
	assert_int_equal(e.state, FOLLOW_END);
	close_eye(&e);
	follow(&e, 3);
	assert_int_equal(e.state, FOLLOW_FAILED);
	close_eye(&e);
}

static void what_retention_took_is_said(void **state)
{
	struct eye e;

	add_run(BREAD_RUN_RUNNING);
	add_crumb(5, "tool:call", "{}");
	add_crumb(6, "agent:run:end", "{}");
	set_status(BREAD_RUN_COMPLETED);
	follow(&e, 2);
	assert_string_equal(e.seen.data, "reset5 5t 6a ");
	close_eye(&e);
}

static void a_log_without_a_row_is_read(void **state)
{
	struct eye e;

	add_session();
	add_crumb(1, "agent:run:start", "{}");
	add_crumb(2, "agent:run:end", "{}");
	follow(&e, 0);
	assert_string_equal(e.seen.data, "1a 2a ");
	assert_int_equal(e.state, FOLLOW_END);
	close_eye(&e);
}

static void nobody_knows_it(void **state)
{
	struct eye e;
	struct bread_err err;

	follow(&e, 0);
	assert_int_equal(e.state, FOLLOW_FAILED);
	brd_follow_error(e.follow, &err);
	assert_string_equal(err.name, "RUN_NOT_FOUND");
	close_eye(&e);
}

static void a_mark_ahead_of_its_commit_is_waited_for(void **state)
{
	struct topic *t = brd_topic_get(brd_instance_hub(b), BRD_STR("r"), false);
	struct eye e;

	add_run(BREAD_RUN_RUNNING);
	add_crumb(1, "agent:run:start", "{}");
	brd_topic_begin(t, 1);
	brd_topic_mark(t, 2); /* its row is still on the way */
	follow(&e, 0);
	assert_string_equal(e.seen.data, "1a ");
	assert_int_equal(e.state, FOLLOW_WAIT);
	add_crumb(2, "text:delta", "{}");
	brd_clock_turn(20);
	turn();
	assert_string_equal(e.seen.data, "1a 2t ");
	brd_topic_end(t, true, NULL);
	turn();
	assert_int_equal(e.state, FOLLOW_END);
	close_eye(&e);
	brd_topic_unref(t);
}

static void a_caller_waits_for_the_first_crumb(void **state)
{
	struct follow_spec spec = { .framing = &frames, .own = true, .until_idle = true };
	struct bread_failure failure = { .code = BRD_STR("STORE_FAILED") };
	struct topic *t = brd_topic_get(brd_instance_hub(b), BRD_STR("r"), false);
	struct eye e;

	open_spec(&e, &spec);
	assert_true(brd_follow_known(e.follow));
	assert_int_equal(e.state, FOLLOW_WAIT);
	brd_topic_begin(t, 0);
	brd_topic_end(t, false, &failure);
	turn();
	assert_string_equal(e.seen.data, "STORE_FAILED");
	assert_int_equal(e.state, FOLLOW_END);
	close_eye(&e);
	brd_topic_unref(t);
}

static void exact_leaves_out_what_is_had(void **state)
{
	struct follow_spec spec = {
		.framing = &wholes, .flags = CURSOR_EXACT, .after = 1, .text = 3, .reasoning = 1
	};
	struct eye e;

	add_run(BREAD_RUN_RUNNING);
	add_crumb(1, "agent:run:start", "{}");
	add_crumb(2, "reasoning:delta", "{\"delta\":\"h\",\"seq\":2}");
	add_crumb(3, "text:delta", "{\"delta\":\"a\\ud83c\\udf5e\\n\\\"b\",\"seq\":3}");
	add_crumb(4, "text:delta", "{\"delta\":\"next\",\"seq\":4}");
	add_crumb(5, "agent:run:end", "{\"seq\":5}");
	set_status(BREAD_RUN_COMPLETED);
	open_spec(&e, &spec);
	assert_string_equal(e.seen.data,
		"{\"delta\":\"\\n\\\"b\",\"seq\":3}{\"delta\":\"next\",\"seq\":4}{\"seq\":5}");
	close_eye(&e);
}

static void publish_delta(struct topic *t, const struct crumb_base *base, uint32_t offset)
{
	struct crumb *c = brd_crumb_delta(CRUMB_TEXT_DELTA, base, 1, BRD_STR("ab"), 1);

	c->offset = offset;
	brd_topic_publish(t, c, c->seq);
	brd_crumb_unref(c);
}

static void what_was_passed_over_is_not_cut_once_more(void **state)
{
	struct follow_spec spec = {
		.framing = &wholes, .flags = CURSOR_EXACT, .after = 1, .text = 2
	};
	struct topic *t = brd_topic_get(brd_instance_hub(b), BRD_STR("r"), false);
	struct arena arena = { 0 };
	struct crumb_base base;
	struct eye e;

	brd_crumb_base_init(&base, BRD_STR("a"), BRD_STR("r"), BRD_STR("s"), &arena);
	add_run(BREAD_RUN_RUNNING);
	add_crumb(1, "agent:run:start", "{}");
	brd_topic_begin(t, 1);
	publish_delta(t, &base, 2);
	publish_delta(t, &base, 4);
	open_spec(&e, &spec);
	assert_int_equal(e.seen.len,
		strlen("{\"type\":\"text:delta\",\"agentId\":\"a\",\"runId\":\"r\","
		       "\"sessionId\":\"s\",\"timestamp\":1,\"delta\":\"ab\",\"seq\":1}"));
	brd_topic_mark(t, 2);
	brd_topic_end(t, false, NULL);
	brd_topic_begin(t, 3); /* another owner wrote in between: back to the log */
	brd_buf_clear(&e.seen);
	add_crumb(2, "text:delta", "{\"delta\":\"abab\",\"seq\":2}");
	add_crumb(3, "text:delta", "{\"delta\":\"whole\",\"seq\":3}");
	turn();
	assert_string_equal(e.seen.data, "{\"delta\":\"whole\",\"seq\":3}");
	close_eye(&e);
	brd_topic_unref(t);
	brd_arena_fini(&arena);
}

static void one_may_leave_at_any_time(void **state)
{
	struct eye e;

	add_run(BREAD_RUN_RUNNING);
	memset(&e, 0, sizeof(e));
	for (int turns = 0; turns < 5; turns++) {
		struct follow_spec spec = { .framing = &frames };

		brd_buf_init(&e.seen, BUF_NO_LIMIT);
		e.follow = brd_follow_new(b, loop, BRD_STR("r"), &spec, look, &e);
		for (int i = 0; i < turns; i++)
			bread_turn(b, 0);
		close_eye(&e);
	}
}

/* ---- subscriptions ---- */

struct subscriber {
	struct bread_subscription *sub;
	struct buf types;
	bool leave, ended;
};

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	struct subscriber *s = arg;

	brd_buf_add(&s->types, c->type);
	brd_buf_addc(&s->types, ' ');
	assert_str(c->run_id, "r");
	if (s->leave)
		bread_unsubscribe(s->sub);
}

static void on_end(enum bread_code code, const struct bread_err *err, void *arg)
{
	((struct subscriber *)arg)->ended = true;
	assert_int_equal(code, BREAD_OK);
}

static void subscribe(struct subscriber *s)
{
	struct bread_subscriber to = { .on_crumb = on_crumb, .on_end = on_end, .arg = s };

	brd_buf_init(&s->types, BUF_NO_LIMIT);
	s->sub = bread_subscribe(b, BRD_STR("r"), 0, &to);
	assert_int_equal(s->types.len, 0);
	turn();
}

static void a_subscriber_gets_crumbs_and_the_end(void **state)
{
	struct subscriber s = { 0 }, leaver = { .leave = true };

	add_run(BREAD_RUN_RUNNING);
	add_crumb(1, "agent:run:start", "{}");
	add_crumb(2, "agent:error", "{\"error\":{\"code\":\"X\",\"message\":\"m\"}}");
	set_status(BREAD_RUN_FAILED);
	subscribe(&s);
	assert_string_equal(s.types.data, "agent:run:start agent:error ");
	assert_true(s.ended);
	subscribe(&leaver);
	assert_string_equal(leaver.types.data, "agent:run:start ");
	assert_false(leaver.ended);
	brd_buf_fini(&s.types);
	brd_buf_fini(&leaver.types);
}

/* ---- of a tree ---- */

static void add_tree_crumb(int64_t tree_seq, const char *run, const char *type, const char *path)
{
	struct bread_rec rec = { .kind = BREAD_REC_CRUMB };

	rec.crumb = (struct bread_crumb_row){ .run_id = brd_str(run),
		.root_id = BRD_STR("r"),
		.session_id = BRD_STR("s"),
		.agent_id = BRD_STR("a"),
		.type = brd_str(type),
		.crumb = BRD_STR("{}"),
		.path = brd_str(path),
		.seq = 1,
		.tree_seq = tree_seq,
		.created_at = 1 };
	commit(&rec);
}

static void add_tree(void)
{
	struct bread_rec rec = { .kind = BREAD_REC_RUN };

	add_session();
	rec.run = (struct bread_run_row){ .id = BRD_STR("r"),
		.root_id = BRD_STR("r"),
		.agent_id = BRD_STR("a"),
		.session_id = BRD_STR("s"),
		.owner = BRD_STR("other"),
		.epoch = 1,
		.composed = 1,
		.status = BREAD_RUN_RUNNING,
		.created_at = 1 };
	commit(&rec);
	rec.run.id = BRD_STR("child");
	rec.run.parent_id = BRD_STR("r");
	commit(&rec);
	add_tree_crumb(1, "r", "agent:run:start", "[\"a\"]");
	add_tree_crumb(2, "child", "agent:run:start", "[\"a\",\"b\"]");
}

static void on_tree_crumb(const struct bread_crumb *c, void *arg)
{
	struct subscriber *s = arg;

	brd_buf_addf(&s->types, "%.*s %.*s %d\n", BRD_ARG(c->run_id), BRD_ARG(c->path),
		(int)c->tree_seq);
}

static void a_subscriber_of_a_tree_gets_all_its_runs(void **state)
{
	struct subscriber s = { 0 };
	struct bread_subscriber to = { .on_crumb = on_tree_crumb, .on_end = on_end, .arg = &s };

	add_tree();
	brd_buf_init(&s.types, BUF_NO_LIMIT);
	s.sub = bread_subscribe_tree(b, BRD_STR("r"), 0, &to);
	turn();
	assert_string_equal(s.types.data, "r [\"a\"] 1\nchild [\"a\",\"b\"] 2\n");
	assert_false(s.ended);
	bread_unsubscribe(s.sub);
	brd_buf_fini(&s.types);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_run_of_another_process_is_polled),
		CASE(an_ended_run_says_its_end_again),
		CASE(what_retention_took_is_said),
		CASE(a_log_without_a_row_is_read),
		CASE(nobody_knows_it),
		CASE(a_mark_ahead_of_its_commit_is_waited_for),
		CASE(a_caller_waits_for_the_first_crumb),
		CASE(exact_leaves_out_what_is_had),
		CASE(what_was_passed_over_is_not_cut_once_more),
		CASE(one_may_leave_at_any_time),
		CASE(a_subscriber_gets_crumbs_and_the_end),
		CASE(a_subscriber_of_a_tree_gets_all_its_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
