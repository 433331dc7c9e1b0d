/* SPDX-License-Identifier: MIT */
/* Runs one model call on a loop and writes down its events, one a line:
 *
 *   start | text+0 | text.0 "Hi " | text-0 "Hi there" | call+1 c1 get | call.1 {"k" |
 *   call-1 {"k":1} | file image/png aGk= | done stop 5/4 | error server: it broke
 *
 * The clock may be frozen: then it is turned from timer to timer. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"
#include "model/model.h"
#include "test.h"

struct player {
	struct loop *loop;
	struct bread_model *model;
	struct arena arena;
	struct bread_model_request req;
	struct bread_message messages[16];
	struct buf log;
	struct bread_model_call call;
	bool ended;
	size_t events, cancel_after; /* cancel_after: 0 never */
	int64_t turned_ms;
};

static inline void player_event(struct bread_model_call *call, const struct bread_event *ev)
{
	static const char *const kinds[] = { "start", "text+", "text.", "text-", "think+", "think.",
		"think-", "call+", "call.", "call-", "file", "done", "error" };
	static const char *const reasons[] = { "stop", "length", "tool_use", "error", "aborted" };
	struct player *p = call->arg;
	struct buf *b = &p->log;

	brd_buf_addz(b, kinds[ev->kind]);
	if (ev->kind >= BREAD_EV_TEXT_START && ev->kind <= BREAD_EV_CALL_END)
		brd_buf_addf(b, "%u", ev->index);
	if (ev->kind == BREAD_EV_CALL_START)
		brd_buf_addf(b, " %.*s %.*s", BRD_ARG(ev->id), BRD_ARG(ev->name));
	else if (ev->kind == BREAD_EV_CALL_END)
		brd_buf_addf(b, " %.*s%s", BRD_ARG(ev->json), ev->incomplete ? " incomplete" : "");
	else if (ev->kind == BREAD_EV_FILE)
		brd_buf_addf(b, " %.*s %.*s", BRD_ARG(ev->media_type), BRD_ARG(ev->text));
	else if (ev->kind == BREAD_EV_DONE)
		brd_buf_addf(b, " %s %lld/%lld", reasons[ev->reason], (long long)ev->usage.input,
			(long long)ev->usage.output);
	else if (ev->kind == BREAD_EV_ERROR)
		brd_buf_addf(b, " %s: %.*s", bread_model_fault_name(ev->fault), BRD_ARG(ev->text));
	else if (ev->text.n)
		brd_buf_addf(b, " \"%.*s\"", BRD_ARG(ev->text));
	brd_buf_addc(b, '\n');
	if (++p->events == p->cancel_after)
		bread_op_cancel(&call->op);
}

static inline void player_end(struct bread_op *op)
{
	((struct player *)op->arg)->ended = true;
}

static inline void player_init(struct player *p, const char *options)
{
	struct bread_err err = { 0 };
	struct jval v;

	memset(p, 0, sizeof(*p));
	brd_buf_init(&p->log, BUF_NO_LIMIT);
	assert_int_equal(brd_loop_new(&p->loop, &err), 0);
	assert_int_equal(brd_json_parse(&p->arena, brd_str(options), 0, &v, NULL), 0);
	if (brd_model_open(&p->model, BRD_STR("p"), v, &err))
		fail_msg("%s", err.text);
	p->req.model = BRD_STR("m");
	p->req.messages = p->messages;
	p->req.max_retries = -1;
}

static inline void player_say(struct player *p, const char *role, const char *content_json)
{
	struct jval v;
	struct bread_err err = { 0 };

	assert_int_equal(brd_json_parse(&p->arena, brd_arena_copy(&p->arena, brd_str(content_json)),
				 0, &v, NULL),
		0);
	if (brd_message_from_stored(
		    &p->messages[p->req.message_count++], brd_str(role), v, &p->arena, &err))
		fail_msg("%s", err.text);
}

static inline void player_begin(struct player *p)
{
	brd_buf_clear(&p->log);
	p->ended = false;
	p->events = 0;
	p->call = (struct bread_model_call){
		.req = &p->req, .on_event = player_event, .arg = p, .loop = p->loop
	};
	bread_op_init(&p->call.op, p->loop, player_end, p);
	brd_model_start(p->model, &p->call);
}

static inline void player_wait(struct player *p)
{
	while (!p->ended) {
		int64_t next = brd_loop_next_timer(p->loop);

		if (brd_clock_frozen() && next > 0) {
			brd_clock_turn(next);
			p->turned_ms += next;
		}
		brd_loop_turn(p->loop, brd_clock_frozen() ? 0 : 50);
	}
}

static inline const char *player_run(struct player *p)
{
	player_begin(p);
	player_wait(p);
	return p->log.data;
}

static inline void player_fini(struct player *p)
{
	brd_model_close(p->model);
	brd_loop_free(p->loop);
	brd_buf_fini(&p->log);
	brd_arena_fini(&p->arena);
}
