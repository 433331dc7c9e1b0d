/* SPDX-License-Identifier: MIT */
/* What an agent is: its definition, parsed once from JSON and never changed.
 *
 * A definition is shared by reference: the registry holds the newest one, a run
 * holds the one that it began with (a changed definition is a new one; old runs
 * go on with theirs). Its JSON text is stored under its hash, so that a run that
 * was cut short is taken up with the same definition after a restart. */
#pragma once
#include <stdatomic.h>
#include "base/schema.h"
#include "bread/instance.h"
#include "config/conf.h"
#include "run/hooks.h"
#include "tool/tool.h"

enum output_format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_JSON, FORMAT_CUSTOM };

struct retry_def {
	int64_t attempts; /* all of them, the first too; 0: not configured */
	int64_t backoff_ms;
	double multiplier;
};

/* The wait behind that many attempts: an hour at most. */
int64_t brd_retry_ms(const struct retry_def *d, int64_t attempts);

/* Who answers a call. */
enum tool_kind {
	TOOL_RUNS,     /* a bread_tool: the agent's own, a skill's script, one in C */
	TOOL_CORE,     /* one of ours that needs the store: see run/core_tool.h */
	TOOL_HUMAN,    /* a human, by a checkpoint of the kind input */
	TOOL_TASK,     /* a structured call of a model */
	TOOL_DELEGATE, /* core_delegate: another agent */
	TOOL_LOOP_START,
	TOOL_LOOP_ITERATE,
	TOOL_LOOP_FINISH,
};

struct core_tool;
struct task_def;

struct tool_def {
	enum tool_kind kind;
	char *name, *leaf; /* "add", "tool_add": what the model sees */
	char *permission;  /* "tool:add": what selectors name; NULL: a human tool */
	char *description;
	struct bread_str schema_text;
	struct schema *schema;
	struct bread_tool *tool; /* TOOL_RUNS */
	const struct core_tool *core;
	struct task_def *task;
	struct bread_str answer_text; /* TOOL_HUMAN: JSON Schema of the answer; empty: anything */
	struct schema *answer;
	int64_t deadline_ms; /* TOOL_HUMAN: the answer must come within; 0: it may take for ever */
	struct bread_str fallback; /* JSON: the answer when it did not; empty: the call fails */
	const char *const *credentials; /* names that it may read; NULL-terminated, or NULL */
	bool gated;                     /* a human is asked first (permissions.ask) */
	bool streams;                   /* its values on the way are shown as partials */
	bool idempotent; /* may run again when a crash left it without a result (contract C11) */
	int64_t timeout_ms;
	struct retry_def retry;
	struct hook_set *hook_set; /* NULL: none; of a task: see task */
};

/* What a task is: one structured call of a model (docs/compositions.md). */
struct task_def {
	char *name, *description;
	char *provider, *model;
	struct bread_str settings, provider_options;
	char *instructions;
	struct bread_str input_text, output_text; /* the schemas */
	struct schema *input, *output;
	struct retry_def retry;
	struct hook_set *hook_set; /* NULL: none */
	char *dir;                 /* where paths in hooks start; NULL: the current folder */
};

enum visibility { SHOW_ALL, SHOW_ENDS, SHOW_NONE }; /* passthrough, mediate, hidden */

struct roster_entry {
	char *agent_id;
	enum visibility show;
	int64_t max; /* at the same time; 0: no cap */
};

struct skill_def {
	char *id, *name, *description;
	char *summary; /* what the prompt says of it: its description, or what it is called */
	struct bread_str body;
	struct skill_reference {
		char *name;
		struct bread_str content;
	} * references;
	size_t reference_count;
	char **scripts; /* absolute paths, NULL-terminated; NULL: none */
};

struct agent_def {
	atomic_int refs;
	struct arena arena; /* of all strings below */
	char *id;
	struct bread_str json; /* the whole definition */
	char hash[65];         /* of json and id: SHA-256, hex */
	char *dir;
	char *provider, *model;
	struct bread_str settings, provider_options;
	struct bread_str prompt;
	/* What stands behind the prompt and what is added to it for one run: the skill summary, the
	 * delegation and the loop section, each only with its tool. Empty: none. */
	struct bread_str sections;
	struct bread_str input_text, output_text; /* the schemas */
	struct schema *input_schema, *output_schema;
	enum output_format format;
	char *format_name; /* of a custom one */
	int64_t steps_max;
	int64_t max_ms; /* longest time of a run; 0: the instance's */
	struct retry_def retry;
	struct tool_def *tools; /* all that are offered, in the order of docs/tools.md */
	size_t tool_count, tool_room;
	struct hook_set *hook_set; /* NULL: none */

	bool supervises;
	int64_t delegations_max; /* at the same time; 0: no cap */
	struct roster_entry *roster;
	size_t roster_count;
	bool reenters; /* may appear below itself (contract C14) */

	char **pool; /* of its loops: agent ids, NULL-terminated; NULL: it has none */
	int64_t rounds_max;
	struct retry_def loop_retry;
	struct hook_set *loop_hook_set; /* NULL: none */

	struct skill_def *skills;
	size_t skill_count;
	const struct skill_def *skill; /* the caller's choice, in a definition made by with_skill */
	size_t prompt_tokens;          /* knowledge.autoInject: at most so many; 0: off */
};

/* Runs of it may have runs below them. */
static inline bool brd_agent_def_composes(const struct agent_def *d)
{
	return d->supervises || d->pool;
}

/* Parses a definition. One reference for the caller. */
int brd_agent_def_new(struct agent_def **ret, const char *id, struct bread_str json,
	const char *dir, struct bread_err *err);
struct agent_def *brd_agent_def_ref(struct agent_def *d);
void brd_agent_def_unref(struct agent_def *d); /* NULL, too */

/* A copy of d with a tool written in C beside its own (definitions never change). */
int brd_agent_def_with_tool(struct agent_def **ret, const struct agent_def *d, const char *name,
	const char *description, struct bread_str schema, bread_tool_fn *fn, void *arg,
	struct bread_err *err);

/* A copy of d in which that tool in C may read those credentials (NULL-terminated).
 * BREAD_E_NOT_FOUND: there is no such tool; INVALID_CREDENTIAL_NAME. */
int brd_agent_def_with_credentials(struct agent_def **ret, const struct agent_def *d,
	const char *tool, const char *const *names, struct bread_err *err);

/* A copy of d for runs that load that skill: its scripts are tools, its text is in the prompt.
 * INVALID_NAME; SKILL_NOT_FOUND. */
int brd_agent_def_with_skill(struct agent_def **ret, const struct agent_def *d, struct bread_str id,
	struct bread_err *err);

/* The system prompt of a run: the agent's, what it knows (a section, or empty), the loaded skill,
 * the sections. Appended to out; nothing: no system message is sent. */
void brd_agent_def_prompt(const struct agent_def *d, struct bread_str knowledge, struct buf *out);

/* The tool behind a leaf name; NULL: there is none. */
struct tool_def *brd_agent_def_tool(const struct agent_def *d, struct bread_str leaf);

/* Two tools of one leaf name: that name; NULL: all differ. */
const char *brd_agent_def_collision(const struct agent_def *d);

/* Checks the contents of an agent.yaml, with places in the messages. */
int brd_agent_check(struct jval v, const struct yaml_doc *doc, struct bread_err *err);
/* For the reference page. */
extern const struct conf_field brd_agent_fields[], brd_tool_fields[];
extern const size_t brd_agent_field_count, brd_tool_field_count;
