/* SPDX-License-Identifier: MIT */
/* What runs behind a tool: a call with a result. For those who write a kind of tool. */
#ifndef BREAD_EXT_TOOL_H
#define BREAD_EXT_TOOL_H

#include "bread/ext/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct credentials;

struct bread_tool_call {
	struct bread_op op; /* BREAD_OK: result is set (or there is none); else error says why */

	/* what is known to the tool; unchanged until the op ends */
	struct bread_str agent_id, run_id, session_id, tool_name, call_id;
	struct bread_str args;        /* a JSON object that fits the tool's schema */
	struct bread_str traceparent; /* empty: none */
	struct loop *loop;
	struct credentials *credentials; /* the instance's; NULL: the environment. For the core */
	/* What the tool may read: the names that it declares, and their values beside them (NULL:
	 * there is none). Both end in NULL; NULL: it declares none. Never to be written anywhere.
	 */
	const char *const *credential_names;
	const char *const *credential_values;

	/* Each value that a streaming tool gives on its way, as JSON; the last one is also
	 * the result. NULL: the caller does not want them. */
	void (*on_partial)(struct bread_tool_call *call, struct bread_str json);
	void *arg;

	/* out: set by the tool before it ends the op; freed by the caller with free() */
	char *result; /* JSON; NULL: nothing */
	size_t result_len;
	char *error_code;    /* the tool's own code ("QUOTA"); NULL: TOOL_ERROR */
	char *error_text;    /* NULL: op.err.text */
	char *error_context; /* JSON; NULL: none */
	void *priv;          /* the tool's */
};

struct bread_tool; /* first member of a tool kind's struct: one configured tool */

struct bread_tool_ops {
	const char *name; /* "command": the key in a tool's file */
	size_t size;
	/* options: the value of that key as JSON; dir: the folder that relative paths start from */
	int (*open)(struct bread_tool *t, struct bread_str options, const char *dir,
		struct bread_err *err);
	void (*close)(struct bread_tool *t);
	/* Cancel through the op: told first, killed soon (contract C10). */
	void (*start)(struct bread_tool *t, struct bread_tool_call *call);
};

struct bread_tool {
	const struct bread_tool_ops *ops;
};

BREAD_API extern const struct bread_tool_ops bread_tool_command;
BREAD_API extern const struct bread_tool_ops bread_tool_http;
BREAD_API extern const struct bread_tool_ops bread_tool_lua;    /* a script */
BREAD_API extern const struct bread_tool_ops bread_tool_plugin; /* of a shared object */

#ifdef __cplusplus
}
#endif
#endif
