/* SPDX-License-Identifier: MIT */
/* Does what bread.yaml says of hooks, plugins and formats load? Each is opened once and closed. */
#include "base/err.h"
#include "project/files.h"
#include "run/hooks.h"
#include "script/format.h"
#include "script/plugin.h"

struct scripts {
	struct project *p;
	conf_heard *heard;
	void *arg;
};

static void fault_at(
	const struct scripts *s, struct jval at, const char *key, const struct bread_err *cause)
{
	struct bread_err err = { 0 };

	brd_conf_fault(&err, &s->p->doc, at, key, "%s", cause->text);
	s->heard(&err, s->arg);
}

static void check_formats(const struct scripts *s, struct jval formats)
{
	for (struct json_iter it = brd_json_each(formats); brd_json_next(&it);) {
		struct jval lua = brd_json_get(it.value, "lua");
		struct format_lua *f = NULL;
		struct bread_err err;

		if (brd_json_type(lua) == JSON_NONE)
			brd_fail(&err, BREAD_E_INVALID, "formats",
				"a format must be an object with the key lua");
		else if (!brd_format_lua_open(&f, brd_json_raw(lua), s->p->dir, &err))
			err.code = BREAD_OK;
		if (err.code)
			fault_at(s, it.value, "formats", &err);
		brd_format_lua_close(f);
	}
}

static void check_plugins(const struct scripts *s, struct jval list)
{
	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);) {
		struct plugin plugin = { 0 };
		struct bread_str options;
		const char *kind;
		struct bread_err err;

		if (brd_plugin_open(&plugin, brd_json_raw(it.value), s->p->dir, &options, &kind,
			    &s->p->arena, &err))
			fault_at(s, it.value, "plugins", &err);
		brd_plugin_close(&plugin);
	}
}

void brd_project_check_scripts(struct project *p, conf_heard *heard, void *arg)
{
	const struct scripts s = { p, heard, arg };
	struct jval hooks = brd_json_get(p->config, "hooks");
	struct hook_set *set = NULL;
	struct bread_err err;

	if (brd_json_type(hooks) == JSON_OBJECT &&
		brd_hooks_open(&set, brd_json_raw(hooks), BREAD_HOOK_AGENT, p->dir, &err))
		fault_at(&s, hooks, "hooks", &err);
	brd_hook_set_unref(set);
	check_formats(&s, brd_json_get(p->config, "formats"));
	check_plugins(&s, brd_json_get(p->config, "plugins"));
}
