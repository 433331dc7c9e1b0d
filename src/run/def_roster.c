/* SPDX-License-Identifier: MIT */
/* Who an agent may run: the roster of a supervisor, the pool of a loop, and the
 * tools and the sections of the prompt that come with them. A section is there only
 * with its tool: what permissions take away is not advertised either. */
#include "base/err.h"
#include "run/def_impl.h"

struct roster_conf {
	char *agent_id;
	int show;
	int64_t max;
};

const struct conf_field brd_roster_fields[CONF_ROSTER_FIELDS] = {
	{ .key = "agentId",
		.type = CONF_ID,
		.offset = AT(roster_conf, agent_id),
		.required = true,
		.doc = "The agent." },
	{ .key = "visibility",
		.type = CONF_ENUM,
		.offset = AT(roster_conf, show),
		.words = "passthrough|mediate|hidden",
		.dflt = "passthrough",
		.doc = "What of its run is in the supervisor's stream: all, start and end, "
		       "nothing." },
	{ .key = "max",
		.type = CONF_INT,
		.offset = AT(roster_conf, max),
		.dflt = "0",
		.max = 1000,
		.doc = "Runs of it at the same time; 0: no cap." },
};

#define DRAFT "\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\","

static const struct core_tool delegate_tools[] = {
	{ .name = "delegate",
		.description = "Delegate a piece of work to one of your configured sub-agents. The "
			       "sub-agent runs with `input` and its output is returned as this "
			       "tool result.",
		.schema = "{" DRAFT "\"properties\":{\"agentId\":{\"type\":\"string\","
			  "\"description\":\"Id of the configured sub-agent to delegate to\"},"
			  "\"input\":{\"description\":\"The input to run the sub-agent with\"}},"
			  "\"required\":[\"agentId\",\"input\"],\"additionalProperties\":false}" },
	{ 0 },
};

static const struct core_tool loop_tools[] = {
	{ .name = "start_loop",
		.description = "Start an iterative loop. Compose `pipeline` as an ordered list of "
			       "agent ids drawn from the pool; the pipeline runs once and its "
			       "output is returned for you to judge.",
		.schema = "{" DRAFT "\"properties\":{\"pipeline\":{\"minItems\":1,\"type\":"
			  "\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Ordered "
			  "agent ids (each must be in the pool) to run sequentially each "
			  "iteration\"},\"input\":{\"description\":\"Initial input for the first "
			  "iteration\"}},\"required\":[\"pipeline\"],"
			  "\"additionalProperties\":false}" },
	{ .name = "iterate_loop",
		.description = "Re-run the SAME pipeline for another iteration, optionally "
			       "steering it with `feedback`. Use after judging the previous "
			       "output. Returns the new output.",
		.schema = "{" DRAFT "\"properties\":{\"feedback\":{\"description\":\"Your "
			  "judgement/feedback to steer the next iteration\"}},"
			  "\"additionalProperties\":false}" },
	{ .name = "finish_loop",
		.description = "Finish the active loop, recording your final judged result.",
		.schema = "{" DRAFT "\"properties\":{\"result\":{\"description\":\"The final "
			  "result you are satisfied with\"}},\"additionalProperties\":false}" },
	{ 0 },
};

/* The newest n tools are no ordinary ones: the run itself answers them. */
static void take_kinds(struct agent_def *d, const enum tool_kind *kinds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct tool_def *t = &d->tools[d->tool_count - n + i];

		t->kind = kinds[i];
		t->core = NULL;
	}
}

static int add_entry(struct agent_def *d, struct jval v, struct bread_err *err)
{
	struct roster_conf c = { 0 };
	int r = brd_conf_read(brd_roster_fields, CONF_ROSTER_FIELDS, v, &c, NULL,
		"supervisor.agents", &d->arena, err);

	if (r)
		return r;
	for (size_t i = 0; i < d->roster_count; i++)
		if (!strcmp(d->roster[i].agent_id, c.agent_id))
			return brd_fail(err, BREAD_E_INVALID, "agent",
				"supervisor.agents has \"%s\" twice; take one away", c.agent_id);
	d->roster[d->roster_count++] = (struct roster_entry){
		.agent_id = c.agent_id,
		.show = (enum visibility)c.show,
		.max = c.max,
	};
	return 0;
}

int brd_def_supervisor(struct agent_def *d, const struct supervisor_conf *c, struct bread_err *err)
{
	static const enum tool_kind kinds[] = { TOOL_DELEGATE };
	int r = 0;

	d->supervises = true;
	d->delegations_max = c->max;
	d->reenters = c->reenters;
	d->roster = brd_arena_array(&d->arena, brd_json_count(c->agents) + 1, sizeof(*d->roster));
	for (struct json_iter it = brd_json_each(c->agents); !r && brd_json_next(&it);)
		r = brd_def_at(err, add_entry(d, it.value, err), "supervisor.agents", it.index);
	if (!r)
		r = brd_def_add_core(d, delegate_tools, err);
	if (!r)
		take_kinds(d, kinds, 1);
	return r;
}

int brd_def_loop(struct agent_def *d, const struct loop_conf *c, struct bread_err *err)
{
	static const enum tool_kind kinds[] = { TOOL_LOOP_START, TOOL_LOOP_ITERATE,
		TOOL_LOOP_FINISH };
	int r;

	if (!c->pool.n)
		return brd_fail(err, BREAD_E_INVALID, "loop.pool",
			"loop.pool is empty; list the agents that a loop may be made of");
	d->pool = brd_arena_array(&d->arena, c->pool.n + 1, sizeof(char *));
	memcpy(d->pool, c->pool.v, c->pool.n * sizeof(char *));
	d->rounds_max = c->rounds;
	d->loop_retry = brd_def_retry(&c->retry);
	r = brd_def_hooks(&d->loop_hook_set, c->hooks, BREAD_HOOK_LOOP, d->dir, "the loop", err);
	brd_def_at(err, r, "loop.hooks", DEF_NO_INDEX);
	if (!r)
		r = brd_def_add_core(d, loop_tools, err);
	if (!r)
		take_kinds(d, kinds, 3);
	return r;
}

static bool offers(const struct agent_def *d, enum tool_kind kind)
{
	for (size_t i = 0; i < d->tool_count; i++)
		if (d->tools[i].kind == kind)
			return true;
	return false;
}

static void add_delegation(const struct agent_def *d, struct buf *out)
{
	brd_buf_addz(out, "## Delegation\nYou can delegate work to these sub-agents: ");
	for (size_t i = 0; i < d->roster_count; i++) {
		brd_buf_addf(out, "%s%s", i ? ", " : "", d->roster[i].agent_id);
		if (d->roster[i].max)
			brd_buf_addf(out, " (max %lld concurrent)", (long long)d->roster[i].max);
	}
	brd_buf_addz(out,
		".\nCall `core_delegate` with `agentId` and `input`; the sub-agent runs and its "
		"output is returned to you as the tool result. Delegate in parallel by making "
		"several `core_delegate` calls in one turn, or in series by delegating, reading "
		"the result, then delegating again.");
	if (d->delegations_max)
		brd_buf_addf(out, "\nAt most %lld delegations run concurrently overall.",
			(long long)d->delegations_max);
}

static void add_loop(const struct agent_def *d, struct buf *out)
{
	brd_buf_addz(out,
		"## Agent Loop\nYou can run an iterative loop over a pipeline you compose from "
		"this pool of agents: ");
	for (char **p = d->pool; *p; p++)
		brd_buf_addf(out, "%s%s", p == d->pool ? "" : ", ", *p);
	brd_buf_addf(out,
		".\nCall `core_start_loop` with `pipeline` (an ordered list of agent ids drawn "
		"from the pool) to run the pipeline once and receive its output.\nJudge that "
		"output. Call `core_iterate_loop` (optionally with `feedback`) to re-run the SAME "
		"pipeline and improve the result.\nWhen you are satisfied call `core_finish_loop` "
		"with your final result. The loop is capped at %lld iterations.",
		(long long)d->rounds_max);
}

void brd_def_roster_sections(const struct agent_def *d, struct buf *out)
{
	if (d->supervises && offers(d, TOOL_DELEGATE)) {
		brd_buf_addz(out, out->len ? "\n\n" : "");
		add_delegation(d, out);
	}
	if (d->pool && offers(d, TOOL_LOOP_START)) {
		brd_buf_addz(out, out->len ? "\n\n" : "");
		add_loop(d, out);
	}
}
