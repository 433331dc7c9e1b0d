/* SPDX-License-Identifier: MIT */
/* Hooks: what is asked before and after runs, tools, tasks and loops. For those who write a kind of
 * hooks (Lua, shared objects and C callbacks are ours).
 *
 * A hook is a function of JSON: it is told where it stands and what is there, and gives an answer
 * or none. Hooks of a point form a chain, own first, then plugins in order, then the instance's:
 * before: an input goes on to the next one, an output ends the chain; after: an output goes on to
 * the next one; error: the first answer wins; suspend: all are told. */
#ifndef BREAD_EXT_HOOK_H
#define BREAD_EXT_HOOK_H

#include "bread/ext/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bread_hook_scope {
	BREAD_HOOK_AGENT,
	BREAD_HOOK_TASK,
	BREAD_HOOK_TOOL,
	BREAD_HOOK_LOOP,
	BREAD_HOOK_SCOPES
};

enum bread_hook_point {
	BREAD_HOOK_BEFORE_RUN,
	BREAD_HOOK_AFTER_RUN,
	BREAD_HOOK_ON_ERROR,
	BREAD_HOOK_ON_SUSPEND, /* agents alone */
	BREAD_HOOK_LOOP_INIT,  /* this and what follows: loops alone */
	BREAD_HOOK_LOOP_ROUND_START,
	BREAD_HOOK_LOOP_ROUND_END,
	BREAD_HOOK_LOOP_FINISH,
	BREAD_HOOK_POINTS
};

enum bread_hook_answer {
	BREAD_HOOK_NOTHING,
	BREAD_HOOK_INPUT,  /* before: go on with value */
	BREAD_HOOK_OUTPUT, /* before: short-circuit; after, round end: replace; error: recover */
	BREAD_HOOK_RETRY,  /* error */
	BREAD_HOOK_FAIL,   /* error: with error_code and error_text */
};

struct bread_hook_call {
	struct bread_op op; /* not BREAD_OK: the hook itself failed; op.err says why */

	/* what is known; unchanged until the op ends */
	enum bread_hook_scope scope;
	enum bread_hook_point point;
	struct bread_str
		context; /* JSON object: scope, agentId, runId, sessionId, skill, toolName … */
	struct bread_str input;                                    /* JSON */
	struct bread_str output;                                   /* JSON; empty: none yet */
	struct bread_str error_code, error_message, error_context; /* on error */
	int64_t duration_ms;
	struct loop *loop;
	void *arg;

	/* out: set before the op ends; freed by the caller with free() */
	enum bread_hook_answer answer;
	char *value; /* JSON of INPUT and OUTPUT */
	size_t value_len;
	char *error_code_out, *error_text_out; /* FAIL */
	void *priv;                            /* the hook's */
};

struct bread_hook; /* first member of a kind's struct: one configured set of hooks */

struct bread_hook_ops {
	const char *name; /* "lua": the key under `hooks:` */
	size_t size;
	/* options: the value of that key as JSON; dir: the folder that relative paths start from */
	int (*open)(struct bread_hook *h, struct bread_str options, const char *dir,
		struct bread_err *err);
	void (*close)(struct bread_hook *h);
	/* Cheap, from any thread: 0: it has nothing to say there, and is not asked. */
	int (*hears)(
		struct bread_hook *h, enum bread_hook_scope scope, enum bread_hook_point point);
	void (*start)(struct bread_hook *h, struct bread_hook_call *call);
};

struct bread_hook {
	const struct bread_hook_ops *ops;
};

BREAD_API extern const struct bread_hook_ops bread_hook_lua;
BREAD_API extern const struct bread_hook_ops bread_hook_plugin; /* a shared object */

#ifdef __cplusplus
}
#endif
#endif
