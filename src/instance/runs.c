/* SPDX-License-Identifier: MIT */
/* Runs from outside: started, cancelled, counted.
 *
 * A run that is live here has an entry under its id, from before its first row
 * until it is gone. Other threads reach it by that id alone. */
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "instance/internal.h"

static const struct bread_str none;

/* ---- the entries ---- */

static void entry_link(struct bread *b, struct active *a)
{
	brd_map_put(&b->active, brd_str(a->id), a);
	if (!brd_map_get(&b->sessions, brd_str(a->session_id)))
		brd_map_put(&b->sessions, brd_str(a->session_id), a);
	b->active_count++;
}

static void entry_unlink(struct bread *b, struct active *a)
{
	brd_map_del(&b->active, brd_str(a->id));
	if (brd_map_get(&b->sessions, brd_str(a->session_id)) == a)
		brd_map_del(&b->sessions, brd_str(a->session_id));
	b->active_count--;
}

static struct active *entry_new(struct bread_str id, struct bread_str session, struct loop *l)
{
	struct active *a = brd_alloc(sizeof(*a));

	snprintf(a->id, sizeof(a->id), "%.*s", BRD_ARG(id));
	snprintf(a->session_id, sizeof(a->session_id), "%.*s", BRD_ARG(session));
	a->loop = l;
	return a;
}

void brd_active_add(struct bread *b, struct run *r)
{
	struct active *a = entry_new(r->base.run_id, r->base.session_id, r->loop);

	a->run = r;
	pthread_mutex_lock(&b->lock);
	entry_link(b, a);
	pthread_mutex_unlock(&b->lock);
}

void brd_active_gone(void *arg, struct run *r)
{
	struct bread *b = arg;
	struct active *a;

	pthread_mutex_lock(&b->lock);
	a = brd_map_get(&b->active, r->base.run_id);
	if (a)
		entry_unlink(b, a);
	pthread_mutex_unlock(&b->lock);
	free(a);
}

bool brd_active_known(struct bread *b, struct bread_str run_id)
{
	bool known;

	pthread_mutex_lock(&b->lock);
	known = brd_map_get(&b->active, run_id);
	pthread_mutex_unlock(&b->lock);
	return known;
}

size_t brd_active_count(struct bread *b)
{
	size_t n;

	pthread_mutex_lock(&b->lock);
	n = b->active_count;
	pthread_mutex_unlock(&b->lock);
	return n;
}

/* ---- a call on a run's own loop, by its id ---- */

struct errand {
	struct post post;
	struct bread *b;
	void (*fn)(struct run *r);
	char id[UUID_MAX];
};

static void run_errand(struct post *p)
{
	struct errand *e = brd_list_of(p, struct errand, post);
	struct active *a;
	struct run *r = NULL;

	pthread_mutex_lock(&e->b->lock);
	a = brd_map_get(&e->b->active, brd_str(e->id));
	if (a)
		r = a->run;
	pthread_mutex_unlock(&e->b->lock);
	if (r)
		e->fn(r);
	free(e);
}

static void send(struct bread *b, const struct active *a, void (*fn)(struct run *r))
{
	struct errand *e = brd_alloc(sizeof(*e));

	e->post.run = run_errand;
	e->b = b;
	e->fn = fn;
	memcpy(e->id, a->id, sizeof(e->id));
	brd_loop_post(a->loop, &e->post);
}

void brd_active_each(struct bread *b, void (*fn)(struct run *r))
{
	struct map_slot *slot;

	pthread_mutex_lock(&b->lock);
	for (size_t at = 0; brd_map_next(&b->active, &at, &slot);)
		send(b, slot->value, fn);
	pthread_mutex_unlock(&b->lock);
}

void brd_active_cancel(struct bread *b, struct bread_str run_id)
{
	struct active *a;

	pthread_mutex_lock(&b->lock);
	a = brd_map_get(&b->active, run_id);
	if (a)
		send(b, a, brd_run_cancel);
	pthread_mutex_unlock(&b->lock);
}

/* ---- starting ---- */

static int refuse_input(
	struct bread_err *err, const struct agent_def *d, const struct schema_fault *f)
{
	struct buf ctx;

	brd_fail_as(err, BREAD_E_INVALID, "INPUT_INVALID", "input",
		"The input does not fit the inputSchema of agent \"%s\"%s%.*s: %.*s", d->id,
		f->at.n ? " at " : "", BRD_ARG(f->at), BRD_ARG(f->text));
	if (!err)
		return BREAD_E_INVALID;
	brd_buf_init(&ctx, sizeof(err->context) - 1);
	brd_buf_addf(&ctx, "{\"agentId\":\"%s\",\"path\":", d->id);
	brd_json_quote(&ctx, f->at);
	brd_buf_addc(&ctx, '}');
	snprintf(err->context, sizeof(err->context), "%s", ctx.bad ? "" : ctx.data);
	brd_buf_fini(&ctx);
	return BREAD_E_INVALID;
}

/* Compact text of the input, if it is what the agent takes. */
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
	else if (input.n && d->input_schema && !brd_schema_check(d->input_schema, v, &a, &f))
		r = refuse_input(err, d, &f);
	else if (input.n)
		brd_json_compact(v, out);
	brd_arena_fini(&a);
	return r;
}

static int refuse_agent(struct bread_err *err, struct bread_str id)
{
	struct buf ctx;

	brd_fail_as(err, BREAD_E_NOT_FOUND, "AGENT_NOT_FOUND", "bread", "Agent not found: \"%.*s\"",
		BRD_ARG(id));
	if (!err)
		return BREAD_E_NOT_FOUND;
	brd_buf_init(&ctx, sizeof(err->context) - 1);
	brd_buf_addz(&ctx, "{\"agentId\":");
	brd_json_quote(&ctx, id);
	brd_buf_addc(&ctx, '}');
	snprintf(err->context, sizeof(err->context), "%s", ctx.bad ? "" : ctx.data);
	brd_buf_fini(&ctx);
	return BREAD_E_NOT_FOUND;
}

/* Counts it in, or says why not. */
static int reserve(struct bread *b, struct active *a, bool old_session, struct bread_err *err)
{
	int64_t max = b->conf.concurrency.max;
	struct active *busy;
	int r = 0;

	pthread_mutex_lock(&b->lock);
	busy = old_session ? brd_map_get(&b->sessions, brd_str(a->session_id)) : NULL;
	if (max && (int64_t)b->active_count >= max) {
		r = brd_fail_as(err, BREAD_E_BUSY, "CONCURRENCY_LIMIT", "bread",
			"Max concurrency reached (%lld)", (long long)max);
		if (err)
			snprintf(err->context, sizeof(err->context),
				"{\"inFlight\":%zu,\"max\":%lld}", b->active_count, (long long)max);
	} else if (brd_map_get(&b->active, brd_str(a->id))) {
		r = brd_fail_as(err, BREAD_E_CONFLICT, "RUN_EXISTS", "bread",
			"run %s exists already", a->id);
	} else if (busy) {
		r = brd_fail_as(err, BREAD_E_CONFLICT, "SESSION_BUSY", "bread",
			"Session \"%s\" is busy with run %s; wait for it, or cancel it",
			a->session_id, busy->id);
	} else {
		entry_link(b, a);
	}
	pthread_mutex_unlock(&b->lock);
	return r;
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

static void start(struct bread *b, struct loop *l, struct agent_def *d,
	const struct bread_run_request *req, struct active *a, struct bread_str input)
{
	struct run_start s = {
		.run_id = brd_str(a->id),
		.input = input,
		.session_id = brd_str(a->session_id),
		.session_tags = req->session_tags,
		.options = none,
		.tags = req->tags,
		.new_session = !req->session_id.n,
		.on_end = req->on_end,
		.arg = req->arg,
	};

	a->run = brd_run_new(&b->env, l, d, &s);
}

static int begin(struct bread *b, struct agent_def *d, const struct bread_run_request *req,
	struct bread_str input, char ret_id[BREAD_RUN_ID_MAX], struct bread_err *err)
{
	struct loop *l = bread_here(b);
	char run_id[UUID_LEN + 1], session_id[UUID_LEN + 1];
	struct active *a;
	int r;

	brd_uuid7(run_id);
	brd_uuid7(session_id);
	a = entry_new(req->run_id.n ? req->run_id : brd_str(run_id),
		req->session_id.n ? req->session_id : brd_str(session_id), l);
	r = reserve(b, a, req->session_id.n, err);
	if (r) {
		free(a);
		return r;
	}
	snprintf(ret_id, BREAD_RUN_ID_MAX, "%s", a->id);
	start(b, l, d, req, a, input);
	return 0;
}

int brd_active_room(struct bread *b, struct bread_err *err)
{
	struct active nobody = { .id = "" };
	int64_t max = b->conf.concurrency.max;

	/* before the agent is looked up, as callers of the original see it */
	return max && (int64_t)brd_active_count(b) >= max ? reserve(b, &nobody, false, err) : 0;
}

int bread_run(struct bread *b, const struct bread_run_request *req, char ret_id[BREAD_RUN_ID_MAX],
	struct bread_err *err)
{
	struct agent_def *d = NULL;
	struct buf input;
	int r = check_ids(b, req, err);

	brd_buf_init(&input, BUF_NO_LIMIT);
	if (!r)
		r = brd_active_room(b, err);
	if (!r) {
		d = brd_registry_agent(b, req->agent_id);
		r = d ? take_input(d, req->input, &input, err) : refuse_agent(err, req->agent_id);
	}
	if (!r)
		r = begin(b, d, req, brd_buf_str(&input), ret_id, err);
	brd_agent_def_unref(d);
	brd_buf_fini(&input);
	return r;
}

/* ---- resuming ---- */

struct resume {
	struct bread *b;
	struct bread_resume_request req;
};

static void on_claimed(void *arg, struct run *r, int64_t after, const struct bread_err *err)
{
	struct resume *s = arg;

	if (r)
		brd_active_add(s->b, r);
	pthread_mutex_lock(&s->b->lock);
	s->b->active_count--; /* the place that was kept for it */
	pthread_mutex_unlock(&s->b->lock);
	s->req.on_claimed(r ? r->base.run_id : none, after, err, s->req.arg);
	if (!r)
		free(s);
}

static void on_resumed_end(const struct bread_outcome *o, void *arg)
{
	struct resume *s = arg;

	if (s->req.on_end)
		s->req.on_end(o, s->req.arg);
	free(s);
}

void bread_resume(struct bread *b, const struct bread_resume_request *req)
{
	struct bread_run_request nothing = { 0 };
	struct bread_err err;
	struct resume *s;
	struct run_resume in;

	if (check_ids(b, &nothing, &err) || brd_active_room(b, &err)) {
		req->on_claimed(none, 0, &err, req->arg);
		return;
	}
	s = brd_alloc(sizeof(*s));
	s->b = b;
	s->req = *req;
	in = (struct run_resume){ .checkpoint_id = req->checkpoint_id,
		.response = req->response,
		.on_claimed = on_claimed,
		.on_end = on_resumed_end,
		.arg = s };
	pthread_mutex_lock(&b->lock);
	b->active_count++;
	pthread_mutex_unlock(&b->lock);
	brd_run_resume(&b->env, bread_here(b), &in);
}

/* ---- cancelling ---- */

struct cancelling {
	struct bread *b;
	struct bread_op *op;
	enum bread_run_status *ret_status;
	struct arena arena;
	struct bread_str id;
	struct bread_read read;
	struct bread_tx tx;
	struct bread_rec rec;
};

static void cancel_end(struct cancelling *c, enum bread_code code, const struct bread_err *err)
{
	bread_op_end(c->op, code, err);
	bread_read_fini(&c->read);
	brd_arena_fini(&c->arena);
	free(c);
}

static void on_wish(struct bread_op *op)
{
	cancel_end(op->arg, op->code, &op->err);
}

static void write_wish(struct cancelling *c)
{
	c->rec = (struct bread_rec){ .kind = BREAD_REC_RUN_CANCEL };
	c->rec.run.id = c->id;
	c->tx.recs = &c->rec;
	c->tx.count = 1;
	bread_op_init(&c->tx.op, bread_here(c->b), on_wish, c);
	brd_store_commit(c->b->store, &c->tx);
}

static void on_woken(void *arg, struct run *r)
{
	struct cancelling *c = arg;

	if (r)
		brd_active_add(c->b, r);
	cancel_end(c, BREAD_OK, NULL);
}

/* Nobody works on it: it is taken up here, to end. */
static void end_suspended(struct cancelling *c)
{
	brd_run_end_suspended(&c->b->env, bread_here(c->b), c->read.runs, on_woken, c);
}

static void on_row(struct bread_op *op)
{
	struct cancelling *c = op->arg;
	struct bread_err err;

	if (op->code != BREAD_OK) {
		cancel_end(c, op->code, &op->err);
	} else if (c->read.count == 0) {
		brd_fail_as(&err, BREAD_E_NOT_FOUND, "RUN_NOT_FOUND", "bread",
			"Run not found or not cancelable");
		cancel_end(c, BREAD_E_NOT_FOUND, &err);
	} else if (brd_run_ended(c->read.runs[0].status)) {
		*c->ret_status = c->read.runs[0].status;
		brd_fail_as(&err, BREAD_E_CONFLICT, "RUN_ENDED", "bread",
			"the run has ended before: %s", brd_run_status_name(*c->ret_status));
		cancel_end(c, BREAD_E_CONFLICT, &err);
	} else if (c->read.runs[0].status == BREAD_RUN_SUSPENDED) {
		end_suspended(c);
	} else {
		write_wish(c);
	}
}

void bread_cancel(struct bread *b, struct bread_str run_id, enum bread_run_status *ret_status,
	struct bread_op *op)
{
	struct cancelling *c;

	*ret_status = BREAD_RUN_RUNNING;
	bread_op_begin(op, NULL, NULL);
	if (brd_active_known(b, run_id)) {
		brd_active_cancel(b, run_id);
		bread_op_end(op, BREAD_OK, NULL);
		return;
	}
	c = brd_alloc(sizeof(*c));
	c->b = b;
	c->op = op;
	c->ret_status = ret_status;
	c->id = brd_arena_copy(&c->arena, run_id);
	c->read.kind = BREAD_READ_RUN;
	c->read.key = c->id;
	bread_op_init(&c->read.op, bread_here(b), on_row, c);
	brd_store_read(b->store, &c->read);
}

void bread_read(struct bread *b, struct bread_read *r)
{
	brd_store_read(b->store, r);
}
