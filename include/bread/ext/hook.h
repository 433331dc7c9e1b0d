/* SPDX-License-Identifier: MIT */
/* Hooks: what is asked before and after runs, tasks, tools and loops. For those who write a kind
 * of hooks (Lua, shared objects and C callbacks are ours); a single function in C is
 * bread/hook.h.
 *
 * A hook is a function of JSON: it is told where it stands and what is there, and gives an answer
 * or none. Hooks of a point form a chain, own first, then plugins in order, then the instance's:
 * before: an input goes on to the next one, an output ends the chain; after: an output goes on to
 * the next one; error: the first answer wins; suspend: all are told. A hook that fails ends the
 * chain, which fails with its words.
 *
 * open and close are called on any one thread, start on the loop of the run; a set of hooks is
 * used by several loops at once. */
#ifndef BREAD_EXT_HOOK_H
#define BREAD_EXT_HOOK_H

#include "bread/ext/op.h"
#include "bread/hook.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bread_hook_answer {
	BREAD_HOOK_NOTHING,
	BREAD_HOOK_INPUT,  /* before: go on with value */
	BREAD_HOOK_OUTPUT, /* before: short-circuit; after, round end: replace; error: recover */
	BREAD_HOOK_RETRY,  /* error */
	BREAD_HOOK_FAIL,   /* error: with error_code_out and error_text_out */
};

struct bread_hook_call {
	/* Not BREAD_OK: the hook itself failed; op.err.text says why, op.err.name is its code word.
	 * BREAD_E_CANCELED after a cancel through the op, which must bring the end about soon. */
	struct bread_op op;

	struct bread_hook_info info; /* what is known; unchanged until the op ends */
	struct loop *loop;           /* that the op ends on */

	/* out: set before the op ends; freed by the caller with free() */
	enum bread_hook_answer answer;
	char *value; /* JSON of INPUT and OUTPUT */
	size_t value_len;
	char *error_code_out, *error_text_out; /* FAIL; NULL: as it was */
	void *priv;                            /* the hook's */
};

struct bread_hook; /* first member of a kind's struct: one configured set of hooks */

struct bread_hook_ops {
	const char *name; /* "lua": the key under `hooks:` */
	size_t size;      /* of the kind's struct; zeroed by the caller of open */
	/* options: the value of that key as JSON; dir: the folder that relative paths start from,
	 * NULL: the current one */
	int (*open)(struct bread_hook *h, struct bread_str options, const char *dir,
		struct bread_err *err);
	void (*close)(struct bread_hook *h); /* of an opened one; no call is under way */
	/* Cheap, from any thread: 0: it has nothing to say there, and is not asked. */
	int (*hears)(
		struct bread_hook *h, enum bread_hook_scope scope, enum bread_hook_point point);
	/* Begins call->op and ends it, never inside this function. */
	void (*start)(struct bread_hook *h, struct bread_hook_call *call);
};

struct bread_hook {
	const struct bread_hook_ops *ops;
	/* Whose own hooks they are, set before open: what names no scope is meant for this one. */
	enum bread_hook_scope home;
};

BREAD_API extern const struct bread_hook_ops bread_hook_lua;
BREAD_API extern const struct bread_hook_ops bread_hook_plugin; /* a shared object */

#ifdef __cplusplus
}
#endif
#endif
