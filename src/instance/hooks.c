/* SPDX-License-Identifier: MIT */
/* Hooks, plugins and scripted formats of the instance: from the configuration, and from the
 * embedder. */
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "instance/internal.h"

static int add(struct bread *b, enum hook_place place, const char *agent_id, struct bread_hook *h)
{
	pthread_mutex_lock(&b->lock);
	brd_hook_table_add(&b->hooks, place, agent_id, h);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

static enum hook_place place_of(const char *agent_id)
{
	return agent_id ? HOOK_OF_AGENT : HOOK_OF_INSTANCE;
}

int bread_hook(struct bread *b, const char *agent_id, enum bread_hook_scope scope,
	enum bread_hook_point point, bread_hook_fn *fn, void *arg, struct bread_err *err)
{
	if ((unsigned)scope >= BREAD_HOOK_SCOPES || (unsigned)point >= BREAD_HOOK_POINTS)
		return brd_fail(err, BREAD_E_INVALID, "bread", "there is no such hook");
	if (!brd_hook_point_of(scope, point))
		return brd_fail(err, BREAD_E_INVALID, "bread", "%s is no hook of the scope %s",
			brd_hook_point_name(point), brd_hook_scope_name(scope));
	return add(b, place_of(agent_id), agent_id, brd_hook_fn_new(scope, point, fn, arg));
}

int bread_hook_use(struct bread *b, const char *agent_id, const struct bread_hook_ops *ops,
	struct bread_str options, const char *dir, struct bread_err *err)
{
	struct bread_hook *h;
	int r = brd_hook_open(&h, ops, BREAD_HOOK_AGENT, options, dir, err);

	return r ? r : add(b, place_of(agent_id), agent_id, h);
}

/* ---- from the configuration ---- */

static int open_hooks(struct bread *b, struct jval v, struct bread_err *err)
{
	int r = 0;

	for (struct json_iter it = brd_json_each(v); !r && brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.key, &b->arena);
		const struct bread_hook_ops *ops = brd_hook_kind(name);

		if (!ops)
			return brd_fail(err, BREAD_E_INVALID, "bread.yaml",
				"hooks.%.*s is not known; lua and plugin are", BRD_ARG(name));
		r = bread_hook_use(b, NULL, ops, brd_json_raw(it.value), NULL, err);
	}
	return r;
}

/* A format of a plugin, as one of C: the function is the argument. */
static char *plugin_format(struct bread_str text, const char **ret_error, void *arg)
{
	return ((const struct bread_plugin_format *)arg)->format(text, ret_error);
}

/* What it brings beside tools, which their files name. The object stays loaded with its hooks. */
static int take_plugin(
	struct bread *b, struct opened_plugin *p, struct bread_str options, struct bread_err *err)
{
	const struct bread_plugin *it = p->plugin.it;
	struct bread_hook *h;
	int r = 0;

	for (const struct bread_plugin_format *f = it->formats; f && f->name; f++)
		r = bread_format(b, f->name, plugin_format, (void *)f, err);
	if (!r && it->hooks)
		r = brd_hook_open(&h, it->hooks, BREAD_HOOK_AGENT, options, NULL, err);
	return r || !it->hooks ? r : add(b, HOOK_OF_PLUGIN, NULL, h);
}

static int open_plugins(struct bread *b, struct jval list, struct bread_err *err)
{
	int r = 0;

	for (struct json_iter it = brd_json_each(list); !r && brd_json_next(&it);) {
		struct opened_plugin *p = brd_alloc(sizeof(*p));
		struct bread_str options;
		const char *kind;

		r = brd_plugin_open(
			&p->plugin, brd_json_raw(it.value), NULL, &options, &kind, &b->arena, err);
		brd_list_push(&b->plugins, &p->link);
		if (!r)
			r = take_plugin(b, p, options, err);
	}
	return r;
}

static int open_format(struct bread *b, struct bread_str name, struct jval v, struct bread_err *err)
{
	struct bread_str lua = brd_json_raw(brd_json_get(v, "lua"));
	struct format *f;
	int r;

	if (!lua.n || brd_json_count(v) != 1)
		return brd_fail(err, BREAD_E_INVALID, "bread.yaml",
			"formats.%.*s must be an object with the key lua", BRD_ARG(name));
	f = brd_alloc(sizeof(*f));
	r = brd_format_lua_open(&f->lua, lua, NULL, err);
	if (r) {
		free(f);
		return r;
	}
	f->name = brd_strndup(name);
	pthread_mutex_lock(&b->lock);
	brd_list_push_front(&b->formats, &f->link);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

int brd_hooks_configure(struct bread *b, struct bread_err *err)
{
	int r = open_plugins(b, b->conf.plugins, err);

	if (!r)
		r = open_hooks(b, b->conf.hooks, err);
	for (struct json_iter it = brd_json_each(b->conf.formats); !r && brd_json_next(&it);)
		r = open_format(b, brd_json_str(it.key, &b->arena), it.value, err);
	return r;
}

void brd_hooks_fini(struct bread *b)
{
	brd_hook_table_fini(&b->hooks);
	for (struct list *l; (l = brd_list_pop(&b->plugins));) {
		struct opened_plugin *p = brd_list_of(l, struct opened_plugin, link);

		brd_plugin_close(&p->plugin);
		free(p);
	}
}
