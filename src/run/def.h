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
#include "tool/tool.h"

enum output_format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_JSON, FORMAT_CUSTOM };

struct retry_def {
	int64_t attempts; /* all of them, the first too; 0: not configured */
	int64_t backoff_ms;
	double multiplier;
};

/* The wait behind that many attempts: an hour at most. */
int64_t brd_retry_ms(const struct retry_def *d, int64_t attempts);

struct tool_def {
	char *name, *leaf; /* "add", "tool_add": what the model sees */
	char *description;
	struct bread_str schema_text;
	struct schema *schema;
	struct bread_tool *tool; /* NULL: a human answers */
	bool human;
	bool streams;    /* its values on the way are shown as partials */
	bool idempotent; /* may run again when a crash left it without a result (contract C11) */
	int64_t timeout_ms;
	struct retry_def retry;
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
	struct bread_str input_text, output_text; /* the schemas */
	struct schema *input_schema, *output_schema;
	enum output_format format;
	char *format_name; /* of a custom one */
	int64_t steps_max;
	int64_t max_ms; /* longest time of a run; 0: the instance's */
	struct retry_def retry;
	struct tool_def *tools;
	size_t tool_count, tool_room;
};

/* Parses a definition. One reference for the caller. */
int brd_agent_def_new(struct agent_def **ret, const char *id, struct bread_str json,
	const char *dir, struct bread_err *err);
struct agent_def *brd_agent_def_ref(struct agent_def *d);
void brd_agent_def_unref(struct agent_def *d); /* NULL, too */

/* A copy of d with a tool written in C beside its own (definitions never change). */
int brd_agent_def_with_tool(struct agent_def **ret, const struct agent_def *d, const char *name,
	const char *description, struct bread_str schema, bread_tool_fn *fn, void *arg,
	struct bread_err *err);

/* The tool behind a leaf name; NULL: there is none. */
struct tool_def *brd_agent_def_tool(const struct agent_def *d, struct bread_str leaf);

/* Two tools of one leaf name: that name; NULL: all differ. */
const char *brd_agent_def_collision(const struct agent_def *d);

/* Checks a file's contents, with places in the messages: agent.yaml, tools/NAME.yaml. */
int brd_agent_check(struct jval v, const struct yaml_doc *doc, struct bread_err *err);
int brd_tool_check(struct jval v, const struct yaml_doc *doc, struct bread_err *err);
/* For the reference page. */
extern const struct conf_field brd_agent_fields[], brd_tool_fields[];
extern const size_t brd_agent_field_count, brd_tool_field_count;
