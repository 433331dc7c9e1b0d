/* SPDX-License-Identifier: MIT */
/* Loading shared objects, and reading what they bring. */
#pragma once
#include "base/json.h"
#include "bread/ext/plugin.h"

struct plugin {
	void *object;
	const struct bread_plugin *it; /* what it says of itself, checked */
};

/* options: "FILE", or an object with `file`. ret_options: the member `options` (JSON, "{}" when
 * there is none) and ret_kind: `kind`, NULL when there is none; both in a. */
int brd_plugin_open(struct plugin *ret, struct bread_str options, const char *dir,
	struct bread_str *ret_options, const char **ret_kind, struct arena *a,
	struct bread_err *err);
void brd_plugin_close(struct plugin *p); /* a zeroed one, too */
