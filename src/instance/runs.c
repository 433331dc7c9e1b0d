/* SPDX-License-Identifier: MIT */
/* Runs from outside: started, and gone on with. What can be refused without the
 * store is refused at once; the rest is told as the outcome. */
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/err_context.h"
#include "base/mem.h"
#include "instance/internal.h"

static const struct bread_str none;

/* ---- starting ---- */

static int refuse_input(
	struct bread_err *err, const struct agent_def *d, const struct schema_fault *f)
{
	struct err_context ctx;
	struct jsonw *w;

	brd_fail_as(err, BREAD_E_INVALID, "INPUT_INVALID", "input",
		"The input does not fit the inputSchema of agent \"%s\"%s%.*s: %.*s", d->id,
		f->at.n ? " at " : "", BRD_ARG(f->at), BRD_ARG(f->text));
	w = brd_err_context(&ctx);
	brd_jw_kstr(w, "agentId", brd_str(d->id));
	brd_jw_kstr(w, "path", f->at);
	brd_err_context_end(&ctx, err);
	return BREAD_E_INVALID;
}

/* Compact text of the input, if it is what the agent takes; d NULL: anything is. */
static int take_input(
	const struct agent_def *d, struct bread_str input, struct buf *out, struct bread_err *err)
{
	struct arena a = { 0 };
	struct schema_fault f;
	struct json_where where;
	struct jval v;
	int r = 0;

	if (input.n && brd_json_parse(&a, input, 0, &v, &where))
		r = brd_fail_as(err, BREAD_E_INVALID, "INPUT_INVALID", "input",
			"the input is not JSON: %s at byte %zu", where.what, where.at);
	else if (input.n && d && d->input_schema && !brd_schema_check(d->input_schema, v, &a, &f))
		r = refuse_input(err, d, &f);
	else if (input.n)
		brd_json_compact(v, out);
	brd_arena_fini(&a);
	return r;
}

static int refuse_agent(struct bread_err *err, struct bread_str id)
{
	struct err_context ctx;

	brd_fail_as(err, BREAD_E_NOT_FOUND, "AGENT_NOT_FOUND", "bread", "Agent not found: \"%.*s\"",
		BRD_ARG(id));
	brd_jw_kstr(brd_err_context(&ctx), "agentId", id);
	brd_err_context_end(&ctx, err);
	return BREAD_E_NOT_FOUND;
}

static int check_ids(struct bread *b, const struct bread_run_request *req, struct bread_err *err)
{
	if (b->env.draining)
		return brd_fail_as(err, BREAD_E_BUSY, "DRAINING", "bread",
			"the server is going down; try again in a moment");
	if (req->session_id.n && !brd_id_ok(req->session_id))
		return brd_fail_as(err, BREAD_E_INVALID, "INVALID_ID", "session.id",
			"a session id has 1 to 128 letters, digits, . _ : or -");
	if (req->run_id.n && !brd_id_ok(req->run_id))
		return brd_fail_as(err, BREAD_E_INVALID, "INVALID_ID", "runId",
			"a run id has 1 to 128 letters, digits, . _ : or -");
	return 0;
}

void brd_what_fini(struct what *w)
{
	brd_agent_def_unref(w->def);
	brd_pipeline_def_unref(w->pipeline);
}

static bool composes(const struct what *w)
{
	return w->pipeline || brd_agent_def_composes(w->def);
}

static void start(struct bread *b, struct loop *l, const struct what *w,
	const struct bread_run_request *req, const struct active *a, struct bread_str input,
	const struct run_key *key)
{
	struct run_start s = {
		.run_id = brd_str(a->id),
		.input = input,
		.session_id = brd_str(a->session_id),
		.session_tags = req->session_tags,
		.options = none,
		.tags = req->tags,
		.new_session = !req->session_id.n,
		.if_busy = req->if_busy,
		.on_stored = req->on_stored,
		.on_end = req->on_end,
		.arg = req->arg,
	};

	if (key)
		s.key = *key;
	brd_active_up(b, brd_run_new(&b->env, l, w->def, w->pipeline, &s));
}

int brd_runs_begin(struct bread *b, const struct what *w, const struct bread_run_request *req,
	struct bread_str input, const struct run_key *key, char ret_id[BREAD_RUN_ID_MAX],
	struct bread_err *err)
{
	struct loop *l = bread_here(b);
	char run_id[UUID_LEN + 1], session_id[UUID_LEN + 1];
	bool alone = req->session_id.n && req->if_busy == BREAD_BUSY_REJECT;
	struct bread_str session = req->session_id;
	struct active *a;
	int r;

	brd_uuid7(run_id);
	brd_uuid7(session_id);
	if (!session.n && !w->pipeline)
		session = brd_str(session_id);
	a = brd_active_new(req->run_id.n ? req->run_id : brd_str(run_id), session, composes(w), l);
	r = brd_active_reserve(b, a, alone, err);
	if (r) {
		free(a);
		return r;
	}
	snprintf(ret_id, BREAD_RUN_ID_MAX, "%s", a->id);
	start(b, l, w, req, a, input, key);
	return 0;
}

static int find_agent(struct bread *b, const struct bread_run_request *req, struct what *ret,
	struct bread_err *err)
{
	struct agent_def *with;
	int r;

	ret->def = brd_registry_agent(b, req->agent_id);
	if (!ret->def)
		return refuse_agent(err, req->agent_id);
	if (!req->skill.n)
		return 0;
	r = brd_agent_def_with_skill(&with, ret->def, req->skill, err);
	if (r)
		return r;
	brd_agent_def_unref(ret->def);
	ret->def = with;
	return 0;
}

static int find(struct bread *b, const struct bread_run_request *req, struct what *ret,
	struct bread_err *err)
{
	if (!req->pipeline_id.n)
		return find_agent(b, req, ret, err);
	ret->pipeline = brd_registry_pipeline(b, req->pipeline_id);
	return ret->pipeline ? 0 : brd_pipeline_refuse(b, req->pipeline_id, err);
}

int bread_run(struct bread *b, const struct bread_run_request *req, char ret_id[BREAD_RUN_ID_MAX],
	struct bread_err *err)
{
	struct what w = { 0 };
	struct buf input;
	int r = check_ids(b, req, err);

	ret_id[0] = 0;
	brd_buf_init(&input, BUF_NO_LIMIT);
	if (!r)
		r = brd_active_room(b, err);
	if (!r)
		r = find(b, req, &w, err);
	if (!r)
		r = take_input(w.def, req->input, &input, err);
	if (!r && req->idempotency_key.p)
		r = brd_keyed_run(b, &w, req, brd_buf_str(&input), err);
	else if (!r)
		r = brd_runs_begin(b, &w, req, brd_buf_str(&input), NULL, ret_id, err);
	brd_what_fini(&w);
	brd_buf_fini(&input);
	return r;
}

/* ---- resuming ---- */

struct resume {
	struct bread *b;
	struct bread_resume_request req;
	struct arena arena;
};

static void resume_free(struct resume *s)
{
	brd_arena_fini(&s->arena);
	free(s);
}

static void on_claimed(
	void *arg, struct bread_str root_id, int64_t after, const struct bread_err *err)
{
	struct resume *s = arg;

	brd_active_place(s->b, -1); /* it was kept for it */
	s->req.on_claimed(root_id, after, err, s->req.arg);
	if (err)
		resume_free(s);
}

static void on_resumed_end(const struct bread_outcome *o, void *arg)
{
	struct resume *s = arg;

	if (s->req.on_end)
		s->req.on_end(o, s->req.arg);
	resume_free(s);
}

/* The key of an answer, if it has one. */
static int key_of(struct resume *s, struct run_key *ret, struct bread_err *err)
{
	const struct bread_str parts[] = { s->req.checkpoint_id,
		brd_run_compact(&s->arena, s->req.response) };

	if (!s->req.idempotency_key.p)
		return 0;
	return brd_key_make(ret, &s->arena, "resume", s->req.idempotency_key, parts, 2, err);
}

void bread_resume(struct bread *b, const struct bread_resume_request *req)
{
	struct bread_run_request nothing = { 0 };
	struct bread_err err;
	struct resume *s;
	struct run_resume in;
	struct run_key key = { 0 };

	if (check_ids(b, &nothing, &err) || brd_active_room(b, &err)) {
		req->on_claimed(none, 0, &err, req->arg);
		return;
	}
	s = brd_alloc(sizeof(*s));
	s->b = b;
	s->req = *req;
	if (key_of(s, &key, &err)) {
		resume_free(s);
		req->on_claimed(none, 0, &err, req->arg);
		return;
	}
	in = (struct run_resume){ .key = key,
		.checkpoint_id = req->checkpoint_id,
		.response = req->response,
		.on_claimed = on_claimed,
		.on_end = on_resumed_end,
		.arg = s };
	brd_active_place(b, 1);
	brd_run_resume(&b->env, bread_here(b), &in);
}

void bread_read(struct bread *b, struct bread_read *r)
{
	brd_store_read(b->store, r);
}
