/* SPDX-License-Identifier: MIT */
/* Tools of ours that need the instance's store: knowledge, documents, skills. For the model they
 * are tools like any other (docs/tools.md). */
#pragma once
#include "base/buf.h"
#include "bread/ext/store.h"
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

/* What they need to know of the instance. A zeroed one: files start at the current folder. */
struct core_conf {
	const char *documents_root;      /* core_doc_load reads nothing outside; NULL: "." */
	bool documents_private;          /* it may call addresses that are not public */
	struct credentials *credentials; /* for tools' calls; NULL: the environment */
};

/* What an agent knows of a session, for its prompt: BREAD_READ_KNOWLEDGE_OF with this limit, then
 * this of its rows. Empty when it knows nothing. */
#define KNOWLEDGE_SHOWN 100
void brd_knowledge_section(const struct bread_read *r, size_t max_tokens, struct buf *out);
