/* SPDX-License-Identifier: MIT */
/* Plays model calls for tools/model-fixtures: a line of JSON in
 * ({"entry":{…},"model":"m","maxRetries":0,"abortIdleMs":0}), canonical events as
 * lines of JSON out, then an empty line. The provider is the real one. */
#include <stdio.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/jsonw.h"
#include "base/str.h"
#include "loop/loop.h"
#include "model/model.h"

struct play {
	struct loop *loop;
	struct bread_model_call call;
	struct timer idle;
	int64_t idle_ms;
	bool ended;
};

static const char *const types[] = { "start", "text_start", "text_delta", "text_end",
	"thinking_start", "thinking_delta", "thinking_end", "toolcall_start", "toolcall_delta",
	"toolcall_end", "file", "done", "error" };
static const char *const reasons[] = { "stop", "length", "toolUse", "error", "aborted" };

static void on_idle(struct timer *t)
{
	struct play *p = brd_list_of(t, struct play, idle);

	bread_op_cancel(&p->call.op);
}

static void put_usage(struct jsonw *w, const struct bread_usage *u)
{
	brd_jw_key(w, "usage");
	brd_jw_obj(w);
	brd_jw_kint(w, "input", u->input);
	brd_jw_kint(w, "output", u->output);
	brd_jw_kint(w, "cacheRead", u->cache_read);
	brd_jw_kint(w, "cacheWrite", u->cache_write);
	brd_jw_kint(w, "totalTokens", u->input + u->output + u->cache_read + u->cache_write);
	brd_jw_end_obj(w);
}

static void put_call_end(struct jsonw *w, const struct bread_event *ev)
{
	brd_jw_kstr(w, "id", ev->id);
	brd_jw_kstr(w, "toolName", ev->name);
	brd_jw_kraw(w, "arguments", ev->json);
	if (ev->incomplete)
		brd_jw_kbool(w, "incomplete", true);
}

static void put_block(struct jsonw *w, const struct bread_event *ev)
{
	brd_jw_kint(w, "contentIndex", ev->index);
	switch (ev->kind) {
	case BREAD_EV_TEXT_DELTA:
	case BREAD_EV_THINKING_DELTA:
	case BREAD_EV_CALL_DELTA:
		brd_jw_kstr(w, "delta", ev->text);
		break;
	case BREAD_EV_TEXT_END:
	case BREAD_EV_THINKING_END:
		brd_jw_kstr(w, "content", ev->text);
		if (ev->redacted)
			brd_jw_kbool(w, "redacted", true);
		break;
	case BREAD_EV_CALL_START:
		brd_jw_kstr(w, "id", ev->id);
		brd_jw_kstr(w, "toolName", ev->name);
		break;
	case BREAD_EV_CALL_END:
		put_call_end(w, ev);
		break;
	default:
		break;
	}
	if (ev->signature.n)
		brd_jw_kstr(w, "contentSignature", ev->signature);
}

static void put_error(struct jsonw *w, const struct bread_event *ev)
{
	brd_jw_kstr(w, "errorMessage", ev->text);
	brd_jw_kstr(w, "kind", brd_str(bread_model_fault_name(ev->fault)));
	brd_jw_kbool(w, "retryable", ev->retryable);
	brd_jw_kbool(w, "overflow", ev->overflow);
	if (ev->status)
		brd_jw_kint(w, "status", ev->status);
	if (ev->retry_after_ms >= 0)
		brd_jw_kint(w, "retryAfterMs", ev->retry_after_ms);
}

static void on_event(struct bread_model_call *call, const struct bread_event *ev)
{
	struct play *p = call->arg;
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "type", brd_str(types[ev->kind]));
	if (ev->kind >= BREAD_EV_TEXT_START && ev->kind <= BREAD_EV_CALL_END)
		put_block(&w, ev);
	if (ev->kind >= BREAD_EV_DONE) {
		brd_jw_kstr(&w, "reason", brd_str(reasons[ev->reason]));
		put_usage(&w, &ev->usage);
	}
	if (ev->kind == BREAD_EV_DONE && ev->response_id.n)
		brd_jw_kstr(&w, "responseId", ev->response_id);
	if (ev->kind == BREAD_EV_DONE && ev->response_model.n)
		brd_jw_kstr(&w, "responseModel", ev->response_model);
	if (ev->kind == BREAD_EV_ERROR)
		put_error(&w, ev);
	brd_jw_end_obj(&w);
	puts(b.data);
	brd_buf_fini(&b);
	if (p->idle_ms && ev->kind < BREAD_EV_DONE)
		brd_timer_start(&p->idle, p->loop, p->idle_ms, on_idle);
	else
		brd_timer_stop(&p->idle);
}

static void on_end(struct bread_op *op)
{
	((struct play *)op->arg)->ended = true;
}

static void play(struct loop *loop, struct bread_str line)
{
	struct arena a = { 0 };
	struct bread_err err = { 0 };
	struct jval job;
	struct bread_model *m;
	struct bread_part part = { .text = BRD_STR("hi") };
	struct bread_message msg = { BREAD_ROLE_USER, &part, 1 };
	struct bread_model_request req = { .messages = &msg, .message_count = 1 };
	struct play p = { .loop = loop };

	if (brd_json_parse(&a, line, 0, &job, NULL) ||
		brd_model_open(&m, BRD_STR("fixture"), brd_json_get(job, "entry"), &err)) {
		printf("{\"type\":\"fault\"}\n");
		fprintf(stderr, "model_play: %s\n", err.text);
		brd_arena_fini(&a);
		return;
	}
	req.model = BRD_STR("m");
	req.max_retries = (int)brd_json_int_or(brd_json_get(job, "maxRetries"), -1);
	p.idle_ms = brd_json_int_or(brd_json_get(job, "abortIdleMs"), 0);
	p.call = (struct bread_model_call){
		.req = &req, .on_event = on_event, .arg = &p, .loop = loop
	};
	bread_op_init(&p.call.op, loop, on_end, &p);
	brd_model_start(m, &p.call);
	while (!p.ended)
		brd_loop_turn(loop, 20);
	brd_model_close(m);
	brd_arena_fini(&a);
}

int main(void)
{
	struct loop *loop;
	struct bread_err err = { 0 };
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	if (brd_loop_new(&loop, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	while ((n = getline(&line, &cap, stdin)) > 0) {
		play(loop, brd_str_trim((struct bread_str){ line, (size_t)n }));
		puts("");
		fflush(stdout);
	}
	free(line);
	brd_loop_free(loop);
	return 0;
}
