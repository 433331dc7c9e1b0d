/* SPDX-License-Identifier: MIT */
/* What the original's rows say of a tree that waits: links of checkpoints, rows of supervisors. */
#include "run/run_fixture.h"
#include "base/arena.h"
#include "base/json.h"

#define ASKER \
	"{\"model\":{\"provider\":\"mock\",\"model\":\"ask\"}," \
	"\"humanTools\":[{\"name\":\"ask\"}]}"
#define ASKS(id) "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"human_ask\",\"args\":{}}}"
#define DELEGATES(id, agent) \
	"{\"tool_call\":{\"id\":\"" id \
	"\",\"name\":\"core_delegate\",\"args\":{\"agentId\":\"" agent "\",\"input\":\"x\"}}}"
#define ASK_MODEL \
	"\"ask\":{\"when\":[{\"match\":{\"role\":\"tool\"},\"stream\":[{\"text\":\"blue\"}]}," \
	"{\"stream\":[" ASKS("c1") "]}]}"

struct waits {
	struct arena arena;
	struct bread_read read;
	bool done;
};

static void on_rows(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

/* What waits, in the order in which it was asked. */
static size_t rows(struct bread *b, struct waits *w)
{
	bread_read_fini(&w->read);
	w->read = (struct bread_read){ .kind = BREAD_READ_CHECKPOINTS };
	w->done = false;
	bread_op_init(&w->read.op, bread_here(b), on_rows, &w->done);
	bread_read(b, &w->read);
	fixture_until(b, &w->done);
	assert_int_equal(w->read.op.code, BREAD_OK);
	return w->read.count;
}

static void waits_fini(struct waits *w)
{
	bread_read_fini(&w->read);
	brd_arena_fini(&w->arena);
}

static const struct bread_checkpoint_row *row_of(
	const struct waits *w, const char *agent, const char *kind)
{
	for (size_t i = 0; i < w->read.count; i++) {
		const struct bread_checkpoint_row *row = &w->read.checkpoints[i];

		if (brd_str_is(row->agent_id, agent) && brd_str_is(row->kind, kind))
			return row;
	}
	fail_msg("no checkpoint of %s, kind %s", agent, kind);
	return NULL;
}

static struct jval json(struct waits *w, struct bread_str text)
{
	struct jval v;

	assert_int_equal(brd_json_parse(&w->arena, text, 0, &v, NULL), 0);
	return v;
}

static void is(struct waits *w, struct jval v, const char *path, const char *want)
{
	char key[32];
	struct buf b;

	for (size_t n; *path; path += n + (path[n] == '.')) {
		n = strcspn(path, ".");
		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		v = brd_json_type(v) == JSON_ARRAY ? brd_json_at(v, (size_t)atoi(key))
						   : brd_json_get(v, key);
	}
	brd_buf_init(&b, BUF_NO_LIMIT);
	if (brd_json_type(v) != JSON_NONE)
		brd_json_compact(v, &b);
	assert_string_equal(b.data, want);
	brd_buf_fini(&b);
}

static void is_id(struct waits *w, struct jval v, const char *path, struct bread_str id)
{
	char want[64];

	snprintf(want, sizeof(want), "\"%.*s\"", BRD_ARG(id));
	is(w, v, path, want);
}

static void on_outcome(const struct bread_outcome *o, void *arg)
{
	struct seen *s = arg;

	s->told = true;
	s->status = o->status;
	snprintf(s->output, sizeof(s->output), "%.*s", BRD_ARG(o->output));
}

static void run_pipeline(struct bread *b, const char *id, const char *input, struct seen *s)
{
	struct bread_run_request req = {
		.pipeline_id = brd_str(id), .input = brd_str(input), .on_end = on_outcome, .arg = s
	};
	char run_id[BREAD_RUN_ID_MAX];
	struct bread_err err = { 0 };

	if (bread_run(b, &req, run_id, &err))
		fail_msg("%s: %s", err.name, err.text);
	fixture_until(b, &s->told);
	fixture_turn(b, 10);
}

struct claimed {
	bool done;
	struct bread_err err;
	struct seen *seen;
};

static void on_claimed(
	struct bread_str run_id, int64_t after, const struct bread_err *err, void *arg)
{
	struct claimed *c = arg;

	c->done = true;
	if (err)
		c->err = *err;
}

static void on_resumed(const struct bread_outcome *o, void *arg)
{
	on_outcome(o, ((struct claimed *)arg)->seen);
}

static const char *answer(struct bread *b, struct bread_str id, struct seen *s, struct claimed *c)
{
	struct bread_resume_request req = { .checkpoint_id = id,
		.response = BRD_STR("\"blue\""),
		.on_claimed = on_claimed,
		.on_end = on_resumed,
		.arg = c };

	*c = (struct claimed){ .seen = s };
	s->told = false;
	bread_resume(b, &req);
	fixture_until(b, &c->done);
	if (!c->err.name[0])
		fixture_until(b, &s->told);
	fixture_turn(b, 10);
	return c->err.name;
}

/* ---- supervisors ---- */

static const char boss[] = "{\"model\":{\"provider\":\"mock\",\"model\":\"boss\"},"
			   "\"humanTools\":[{\"name\":\"ask\"}],"
			   "\"supervisor\":{\"agents\":[{\"agentId\":\"asker\"}]}}";

static struct bread *boss_who(const char *calls, struct seen *s)
{
	char models[2000];
	struct bread *b;
	char id[BREAD_RUN_ID_MAX];

	snprintf(models, sizeof(models),
		"{" ASK_MODEL ",\"boss\":{\"calls\":[{\"stream\":[%s]},{\"stream\":[{\"text\":"
		"\"done\"}]}]}}",
		calls);
	b = fixture_new(models, NULL);
	fixture_agent(b, "asker", ASKER);
	fixture_agent(b, "boss", boss);
	fixture_start(b, "boss", "\"go\"", NULL, s, id);
	fixture_until(b, &s->told);
	fixture_turn(b, 10);
	assert_int_equal(s->status, BREAD_RUN_SUSPENDED);
	return b;
}

static void a_supervisor_that_waits_has_a_row_that_nobody_can_answer(void **state)
{
	struct seen s = { 0 };
	struct bread *b = boss_who(DELEGATES("d1", "asker"), &s);
	struct waits w = { 0 };
	struct claimed c;
	const struct bread_checkpoint_row *own, *child;

	assert_int_equal(rows(b, &w), 2);
	own = row_of(&w, "boss", "delegate");
	child = row_of(&w, "asker", "input");
	assert_str(own->tool_name, "core_delegate");
	assert_str(own->tool_call_id, "d1");
	assert_str(own->schema, "{\"agentId\":\"asker\",\"input\":\"x\"}");
	is_id(&w, json(&w, own->pending), "0.childCheckpointId", child->id);
	is(&w, json(&w, own->pending), "0.toolCallId", "\"d1\"");
	is(&w, json(&w, own->pending), "0.subAgentId", "\"asker\"");
	is(&w, json(&w, child->parent), "kind", "\"supervisor\"");
	is_id(&w, json(&w, child->parent), "checkpointId", own->id);
	is(&w, json(&w, child->parent), "toolCallId", "\"d1\"");
	assert_string_equal(answer(b, own->id, &s, &c), "SUPERVISOR_CHECKPOINT_NOT_RESUMABLE");
	assert_string_equal(answer(b, child->id, &s, &c), "");
	assert_string_equal(s.output, "\"done\"");
	assert_int_equal(rows(b, &w), 0);
	waits_fini(&w);
	seen_fini(&s);
	bread_free(b);
}

static void the_row_keeps_its_id_while_delegations_end_one_by_one(void **state)
{
	struct seen s = { 0 };
	struct bread *b =
		boss_who(DELEGATES("d1", "asker") "," DELEGATES("d2", "asker") "," ASKS("c9"), &s);
	struct waits w = { 0 };
	struct claimed c;
	char id[64];

	assert_int_equal(rows(b, &w), 4); /* its own question, too */
	snprintf(id, sizeof(id), "%.*s", BRD_ARG(row_of(&w, "boss", "delegate")->id));
	is(&w, json(&w, row_of(&w, "boss", "delegate")->pending), "1.toolCallId", "\"d2\"");
	assert_string_equal(answer(b, brd_str(id), &s, &c), "SUPERVISOR_CHECKPOINT_NOT_RESUMABLE");
	is(&w, json(&w, brd_str(c.err.context)), "agentId", "\"boss\"");
	assert_string_equal(answer(b, row_of(&w, "asker", "input")->id, &s, &c), "");
	assert_int_equal(s.status, BREAD_RUN_SUSPENDED);
	assert_int_equal(rows(b, &w), 3);
	assert_str(row_of(&w, "boss", "delegate")->id, id);
	is(&w, json(&w, row_of(&w, "boss", "delegate")->pending), "1", "");
	assert_string_equal(answer(b, row_of(&w, "asker", "input")->id, &s, &c), "");
	assert_int_equal(rows(b, &w), 1);
	assert_string_equal(answer(b, row_of(&w, "boss", "input")->id, &s, &c), "");
	assert_int_equal(s.status, BREAD_RUN_COMPLETED);
	assert_int_equal(rows(b, &w), 0);
	waits_fini(&w);
	seen_fini(&s);
	bread_free(b);
}

static void a_lone_run_has_no_link(void **state)
{
	struct bread *b = fixture_new("{" ASK_MODEL "}", NULL);
	struct seen s = { 0 };
	struct waits w = { 0 };
	char id[BREAD_RUN_ID_MAX];

	fixture_agent(b, "asker", ASKER);
	fixture_start(b, "asker", "\"go\"", NULL, &s, id);
	fixture_until(b, &s.told);
	assert_int_equal(rows(b, &w), 1);
	assert_str(w.read.checkpoints->parent, "");
	waits_fini(&w);
	seen_fini(&s);
	bread_free(b);
}

/* ---- pipelines ---- */

static struct bread *world_of(const char *steps)
{
	struct bread *b = fixture_new(
		"{" ASK_MODEL ",\"say\":{\"calls\":[{\"stream\":[{\"text\":\"said\"}]}]}}", NULL);
	struct bread_err err;

	fixture_agent(b, "asker", ASKER);
	fixture_agent(b, "sayer", "{\"model\":{\"provider\":\"mock\",\"model\":\"say\"}}");
	if (bread_pipeline(b, "p", brd_str(steps), &err))
		fail_msg("%s", err.text);
	return b;
}

static void frames_lead_from_the_arm_to_the_whole(void **state)
{
	struct bread *b =
		world_of("[{\"type\":\"parallel\",\"steps\":["
			 "{\"type\":\"branch\",\"on\":\"k\",\"cases\":[{\"eq\":\"go\",\"steps\":["
			 "{\"type\":\"agent\",\"agentId\":\"asker\"},"
			 "{\"type\":\"agent\",\"agentId\":\"sayer\"}]}],\"default\":[]},"
			 "{\"type\":\"agent\",\"agentId\":\"sayer\"}]},"
			 "{\"type\":\"agent\",\"agentId\":\"sayer\"}]");
	struct seen s = { 0 };
	struct waits w = { 0 };
	struct jval v;

	run_pipeline(b, "p", "{\"k\":\"go\"}", &s);
	assert_int_equal(rows(b, &w), 1);
	v = json(&w, w.read.checkpoints->parent);
	is(&w, v, "kind", "\"pipeline\"");
	is(&w, v, "pipelineId", "\"p:0:parallel:0:0:branch\"");
	is(&w, v, "stepIndex", "0");
	is(&w, v, "stepAgentId", "\"asker\"");
	is(&w, v, "remainingSteps", "[{\"type\":\"agent\",\"agentId\":\"sayer\"}]");
	is(&w, v, "outer.pipelineId", "\"p:0:parallel:0\"");
	is(&w, v, "outer.stepAgentId", "\"branch\"");
	is(&w, v, "outer.outer.pipelineId", "\"p\"");
	is(&w, v, "outer.outer.stepAgentId", "\"parallel\"");
	is(&w, v, "outer.outer.parallel.branchIndex", "0");
	is(&w, v, "outer.outer.parallel.settledOutputs", "[null,\"said\"]");
	is_id(&w, v, "outer.outer.parallel.pendingCheckpointIds.0", w.read.checkpoints->id);
	is(&w, v, "outer.outer.remainingSteps", "[{\"type\":\"agent\",\"agentId\":\"sayer\"}]");
	is(&w, v, "outer.outer.outer", "");
	waits_fini(&w);
	seen_fini(&s);
	bread_free(b);
}

static void a_map_says_what_is_left(void **state)
{
	struct bread *b = world_of("[{\"type\":\"map\",\"agentId\":\"asker\"}]");
	struct seen s = { 0 };
	struct waits w = { 0 };
	struct claimed c;
	struct jval v;

	run_pipeline(b, "p", "[1,2,3]", &s);
	assert_int_equal(rows(b, &w), 1);
	v = json(&w, w.read.checkpoints->parent);
	is(&w, v, "map", "{\"agentId\":\"asker\",\"settledOutputs\":[],\"remainingItems\":[2,3]}");
	assert_string_equal(answer(b, w.read.checkpoints->id, &s, &c), "");
	assert_int_equal(rows(b, &w), 1);
	v = json(&w, w.read.checkpoints->parent);
	is(&w, v, "map",
		"{\"agentId\":\"asker\",\"settledOutputs\":[\"blue\"],\"remainingItems\":[3]}");
	waits_fini(&w);
	seen_fini(&s);
	bread_free(b);
}

static void items_side_by_side_have_no_link(void **state)
{
	struct bread *b = world_of("[{\"type\":\"map\",\"agentId\":\"asker\",\"concurrency\":2}]");
	struct seen s = { 0 };
	struct waits w = { 0 };

	run_pipeline(b, "p", "[1]", &s);
	assert_int_equal(rows(b, &w), 1);
	assert_str(w.read.checkpoints->parent, "");
	waits_fini(&w);
	seen_fini(&s);
	bread_free(b);
}

static void many_questions_have_no_links(void **state)
{
	struct bread *b;
	struct seen s = { 0 };
	struct waits w = { 0 };
	struct buf steps;
	struct bread_err err;

	brd_buf_init(&steps, BUF_NO_LIMIT);
	brd_buf_addz(&steps, "[{\"type\":\"parallel\",\"steps\":[");
	for (int i = 0; i < 33; i++)
		brd_buf_addf(&steps, "%s{\"type\":\"agent\",\"agentId\":\"asker\"}", i ? "," : "");
	brd_buf_addz(&steps, "]}]");
	b = fixture_new("{" ASK_MODEL "}", NULL);
	fixture_agent(b, "asker", ASKER);
	assert_int_equal(bread_pipeline(b, "p", brd_buf_str(&steps), &err), 0);
	run_pipeline(b, "p", "1", &s);
	assert_int_equal(rows(b, &w), 33);
	assert_str(w.read.checkpoints->parent, "");
	brd_buf_fini(&steps);
	waits_fini(&w);
	seen_fini(&s);
	bread_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_supervisor_that_waits_has_a_row_that_nobody_can_answer),
		cmocka_unit_test(the_row_keeps_its_id_while_delegations_end_one_by_one),
		cmocka_unit_test(a_lone_run_has_no_link),
		cmocka_unit_test(frames_lead_from_the_arm_to_the_whole),
		cmocka_unit_test(a_map_says_what_is_left),
		cmocka_unit_test(items_side_by_side_have_no_link),
		cmocka_unit_test(many_questions_have_no_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
