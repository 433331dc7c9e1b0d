/* SPDX-License-Identifier: MIT */
/* Tools written in C by the embedder. */
#ifndef BREAD_TOOL_H
#define BREAD_TOOL_H

#include "bread/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bread_tool_call;

/* Called on the run's loop thread with arguments that fit the tool's schema. It must not
 * block: a quick tool answers before it returns (bread_tool_return or
 * bread_tool_fail); a slow one keeps the call and answers later, from any thread.
 * Exactly one answer. */
typedef void bread_tool_fn(struct bread_tool_call *call, void *arg);

/* What the tool is asked, until it has answered. Any thread, one at a time. */
BREAD_API struct bread_str bread_tool_args(const struct bread_tool_call *call); /* JSON object */
/* One argument: a string decoded, or another value's JSON text. p NULL: it is not
 * there. Valid until the answer. */
BREAD_API struct bread_str bread_tool_arg(struct bread_tool_call *call, const char *name);
BREAD_API struct bread_str bread_tool_run_id(const struct bread_tool_call *call);
/* A credential that the tool declares (bread_agent_tool_credentials). *ret lives until the answer;
 * its p is NULL when there is none of that name. BREAD_E_INVALID: not declared; bread_tool_fail
 * without a message then says CREDENTIAL_NOT_DECLARED. */
BREAD_API int bread_tool_credential(
	struct bread_tool_call *call, const char *name, struct bread_str *ret);
/* 1 when the run was cancelled or the call's time is over: answer soon, the answer is dropped. An
 * answer is due all the same: it frees the call. Any thread. */
BREAD_API int bread_tool_canceled(const struct bread_tool_call *call);
/* A value on the way, as JSON text (emits tool:result:partial). From the loop's thread only. */
BREAD_API void bread_tool_partial(struct bread_tool_call *call, struct bread_str json);
/* The answers; call is gone afterwards. Any thread. json is JSON text; empty: no value. Invalid
 * JSON, or over 8 MiB, becomes a TOOL_ERROR that says so. What is given is copied. */
BREAD_API void bread_tool_return(struct bread_tool_call *call, struct bread_str json);
BREAD_API void bread_tool_return_text(struct bread_tool_call *call, struct bread_str text);
BREAD_API void bread_tool_fail(struct bread_tool_call *call, const char *code,
	const char *message); /* code NULL: TOOL_ERROR. Both NULL: see bread_tool_credential */

#ifdef __cplusplus
}
#endif
#endif
