/* SPDX-License-Identifier: MIT */
/* Looking at all files of a project without running anything of it: every fault
 * with its file, line and column. */
#pragma once
#include "project/project.h"

struct project_seen { /* an agent, as far as its files could be read */
	const char *id;
	struct bread_str provider, model; /* empty: not given */
	bool input_schema, output_schema;
	bool needs_output_schema; /* its format is json */
	unsigned faults;
};

struct project_checker {
	project_fault *on_fault;
	void (*on_agent)(const struct project_seen *s, void *arg); /* NULL: not wanted */
	void *arg;
	unsigned faults, files, agents; /* out */
};

/* true: no fault. Environment variables that hold keys need not be set. */
bool brd_project_check(struct project_checker *c, const char *dir);
