/* SPDX-License-Identifier: MIT */
/* Tasks and pipelines of a project: tasks/NAME.yaml, pipelines/ID.yaml, and `pipelines:`
 * of bread.yaml. A fault of one is a fault of the whole project. */
#pragma once
#include "project/refs.h"

/* Reads all tasks into p; returns the number of faults. */
unsigned brd_project_read_tasks(struct project *p, conf_heard *heard, void *arg);
/* The same for pipelines; their agents are looked up in refs, which is told of faults. */
void brd_project_read_pipelines(struct project *p, struct refs *refs);

/* Defines them, and forgets those that are there no more. */
int brd_project_define_tasks(struct project *p, struct bread *b, struct bread_err *err);
int brd_project_define_pipelines(struct project *p, struct bread *b, struct bread_err *err);
