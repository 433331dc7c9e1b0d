/* SPDX-License-Identifier: MIT */
/* Tools that are functions of the embedder. The answer may come at once, later,
 * and from any thread; a cancelled call waits for it, but not for ever: two
 * seconds after the cancel the call ends without, and the late answer is dropped. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "tool/internal.h"

#define PATIENCE_MS 2000

struct callback {
	struct bread_tool tool;
	bread_tool_fn *fn;
	void *arg;
};

/* Lives until the function has answered, which may be after the call has ended. */
struct pending {
	struct bread_tool_call call;  /* what the function sees: a copy */
	struct bread_tool_call *real; /* the run's; NULL: it has given up */
	struct post post;
	struct loop *loop;
	struct timer patience;
	struct arena arena;
	struct jval args;
	atomic_int canceled;
	char **values; /* of its credentials: a copy, wiped at the end */
	size_t value_count;
	char *undeclared; /* the credential that it asked for and may not read; NULL: none */
	enum bread_code code;
	struct bread_err err;
};

static struct pending *pending_of(const struct bread_tool_call *call)
{
	return (struct pending *)call->priv;
}

static void pending_free(struct pending *p)
{
	brd_timer_stop(&p->patience);
	for (char **v = p->values; v && v < p->values + p->value_count; v++)
		if (*v)
			explicit_bzero(*v, strlen(*v));
	free(p->undeclared);
	brd_tool_call_fini(&p->call);
	brd_arena_fini(&p->arena);
	free(p);
}

static struct bread_str copied(struct pending *p, struct bread_str s)
{
	return brd_arena_copy(&p->arena, s);
}

/* The function may answer after the call has ended, so it gets credentials of its own. */
static void copy_credentials(struct pending *p, const struct bread_tool_call *call)
{
	const char **names;
	size_t n = 0;

	while (call->credential_names && call->credential_names[n])
		n++;
	names = brd_arena_array(&p->arena, n + 1, sizeof(char *));
	p->values = brd_arena_array(&p->arena, n + 1, sizeof(char *));
	p->value_count = n;
	for (size_t i = 0; i < n; i++) {
		const char *value = call->credential_values[i];

		names[i] = brd_arena_strz(&p->arena, brd_str(call->credential_names[i]));
		p->values[i] = value ? brd_arena_strz(&p->arena, brd_str(value)) : NULL;
	}
	p->call.credential_names = names;
	p->call.credential_values = (const char *const *)p->values;
}

static void on_partial(struct bread_tool_call *call, struct bread_str json)
{
	struct pending *p = pending_of(call);

	if (p->real && p->real->on_partial && !p->real->op.canceled)
		p->real->on_partial(p->real, json);
}

static void give_up(struct timer *t)
{
	struct pending *p = brd_list_of(t, struct pending, patience);
	struct bread_tool_call *real = p->real;

	p->real = NULL;
	bread_op_end(&real->op, BREAD_E_CANCELED, NULL);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct pending *p = by;

	atomic_store(&p->canceled, 1);
	brd_timer_start(&p->patience, p->loop, PATIENCE_MS, give_up);
}

static void callback_start(struct bread_tool *t, struct bread_tool_call *call)
{
	struct callback *c = (struct callback *)t;
	struct pending *p = brd_alloc(sizeof(*p));

	p->real = call;
	p->loop = call->loop;
	p->call = (struct bread_tool_call){
		.agent_id = copied(p, call->agent_id),
		.run_id = copied(p, call->run_id),
		.session_id = copied(p, call->session_id),
		.tool_name = copied(p, call->tool_name),
		.call_id = copied(p, call->call_id),
		.args = copied(p, call->args),
		.traceparent = copied(p, call->traceparent),
		.loop = call->loop,
		.on_partial = on_partial,
		.priv = p,
	};
	copy_credentials(p, call);
	bread_op_begin(&call->op, on_cancel, p);
	c->fn(&p->call, c->arg);
}

static int callback_open(
	struct bread_tool *t, struct bread_str options, const char *dir, struct bread_err *err)
{
	return 0;
}

static void callback_close(struct bread_tool *t)
{
}

static const struct bread_tool_ops callback_ops = {
	.name = "callback",
	.size = sizeof(struct callback),
	.open = callback_open,
	.close = callback_close,
	.start = callback_start,
};

int brd_tool_open_callback(struct bread_tool **ret, bread_tool_fn *fn, void *arg)
{
	struct callback *c = brd_alloc(sizeof(*c));

	c->tool.ops = &callback_ops;
	c->fn = fn;
	c->arg = arg;
	*ret = &c->tool;
	return 0;
}

bool brd_tool_callback_of(const struct bread_tool *t, bread_tool_fn **ret_fn, void **ret_arg)
{
	const struct callback *c = (const struct callback *)brd_tool_inner(t);

	if (c->tool.ops != &callback_ops)
		return false;
	*ret_fn = c->fn;
	*ret_arg = c->arg;
	return true;
}

/* ---- what the function may call ---- */

struct bread_str bread_tool_args(const struct bread_tool_call *call)
{
	return call->args;
}

struct bread_str bread_tool_arg(struct bread_tool_call *call, const char *name)
{
	struct pending *p = pending_of(call);
	struct jval v;

	if (!p->args.tok && brd_json_parse(&p->arena, call->args, 0, &p->args, NULL))
		return (struct bread_str){ 0 };
	v = brd_json_get(p->args, name);
	return brd_json_type(v) == JSON_STRING ? brd_json_str(v, &p->arena) : brd_json_raw(v);
}

struct bread_str bread_tool_run_id(const struct bread_tool_call *call)
{
	return call->run_id;
}

int bread_tool_canceled(const struct bread_tool_call *call)
{
	return atomic_load(&pending_of(call)->canceled);
}

void bread_tool_partial(struct bread_tool_call *call, struct bread_str json)
{
	if (!brd_tool_result_fault(json))
		call->on_partial(call, json);
}

/* On the loop's thread: hands the answer to the run, unless it has given up. */
static void deliver(struct post *post)
{
	struct pending *p = brd_list_of(post, struct pending, post);
	struct bread_tool_call *real = p->real;

	if (real) {
		real->result = p->call.result;
		real->result_len = p->call.result_len;
		real->error_code = p->call.error_code;
		real->error_text = p->call.error_text;
		real->error_context = p->call.error_context;
		p->call.result = p->call.error_code = NULL;
		p->call.error_text = p->call.error_context = NULL;
		bread_op_end(&real->op, p->code, &p->err);
	}
	pending_free(p);
}

static void answer(struct pending *p, enum bread_code code)
{
	p->code = code;
	p->post.run = deliver;
	brd_loop_post(p->loop, &p->post);
}

int bread_tool_credential(struct bread_tool_call *call, const char *name, struct bread_str *ret)
{
	struct pending *p = pending_of(call);

	*ret = brd_tool_credential(call, brd_str(name));
	for (size_t i = 0; i < p->value_count; i++)
		if (!strcmp(name, call->credential_names[i]))
			return 0;
	free(p->undeclared);
	p->undeclared = brd_strdup(name);
	return BREAD_E_INVALID;
}

/* {"name":N,"allowed":[…]} */
static char *not_declared(const struct pending *p)
{
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "name", brd_str(p->undeclared));
	brd_jw_key(&w, "allowed");
	brd_jw_arr(&w);
	for (size_t i = 0; i < p->value_count; i++)
		brd_jw_strz(&w, p->call.credential_names[i]);
	brd_jw_end_arr(&w);
	brd_jw_end_obj(&w);
	return brd_buf_take(&b, NULL);
}

void bread_tool_fail(struct bread_tool_call *call, const char *code, const char *message)
{
	struct pending *p = pending_of(call);
	char text[256];

	if (!code && !message && p->undeclared) {
		code = "CREDENTIAL_NOT_DECLARED";
		snprintf(text, sizeof(text),
			"credential \"%.128s\" was not declared in this tool's `credentials` array",
			p->undeclared);
		message = text;
		call->error_context = not_declared(p);
	}
	message = message ? message : "the tool failed";
	call->error_code = code ? brd_strdup(code) : NULL;
	call->error_text = brd_strdup(message);
	brd_fail(&p->err, BREAD_E_UPSTREAM, "tool", "%s", message);
	answer(p, BREAD_E_UPSTREAM);
}

void bread_tool_return(struct bread_tool_call *call, struct bread_str json)
{
	const char *fault = brd_tool_result_fault(json);

	if (fault) {
		bread_tool_fail(call, NULL, fault);
		return;
	}
	if (json.n) {
		call->result = brd_strndup(json);
		call->result_len = json.n;
	}
	answer(pending_of(call), BREAD_OK);
}

void bread_tool_return_text(struct bread_tool_call *call, struct bread_str text)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_quote(&b, text);
	bread_tool_return(call, brd_buf_str(&b));
	brd_buf_fini(&b);
}
