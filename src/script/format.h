/* SPDX-License-Identifier: MIT */
/* Output formats that are asked like anything slow: a text in, JSON out. */
#pragma once
#include "base/buf.h"
#include "bread/ext/op.h"

struct format_call {
	/* The caller's, made with bread_op_init; can be cancelled. BREAD_OK: json is set; else
	 * op.err says why. */
	struct bread_op op;
	struct bread_str text; /* borrowed until op has ended */
	char *json;            /* out: the caller's, free() */
	size_t json_len;
};

/* A format in Lua: function format(text) gives the value. options: as for a tool's `lua`. */
struct format_lua;
int brd_format_lua_open(
	struct format_lua **ret, struct bread_str options, const char *dir, struct bread_err *err);
void brd_format_lua_close(struct format_lua *f); /* no call is under way. NULL, too */
void brd_format_lua_start(struct format_lua *f, struct format_call *call);
