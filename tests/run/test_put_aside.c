/* SPDX-License-Identifier: MIT */
/* Pipelines that wait for humans in several places, and what is built of them anew when somebody
 * answers or cancels: stories that the family once told (test_family*.c). */
#include "run/run_fixture.h"
#include "store/store.h"

static const char models[] =
	"{\"w\":{\"when\":[{\"stream\":[{\"text\":\"w\"}]}]},"
	"\"h\":{\"when\":[{\"match\":{\"count\":1},\"stream\":[{\"tool_call\":{\"id\":\"c1\","
	"\"name\":\"human_ask\",\"args\":{}}}]},{\"match\":{\"count\":3},\"stream\":[{\"text\":"
	"\"h\"}]}]}}";
static const char desk[] = "\"decisions\":{\"desk\":{\"type\":\"scripted\",\"questions\":{\"q\":"
			   "{\"type\":\"choice\",\"choice\":\"yes\"}}}}";

#define AGENT(id) "{\"type\":\"agent\",\"agentId\":\"" id "\"}"
#define PARALLEL(slots) "{\"type\":\"parallel\",\"steps\":[" slots "]}"
#define DECISION \
	"{\"type\":\"decision\",\"provider\":\"desk\",\"model\":\"m\",\"question\":{\"type\":" \
	"\"choice\",\"text\":\"q\",\"options\":[\"yes\"],\"otherwise\":\"no\"}}"

struct place {
	struct bread *b;
	char id[BREAD_RUN_ID_MAX];
	bool told, claimed, wished;
	enum bread_run_status status;
	char output[200], error[64];
};

static void on_end(const struct bread_outcome *o, void *arg)
{
	struct place *p = arg;

	p->told = true;
	p->status = o->status;
	snprintf(p->output, sizeof(p->output), "%.*s", BRD_ARG(o->output));
	snprintf(p->error, sizeof(p->error), "%.*s", BRD_ARG(o->error_code));
}

static void put_aside(struct place *p, const char *steps)
{
	struct bread_run_request req = { .pipeline_id = BRD_STR("p"), .on_end = on_end, .arg = p };
	struct bread_err err = { 0 };

	memset(p, 0, sizeof(*p));
	p->b = fixture_new(models, desk);
	fixture_agent(p->b, "w", "{\"model\":{\"provider\":\"mock\",\"model\":\"w\"}}");
	fixture_agent(p->b, "h",
		"{\"model\":{\"provider\":\"mock\",\"model\":\"h\"},\"humanTools\":[{\"name\":"
		"\"ask\",\"schema\":{\"type\":\"object\"}}]}");
	if (bread_pipeline(p->b, "p", brd_str(steps), &err) || bread_run(p->b, &req, p->id, &err))
		fail_msg("%s: %s", err.name, err.text);
	fixture_until(p->b, &p->told);
	assert_int_equal(p->status, BREAD_RUN_SUSPENDED);
	fixture_turn(p->b, 20);
}

static void on_read(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

static void read_rows(struct place *p, struct bread_read *r, enum bread_read_kind kind)
{
	bool done = false;

	*r = (struct bread_read){ .kind = kind };
	if (kind == BREAD_READ_TREE)
		r->key = brd_str(p->id);
	else
		r->filter.root_id = brd_str(p->id);
	bread_op_init(&r->op, bread_here(p->b), on_read, &done);
	bread_read(p->b, r);
	fixture_until(p->b, &done);
}

static void on_claimed(struct bread_str root, int64_t after, const struct bread_err *err, void *arg)
{
	((struct place *)arg)->claimed = !err;
}

static void answer_one(struct place *p)
{
	struct bread_resume_request req = {
		.response = BRD_STR("{}"), .on_claimed = on_claimed, .on_end = on_end, .arg = p
	};
	struct bread_read r;

	read_rows(p, &r, BREAD_READ_CHECKPOINTS);
	assert_true(r.count > 0);
	req.checkpoint_id = r.checkpoints[0].id;
	p->told = false;
	bread_resume(p->b, &req);
	bread_read_fini(&r);
	fixture_until(p->b, &p->told);
	assert_true(p->claimed);
}

static void a_slot_in_which_nobody_decided_has_no_label_afterwards(void **state)
{
	struct place p;

	put_aside(&p, "[" PARALLEL(PARALLEL(AGENT("w")) "," DECISION "," AGENT("h")) "]");
	answer_one(&p);
	assert_string_equal(p.error, "");
	assert_int_equal(p.status, BREAD_RUN_COMPLETED);
	assert_string_equal(p.output, "[[\"w\"],null,\"h\"]");
	bread_free(p.b);
}

static void on_wish(struct bread_op *op)
{
	((struct place *)op->arg)->wished = true;
}

static void a_cancel_ends_all_that_waits_in_it(void **state)
{
	enum bread_run_status was;
	struct bread_read r;
	struct bread_op op;
	struct place p;

	put_aside(&p, "[" PARALLEL(AGENT("h") "," PARALLEL(AGENT("h") "," AGENT("h"))) "]");
	bread_op_init(&op, bread_here(p.b), on_wish, &p);
	bread_cancel(p.b, brd_str(p.id), &was, &op);
	fixture_until(p.b, &p.wished);
	assert_int_equal(op.code, BREAD_OK);
	fixture_turn(p.b, 50);
	read_rows(&p, &r, BREAD_READ_TREE);
	assert_int_equal(r.count, 4);
	for (size_t i = 0; i < r.count; i++)
		assert_int_equal(r.runs[i].status, BREAD_RUN_CANCELLED);
	bread_read_fini(&r);
	read_rows(&p, &r, BREAD_READ_CHECKPOINTS);
	assert_int_equal(r.count, 0);
	bread_read_fini(&r);
	bread_free(p.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slot_in_which_nobody_decided_has_no_label_afterwards),
		cmocka_unit_test(a_cancel_ends_all_that_waits_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
