/* SPDX-License-Identifier: MIT */
/* The one place that calls the tool seam: finds the kind, and checks what a tool
 * gives before a run sees it. */
#include "tool/internal.h"
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"

static const struct bread_tool_ops *const kinds[] = { &bread_tool_command, &bread_tool_http,
	&bread_tool_lua, &bread_tool_plugin };

static int open_kind(struct bread_tool **ret, const struct bread_tool_ops *ops,
	struct bread_str options, const char *dir, struct bread_err *err)
{
	struct bread_tool *t = brd_alloc(ops->size);
	int r;

	t->ops = ops;
	r = ops->open(t, options, dir, err);
	if (r)
		free(t);
	else
		*ret = t;
	return r;
}

static bool has(struct jval def, const struct bread_tool_ops *ops)
{
	return brd_json_type(brd_json_get(def, ops->name)) != JSON_NONE;
}

static int open_plain(
	struct bread_tool **ret, struct jval def, const char *dir, struct bread_err *err)
{
	const struct bread_tool_ops *ops = NULL;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!has(def, kinds[i]))
			continue;
		if (ops)
			return brd_fail(err, BREAD_E_INVALID, "tool",
				"it has `%s:` and `%s:`; take one of them away", ops->name,
				kinds[i]->name);
		ops = kinds[i];
	}
	if (!ops)
		return brd_fail(err, BREAD_E_INVALID, "tool",
			"it does nothing; give it `command:` (a program to run), `http:` (a URL "
			"to call) or `lua:` (a script)");
	return open_kind(ret, ops, brd_json_raw(brd_json_get(def, ops->name)), dir, err);
}

/* Puts what reads its credentials around it. */
static int read_credentials(struct bread_tool **t, struct jval names, struct jval source,
	const char *dir, struct bread_err *err)
{
	struct arena a = { 0 };
	struct credentials *from = NULL;
	const char **all = brd_arena_array(&a, brd_json_count(names) + 1, sizeof(char *));
	int r = 0;

	for (struct json_iter it = brd_json_each(names); brd_json_next(&it);)
		all[it.index] =
			brd_json_type(it.value) == JSON_STRING ? brd_json_strz(it.value, &a) : "";
	if (brd_json_type(source) != JSON_NONE)
		r = brd_credentials_open(&from, source, dir, err);
	if (!r)
		r = brd_tool_with_credentials(t, all, from, err);
	brd_arena_fini(&a);
	return r;
}

int brd_tool_open(struct bread_tool **ret, struct jval def, const char *dir, struct bread_err *err)
{
	struct jval names = brd_json_get(def, "credentials");
	struct bread_tool *t = NULL;
	int r = brd_tool_check_templates(def, names, err);

	if (!r)
		r = open_plain(&t, def, dir, err);
	if (!r && brd_json_type(names) == JSON_ARRAY && brd_json_count(names))
		r = read_credentials(&t, names, brd_json_get(def, "credentialsFrom"), dir, err);
	if (r)
		brd_tool_close(t);
	else
		*ret = t;
	return r;
}

static const struct tool_key *key_named(
	const struct tool_key *keys, size_t n, struct bread_str name)
{
	for (size_t i = 0; i < n; i++)
		if (brd_str_is(name, keys[i].key))
			return &keys[i];
	return NULL;
}

static int wrong_type(
	const char *what, struct bread_str key, enum json_type wanted, struct bread_err *err)
{
	return brd_fail(err, BREAD_E_INVALID, "tool", "%s.%.*s must be of type %s", what,
		BRD_ARG(key), brd_json_type_name(wanted));
}

int brd_tool_check_keys(const char *what, struct jval v, const struct tool_key *keys, size_t n,
	struct bread_err *err)
{
	struct arena a = { 0 };
	int r = 0;

	for (struct json_iter it = brd_json_each(v); !r && brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.key, &a);
		const struct tool_key *k = key_named(keys, n, name);

		if (!k)
			r = brd_fail(err, BREAD_E_INVALID, "tool", "%s.%.*s is not known", what,
				BRD_ARG(name));
		else if (k->type != JSON_NONE && brd_json_type(it.value) != k->type)
			r = wrong_type(what, name, k->type, err);
	}
	brd_arena_fini(&a);
	return r;
}

int brd_tool_check_strings(const char *what, struct jval v, struct bread_err *err)
{
	struct arena a = { 0 };
	int r = 0;

	for (struct json_iter it = brd_json_each(v); !r && brd_json_next(&it);) {
		struct bread_str key = brd_json_str(it.key, &a), s = brd_json_str(it.value, &a);

		if (brd_json_type(it.value) != JSON_STRING)
			r = brd_fail(err, BREAD_E_INVALID, "tool",
				"%s.%.*s is not a string; put it in quotes", what, BRD_ARG(key));
		else if (!key.n || memchr(key.p, '=', key.n) || memchr(key.p, 0, key.n) ||
			 (s.n && memchr(s.p, 0, s.n)))
			r = brd_fail(err, BREAD_E_INVALID, "tool",
				"%s has a name with = in it, or a NUL; take it out: %.*s", what,
				BRD_ARG(key));
	}
	brd_arena_fini(&a);
	return r;
}

void brd_tool_close(struct bread_tool *t)
{
	if (!t)
		return;
	t->ops->close(t);
	free(t);
}

void brd_tool_start(struct bread_tool *t, struct bread_tool_call *call)
{
	t->ops->start(t, call);
}

void brd_tool_call_fini(struct bread_tool_call *call)
{
	free(call->result);
	free(call->error_code);
	free(call->error_text);
	free(call->error_context);
	call->result = call->error_code = call->error_text = call->error_context = NULL;
}

const char *brd_tool_result_fault(struct bread_str json)
{
	if (json.n > TOOL_RESULT_MAX)
		return TOOL_RESULT_TOO_LARGE;
	if (json.n && !brd_json_ok(json, 0))
		return "the result is not JSON";
	return NULL;
}

void brd_tool_take_error(struct bread_tool_call *call, struct jval error, struct arena *a)
{
	struct jval code = brd_json_get(error, "code"), context = brd_json_get(error, "context");

	if (brd_json_type(code) == JSON_STRING)
		call->error_code = brd_strdup(brd_json_strz(code, a));
	if (brd_json_type(error) == JSON_STRING)
		call->error_text = brd_strdup(brd_json_strz(error, a));
	else if (brd_json_type(brd_json_get(error, "message")) == JSON_STRING)
		call->error_text = brd_strdup(brd_json_strz(brd_json_get(error, "message"), a));
	if (brd_json_type(context) == JSON_OBJECT) {
		struct buf b;

		brd_buf_init(&b, BUF_NO_LIMIT);
		brd_json_compact(context, &b);
		call->error_context = brd_buf_take(&b, NULL);
	}
}
