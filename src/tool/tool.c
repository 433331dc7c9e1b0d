/* SPDX-License-Identifier: MIT */
/* The one place that calls the tool seam: finds the kind, and checks what a tool
 * gives before a run sees it. */
#include "tool/internal.h"
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"

#define RESULT_MAX (8 * 1024 * 1024)

static const struct bread_tool_ops *const kinds[] = { &bread_tool_command, &bread_tool_http };

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

int brd_tool_open(struct bread_tool **ret, struct jval def, const char *dir, struct bread_err *err)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct jval v = brd_json_get(def, kinds[i]->name);

		if (brd_json_type(v) != JSON_NONE)
			return open_kind(ret, kinds[i], brd_json_raw(v), dir, err);
	}
	return brd_fail(err, BREAD_E_INVALID, "tool",
		"tool \"%.*s\" does nothing; give it `command:` (a program to run) or `http:` (a "
		"URL to call)",
		BRD_ARG(brd_str_trim(brd_json_raw(brd_json_get(def, "name")))));
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
	if (json.n > RESULT_MAX)
		return "the result is over 8 MiB";
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
