/* SPDX-License-Identifier: MIT */
/* A project's folders: paths in it, and what is in them. */
#pragma once
#include "config/conf.h"
#include "project/project.h"

struct names {
	char **v; /* in an arena */
	size_t n, room;
};

void brd_names_add(struct names *l, struct arena *a, struct bread_str s);
bool brd_names_have(const struct names *l, const char *name);

/* Entries of a folder, sorted, that end in suffix, without it; no hidden ones. A missing folder
 * has none. */
struct names brd_list_dir(struct arena *a, const char *dir, const char *suffix);
bool brd_is_dir(const char *path);

/* Is it a name that an agent's folder, a tool's file may have? INVALID_NAME; file: for the message.
 */
int brd_project_check_id(const char *id, struct bread_err *err);
int brd_project_check_tool(const char *name, const char *file, struct bread_err *err);
/* The same for another kind: "skill", "task". */
int brd_project_check_name(
	const char *kind, const char *name, const char *file, struct bread_err *err);

/* A file's text of up to 1 MiB; none: *ret is as it was. what: "prompt", for the message. */
int brd_project_read_text(struct project *p, const char *file, const char *what,
	struct bread_str *ret, struct bread_err *err);
/* A tool's object, with the file's name as its name when it has none. */
int brd_project_read_tool(struct project *p, const char *file, const char *name, struct buf *out,
	struct bread_err *err);

/* A task that was read; NULL: there is none. */
const struct project_def *brd_project_task(const struct project *p, struct bread_str name);

/* A path below the project's folder. */
__attribute__((format(printf, 2, 3))) char *brd_project_path(
	struct project *p, const char *fmt, ...);
/* Ids of the agents that are to be loaded, whether they exist or not. */
struct names brd_project_entrypoints(struct project *p);

/* Sets p->config: bread.yaml with what the environment says instead. */
int brd_project_env(struct project *p, struct bread_err *err);

/* Makes one definition of an agent's files. 1: its faults were told, there is none; < 0: the whole
 * project cannot be loaded. */
int brd_project_read_agent(struct project *p, const char *id, struct buf *out, project_fault *fault,
	void *arg, struct bread_err *err);

/* Gives a fault of an agent's definition, which has a key at most, the place in its files. */
void brd_project_place(
	struct project *p, const char *id, struct bread_str json, struct bread_err *err);

/* The keys of a file whose name stands for `name:`: that one is not required. */
const struct conf_field *brd_named_file_fields(
	struct arena *a, const struct conf_field *fields, size_t n);
/* Those of tools/NAME.yaml. */
const struct conf_field *brd_tool_file_fields(struct arena *a);

/* skills.c: ,"skills":[…] of agents/ID/skills/NAME/, and of the agent's own list, if there are any.
 * Faults as for brd_project_read_agent. */
int brd_project_add_skills(struct project *p, const char *id, struct jval own, struct buf *out,
	project_fault *fault, void *arg, struct bread_err *err);

/* Tries what else it says of parts, without leaving anything behind; the tables found no fault. */
void brd_project_check_parts(struct project *p, conf_heard *heard, void *arg);
/* Opens what bread.yaml says of hooks, plugins and formats; hears of what does not load. */
void brd_project_check_scripts(struct project *p, conf_heard *heard, void *arg);
