/* SPDX-License-Identifier: MIT */
/* Tasks by themselves: reading one, and giving agents those that they name. */
#pragma once
#include "run/def.h"

/* Strings lie in the arena, or are v's. brd_task_fini lets go of the schemas. */
int brd_task_read(struct task_def *ret, struct jval v, struct arena *a, struct bread_err *err);
void brd_task_fini(struct task_def *t);

/* Where names come from. find: the task's JSON; false: there is none, *ret_known is a JSON array of
 * the names there are. */
struct task_source {
	bool (*find)(void *arg, struct bread_str name, struct arena *a, struct bread_str *ret_json,
		struct bread_str *ret_known);
	void *arg;
};

/* An agent's JSON with its tasks' own instead of their names; json itself when it names none.
 * TASK_NOT_FOUND. */
int brd_tasks_inline(struct bread_str *ret, const char *agent_id, struct bread_str json,
	const struct task_source *from, struct arena *a, struct bread_err *err);

/* Fills err: TASK_NOT_FOUND {agentId, taskId, available}. */
int brd_task_unknown(
	const char *agent_id, struct bread_str name, struct bread_str known, struct bread_err *err);

extern const struct conf_field brd_task_fields[];
extern const size_t brd_task_field_count;
