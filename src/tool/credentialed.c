/* SPDX-License-Identifier: MIT */
/* Tools that read credentials, whatever their kind: one around another. It asks for the
 * declared names, starts the tool with them, and takes their values out of what the tool
 * gives, so that none gets into a crumb (contract C28). A value of less than SCRUB_MIN
 * bytes is left: it may stand there by chance. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "tool/internal.h"

#define SCRUB_MIN 8
#define TEMPLATE BRD_STR("{{credential.")

struct credentialed {
	struct bread_tool tool;
	struct bread_tool *inner;
	struct credentials *from; /* NULL: the call's */
	struct arena arena;
	const char **names;
};

struct credentialed_call {
	struct bread_tool_call inner;
	struct bread_tool_call *outer;
	struct credentialed *tool;
	struct credential_ask ask;
	bool asking;
};

/* ---- names that are kept from tools that do not declare them ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map declared; /* of all tools there ever were; a name is small */

static void declare(const char *name)
{
	char *copy;

	pthread_mutex_lock(&lock);
	if (!brd_map_get(&declared, brd_str(name))) {
		copy = brd_strdup(name);
		brd_map_put(&declared, brd_str(copy), copy);
	}
	pthread_mutex_unlock(&lock);
}

bool brd_credential_declared(struct bread_str name)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = brd_map_get(&declared, name);
	pthread_mutex_unlock(&lock);
	return is;
}

/* ---- values for the tool ---- */

struct bread_str brd_tool_credential(const struct bread_tool_call *call, struct bread_str name)
{
	for (size_t i = 0; call->credential_names && call->credential_names[i]; i++)
		if (brd_str_is(name, call->credential_names[i]))
			return brd_str(call->credential_values[i]);
	return (struct bread_str){ 0 };
}

/* The next {{credential.NAME}} of rest: what stands before it goes to *ret_before. */
static bool next_template(
	struct bread_str *rest, struct bread_str *ret_before, struct bread_str *ret_name)
{
	ptrdiff_t at = brd_str_find(*rest, TEMPLATE), end;
	struct bread_str name;

	if (at < 0)
		return false;
	name = brd_sub(*rest, (size_t)at + TEMPLATE.n, rest->n - (size_t)at - TEMPLATE.n);
	end = brd_str_find(name, BRD_STR("}}"));
	if (end < 0)
		return false;
	*ret_before = brd_sub(*rest, 0, (size_t)at);
	*ret_name = brd_sub(name, 0, (size_t)end);
	*rest = brd_sub(name, (size_t)end + 2, name.n - (size_t)end - 2);
	return true;
}

char *brd_tool_fill(const struct bread_tool_call *call, const char *text, struct arena *a,
	struct bread_str *ret_missing)
{
	struct bread_str rest = brd_str(text), before, name;
	struct buf out;
	char *filled;

	brd_buf_init(&out, BUF_NO_LIMIT);
	*ret_missing = (struct bread_str){ 0 };
	while (next_template(&rest, &before, &name)) {
		struct bread_str value = brd_tool_credential(call, name);

		brd_buf_add(&out, before);
		brd_buf_add(&out, value);
		if (!value.p)
			*ret_missing = name;
	}
	brd_buf_add(&out, rest);
	filled = ret_missing->p ? NULL : brd_arena_strz(a, brd_buf_str(&out));
	explicit_bzero(out.data, out.len);
	brd_buf_fini(&out);
	return filled;
}

int brd_tool_check_templates(struct jval def, struct jval declared_names, struct bread_err *err)
{
	struct bread_str rest = brd_json_raw(brd_json_get(def, "http")), before, name;

	while (next_template(&rest, &before, &name)) {
		bool found = false;

		for (struct json_iter it = brd_json_each(declared_names); brd_json_next(&it);)
			found |= brd_json_iss(it.value, name);
		if (!found)
			return brd_fail(err, BREAD_E_INVALID, "tool",
				"http names {{credential.%.*s}}, which is not under `credentials:`",
				BRD_ARG(name));
	}
	return 0;
}

/* ---- what must not get out ---- */

static void replace(struct buf *text, struct bread_str what, const char *name)
{
	struct bread_str rest = brd_buf_str(text);
	ptrdiff_t at = brd_str_find(rest, what);
	struct buf out;

	if (at < 0)
		return;
	brd_buf_init(&out, BUF_NO_LIMIT);
	for (; at >= 0; at = brd_str_find(rest, what)) {
		brd_buf_add(&out, brd_sub(rest, 0, (size_t)at));
		brd_buf_addf(&out, "[%s]", name);
		rest = brd_sub(rest, (size_t)at + what.n, rest.n - (size_t)at - what.n);
	}
	brd_buf_add(&out, rest);
	brd_buf_clear(text);
	brd_buf_add(text, brd_buf_str(&out));
	brd_buf_fini(&out);
}

static void scrub_value(struct buf *text, struct bread_str value, const char *name)
{
	struct buf quoted;

	replace(text, value, name);
	brd_buf_init(&quoted, BUF_NO_LIMIT);
	brd_json_quote(&quoted, value);
	replace(text, brd_sub(brd_buf_str(&quoted), 1, quoted.len - 2), name);
	explicit_bzero(quoted.data, quoted.len);
	brd_buf_fini(&quoted);
}

static void scrub(const struct credentialed_call *c, struct buf *text)
{
	for (size_t i = 0; i < c->ask.count; i++) {
		struct bread_str value = brd_str(c->ask.values[i]);

		if (value.n >= SCRUB_MIN)
			scrub_value(text, value, c->ask.names[i]);
	}
}

/* Takes text, gives it without the values. */
static char *scrubbed(const struct credentialed_call *c, char *text, bool json, size_t *ret_len)
{
	struct buf b;
	char *clean;

	if (!text)
		return NULL;
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, text);
	scrub(c, &b);
	if (json && !brd_json_ok(brd_buf_str(&b), 0)) { /* it was a number */
		brd_buf_clear(&b);
		brd_buf_addz(&b, "\"[credential]\"");
	}
	free(text);
	clean = brd_buf_take(&b, ret_len);
	return clean;
}

static void on_partial(struct bread_tool_call *inner, struct bread_str json)
{
	struct credentialed_call *c = inner->arg;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_add(&b, json);
	scrub(c, &b);
	c->outer->on_partial(c->outer,
		brd_json_ok(brd_buf_str(&b), 0) ? brd_buf_str(&b) : BRD_STR("\"[credential]\""));
	brd_buf_fini(&b);
}

/* ---- a call ---- */

static void end(struct credentialed_call *c, enum bread_code code, const struct bread_err *err)
{
	struct bread_tool_call *outer = c->outer;
	struct bread_err clean = *err;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, err->text);
	scrub(c, &b);
	snprintf(clean.text, sizeof(clean.text), "%s", b.data);
	brd_buf_fini(&b);
	brd_credential_ask_fini(&c->ask);
	brd_tool_call_fini(&c->inner);
	free(c);
	bread_op_end(&outer->op, code, &clean);
}

static void on_inner(struct bread_op *op)
{
	struct credentialed_call *c = op->arg;
	struct bread_tool_call *in = &c->inner, *out = c->outer;
	struct bread_err err = op->err;
	size_t n;

	out->result = scrubbed(c, in->result, true, &out->result_len);
	out->error_code = in->error_code;
	out->error_text = scrubbed(c, in->error_text, false, &n);
	out->error_context = scrubbed(c, in->error_context, true, &n);
	in->result = in->error_code = in->error_text = in->error_context = NULL;
	end(c, op->code, &err);
}

static void start_inner(struct credentialed_call *c)
{
	struct bread_tool_call *in = &c->inner;

	in->credential_names = c->ask.names;
	in->credential_values = (const char *const *)c->ask.values;
	in->on_partial = c->outer->on_partial ? on_partial : NULL;
	in->arg = c;
	in->priv = NULL;
	bread_op_init(&in->op, in->loop, on_inner, c);
	c->tool->inner->ops->start(c->tool->inner, in);
}

static void on_asked(struct bread_op *op)
{
	struct credentialed_call *c = op->arg;
	struct bread_err err = op->err;

	c->asking = false;
	if (op->code == BREAD_OK && !c->outer->op.canceled) {
		start_inner(c);
		return;
	}
	if (op->code == BREAD_OK) { /* the question had ended before the cancel came */
		end(c, BREAD_E_CANCELED, &err);
		return;
	}
	if (err.name[0])
		c->outer->error_code = brd_strdup(err.name);
	c->outer->error_text = brd_strdup(err.text);
	end(c, op->code, &err);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct credentialed_call *c = by;

	bread_op_cancel(c->asking ? &c->ask.op : &c->inner.op);
}

static void start(struct bread_tool *t, struct bread_tool_call *call)
{
	struct credentialed *tool = (struct credentialed *)t;
	struct credentialed_call *c = brd_alloc(sizeof(*c));

	c->outer = call;
	c->tool = tool;
	c->inner = *call;
	c->inner.result = c->inner.error_code = NULL;
	c->inner.error_text = c->inner.error_context = NULL;
	c->asking = true;
	c->ask.names = tool->names;
	c->ask.loop = call->loop;
	bread_op_begin(&call->op, on_cancel, c);
	bread_op_init(&c->ask.op, call->loop, on_asked, c);
	brd_credentials_ask(tool->from ? tool->from : call->credentials, &c->ask);
}

static int open_none(
	struct bread_tool *t, struct bread_str options, const char *dir, struct bread_err *err)
{
	return 0;
}

static void close_both(struct bread_tool *t)
{
	struct credentialed *c = (struct credentialed *)t;

	brd_tool_close(c->inner);
	brd_credentials_unref(c->from);
	brd_arena_fini(&c->arena);
}

static const struct bread_tool_ops credentialed_ops = {
	.name = "credentials",
	.size = sizeof(struct credentialed),
	.open = open_none,
	.close = close_both,
	.start = start,
};

int brd_tool_with_credentials(struct bread_tool **t, const char *const *names,
	struct credentials *from, struct bread_err *err)
{
	struct credentialed *c;
	size_t n = 0;

	for (; names[n]; n++)
		if (brd_credential_check(names[n], err)) {
			brd_credentials_unref(from);
			return BREAD_E_INVALID;
		}
	c = brd_alloc(sizeof(*c));
	c->tool.ops = &credentialed_ops;
	c->inner = *t;
	c->from = from;
	c->names = brd_arena_array(&c->arena, n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++) {
		c->names[i] = brd_arena_strz(&c->arena, brd_str(names[i]));
		declare(names[i]);
	}
	*t = &c->tool;
	return 0;
}

const char *const *brd_tool_credentials(const struct bread_tool *t)
{
	return t && t->ops == &credentialed_ops ? ((const struct credentialed *)t)->names : NULL;
}

const struct bread_tool *brd_tool_inner(const struct bread_tool *t)
{
	return t->ops == &credentialed_ops ? ((const struct credentialed *)t)->inner : t;
}
