/* SPDX-License-Identifier: MIT */
/* The scripted model: answers that somebody wrote down, played in time.
 *
 * A call is counted and recorded, its answer chosen and laid out as a plan, and
 * the plan is played on the loop: at most BURST events a turn, so that a load of
 * hundreds of thousands of deltas a second shuts nobody out. A pause stops the
 * playing at the next event; a cancel ends it at once, also in a delay. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "loop/loop.h"
#include "model/model.h"
#include "model/scripted/plan.h"
#include "model/scripted/record.h"

#define BURST 256 /* events in one turn of the loop */

struct scripted {
	struct bread_model model;
	struct script script;
};

struct play {
	struct bread_model_call *call;
	struct arena arena;
	struct plan plan;
	size_t at;
	struct mstream out;
	struct timer timer;
	int block;                 /* the open one; -1: none */
	enum bread_part_kind kind; /* of it */
	bool paused, due;          /* due: the timer fired while it was paused */
	bool loading;              /* within a load */
	bool withdrawn;            /* a load of tool input: its call is never made */
	bool spoken;               /* something was said */
	bool overdue;              /* the timer stands for the end of the caller's patience */
	int64_t done, t0_us;       /* of the load */
};

static void on_timer(struct timer *t);

static void on_event(void *arg, const struct bread_event *ev)
{
	struct play *p = arg;

	p->spoken |= ev->kind != BREAD_EV_START;
	if (!p->call->op.canceled || ev->kind == BREAD_EV_ERROR)
		p->call->on_event(p->call, ev);
}

static void finish(struct play *p, enum bread_code code, struct bread_str text)
{
	struct bread_op *op = &p->call->op;
	struct bread_err err = { 0 };

	if (code)
		brd_fail(&err, code, "model.scripted", "%.*s", BRD_ARG(text));
	brd_timer_stop(&p->timer);
	brd_mstream_fini(&p->out);
	brd_plan_fini(&p->plan);
	p->call->priv = NULL;
	bread_op_end(op, code, code ? &err : NULL);
	brd_arena_fini(&p->arena);
	free(p);
}

static void fail(struct play *p, struct fault f)
{
	brd_mstream_fail(&p->out, &f);
	finish(p, f.kind == BREAD_FAULT_ABORTED ? BREAD_E_CANCELED : BREAD_E_UPSTREAM, f.text);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct play *p = by;

	/* on the next timer, not in here: the cancel may come out of an event */
	p->plan.count = 0;
	p->at = 0;
	p->paused = p->overdue = false;
	brd_timer_start(&p->timer, op->loop, 0, on_timer);
}

/* How long the caller waits for something to be said: the same watchdogs as over
 * a network (contract C21), so that a script can try them. */
static int64_t patience(const struct play *p)
{
	const struct bread_model_request *req = p->call->req;
	int64_t ms = p->spoken ? req->silence_ms : req->first_byte_ms;

	return ms > 0 ? ms : p->spoken ? MODEL_SILENCE_MS : MODEL_FIRST_BYTE_MS;
}

static void wait(struct play *p, int64_t ms)
{
	int64_t longest = patience(p);

	p->overdue = ms > longest;
	brd_timer_start(&p->timer, p->call->op.loop, p->overdue ? longest : ms, on_timer);
}

static void end_block(struct play *p)
{
	brd_mstream_end(&p->out, p->block);
	p->block = -1;
}

static void add(struct play *p, enum bread_part_kind kind, struct bread_str text)
{
	if (!text.n)
		return;
	if (p->block < 0 || p->kind != kind) {
		end_block(p);
		p->kind = kind;
		p->block = brd_mstream_open(&p->out, kind);
	}
	brd_mstream_add(&p->out, p->block, text);
}

static void begin_input(struct play *p, struct bread_str id, struct bread_str name)
{
	end_block(p);
	p->kind = BREAD_PART_CALL;
	p->block = brd_mstream_open(&p->out, BREAD_PART_CALL);
	brd_mstream_call(&p->out, p->block, id, name);
}

/* ---- a load of numbered, stamped deltas ---- */

static void emit_stamped(struct play *p, bool tool)
{
	char text[32];
	int64_t us = brd_clock_wall_us() % 1000000000000; /* twelve digits */

	snprintf(text, sizeof(text), "%07lld %012lld", (long long)p->done, (long long)us);
	add(p, tool ? BREAD_PART_CALL : BREAD_PART_TEXT, (struct bread_str){ text, 20 });
	p->done++;
}

static void load_begin(struct play *p, const struct load *l)
{
	p->loading = true;
	p->done = 0;
	p->t0_us = 0;
	if (l->tool) {
		begin_input(p, BRD_STR("call-0"), BRD_STR("log"));
		p->withdrawn = true;
	}
}

/* How many deltas are due by now; beyond that, when the next one is. */
static int64_t load_due(struct play *p, const struct load *l, int64_t *ret_wait_ms)
{
	int64_t now = brd_clock_mono_us(), next;

	if (!p->t0_us)
		p->t0_us = now;
	if (l->rate <= 0)
		return l->n;
	next = p->t0_us + (int64_t)((double)p->done * 1e6 / l->rate);
	*ret_wait_ms = next > now ? (next - now + 999) / 1000 : 0;
	return (int64_t)((double)(now - p->t0_us) * l->rate / 1e6) + 1;
}

/* false: it waits. */
static bool load_step(struct play *p, const struct load *l, unsigned *burst)
{
	int64_t wait_ms = 0, due;

	if (!p->loading) {
		load_begin(p, l);
		if (l->hold_ms > 0) {
			wait(p, l->hold_ms);
			return false;
		}
	}
	due = load_due(p, l, &wait_ms);
	while (p->done < l->n && p->done < due && *burst < BURST && !p->paused &&
		p->at < p->plan.count) {
		emit_stamped(p, l->tool);
		++*burst;
	}
	if (p->done >= l->n) {
		p->loading = false;
		return true;
	}
	if (p->at >= p->plan.count) /* cancelled by its own event */
		return false;
	load_due(p, l, &wait_ms);
	wait(p, wait_ms);
	return false;
}

/* ---- the player ---- */

static void call_whole(struct play *p, const struct action *a)
{
	end_block(p);
	brd_mstream_call_whole(&p->out, a->id, a->name, a->text);
}

static void act(struct play *p, const struct action *a)
{
	switch (a->act) {
	case ACT_TEXT:
		add(p, BREAD_PART_TEXT, a->text);
		break;
	case ACT_REASONING:
		add(p, BREAD_PART_REASONING, a->text);
		break;
	case ACT_SIGN:
		brd_mstream_sign(&p->out, p->block, a->text);
		break;
	case ACT_CALL:
		call_whole(p, a);
		break;
	case ACT_INPUT:
		begin_input(p, a->id, a->name);
		break;
	case ACT_PIECE:
		brd_mstream_add(&p->out, p->block, a->text);
		break;
	case ACT_INPUT_END:
		end_block(p);
		break;
	case ACT_FILE:
		end_block(p);
		brd_mstream_file(&p->out, a->name, a->text);
		break;
	default: /* those that wait or end are play()'s */
		break;
	}
}

static void complete(struct play *p)
{
	if (p->call->op.canceled) {
		fail(p, (struct fault){ .kind = BREAD_FAULT_ABORTED,
				.retry_after_ms = -1,
				.text = BRD_STR("the call was aborted") });
		return;
	}
	if (p->withdrawn)
		brd_mstream_done_without_calls(&p->out, p->plan.finish);
	else
		brd_mstream_done(&p->out, p->plan.finish);
	finish(p, BREAD_OK, BRD_STR(""));
}

/* Plays what is due. Whatever waits has started the timer, or waits for a cancel. */
static void play(struct play *p)
{
	unsigned burst = 0;

	while (p->at < p->plan.count) {
		const struct action *a = &p->plan.actions[p->at];

		if (p->paused || burst == BURST) {
			wait(p, 0);
			return;
		}
		if (a->act == ACT_HANG) {
			wait(p, INT64_MAX);
			return;
		}
		if (a->act == ACT_ERROR) {
			fail(p, a->fault);
			return;
		}
		if (a->act == ACT_LOAD) {
			if (!load_step(p, &a->load, &burst))
				return;
			p->at++;
			continue;
		}
		p->at++;
		if (a->act == ACT_DELAY) {
			wait(p, a->ms);
			return;
		}
		act(p, a);
		burst++;
	}
	complete(p);
}

static void on_timer(struct timer *t)
{
	struct play *p = brd_list_of(t, struct play, timer);

	p->due = p->paused;
	if (p->paused)
		return;
	if (p->overdue)
		fail(p, (struct fault){ .kind = BREAD_FAULT_TIMEOUT,
				.retryable = true,
				.retry_after_ms = -1,
				.text = p->spoken ? BRD_STR("the model fell silent")
						  : BRD_STR("the model did not begin to answer") });
	else
		play(p);
}

/* ---- the table ---- */

static void write_record(struct script *s, const struct bread_model_request *req, int64_t call)
{
	struct buf line;

	if (s->record_fd < 0)
		return;
	brd_buf_init(&line, BUF_NO_LIMIT);
	brd_record_line(&line, req, req->model, call);
	if (write(s->record_fd, line.data, line.len) != (ssize_t)line.len)
		log_warn("model.record", "%s could not be written", s->record);
	brd_buf_fini(&line);
}

static void plan_missing(struct play *p, const struct scripted_model *m, const struct tmpl *t)
{
	struct fault f = { .kind = BREAD_FAULT_NOT_FOUND, .retry_after_ms = -1 };

	if (m)
		f.kind = BREAD_FAULT_INVALID_REQUEST;
	f.text = m ? brd_arena_printf(t->a,
			     "model %.*s has no answer for call %lld; add one under calls or when",
			     BRD_ARG(t->model), (long long)t->call)
		   : brd_arena_printf(t->a, "the script has no model %.*s", BRD_ARG(t->model));
	p->plan.actions = brd_alloc(sizeof(struct action));
	p->plan.count = 1;
	p->plan.actions[0] = (struct action){ .act = ACT_ERROR, .fault = f };
}

static void make_plan(struct play *p, struct script *s)
{
	const struct bread_model_request *req = p->call->req;
	const struct scripted_model *m = brd_script_find(s, req->model);
	struct tmpl t = { .req = req, .model = req->model, .a = &p->arena };
	struct jval answer = { 0 };

	t.call = brd_script_count(s, req->model);
	write_record(s, req, t.call);
	if (m)
		answer = brd_script_choose(m, &t);
	if (brd_json_type(answer) == JSON_OBJECT)
		brd_plan_make(&p->plan, &t, m, answer);
	else
		plan_missing(p, m, &t);
	p->out.usage = p->plan.usage;
	brd_buf_add(&p->out.response_id, p->plan.id);
	brd_buf_add(&p->out.response_model, req->model);
}

static void scripted_start(struct bread_model *m, struct bread_model_call *call)
{
	struct scripted *s = (struct scripted *)m;
	struct play *p = brd_alloc(sizeof(*p));

	p->call = call;
	p->block = -1;
	call->priv = p;
	brd_mstream_init(&p->out, on_event, p);
	make_plan(p, &s->script);
	bread_op_begin(&call->op, on_cancel, p);
	wait(p, 0);
}

static void scripted_pause(struct bread_model *m, struct bread_model_call *call, int on)
{
	struct play *p = call->priv;

	if (!p)
		return;
	p->paused = on && !call->op.canceled;
	if (!p->paused && p->due) {
		p->due = false;
		wait(p, 0);
	}
}

static int scripted_open(struct bread_model *m, struct bread_str name, struct bread_str options,
	struct bread_err *err)
{
	return brd_script_load(&((struct scripted *)m)->script, name, options, err);
}

static void scripted_close(struct bread_model *m)
{
	brd_script_fini(&((struct scripted *)m)->script);
}

const struct bread_model_ops bread_model_scripted = {
	.name = "scripted",
	.size = sizeof(struct scripted),
	.open = scripted_open,
	.close = scripted_close,
	.start = scripted_start,
	.pause = scripted_pause,
};
