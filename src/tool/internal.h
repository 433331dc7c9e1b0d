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
/* An object of names and texts that go to a program or a peer. */
int brd_tool_check_strings(const char *what, struct jval v, struct bread_err *err);
