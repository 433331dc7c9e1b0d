/* SPDX-License-Identifier: MIT */
/* See loop_state.h. */
#include "run/loop_state.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "run/choke.h"
#include "run/node.h"
#include "run/tx.h"

static void make_pipeline(struct loop_state *l, char **agents)
{
	struct bread_err err;

	if (brd_pipeline_def_of_agents(&l->pipeline, l->id, (const char *const *)agents, &err))
		l->pipeline = NULL; /* a list of registered ids always makes one */
	brd_assert(l->pipeline);
}

void brd_loop_state_open(struct run *r, char **agents, size_t count, struct bread_str json)
{
	struct loop_state *l = brd_alloc(sizeof(*l));
	struct crumb_draft d;

	brd_loop_state_free(r->loop_state);
	r->loop_state = l;
	brd_uuid7(l->id);
	l->agents = brd_arena_copy(&l->arena, json);
	l->began = brd_clock_wall();
	l->open = true;
	make_pipeline(l, agents);
	brd_loop_state_record(r, "running");
	brd_choke_begin(r, &d, CRUMB_LOOP_START);
	brd_jw_kstr(&d.w, "loopId", brd_str(l->id));
	brd_jw_kraw(&d.w, "pipeline", l->agents);
	brd_jw_kint(&d.w, "maxIterations", r->def->rounds_max);
	brd_choke_emit(r, &d);
}

static struct bread_str pool_json(struct run *r)
{
	struct buf b;
	struct jsonw w;
	struct bread_str s;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_arr(&w);
	for (char **p = r->def->pool; *p; p++)
		brd_jw_strz(&w, *p);
	brd_jw_end_arr(&w);
	s = brd_tx_copy(r, brd_buf_str(&b));
	brd_buf_fini(&b);
	return s;
}

static void record(struct run *r, const char *status, struct bread_str result)
{
	struct loop_state *l = r->loop_state;
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_LOOP);
	bool ended = !l->open;

	rec->loop = (struct bread_loop_row){
		.id = brd_tx_copy(r, brd_str(l->id)),
		.agent_id = r->base.agent_id,
		.session_id = r->base.session_id,
		.run_id = r->base.run_id,
		.pool = pool_json(r),
		.pipeline = brd_tx_copy(r, l->agents),
		.status = brd_str(status),
		.result = brd_tx_copy(r, result),
		.max_iterations = r->def->rounds_max,
		.iterations = l->rounds,
		.started_at = l->began,
		.completed_at = ended ? brd_clock_wall() : 0,
	};
}

void brd_loop_state_record(struct run *r, const char *status)
{
	record(r, status, (struct bread_str){ 0 });
}

void brd_loop_state_close(struct run *r, const char *status, struct bread_str result)
{
	struct loop_state *l = r->loop_state;
	struct crumb_draft d;

	l->open = l->running = false;
	record(r, status, result);
	brd_loop_state_journal(r);
	brd_choke_begin(r, &d, CRUMB_LOOP_END);
	brd_jw_kstr(&d.w, "loopId", brd_str(l->id));
	brd_jw_kstr(&d.w, "status", brd_str(status));
	brd_jw_kint(&d.w, "iterations", l->rounds);
	brd_jw_kraw(&d.w, "result", result);
	brd_choke_emit(r, &d);
}

void brd_loop_close(struct run *r, const char *status)
{
	struct loop_state *l = r->loop_state;

	if (l && l->open)
		brd_loop_state_close(
			r, status, strcmp(status, "failed") ? l->last : (struct bread_str){ 0 });
}

/* ---- the journal ---- */

void brd_loop_state_journal(struct run *r)
{
	struct loop_state *l = r->loop_state;
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_NODE);
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "loopId", brd_str(l->id));
	brd_jw_kraw(&w, "agents", l->agents);
	brd_jw_kint(&w, "rounds", l->rounds);
	brd_jw_kraw(&w, "input", l->input);
	brd_jw_kraw(&w, "last", l->last);
	brd_jw_kint(&w, "began", l->began);
	brd_jw_kint(&w, "roundBegan", l->round_began);
	brd_jw_kbool(&w, "open", l->open);
	brd_jw_kbool(&w, "running", l->running);
	brd_jw_end_obj(&w);
	rec->node = (struct bread_node_row){
		.run_id = r->base.run_id,
		.name = BRD_STR("loop"),
		.kind = BRD_STR("loop.state"),
		.state = BREAD_NODE_ENDED,
		.data = brd_tx_copy(r, brd_buf_str(&b)),
	};
	brd_buf_fini(&b);
}

void brd_loop_state_load(struct run *r, struct bread_str data)
{
	struct loop_state *l = brd_alloc(sizeof(*l));
	struct jval v, agents;
	char **names;
	size_t i = 0;

	if (brd_json_parse(&l->arena, brd_arena_copy(&l->arena, data), 0, &v, NULL)) {
		brd_loop_state_free(l);
		return;
	}
	snprintf(l->id, sizeof(l->id), "%.*s",
		BRD_ARG(brd_json_str(brd_json_get(v, "loopId"), &l->arena)));
	agents = brd_json_get(v, "agents");
	l->agents = brd_json_raw(agents);
	l->rounds = brd_json_int_or(brd_json_get(v, "rounds"), 0);
	l->input = brd_json_raw(brd_json_get(v, "input"));
	l->last = brd_json_raw(brd_json_get(v, "last"));
	l->began = brd_json_int_or(brd_json_get(v, "began"), 0);
	l->round_began = brd_json_int_or(brd_json_get(v, "roundBegan"), 0);
	l->open = brd_json_bool(brd_json_get(v, "open"), false);
	l->running = brd_json_bool(brd_json_get(v, "running"), false);
	names = brd_arena_array(&l->arena, brd_json_count(agents) + 1, sizeof(char *));
	for (struct json_iter it = brd_json_each(agents); brd_json_next(&it);)
		names[i++] = brd_json_strz(it.value, &l->arena);
	make_pipeline(l, names);
	brd_loop_state_free(r->loop_state);
	r->loop_state = l;
}

void brd_loop_state_free(struct loop_state *l)
{
	if (!l)
		return;
	brd_pipeline_def_unref(l->pipeline);
	brd_arena_fini(&l->arena);
	free(l);
}
