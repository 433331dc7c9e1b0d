/* SPDX-License-Identifier: MIT */
/* What definitions say of each other: agents in rosters, pools and pipelines, tasks,
 * selectors, who delegates to whom. Each fault has its place; a project with one is not
 * loaded, so that no run finds it out. */
#pragma once
#include "project/files.h"
#include "run/pipeline_def.h"

struct ref_agent {
	const char *id;
	struct yaml_doc doc; /* root JSON_NONE: it could not be read */
	bool reenters;
	int seen; /* by the search for circles: 1 on the way, 2 done */
};

struct refs {
	struct project *p;
	struct ref_agent *agents; /* all that are listed */
	size_t count;
	conf_heard *heard;
	void *arg;
	unsigned faults;
	bool asked; /* hosts and skills of steps are looked at, too; else a run finds them missing
		     */
};

void brd_refs_hear(const struct bread_err *err, void *refs); /* tells it as one of r's faults */

/* Reads the listed agents' files once more, for their places; what cannot be read is
 * somebody else's to tell. */
void brd_refs_open(struct refs *r, struct project *p, const struct names *listed, conf_heard *heard,
	void *arg);
/* An agent's roster, pool, tasks and selectors; the project's tasks are read by now. */
void brd_refs_check_agent(struct refs *r, const char *id);
void brd_refs_check_circles(struct refs *r); /* of delegation */
void brd_refs_check_agents(struct refs *r);  /* all of that */
/* The agents of a pipeline's steps, which were parsed from doc. */
void brd_refs_check_steps(
	struct refs *r, const struct step_list *l, const struct yaml_doc *doc, const char *base);
/* The decision hosts and the skills that they ask for. */
void brd_refs_check_asked(
	struct refs *r, const struct step_list *l, const struct yaml_doc *doc, const char *base);
