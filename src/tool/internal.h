/* SPDX-License-Identifier: MIT */
/* What the kinds of tools share. */
#pragma once
#include "base/jsonw.h"
#include "tool/tool.h"

/* NULL: it may be a result (JSON, or nothing); else what is wrong with it. */
const char *brd_tool_result_fault(struct bread_str json);
/* Fills the call's error from {"code","message","context"} or from a string. */
void brd_tool_take_error(struct bread_tool_call *call, struct jval error, struct arena *a);
