/* SPDX-License-Identifier: MIT */
/* Hooks of a shared object: the kind that its struct brings, opened with our options. */
#include <stdlib.h>
#include "base/err.h"
#include "script/hook.h"
#include "script/plugin.h"

struct hook_plugin {
	struct bread_hook hook;
	struct plugin plugin;
	struct bread_hook *inner;
};

static int plugin_hook_open(
	struct bread_hook *hook, struct bread_str options, const char *dir, struct bread_err *err)
{
	struct hook_plugin *h = (struct hook_plugin *)hook;
	struct arena a = { 0 };
	struct bread_str inner;
	const char *kind;
	int r = brd_plugin_open(&h->plugin, options, dir, &inner, &kind, &a, err);

	if (!r && !h->plugin.it->hooks)
		r = brd_fail(
			err, BREAD_E_INVALID, h->plugin.it->name, "this plugin brings no hooks");
	if (!r)
		r = brd_hook_open(&h->inner, h->plugin.it->hooks, hook->home, inner, dir, err);
	if (r)
		brd_plugin_close(&h->plugin);
	brd_arena_fini(&a);
	return r;
}

static void plugin_hook_close(struct bread_hook *hook)
{
	struct hook_plugin *h = (struct hook_plugin *)hook;

	brd_hook_close(h->inner);
	brd_plugin_close(&h->plugin);
}

static int plugin_hook_hears(
	struct bread_hook *hook, enum bread_hook_scope scope, enum bread_hook_point point)
{
	struct bread_hook *inner = ((struct hook_plugin *)hook)->inner;

	return inner->ops->hears(inner, scope, point);
}

static void plugin_hook_start(struct bread_hook *hook, struct bread_hook_call *call)
{
	struct bread_hook *inner = ((struct hook_plugin *)hook)->inner;

	inner->ops->start(inner, call);
}

const struct bread_hook_ops bread_hook_plugin = {
	.name = "plugin",
	.size = sizeof(struct hook_plugin),
	.open = plugin_hook_open,
	.close = plugin_hook_close,
	.hears = plugin_hook_hears,
	.start = plugin_hook_start,
};
