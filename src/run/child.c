/* SPDX-License-Identifier: MIT */
/* Runs that nodes start: each is a member of its parent's tree, with a row, a session and a log of
 * its own, and its nodes hang below the node that started it.
 *
 * Its first rows are in the transaction that says that the node has begun; its end is in the one in
 * which the node takes it. So a node that has begun and not ended has a run in the store that has
 * not ended, and the other way round. */
#include <stdio.h>
#include "base/clock.h"
#include "base/err.h"
#include "run/child.h"
#include "run/life.h"
#include "run/tree.h"

/* ["a","0"] and "1","b" become ["a","0","1","b"]. */
static struct bread_str path_below(struct run *r, struct bread_str parent, struct bread_str more)
{
	return brd_arena_printf(
		&r->arena, "%.*s,%.*s]", (int)parent.n - 1, parent.p, BRD_ARG(more));
}

static bool unseen(const struct run *parent)
{
	return parent->muted || parent->show != SHOW_ALL;
}

struct run *brd_run_child(struct node *at, const struct child_spec *s)
{
	struct run *parent = at->run;
	struct tree *t = parent->tree;
	char run_id[UUID_LEN + 1], session_id[UUID_LEN + 1];
	struct run *r;

	brd_uuid7(run_id);
	brd_uuid7(session_id);
	r = brd_run_make(t, parent, s->def, s->pipeline, s->id.n ? s->id : brd_str(run_id),
		s->session_id.n ? s->session_id : brd_str(session_id));
	r->path = path_below(r, parent->path, s->path);
	r->base.path = r->path;
	r->show = s->show;
	r->muted = unseen(parent);
	r->input = brd_arena_copy(&r->arena, s->input);
	r->history_known = !s->session_id.n;
	brd_list_push(&t->runs, &r->link);
	brd_topic_begin(r->topic, 0);
	atomic_fetch_add_explicit(&r->env->counts->started, 1, memory_order_relaxed);
	brd_run_add_rows(r, (struct bread_str){ 0 });
	brd_run_begin(r, at);
	return r;
}

struct run *brd_run_adopt(struct node *at, struct bread_str id, enum visibility show)
{
	struct tree *t = at->run->tree;

	brd_list_each(l, &t->loaded) {
		struct run *r = brd_list_of(l, struct run, link);

		if (!brd_str_eq(r->base.run_id, id))
			continue;
		brd_list_remove(&r->link);
		brd_list_push(&t->runs, &r->link);
		r->parent = at->run;
		r->show = show;
		r->muted = unseen(r->parent);
		r->cancelled = r->cancelled || r->parent->cancelled;
		brd_run_rebuild(r, at);
		if (r->status == BREAD_RUN_RUNNING)
			brd_run_clock(r, brd_clock_wall() - r->started_wall);
		if (r->cancelled || at->run->cancelled) /* before its node was made */
			brd_node_cancel(r->root);
		if (r->cancelled && !at->run->cancelled)
			brd_node_unpark(r->root); /* those above go on */
		return r;
	}
	return NULL;
}

struct agent_def *brd_child_agent(struct run *r, struct bread_str agent_id, const char *skill,
	struct bread_str input, struct arena *a, struct run_error *e)
{
	struct agent_def *base = r->env->definition(r->env->arg, agent_id, (struct bread_str){ 0 });
	struct agent_def *def = base;
	struct schema_fault f;
	struct bread_err err;
	struct jval v;

	*e = (struct run_error){ BRD_STR("AGENT_NOT_FOUND"),
		brd_arena_printf(a, "Agent not found: \"%.*s\"", BRD_ARG(agent_id)),
		brd_arena_printf(a, "{\"agentId\":\"%.*s\"}", BRD_ARG(agent_id)) };
	if (!base)
		return NULL;
	if (skill && brd_agent_def_with_skill(&def, base, brd_str(skill), &err)) {
		*e = (struct run_error){ brd_arena_copy(a, brd_str(err.name)),
			brd_arena_copy(a, brd_str(err.text)),
			brd_arena_copy(a, brd_str(err.context)) };
		def = NULL;
	}
	if (skill)
		brd_agent_def_unref(base);
	if (def && def->input_schema && input.n && !brd_json_parse(a, input, 0, &v, NULL) &&
		!brd_schema_check(def->input_schema, v, a, &f)) {
		e->code = BRD_STR("INPUT_INVALID");
		e->message = brd_arena_printf(a,
			"The input does not fit the inputSchema of agent \"%.*s\"%s%.*s: %.*s",
			BRD_ARG(agent_id), f.at.n ? " at " : "", BRD_ARG(f.at), BRD_ARG(f.text));
		brd_agent_def_unref(def);
		def = NULL;
	}
	return def;
}

/* ---- what a node sees of it ---- */

enum child_state brd_child_state(const struct child *c)
{
	const struct run *r = c->run;

	if (!r)
		return CHILD_NONE;
	if (!r->ended)
		return r->root->parked ? CHILD_PARKED : CHILD_RUNS;
	return r->status == BREAD_RUN_COMPLETED   ? CHILD_OK
	       : r->status == BREAD_RUN_CANCELLED ? CHILD_CANCELED
						  : CHILD_FAILED;
}

void brd_child_journal(const struct child *c, struct jsonw *w)
{
	brd_jw_kstr(w, "runId", brd_str(c->id));
}

void brd_child_found(struct node *n, struct child *c, struct jval data, enum visibility show)
{
	struct arena *a = &n->run->arena;

	snprintf(c->id, sizeof(c->id), "%.*s",
		BRD_ARG(brd_json_str(brd_json_get(data, "runId"), a)));
	c->run = brd_run_adopt(n, brd_str(c->id), show);
}

/* ---- budgets (contract C14) ---- */

bool brd_tree_spent(const struct tree *t)
{
	const struct run_env *env = t->env;

	return (env->tree_steps && t->steps >= env->tree_steps) ||
	       (env->tree_tokens && t->tokens >= env->tree_tokens);
}

static bool refuse(struct run *r, const char *code, struct arena *a, struct bread_str agent_id,
	struct bread_str why, struct run_error *e)
{
	*e = (struct run_error){ brd_str(code), why,
		brd_arena_printf(a, "{\"agentId\":\"%.*s\",\"subAgentId\":\"%.*s\"}",
			BRD_ARG(r->base.agent_id), BRD_ARG(agent_id)) };
	return false;
}

bool brd_run_may_start(
	struct run *r, struct bread_str agent_id, struct arena *a, struct run_error *e)
{
	const struct tree *t = r->tree;
	const struct run_env *env = r->env;
	int64_t depth = 1; /* in agents: a pipeline and a loop's round are no callers */

	for (const struct run *up = r; up; up = up->parent) {
		depth += up->def != NULL;
		if (up->def && !up->def->reenters && brd_str_eq(up->base.agent_id, agent_id))
			return refuse(r, "AGENT_REENTERED", a, agent_id,
				brd_arena_printf(a,
					"Agent \"%.*s\" is at work above this call already; "
					"supervisor.reenter: true allows it",
					BRD_ARG(agent_id)),
				e);
	}
	if (env->depth_max && depth > env->depth_max)
		return refuse(r, "DEPTH_LIMIT", a, agent_id,
			brd_arena_printf(a, "Agents may call each other %lld deep (limits.depth)",
				(long long)env->depth_max),
			e);
	if (brd_tree_spent(t))
		return refuse(r, "BUDGET_SPENT", a, agent_id,
			brd_arena_printf(a,
				"The budget of the whole run is spent: %lld model calls, %lld "
				"tokens "
				"(limits.treeSteps, limits.treeTokens)",
				(long long)t->steps, (long long)t->tokens),
			e);
	return true;
}
