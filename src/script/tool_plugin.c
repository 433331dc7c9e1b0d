/* SPDX-License-Identifier: MIT */
/* Tools of a shared object: one of the kinds that its struct brings, opened with our options. */
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "script/plugin.h"

struct tool_plugin {
	struct bread_tool tool;
	struct plugin plugin;
	struct bread_tool *inner;
};

/* The kind of that name; without one, the only kind there is. */
static const struct bread_tool_ops *find(
	const struct bread_plugin *p, const char *kind, struct bread_err *err)
{
	const struct bread_tool_ops *const *t = p->tools;

	if (t && t[0] && !t[1] && !kind)
		return t[0];
	for (; t && *t && kind; t++)
		if (!strcmp((*t)->name, kind))
			return *t;
	if (!p->tools || !p->tools[0])
		brd_fail(err, BREAD_E_INVALID, p->name, "this plugin brings no tools");
	else
		brd_fail(err, BREAD_E_INVALID, p->name,
			"plugin.kind must name one of its kinds of tools, such as %s",
			p->tools[0]->name);
	return NULL;
}

static int open_inner(struct tool_plugin *t, const struct bread_tool_ops *ops,
	struct bread_str options, const char *dir, struct bread_err *err)
{
	int r;

	t->inner = brd_alloc(ops->size);
	t->inner->ops = ops;
	r = ops->open(t->inner, options, dir, err);
	if (r)
		free(t->inner);
	return r;
}

static int plugin_tool_open(
	struct bread_tool *tool, struct bread_str options, const char *dir, struct bread_err *err)
{
	struct tool_plugin *t = (struct tool_plugin *)tool;
	const struct bread_tool_ops *ops;
	struct arena a = { 0 };
	struct bread_str inner;
	const char *kind;
	int r = brd_plugin_open(&t->plugin, options, dir, &inner, &kind, &a, err);

	if (!r) {
		ops = find(t->plugin.it, kind, err);
		r = ops ? open_inner(t, ops, inner, dir, err) : BREAD_E_INVALID;
		if (r)
			brd_plugin_close(&t->plugin);
	}
	brd_arena_fini(&a);
	return r;
}

static void plugin_tool_close(struct bread_tool *tool)
{
	struct tool_plugin *t = (struct tool_plugin *)tool;

	t->inner->ops->close(t->inner);
	free(t->inner);
	brd_plugin_close(&t->plugin);
}

static void plugin_tool_start(struct bread_tool *tool, struct bread_tool_call *call)
{
	struct bread_tool *inner = ((struct tool_plugin *)tool)->inner;

	inner->ops->start(inner, call);
}

const struct bread_tool_ops bread_tool_plugin = {
	.name = "plugin",
	.size = sizeof(struct tool_plugin),
	.open = plugin_tool_open,
	.close = plugin_tool_close,
	.start = plugin_tool_start,
};
