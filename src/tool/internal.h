/* SPDX-License-Identifier: MIT */
/* What the kinds of tools share. */
#pragma once
#include "base/jsonw.h"
#include "tool/tool.h"

#define TOOL_RESULT_MAX ((size_t)8 * 1024 * 1024) /* of a result, and of a line on the way */
#define TOOL_RESULT_TOO_LARGE "the result is over 8 MiB"

/* NULL: it may be a result (JSON, or nothing); else what is wrong with it. */
const char *brd_tool_result_fault(struct bread_str json);
/* Fills the call's error from {"code","message","context"} or from a string. */
void brd_tool_take_error(struct bread_tool_call *call, struct jval error, struct arena *a);

/* What an object may say: its keys, and of which type they are (JSON_NONE: any). */
struct tool_key {
	const char *key;
	enum json_type type;
};
int brd_tool_check_keys(const char *what, struct jval v, const struct tool_key *keys, size_t n,
	struct bread_err *err);
/* ---- credentialed.c: tools that read credentials ---- */

/* The value of a declared name; p NULL: it is not declared, or there is none. */
struct bread_str brd_tool_credential(const struct bread_tool_call *call, struct bread_str name);
/* text with {{credential.NAME}} replaced, in the arena; NULL: *ret_missing has no value. */
char *brd_tool_fill(const struct bread_tool_call *call, const char *text, struct arena *a,
	struct bread_str *ret_missing);
/* Each template of a tool's definition names a declared credential. */
int brd_tool_check_templates(struct jval def, struct jval declared_names, struct bread_err *err);
/* The tool behind one that reads credentials; else t itself. */
const struct bread_tool *brd_tool_inner(const struct bread_tool *t);
/* Is it a name that some tool of this process declares? Then it is kept from the others. */
bool brd_credential_declared(struct bread_str name);

/* An object of names and texts that go to a program or a peer. */
int brd_tool_check_strings(const char *what, struct jval v, struct bread_err *err);
