/* SPDX-License-Identifier: MIT */
/* Trees that are wide: a thousand slots, a few of which wait for humans; many items; models that
 * are faster than the store. */
#include "run/run_fixture.h"
#include "instance/internal.h"

#define SLOTS 1000
#define ASKING 10 /* of them, evenly spread */
#define EVERY (SLOTS / ASKING)

static const char models[] =
	"{\"ask\":{\"when\":[{\"match\":{\"role\":\"tool\"},\"stream\":[{\"text\":\"{{result}}\"}]}"
	","
	"{\"stream\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"human_ask\",\"args\":{}}}]}]},"
	"\"say\":{\"when\":[{\"stream\":[{\"text\":\"said\"}]}]},"
	"\"flood\":{\"when\":[{\"stream\":[{\"load\":{\"n\":80000}}]}]}}";

static char dir[64];

/* Over a store that takes its time. */
static struct bread *on_disk(void)
{
	struct bread *b;
	struct bread_err err = { 0 };
	char conf[2048];

	snprintf(dir, sizeof(dir), "/tmp/bread-wide-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(conf, sizeof(conf),
		"{\"store\":{\"type\":\"sqlite\",\"path\":\"%s/"
		"bread.db\"},\"transport\":\"stream\","
		"\"providers\":{\"mock\":{\"type\":\"scripted\",\"models\":%s}}}",
		dir, models);
	assert_int_equal(bread_new(&b, &err), 0);
	if (bread_configure(b, brd_str(conf), &err) || bread_start(b, &err))
		fail_msg("%s: %s", err.where, err.text);
	return b;
}

static void remove_it(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static struct bread *world(struct bread *b, const char *steps)
{
	struct bread_err err = { 0 };

	fixture_agent(b, "asker",
		"{\"model\":{\"provider\":\"mock\",\"model\":\"ask\"},\"humanTools\":[{\"name\":"
		"\"ask\"}]}");
	fixture_agent(b, "sayer", "{\"model\":{\"provider\":\"mock\",\"model\":\"say\"}}");
	fixture_agent(b, "flood", "{\"model\":{\"provider\":\"mock\",\"model\":\"flood\"}}");
	if (bread_pipeline(b, "p", brd_str(steps), &err))
		fail_msg("%s", err.text);
	return b;
}

struct told {
	unsigned completed, suspended, other;
	struct buf output;
};

static void on_outcome(const struct bread_outcome *o, void *arg)
{
	struct told *t = arg;

	t->completed += o->status == BREAD_RUN_COMPLETED;
	t->suspended += o->status == BREAD_RUN_SUSPENDED;
	t->other += o->status != BREAD_RUN_COMPLETED && o->status != BREAD_RUN_SUSPENDED;
	if (o->status == BREAD_RUN_COMPLETED) {
		brd_buf_clear(&t->output);
		brd_buf_add(&t->output, o->output);
	}
}

/* Until nothing of any run is in memory. */
static void until_quiet(struct bread *b)
{
	struct bread_stats stats;

	for (unsigned i = 0; i < 100000; i++) {
		bread_turn(b, 1);
		bread_stats(b, &stats);
		if (!stats.runs_active && !stats.topics)
			return;
	}
	fail_msg("%zu runs and %zu topics stay in memory", stats.runs_active, stats.topics);
}

static void start(struct bread *b, const char *input, struct told *t, char id[BREAD_RUN_ID_MAX])
{
	struct bread_run_request req = {
		.pipeline_id = BRD_STR("p"), .input = brd_str(input), .on_end = on_outcome, .arg = t
	};
	struct bread_err err = { 0 };

	memset(t, 0, sizeof(*t));
	brd_buf_init(&t->output, BUF_NO_LIMIT);
	if (bread_run(b, &req, id, &err))
		fail_msg("%s: %s", err.name, err.text);
	until_quiet(b);
}

/* ---- answers ---- */

struct questions {
	struct bread_read read;
	bool done;
	char ids[ASKING][64];
};

static void on_read(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

static void read_all(
	struct bread *b, struct questions *q, enum bread_read_kind kind, const char *key)
{
	bread_read_fini(&q->read);
	q->read = (struct bread_read){
		.kind = kind, .key = brd_str(key), .limit = 100000, .max_bytes = 64 << 20
	};
	q->done = false;
	bread_op_init(&q->read.op, bread_here(b), on_read, &q->done);
	bread_read(b, &q->read);
	fixture_until(b, &q->done);
	assert_int_equal(q->read.op.code, BREAD_OK);
}

static void find_questions(struct bread *b, struct questions *q)
{
	read_all(b, q, BREAD_READ_CHECKPOINTS, "");
	assert_int_equal(q->read.count, ASKING);
	for (unsigned i = 0; i < ASKING; i++) {
		const struct bread_checkpoint_row *row = &q->read.checkpoints[i];

		snprintf(q->ids[i], sizeof(q->ids[i]), "%.*s", BRD_ARG(row->id));
	}
}

static void on_claimed(
	struct bread_str run_id, int64_t after, const struct bread_err *err, void *arg)
{
	if (err)
		fail_msg("an answer was refused: %s", err->text);
}

/* The question of the slot n is answered with n. */
static void answer(struct bread *b, const struct questions *q, unsigned n)
{
	char response[16];
	struct bread_resume_request req = { .checkpoint_id = brd_str(q->ids[n]),
		.on_claimed = on_claimed };

	snprintf(response, sizeof(response), "\"%u\"", n);
	req.response = brd_str(response);
	bread_resume(b, &req);
}

static void shuffle(unsigned *order, unsigned seed)
{
	for (unsigned i = 0; i < ASKING; i++)
		order[i] = i;
	for (unsigned i = ASKING - 1; i > 0; i--) {
		unsigned j, swap = order[i];

		seed = seed * 1103515245u + 12345u;
		j = (seed >> 16) % (i + 1);
		order[i] = order[j];
		order[j] = swap;
	}
}

static void wide_steps(struct buf *steps)
{
	brd_buf_init(steps, BUF_NO_LIMIT);
	brd_buf_addz(steps, "[{\"type\":\"parallel\",\"steps\":[");
	for (unsigned i = 0; i < SLOTS; i++)
		brd_buf_addf(steps, "%s{\"type\":\"agent\",\"agentId\":\"%s\"}", i ? "," : "",
			i % EVERY ? "sayer" : "asker");
	brd_buf_addz(steps, "]}]");
}

/* The answers are in the places of their slots, whoever's came first. */
static void check_output(struct bread_str output, const struct questions *q)
{
	struct arena a = { 0 };
	struct jval v;
	bool seen[ASKING] = { false };

	assert_int_equal(brd_json_parse(&a, output, 0, &v, NULL), 0);
	assert_int_equal(brd_json_count(v), SLOTS);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		struct bread_str s = brd_json_str(it.value, &a);

		if (it.index % EVERY) {
			assert_true(brd_str_is(s, "said"));
			continue;
		}
		assert_int_equal(s.n, 1);
		assert_in_range(s.p[0], '0', '0' + ASKING - 1);
		assert_false(seen[s.p[0] - '0']);
		seen[s.p[0] - '0'] = true;
	}
	brd_arena_fini(&a);
}

/* In the store all of the tree has ended, once. */
static void check_store(struct bread *b, struct questions *q, const char *id)
{
	unsigned ends = 0;

	read_all(b, q, BREAD_READ_CHECKPOINTS, "");
	assert_int_equal(q->read.count, 0);
	read_all(b, q, BREAD_READ_TREE, id);
	assert_int_equal(q->read.count, SLOTS + 1);
	for (size_t i = 0; i < q->read.count; i++)
		assert_int_equal(q->read.runs[i].status, BREAD_RUN_COMPLETED);
	read_all(b, q, BREAD_READ_CRUMBS, id);
	for (size_t i = 0; i < q->read.count; i++)
		ends += brd_str_is(q->read.crumbs[i].type, "agent:run:end");
	assert_int_equal(ends, 1);
}

/* at_a_time answers are given before anything goes on. */
static void play(struct bread *b, unsigned seed, unsigned at_a_time)
{
	struct questions q = { 0 };
	struct told t;
	unsigned order[ASKING];
	char id[BREAD_RUN_ID_MAX];

	start(b, "\"x\"", &t, id);
	assert_int_equal(t.suspended, 1);
	find_questions(b, &q);
	shuffle(order, seed);
	for (unsigned i = 0; i < ASKING; i++) {
		answer(b, &q, order[i]);
		if (i % at_a_time == at_a_time - 1 || i == ASKING - 1)
			until_quiet(b);
	}
	read_all(b, &q, BREAD_READ_RUN, id);
	assert_int_equal(q.read.count, 1);
	assert_int_equal(q.read.runs->status, BREAD_RUN_COMPLETED);
	check_output(q.read.runs->output, &q);
	check_store(b, &q, id);
	bread_read_fini(&q.read);
	brd_buf_fini(&t.output);
}

static void a_thousand_slots_end_once_in_whatever_order_humans_answer(void **state)
{
	struct buf steps;
	struct bread *b;

	wide_steps(&steps);
	b = world(fixture_new(models, NULL), steps.data);
	for (unsigned seed = 1; seed <= 6; seed++)
		play(b, seed, seed <= 3 ? 1 : seed == 4 ? 3 : ASKING);
	brd_buf_fini(&steps);
	bread_free(b);
}

/* ---- more than the store takes at once ---- */

static void models_that_outrun_the_store_together_all_go_on(void **state)
{
	struct bread *b = world(on_disk(), "[{\"type\":\"parallel\",\"steps\":["
					   "{\"type\":\"agent\",\"agentId\":\"flood\"},"
					   "{\"type\":\"agent\",\"agentId\":\"flood\"},"
					   "{\"type\":\"agent\",\"agentId\":\"flood\"},"
					   "{\"type\":\"agent\",\"agentId\":\"flood\"}]}]");
	struct told t;
	char id[BREAD_RUN_ID_MAX];

	start(b, "\"x\"", &t, id);
	assert_int_equal(t.completed, 1);
	assert_in_range(t.output.len, 4 * 80000 * 20, 4 * 80000 * 20 + 64);
	brd_buf_fini(&t.output);
	bread_free(b);
	remove_it();
}

#define ITEMS 5000

static void each_of_many_items_has_its_place(void **state)
{
	struct bread *b =
		world(on_disk(), "[{\"type\":\"map\",\"agentId\":\"sayer\",\"concurrency\":16}]");
	struct buf input;
	struct told t;
	char id[BREAD_RUN_ID_MAX];

	brd_buf_init(&input, BUF_NO_LIMIT);
	for (unsigned i = 0; i < ITEMS; i++)
		brd_buf_addf(&input, "%c\"%u\"", i ? ',' : '[', i);
	brd_buf_addc(&input, ']');
	start(b, input.data, &t, id);
	assert_int_equal(t.completed, 1);
	assert_int_equal(t.output.len, 1 + ITEMS * 7);
	brd_buf_fini(&input);
	brd_buf_fini(&t.output);
	bread_free(b);
	remove_it();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thousand_slots_end_once_in_whatever_order_humans_answer),
		cmocka_unit_test(models_that_outrun_the_store_together_all_go_on),
		cmocka_unit_test(each_of_many_items_has_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
