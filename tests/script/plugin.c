/* SPDX-License-Identifier: MIT */
/* A plugin: hooks that append what their options say, a kind of tool that gives its arguments back,
 * a format. Built several times, whole and with something wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bread/ext/plugin.h"
#include "bread/json.h"

#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION BREAD_PLUGIN_VERSION
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(struct bread_plugin)
#endif
#ifndef PLUGIN_SYMBOL
#define PLUGIN_SYMBOL bread_plugin
#endif

struct appender {
	struct bread_hook hook;
	char suffix[16];
};

static int appender_open(
	struct bread_hook *h, struct bread_str options, const char *dir, struct bread_err *err)
{
	struct bread_json *j = bread_json_new(options);
	struct bread_str s = bread_json_string(j, "suffix");

	snprintf(((struct appender *)h)->suffix, 16, "%.*s", (int)s.n, s.p ? s.p : "");
	bread_json_free(j);
	if (s.n)
		return 0;
	snprintf(err->text, sizeof(err->text), "the appender needs a suffix");
	return err->code = BREAD_E_INVALID;
}

static void appender_close(struct bread_hook *h)
{
}

static int appender_hears(
	struct bread_hook *h, enum bread_hook_scope scope, enum bread_hook_point point)
{
	return scope == BREAD_HOOK_AGENT && point == BREAD_HOOK_BEFORE_RUN;
}

static void appender_start(struct bread_hook *h, struct bread_hook_call *call)
{
	struct bread_str in = call->info.input; /* a JSON string */
	size_t room = in.n + 20;

	bread_op_begin(&call->op, NULL, NULL);
	call->answer = BREAD_HOOK_INPUT;
	call->value = malloc(room);
	call->value_len = (size_t)snprintf(
		call->value, room, "%.*s%s\"", (int)in.n - 1, in.p, ((struct appender *)h)->suffix);
	bread_op_end(&call->op, BREAD_OK, NULL);
}

static const struct bread_hook_ops hooks = { "appender", sizeof(struct appender), appender_open,
	appender_close, appender_hears, appender_start };

static int echo_open(
	struct bread_tool *t, struct bread_str options, const char *dir, struct bread_err *err)
{
	return 0;
}

static void echo_close(struct bread_tool *t)
{
}

static void echo_start(struct bread_tool *t, struct bread_tool_call *call)
{
	bread_op_begin(&call->op, NULL, NULL);
	call->result = strndup(call->args.p, call->args.n);
	call->result_len = call->args.n;
	bread_op_end(&call->op, BREAD_OK, NULL);
}

static const struct bread_tool_ops echo = { "echo", sizeof(struct bread_tool), echo_open,
	echo_close, echo_start };
static const struct bread_tool_ops *const tools[] = { &echo, NULL };

static char *length(struct bread_str text, const char **ret_error)
{
	char *json = malloc(24);

	snprintf(json, 24, "%zu", text.n);
	return json;
}

static const struct bread_plugin_format formats[] = { { "length", length }, { NULL, NULL } };

BREAD_API const struct bread_plugin *PLUGIN_SYMBOL(void);

const struct bread_plugin *PLUGIN_SYMBOL(void)
{
	static const struct bread_plugin me = { PLUGIN_VERSION, PLUGIN_SIZE, "test",
#ifdef PLUGIN_EMPTY
		NULL, NULL, NULL
#else
		&hooks, tools, formats
#endif
	};
#ifdef PLUGIN_NOTHING
	return NULL;
#endif
	return &me;
}
