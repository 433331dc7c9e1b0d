/* SPDX-License-Identifier: MIT */
/* Plugins: shared objects that bring hooks, kinds of tools and output formats (docs/hooks.md).
 *
 * A plugin exports one symbol, a function that returns a struct that lives as long as the object
 * is loaded:
 *
 *   const struct bread_plugin *bread_plugin(void)
 *   {
 *           static const struct bread_plugin me = { BREAD_PLUGIN_VERSION, sizeof(me), "mine",
 *                   .hooks = &my_hooks };
 *           return &me;
 *   }
 *
 * It calls the functions of the public headers, which the program that loads it has: nothing is
 * linked. It runs with all rights of that program. */
#ifndef BREAD_EXT_PLUGIN_H
#define BREAD_EXT_PLUGIN_H

#include "bread/ext/hook.h"
#include "bread/ext/tool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the structs of hooks, tools and this one. Another number is refused. */
#define BREAD_PLUGIN_VERSION 1

/* Reshapes the joined text of a run. Gives JSON text that is freed with free(), or NULL: the run
 * fails with *ret_error, a static string. Any thread, several at once; it must not block. */
struct bread_plugin_format {
	const char *name;
	char *(*format)(struct bread_str text, const char **ret_error);
};

struct bread_plugin {
	uint32_t version; /* BREAD_PLUGIN_VERSION */
	uint32_t size;    /* sizeof(struct bread_plugin) */
	const char *name; /* for messages */

	const struct bread_hook_ops *hooks;        /* NULL: none */
	const struct bread_tool_ops *const *tools; /* ends with NULL; NULL: none */
	const struct bread_plugin_format *formats; /* ends with one without a name; NULL: none */
};

#define BREAD_PLUGIN_SYMBOL "bread_plugin"
typedef const struct bread_plugin *bread_plugin_fn(void);

#ifdef __cplusplus
}
#endif
#endif
