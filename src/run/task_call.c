/* SPDX-License-Identifier: MIT */
/* See task_call.h. The model gets one user message: the instructions, a blank line, the input. */
#include "run/task_call.h"
#include <stdlib.h>
#include <stdio.h>
#include "base/err.h"
#include "base/mem.h"
#include "model/model.h"

#define ANSWER_MAX ((size_t)64 << 20)

struct task_asking {
	struct bread_model_call call;
	struct bread_model_request req;
	struct bread_message message;
	struct bread_part part;
	struct buf prompt, text;
};

static void end(struct task_call *c, enum bread_code code)
{
	struct bread_err err = { .code = code };

	snprintf(err.text, sizeof(err.text), "%.*s", (int)(c->message.n < 400 ? c->message.n : 400),
		c->message.p ? c->message.p : "");
	bread_op_end(&c->op, code, &err);
}

static void on_event(struct bread_model_call *call, const struct bread_event *ev)
{
	struct task_call *c = call->arg;

	switch (ev->kind) {
	case BREAD_EV_TEXT_DELTA:
		brd_buf_add(&c->asking->text, ev->text);
		break;
	case BREAD_EV_ERROR:
		c->code = brd_arena_copy(&c->arena, ev->code);
		c->message = brd_arena_copy(&c->arena, ev->text);
		c->usage = ev->usage;
		break;
	case BREAD_EV_DONE:
		c->usage = ev->usage;
		break;
	default:
		break;
	}
}

/* Why the text is no answer; NULL: c->output is it. */
static const char *take(struct task_call *c)
{
	struct buf *text = &c->asking->text;
	struct arena a = { 0 };
	struct jval v;
	const char *why = NULL;

	if (text->bad || brd_json_parse(&a, brd_buf_str(text), 0, &v, NULL))
		why = "No object generated: could not parse the response.";
	else if (c->def->output && !brd_schema_check(c->def->output, v, &a, NULL))
		why = "No object generated: response did not match schema.";
	else
		brd_json_compact(v, &c->output);
	brd_arena_fini(&a);
	return why;
}

static void on_end(struct bread_op *op)
{
	struct task_call *c = op->arg;
	const char *why;

	if (op->code == BREAD_OK) {
		why = take(c);
		if (why)
			c->message = brd_str(why);
		end(c, why ? BREAD_E_UPSTREAM : BREAD_OK);
		return;
	}
	if (!c->message.n)
		c->message = brd_arena_copy(&c->arena, brd_str(op->err.text));
	end(c, op->code);
}

static void on_cancel(struct bread_op *op, void *by)
{
	bread_op_cancel(&((struct task_call *)by)->asking->call.op);
}

static void put_prompt(struct task_call *c, struct buf *b)
{
	struct arena a = { 0 };
	struct jval v;

	brd_buf_init(b, BUF_NO_LIMIT);
	brd_buf_addz(b, c->def->instructions);
	brd_buf_addz(b, "\n\nInput:\n");
	if (!brd_json_parse(&a, c->input.n ? c->input : BRD_STR("{}"), 0, &v, NULL))
		brd_json_indent(v, b);
	brd_arena_fini(&a);
}

static void fill(struct task_call *c, struct task_asking *q)
{
	const struct task_def *d = c->def;

	put_prompt(c, &q->prompt);
	q->part = (struct bread_part){ .kind = BREAD_PART_TEXT, .text = brd_buf_str(&q->prompt) };
	q->message =
		(struct bread_message){ .role = BREAD_ROLE_USER, .parts = &q->part, .count = 1 };
	q->req = (struct bread_model_request){
		.model = brd_str(d->model),
		.messages = &q->message,
		.message_count = 1,
		.schema = d->output_text,
		.schema_name = brd_str(d->name),
		.settings = d->settings,
		.provider_options = d->provider_options,
		.max_retries = -1,
		.first_byte_ms = c->env->first_byte_ms,
		.silence_ms = c->env->silence_ms,
	};
	q->call = (struct bread_model_call){
		.req = &q->req, .on_event = on_event, .arg = c, .loop = c->loop
	};
}

static void no_provider(struct task_call *c, struct buf *known)
{
	const char *name = c->def->provider;

	c->code = BRD_STR("UNKNOWN_PROVIDER");
	c->message = brd_arena_printf(&c->arena,
		"Unknown model provider: \"%s\". Registered: %s. Set `providers` in bread.yaml, or "
		"correct the task's `model.provider`.",
		name, known->len ? known->data : "none");
	c->context = brd_arena_printf(&c->arena, "{\"provider\":\"%s\"}", name);
	end(c, BREAD_E_INVALID);
}

void brd_task_call_start(struct task_call *c)
{
	struct task_asking *q = brd_alloc(sizeof(*q));
	struct bread_model *m;
	struct buf known;

	brd_buf_init(&c->output, BUF_NO_LIMIT);
	brd_buf_init(&q->text, ANSWER_MAX);
	brd_buf_init(&known, 4096);
	c->asking = q;
	bread_op_begin(&c->op, on_cancel, c);
	m = c->env->provider(c->env->arg, c->def->provider, &known);
	if (m) {
		fill(c, q);
		bread_op_init(&q->call.op, c->loop, on_end, c);
		brd_model_start(m, &q->call);
	} else {
		no_provider(c, &known);
	}
	brd_buf_fini(&known);
}

void brd_task_call_fini(struct task_call *c)
{
	if (c->asking) {
		brd_buf_fini(&c->asking->prompt);
		brd_buf_fini(&c->asking->text);
		free(c->asking);
		brd_buf_fini(&c->output);
	}
	brd_arena_fini(&c->arena);
	memset(c, 0, sizeof(*c));
}

void brd_task_put_model(const struct task_def *d, struct buf *out)
{
	struct jsonw w = brd_jsonw(out);

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "provider", brd_str(d->provider));
	brd_jw_kstr(&w, "model", brd_str(d->model));
	brd_jw_end_obj(&w);
}

void brd_task_put_usage(const struct bread_usage *u, struct buf *out)
{
	int64_t input = u->input + u->cache_read + u->cache_write;
	struct jsonw w = brd_jsonw(out);

	brd_jw_obj(&w);
	brd_jw_kint(&w, "inputTokens", input);
	brd_jw_kint(&w, "outputTokens", u->output);
	brd_jw_kint(&w, "totalTokens", input + u->output);
	brd_jw_end_obj(&w);
}
