/* SPDX-License-Identifier: MIT */
/* The one place that calls the tool seam.
 *
 * A tool's file names its kind by the key it has: `command:`, `http:`, or, in C, a callback. */
#pragma once
#include "base/json.h"
#include "bread/ext/tool.h"
#include "bread/tool.h"
#include "tool/credentials.h"

/* def: the tool's definition object; finds the kind by its key. dir: where relative paths start. */
int brd_tool_open(struct bread_tool **ret, struct jval def, const char *dir, struct bread_err *err);
int brd_tool_open_callback(struct bread_tool **ret, bread_tool_fn *fn, void *arg);
/* The function behind a tool written in C; false for every other kind. */
bool brd_tool_callback_of(const struct bread_tool *t, bread_tool_fn **ret_fn, void **ret_arg);
void brd_tool_close(struct bread_tool *t); /* NULL, too */

/* A tool that reads credentials: those names are asked for before it starts, of `from` (the tool's
 * own source, whose reference is taken), or of the call's. names: NULL-terminated, copied. *t
 * becomes the other one; on failure it is as it was, and from is let go of.
 * INVALID_CREDENTIAL_NAME. */
int brd_tool_with_credentials(struct bread_tool **t, const char *const *names,
	struct credentials *from, struct bread_err *err);
/* The names that t declares, NULL-terminated; NULL: none. */
const char *const *brd_tool_credentials(const struct bread_tool *t);
/* Starts it. Of whatever kind: a result over 8 MiB or one that is no JSON ends as an error that
 * says so. */
void brd_tool_start(struct bread_tool *t, struct bread_tool_call *call);
void brd_tool_call_fini(struct bread_tool_call *call); /* frees what the tool gave; after the end */
