/* SPDX-License-Identifier: MIT */
/* Hooks in C: functions of the embedder that are asked before and after runs, tasks, tools and
 * loops (docs/hooks.md). bread_hook in bread/instance.h registers one. */
#ifndef BREAD_HOOK_H
#define BREAD_HOOK_H

#include "bread/types.h"

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
	BREAD_HOOK_BEFORE_RUN, /* this, after and on error: agents, tasks and tools */
	BREAD_HOOK_AFTER_RUN,
	BREAD_HOOK_ON_ERROR,
	BREAD_HOOK_ON_SUSPEND, /* agents alone */
	BREAD_HOOK_LOOP_INIT,  /* this and what follows: loops alone */
	BREAD_HOOK_LOOP_ROUND_START,
	BREAD_HOOK_LOOP_ROUND_END,
	BREAD_HOOK_LOOP_FINISH,
	BREAD_HOOK_POINTS
};

/* What a hook is told. */
struct bread_hook_info {
	enum bread_hook_scope scope;
	enum bread_hook_point point;
	/* JSON object: scope, agentId, runId, sessionId, and of skill, taskName, toolName, loopId,
	 * iteration, credentials those that there are */
	struct bread_str context;
	struct bread_str input;  /* JSON; empty: there is none */
	struct bread_str output; /* JSON; empty: there is none, or not yet */
	struct bread_str error_code, error_message, error_context; /* on error; context: JSON */
	int64_t duration_ms;                                       /* after */
};

struct bread_hook_call;

/* Called on the run's loop. It must not block: it answers before it returns, or keeps the call and
 * answers later, from any thread. Exactly one answer. info is valid until then. */
typedef void bread_hook_fn(
	struct bread_hook_call *call, const struct bread_hook_info *info, void *arg);

/* 1 when the run was cancelled: answer soon, the answer is dropped. An answer is due all the same:
 * it frees the call. Any thread. */
BREAD_API int bread_hook_canceled(const struct bread_hook_call *call);

/* The answers; call is gone afterwards. Any thread. What is given is copied. An answer that the
 * point does not know, or a value that is no JSON or over 8 MiB, is a failure of the hook. */
BREAD_API void bread_hook_pass(struct bread_hook_call *call); /* nothing: go on */
/* Before: go on with this value. */
BREAD_API void bread_hook_input(struct bread_hook_call *call, struct bread_str json);
/* Before: this is the result, and nothing runs; after, and at the end of a loop's round: this one
 * instead; on error: it has not failed, and this is the result. */
BREAD_API void bread_hook_output(struct bread_hook_call *call, struct bread_str json);
BREAD_API void bread_hook_retry(struct bread_hook_call *call); /* on error */
/* On error: fail with this instead. code NULL: the kind of failure's own. */
BREAD_API void bread_hook_fail(struct bread_hook_call *call, const char *code, const char *message);
/* The hook itself failed, at any point. code NULL: none. */
BREAD_API void bread_hook_error(
	struct bread_hook_call *call, const char *code, const char *message);

#ifdef __cplusplus
}
#endif
#endif
