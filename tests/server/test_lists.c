/* SPDX-License-Identifier: MIT */
/* What the routes tell that only read the store: runs and their trees, checkpoints, loops,
 * task runs. */
#include "server/wire.h"
#include <stdlib.h>
#include "instance/internal.h"
#include "store/kit.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static int set_up(void **state)
{
	struct wire *w = calloc(1, sizeof(*w));

	wire_open(w, "{}", NULL, NULL);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	wire_close(*state);
	free(*state);
	return 0;
}

static void given(struct wire *w, struct bread_rec *recs, size_t count)
{
	assert_int_equal(kit_commit(w->bread->store, bread_here(w->bread), recs, count), BREAD_OK);
}

static void answers(struct wire *w, const char *path, const char *status, const char *body)
{
	char line[256];
	char *answer;

	snprintf(line, sizeof(line), "GET %s", path);
	answer = wire_ask(w, line, NULL, NULL);
	assert_memory_equal(answer, "HTTP/1.1 ", 9);
	assert_memory_equal(answer + 9, status, 3);
	assert_string_equal(wire_body(answer), body);
	free(answer);
}

/* ---- runs ---- */

static struct bread_rec below(const char *root, const char *parent, const char *id)
{
	struct bread_rec rec = kit_run(id, NULL, BREAD_RUN_COMPLETED);

	rec.run.root_id = brd_str(root);
	rec.run.parent_id = brd_str(parent);
	rec.run.path = BRD_STR("[\"step\"]");
	return rec;
}

/* p: a (with c below it) and b; lone */
static void given_tree(struct wire *w)
{
	struct bread_rec recs[] = { kit_session("s", 1, NULL),
		kit_run("p", "s", BREAD_RUN_SUSPENDED), below("p", "p", "a"), below("p", "p", "b"),
		below("p", "a", "c"), kit_run("lone", NULL, BREAD_RUN_SUSPENDED),
		kit_crumb("p", 1, NULL, BRD_STR("{}")) };

	recs[1].run.kind = BREAD_RUN_PIPELINE;
	recs[1].run.composed = 1;
	recs[1].run.started_at = 1001;
	recs[2].run.ended_at = 1002;
	recs[2].run.steps = 2;
	recs[2].run.input_tokens = 3;
	recs[3].run.error = BRD_STR("{\"code\":\"X\"}");
	recs[6].crumb.root_id = BRD_STR("p");
	recs[6].crumb.tree_seq = 1;
	given(w, recs, COUNT(recs));
}

#define C \
	"{\"runId\":\"c\",\"agentId\":\"a\",\"kind\":\"agent\",\"path\":[\"step\"],\"status\":" \
	"\"completed\",\"createdAt\":1000,\"seq\":0,\"usage\":{\"inputTokens\":0," \
	"\"outputTokens\":0},\"children\":[]}"
#define A \
	"{\"runId\":\"a\",\"agentId\":\"a\",\"kind\":\"agent\",\"path\":[\"step\"],\"status\":" \
	"\"completed\",\"createdAt\":1000,\"endedAt\":1002,\"seq\":0,\"usage\":{" \
	"\"inputTokens\":3,\"outputTokens\":0},\"steps\":2,\"children\":[" C "]}"
#define B \
	"{\"runId\":\"b\",\"agentId\":\"a\",\"kind\":\"agent\",\"path\":[\"step\"],\"status\":" \
	"\"completed\",\"createdAt\":1000,\"seq\":0,\"error\":{\"code\":\"X\"},\"usage\":{" \
	"\"inputTokens\":0,\"outputTokens\":0},\"children\":[]}"

static void tree_is_nested(void **state)
{
	struct wire *w = *state;

	given_tree(w);
	answers(w, "/runs/p/tree", "200",
		"{\"runId\":\"p\",\"agentId\":\"a\",\"sessionId\":\"s\",\"kind\":\"pipeline\","
		"\"path\":[\"a\"],\"status\":\"suspended\",\"createdAt\":1000,\"startedAt\":1001,"
		"\"seq\":1,\"treeSeq\":1,\"usage\":{\"inputTokens\":0,\"outputTokens\":0},"
		"\"children\":[" A "," B "]}");
}

static void part_of_a_tree_is_told(void **state)
{
	struct wire *w = *state;

	given_tree(w);
	answers(w, "/runs/a/tree", "200", A);
	answers(w, "/runs/c/tree", "200", C);
	answers(w, "/runs/nobody/tree", "404", "{\"error\":\"Run not found\"}");
	answers(w, "/runs/%20/tree", "404", "{\"error\":\"Run not found\"}");
}

/* What nobody should have written: rings, parents that are not there. */
static void broken_tree_is_told_all_the_same(void **state)
{
	struct wire *w = *state;
	struct bread_rec recs[] = { kit_run("p", NULL, BREAD_RUN_COMPLETED), below("p", "y", "x"),
		below("p", "x", "y"), below("p", "z", "z"), below("p", "nobody", "q") };
	char *answer, *body;

	given(w, recs, COUNT(recs));
	answer = wire_ask(w, "GET /runs/p/tree", NULL, NULL);
	body = wire_body(answer);
	for (const char *const *id = (const char *const[]){ "p", "x", "y", "z", "q", NULL }; *id;
		id++) {
		char text[32];

		snprintf(text, sizeof(text), "\"runId\":\"%s\"", *id);
		assert_non_null(strstr(body, text));
	}
	free(answer);
}

static void deep_tree_is_told(void **state)
{
	struct wire *w = *state;
	enum { DEEP = 3000 };
	char ids[DEEP][16];
	struct bread_rec *recs = calloc(DEEP, sizeof(*recs));
	char *answer;

	for (size_t i = 0; i < DEEP; i++) {
		snprintf(ids[i], sizeof(ids[i]), "r%zu", i);
		recs[i] = i ? below("r0", ids[i - 1], ids[i])
			    : kit_run("r0", NULL, BREAD_RUN_COMPLETED);
	}
	given(w, recs, DEEP);
	answer = wire_ask(w, "GET /runs/r0/tree", NULL, NULL);
	assert_non_null(strstr(answer, "\"runId\":\"r2999\""));
	free(answer);
	free(recs);
}

static void runs_tell_their_place_in_a_tree(void **state)
{
	struct wire *w = *state;
	char *answer;

	given_tree(w);
	answers(w, "/runs/c", "200",
		"{\"id\":\"c\",\"agentId\":\"a\",\"parentId\":\"a\",\"rootId\":\"p\",\"kind\":"
		"\"agent\",\"path\":[\"step\"],\"status\":\"completed\",\"createdAt\":1000,\"seq\":"
		"0,\"input\":\"hello\",\"usage\":{\"inputTokens\":0,\"outputTokens\":0}}");
	answer = wire_ask(w, "GET /runs?limit=6", NULL, NULL);
	assert_non_null(strstr(answer, "\"id\":\"p\",\"agentId\":\"a\",\"sessionId\":\"s\","
				       "\"rootId\":\"p\",\"kind\":\"pipeline\",\"status\":"
				       "\"suspended\""));
	free(answer);
	answers(w, "/runs?limit=0", "400",
		"{\"error\":\"Invalid limit: a whole number from 1 on\"}");
}

/* ---- checkpoints ---- */

static struct bread_rec waiting(
	const char *id, const char *run, const char *root, const char *kind, const char *session)
{
	return (struct bread_rec){ .kind = BREAD_REC_CHECKPOINT,
		.checkpoint = { .id = brd_str(id),
			.agent_id = BRD_STR("a"),
			.run_id = brd_str(run),
			.root_id = brd_str(root),
			.session_id = brd_str(session),
			.tool_name = BRD_STR("ask"),
			.tool_call_id = BRD_STR("t1"),
			.schema = BRD_STR("{\"q\":1}"),
			.kind = brd_str(kind),
			.created_at = 5 } };
}

#define C1 \
	"{\"checkpointId\":\"c1\",\"agentId\":\"a\",\"runId\":\"r\",\"rootRunId\":\"p\"," \
	"\"sessionId\":\"s\",\"toolName\":\"ask\",\"toolCallId\":\"t1\",\"kind\":\"input\"," \
	"\"prompt\":\"Well?\",\"args\":{\"q\":1},\"answerSchema\":{\"type\":\"string\"}," \
	"\"deadline\":99,\"default\":\"no\",\"createdAt\":5}"
/* as the original writes them */
#define C2 \
	"{\"checkpointId\":\"c2\",\"agentId\":\"a\",\"runId\":\"theirs\",\"rootRunId\":" \
	"\"theirs\",\"sessionId\":\"t\",\"toolName\":\"ask\",\"toolCallId\":\"t1\",\"args\":" \
	"{\"q\":1},\"createdAt\":5}"
#define C3 \
	"{\"checkpointId\":\"c3\",\"agentId\":\"a\",\"runId\":\"p\",\"rootRunId\":\"p\"," \
	"\"sessionId\":\"s\",\"toolName\":\"ask\",\"toolCallId\":\"t1\",\"kind\":\"delegate\"," \
	"\"args\":{\"q\":1},\"createdAt\":5}"

static void checkpoints_are_listed(void **state)
{
	struct wire *w = *state;
	struct bread_rec recs[] = { waiting("c3", "p", "p", "delegate", "s"),
		waiting("c1", "r", "p", "input", "s"), waiting("c2", "theirs", NULL, NULL, "t") };

	recs[1].checkpoint.prompt = BRD_STR("Well?");
	recs[1].checkpoint.answer_schema = BRD_STR("{\"type\":\"string\"}");
	recs[1].checkpoint.fallback = BRD_STR("\"no\"");
	recs[1].checkpoint.deadline = 99;
	answers(w, "/checkpoints", "200", "[]");
	given(w, recs, COUNT(recs));
	answers(w, "/checkpoints", "200", "[" C1 "," C2 "]");
	answers(w, "/checkpoints?run=p", "200", "[" C1 "]");
	answers(w, "/checkpoints?run=r", "200", "[" C1 "]");
	answers(w, "/checkpoints?run=theirs", "200", "[" C2 "]");
	answers(w, "/checkpoints?run=theirs&session=s", "200", "[]");
	answers(w, "/checkpoints?session=t", "200", "[" C2 "]");
	answers(w, "/checkpoints?agent=other", "200", "[]");
	answers(w, "/checkpoints/c1", "200", C1);
	answers(w, "/checkpoints/c3", "200", C3);
	answers(w, "/checkpoints/nope", "404", "{\"error\":\"Checkpoint not found\"}");
}

/* ---- loops and task runs ---- */

#define L1 \
	"{\"id\":\"l1\",\"agentId\":\"a\",\"sessionId\":\"s\",\"runId\":\"r\",\"pool\":[\"x\"]," \
	"\"pipeline\":[\"x\"],\"maxIterations\":2,\"status\":\"completed\",\"iterations\":1," \
	"\"result\":\"end\",\"startedAt\":7,\"completedAt\":9}"
#define L2 \
	"{\"id\":\"l2\",\"agentId\":\"a\",\"sessionId\":\"s\",\"runId\":\"r\",\"pool\":[\"x\"]," \
	"\"pipeline\":[\"x\"],\"maxIterations\":2,\"status\":\"running\",\"iterations\":0," \
	"\"startedAt\":8}"

static void loops_are_listed(void **state)
{
	struct wire *w = *state;
	struct bread_rec recs[] = {
		{ .kind = BREAD_REC_LOOP,
			.loop = { .id = BRD_STR("l1"),
				.agent_id = BRD_STR("a"),
				.session_id = BRD_STR("s"),
				.run_id = BRD_STR("r"),
				.pool = BRD_STR("[\"x\"]"),
				.pipeline = BRD_STR("[\"x\"]"),
				.status = BRD_STR("running"),
				.max_iterations = 2,
				.started_at = 8 } },
		{ 0 },
		{ .kind = BREAD_REC_LOOP_ROUND,
			.round = { .id = BRD_STR("i"),
				.loop_id = BRD_STR("l1"),
				.input = BRD_STR("\"in\""),
				.output = BRD_STR("{\"o\":1}"),
				.index = 1,
				.started_at = 7,
				.completed_at = 8 } },
	};

	recs[1] = recs[0];
	recs[1].loop.id = BRD_STR("l2");
	recs[0].loop.status = BRD_STR("completed");
	recs[0].loop.result = BRD_STR("\"end\"");
	recs[0].loop.iterations = 1;
	recs[0].loop.started_at = 7;
	recs[0].loop.completed_at = 9;
	given(w, recs, COUNT(recs));
	answers(w, "/loops", "200", "[" L2 "," L1 "]");
	answers(w, "/loops?status=completed&agent=a&session=s", "200", "[" L1 "]");
	answers(w, "/loops?status=failed", "200", "[]");
	answers(w, "/loops/l1", "200",
		"{\"loop\":" L1 ",\"iterations\":[{\"id\":\"i\",\"loopId\":\"l1\",\"index\":1,"
		"\"input\":\"in\",\"output\":{\"o\":1},\"startedAt\":7,\"completedAt\":8}]}");
	answers(w, "/loops/l2", "200", "{\"loop\":" L2 ",\"iterations\":[]}");
	answers(w, "/loops/nope", "404", "{\"error\":\"Loop not found\"}");
}

#define T1 \
	"{\"id\":\"t1\",\"taskId\":\"x\",\"agentId\":\"a\",\"sessionId\":\"s\",\"runId\":\"r\"," \
	"\"model\":{\"provider\":\"p\",\"model\":\"m\"},\"input\":{\"i\":1},\"output\":[1]," \
	"\"status\":\"completed\",\"usage\":{\"inputTokens\":1},\"durationMs\":0,\"createdAt\":" \
	"7,\"completedAt\":8}"
#define T2 \
	"{\"id\":\"t2\",\"taskId\":\"y\",\"model\":{\"provider\":\"p\",\"model\":\"m\"}," \
	"\"input\":{\"i\":1},\"status\":\"failed\",\"error\":\"no\",\"createdAt\":9}"

static void task_runs_are_listed(void **state)
{
	struct wire *w = *state;
	struct bread_rec recs[] = {
		{ .kind = BREAD_REC_TASK_RUN,
			.task_run = { .id = BRD_STR("t1"),
				.task_id = BRD_STR("x"),
				.agent_id = BRD_STR("a"),
				.session_id = BRD_STR("s"),
				.run_id = BRD_STR("r"),
				.model = BRD_STR("{\"provider\":\"p\",\"model\":\"m\"}"),
				.input = BRD_STR("{\"i\":1}"),
				.output = BRD_STR("[1]"),
				.usage = BRD_STR("{\"inputTokens\":1}"),
				.status = BRD_STR("completed"),
				.created_at = 7,
				.completed_at = 8 } },
		{ .kind = BREAD_REC_TASK_RUN,
			.task_run = { .id = BRD_STR("t2"),
				.task_id = BRD_STR("y"),
				.model = BRD_STR("{\"provider\":\"p\",\"model\":\"m\"}"),
				.input = BRD_STR("{\"i\":1}"),
				.status = BRD_STR("failed"),
				.error = BRD_STR("no"),
				.duration_ms = -1,
				.created_at = 9 } },
	};

	given(w, recs, COUNT(recs));
	answers(w, "/tasks", "200", "[" T2 "," T1 "]");
	answers(w, "/tasks?limit=1", "200", "[" T2 "]");
	answers(w, "/tasks?limit=0", "200", "[" T2 "," T1 "]");
	answers(w, "/tasks?limit=x", "400",
		"{\"error\":\"Invalid limit: a whole number from 1 on\"}");
	answers(w, "/tasks?task=x&session=s&agent=a&status=completed", "200", "[" T1 "]");
	answers(w, "/tasks/t2", "200", T2);
	answers(w, "/tasks/nope", "404", "{\"error\":\"Task run not found\"}");
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(tree_is_nested),
		T(part_of_a_tree_is_told),
		T(broken_tree_is_told_all_the_same),
		T(deep_tree_is_told),
		T(runs_tell_their_place_in_a_tree),
		T(checkpoints_are_listed),
		T(loops_are_listed),
		T(task_runs_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
