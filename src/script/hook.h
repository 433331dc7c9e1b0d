/* SPDX-License-Identifier: MIT */
/* What the kinds of hooks share: the words for scopes and points, and opening a kind by its key. */
#pragma once
#include <stdbool.h>
#include "bread/ext/hook.h"

const char *brd_hook_scope_name(enum bread_hook_scope scope); /* "agent", "task", "tool", "loop" */
int brd_hook_scope_named(const char *name);                   /* -1: there is none */
const char *brd_hook_point_name(enum bread_hook_point point); /* "beforeRun" … */
/* The point of that name that a scope has; -1: none. */
int brd_hook_point_named(enum bread_hook_scope scope, const char *name);
bool brd_hook_point_of(enum bread_hook_scope scope, enum bread_hook_point point);
const char *brd_hook_point_list(enum bread_hook_scope scope); /* for messages */

/* The kind under that key of `hooks`; NULL: there is none. */
const struct bread_hook_ops *brd_hook_kind(struct bread_str name);

/* One opened set of hooks: of a kind, with its options. The caller's, until brd_hook_close. */
int brd_hook_open(struct bread_hook **ret, const struct bread_hook_ops *ops,
	enum bread_hook_scope home, struct bread_str options, const char *dir,
	struct bread_err *err);
void brd_hook_close(struct bread_hook *h); /* no call is under way. NULL, too */

/* A function of the embedder for one point. */
struct bread_hook *brd_hook_fn_new(
	enum bread_hook_scope scope, enum bread_hook_point point, bread_hook_fn *fn, void *arg);

/* NULL: the answer fits the point, with a value that is JSON; else what is wrong with it. */
const char *brd_hook_fault(const struct bread_hook_call *call);
/* Frees what a call answered. */
void brd_hook_call_fini(struct bread_hook_call *call);
