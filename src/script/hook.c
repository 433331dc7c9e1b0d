/* SPDX-License-Identifier: MIT */
/* Words for hooks, the kinds there are, and what an answer must be. */
#include "script/hook.h"
#include <stdlib.h>
#include "base/json.h"
#include "base/mem.h"

#define VALUE_MAX ((size_t)8 * 1024 * 1024)

static const char *const scopes[] = {
	[BREAD_HOOK_AGENT] = "agent",
	[BREAD_HOOK_TASK] = "task",
	[BREAD_HOOK_TOOL] = "tool",
	[BREAD_HOOK_LOOP] = "loop",
};

static const char *const points[] = {
	[BREAD_HOOK_BEFORE_RUN] = "beforeRun",
	[BREAD_HOOK_AFTER_RUN] = "afterRun",
	[BREAD_HOOK_ON_ERROR] = "onError",
	[BREAD_HOOK_ON_SUSPEND] = "onSuspend",
	[BREAD_HOOK_LOOP_INIT] = "onInit",
	[BREAD_HOOK_LOOP_ROUND_START] = "onIterationStart",
	[BREAD_HOOK_LOOP_ROUND_END] = "onIterationEnd",
	[BREAD_HOOK_LOOP_FINISH] = "onFinish",
};

/* Bits of enum bread_hook_answer that a point knows, beside NOTHING. */
static const unsigned answers[BREAD_HOOK_POINTS] = {
	[BREAD_HOOK_BEFORE_RUN] = 1 << BREAD_HOOK_INPUT | 1 << BREAD_HOOK_OUTPUT,
	[BREAD_HOOK_AFTER_RUN] = 1 << BREAD_HOOK_OUTPUT,
	[BREAD_HOOK_ON_ERROR] =
		1 << BREAD_HOOK_OUTPUT | 1 << BREAD_HOOK_RETRY | 1 << BREAD_HOOK_FAIL,
	[BREAD_HOOK_LOOP_ROUND_END] = 1 << BREAD_HOOK_OUTPUT,
};

const char *brd_hook_scope_name(enum bread_hook_scope scope)
{
	return scopes[scope];
}

int brd_hook_scope_named(const char *name)
{
	for (int i = 0; i < BREAD_HOOK_SCOPES; i++)
		if (!strcmp(scopes[i], name))
			return i;
	return -1;
}

const char *brd_hook_point_name(enum bread_hook_point point)
{
	return points[point];
}

bool brd_hook_point_of(enum bread_hook_scope scope, enum bread_hook_point point)
{
	if (point >= BREAD_HOOK_LOOP_INIT)
		return scope == BREAD_HOOK_LOOP;
	if (point == BREAD_HOOK_ON_SUSPEND)
		return scope == BREAD_HOOK_AGENT;
	return scope != BREAD_HOOK_LOOP;
}

int brd_hook_point_named(enum bread_hook_scope scope, const char *name)
{
	for (int i = 0; i < BREAD_HOOK_POINTS; i++)
		if (!strcmp(points[i], name) && brd_hook_point_of(scope, (enum bread_hook_point)i))
			return i;
	return -1;
}

const char *brd_hook_point_list(enum bread_hook_scope scope)
{
	if (scope == BREAD_HOOK_LOOP)
		return "onInit, onIterationStart, onIterationEnd and onFinish";
	if (scope == BREAD_HOOK_AGENT)
		return "beforeRun, afterRun, onError, onSuspend, and tables task, tool and loop";
	return "beforeRun, afterRun and onError";
}

const struct bread_hook_ops *brd_hook_kind(struct bread_str name)
{
	static const struct bread_hook_ops *const kinds[] = { &bread_hook_lua, &bread_hook_plugin };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (brd_str_is(name, kinds[i]->name))
			return kinds[i];
	return NULL;
}

int brd_hook_open(struct bread_hook **ret, const struct bread_hook_ops *ops,
	enum bread_hook_scope home, struct bread_str options, const char *dir,
	struct bread_err *err)
{
	struct bread_hook *h = brd_alloc(ops->size);
	int r;

	h->ops = ops;
	h->home = home;
	r = ops->open(h, options, dir, err);
	if (r)
		free(h);
	else
		*ret = h;
	return r;
}

void brd_hook_close(struct bread_hook *h)
{
	if (!h)
		return;
	h->ops->close(h);
	free(h);
}

const char *brd_hook_fault(const struct bread_hook_call *call)
{
	struct bread_str value = { call->value, call->value_len };

	if (call->answer == BREAD_HOOK_NOTHING)
		return NULL;
	if ((unsigned)call->answer > BREAD_HOOK_FAIL ||
		!(answers[call->info.point] >> call->answer & 1))
		return "the hook gave an answer that this point does not know";
	if (call->answer != BREAD_HOOK_INPUT && call->answer != BREAD_HOOK_OUTPUT)
		return NULL;
	if (value.n > VALUE_MAX)
		return "the hook gave a value over 8 MiB";
	return value.p && brd_json_ok(value, 0) ? NULL : "the hook gave a value that is not JSON";
}

void brd_hook_call_fini(struct bread_hook_call *call)
{
	free(call->value);
	free(call->error_code_out);
	free(call->error_text_out);
	call->value = call->error_code_out = call->error_text_out = NULL;
	call->value_len = 0;
}
