/* SPDX-License-Identifier: MIT */
/* Tools of ours that need the instance's store: knowledge, documents, skills. For the model they
 * are tools like any other (docs/tools.md). */
#pragma once
#include "bread/ext/tool.h"

struct run_env;
struct agent_def;

struct core_tool {
	const char *name; /* "kg_store": the leaf is core_kg_store */
	const char *description;
	const char *schema; /* JSON Schema of its arguments */
	/* Begins call->op and ends it with a result or an error, as a tool does. */
	void (*start)(
		struct run_env *env, const struct agent_def *def, struct bread_tool_call *call);
};

/* Each list ends with an entry without a name. */
extern const struct core_tool brd_knowledge_tools[], brd_document_tools[], brd_skill_tools[];
