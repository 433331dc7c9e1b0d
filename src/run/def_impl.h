/* SPDX-License-Identifier: MIT */
/* What the files that make definitions share (def*.c). */
#pragma once
#include "run/core_tool.h"
#include "run/def.h"
#include "run/permission.h"

#define AT(type, member) offsetof(struct type, member)
#define GROUP(table) .sub = table, .sub_count = CONF_COUNT(table)
#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{}}"

struct model_conf {
	char *provider, *model;
	struct jval settings, options;
};

struct retry_conf {
	int64_t attempts, backoff_ms;
	double multiplier;
};

struct supervisor_conf {
	int64_t max;
	struct jval agents;
	bool reenters;
};

struct loop_conf {
	struct conf_strs pool;
	int64_t rounds;
	struct jval hooks;
	struct retry_conf retry;
};

struct permission_conf {
	struct conf_strs allow, ask, deny;
};

/* What agent.yaml says. */
struct agent_conf {
	struct model_conf model;
	char *description;
	struct jval input_schema, output_schema;
	char *format;
	int64_t steps_max, max_ms;
	struct retry_conf retry;
	char *prompt;
	struct jval tools, humans, tasks, skills, hooks, documents;
	struct permission_conf permissions;
	struct supervisor_conf supervisor;
	struct loop_conf loop;
	struct {
		bool inject;
		int64_t max_tokens;
	} knowledge;
};

#define CONF_MODEL_FIELDS 4
#define CONF_HANDLING_FIELDS 1
#define CONF_ROSTER_FIELDS 3
#define CONF_HUMAN_FIELDS 6
extern const struct conf_field brd_roster_fields[CONF_ROSTER_FIELDS];
extern const struct conf_field brd_human_fields[CONF_HUMAN_FIELDS];
extern const struct conf_field brd_model_fields[CONF_MODEL_FIELDS];
extern const struct conf_field brd_handling_fields[CONF_HANDLING_FIELDS];

/* Of an id and a definition's JSON: SHA-256, hex. */
void brd_def_hash(const char *id, struct bread_str json, char ret[65]);

/* A definition that is being made: what it is made of beside its JSON. */
struct def_parts {
	const struct agent_def *from; /* its tools in C are taken over; NULL: none */
	const struct tool_def *more;  /* another of those; NULL: none */
	struct bread_str skill;       /* the caller's choice; p NULL: none */
	const char *reader;           /* the tool in C that gets these credentials; NULL: none */
	const char *const *credentials;
};
int brd_def_build(struct agent_def **ret, const char *id, struct bread_str json, const char *dir,
	const struct def_parts *parts, struct bread_err *err);

/* r, and with it the key in dots that a fault stands at: "hooks", "humanTools.0". */
#define DEF_NO_INDEX SIZE_MAX
int brd_def_at(struct bread_err *err, int r, const char *key, size_t index);

struct retry_def brd_def_retry(const struct retry_conf *c);
/* An object with members as its text, else the empty one. */
struct bread_str brd_def_object(struct jval v);
/* Opens the hooks that v says, if it says any. whose is for the message. */
int brd_def_hooks(struct hook_set **ret, struct jval v, enum bread_hook_scope home, const char *dir,
	const char *whose, struct bread_err *err);
/* Compiles a schema, if there is one. what is for the message. */
int brd_def_schema(struct schema **ret, struct bread_str *text, struct jval v, const char *what,
	struct bread_err *err);

/* ---- def_tool.c ---- */
/* A zeroed tool at the end of the list, which counts once it is filled. */
struct tool_def *brd_def_tool_slot(struct agent_def *d);
void brd_def_tool_fini(struct tool_def *t);
/* A tool's object. skill: the skill whose script it is; NULL: the agent's own. */
int brd_def_add_tool(struct agent_def *d, struct jval v, const char *skill, const char *dir,
	struct bread_err *err);
int brd_def_add_human(struct agent_def *d, struct jval v, struct bread_err *err);
/* A tool in C, taken over; credentials: what it may read, NULL: nothing. */
int brd_def_add_callback(struct agent_def *d, const struct tool_def *from,
	const char *const *credentials, struct bread_err *err);
int brd_def_add_core(struct agent_def *d, const struct core_tool *list, struct bread_err *err);

/* ---- def_task.c ---- */
int brd_def_add_task(struct agent_def *d, struct jval v, struct bread_err *err);

/* ---- def_roster.c ---- */
int brd_def_supervisor(struct agent_def *d, const struct supervisor_conf *c, struct bread_err *err);
int brd_def_loop(struct agent_def *d, const struct loop_conf *c, struct bread_err *err);
/* What the prompt says of them. */
void brd_def_roster_sections(const struct agent_def *d, struct buf *out);

/* ---- def_skill.c ---- */
int brd_def_skills(struct agent_def *d, struct jval list, struct bread_err *err);
/* Makes id the loaded one: its scripts become tools. */
int brd_def_take_skill(
	struct agent_def *d, struct jval list, struct bread_str id, struct bread_err *err);
void brd_def_skill_sections(const struct agent_def *d, struct buf *out);
