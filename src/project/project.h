/* SPDX-License-Identifier: MIT */
/* A project: a folder with bread.yaml and agents/ (docs/configuration.md).
 *
 *   bread.yaml
 *   agents/ID/agent.yaml    agents/ID/prompt.md    agents/ID/tools/NAME.yaml
 *   agents/ID/evals/NAME.yaml    agents/ID/skills/NAME/SKILL.md
 *   tasks/NAME.yaml         pipelines/ID.yaml
 *
 * Loading reads the files, checks each with places in the messages, and gives
 * the instance what they say; everything a file can say, a program can say
 * through the same functions. */
#pragma once
#include "base/log.h"
#include "config/yaml.h"
#include "instance/instance.h"

struct project_def { /* a task, a pipeline */
	const char *name;
	struct bread_str json;
	struct jval at; /* the same as a value */
};

struct project {
	struct arena arena;
	char *dir;           /* as given */
	struct yaml_doc doc; /* bread.yaml, with places */
	struct jval config;  /* the same, with what the environment says instead */
	char **agents;       /* ids, in the order of entrypoints */
	size_t agent_count;
	struct project_def *tasks, *pipelines;
	size_t task_count, pipeline_count;
	unsigned faults; /* agents and tools that could not be used */
};

/* Hears of each agent or tool that cannot be used (a sentence with file, line and
 * column); loading goes on without it. */
typedef void project_fault(const struct bread_err *err, void *arg);

/* Reads bread.yaml alone. BREAD_E_NOT_FOUND: there is none (names the folder and `bread init`). */
int brd_project_open(struct project *p, const char *dir, struct bread_err *err);
void brd_project_close(struct project *p);

/* Configures b from it: before bread_start. */
int brd_project_configure(struct project *p, struct bread *b, struct bread_err *err);
/* Registers all agents, tasks and pipelines; also again later, on a running instance. What is no
 * longer there is removed; an agent that is broken stays as it was. A name that can never be one, a
 * wrong task or pipeline, and what one definition says wrongly of another are errors of the whole:
 * nothing is registered then. err is the first of them, the others are told. */
int brd_project_agents(
	struct project *p, struct bread *b, project_fault *fault, void *arg, struct bread_err *err);

/* What `log:` says; level: LOG_INFO unless it says one. */
int brd_project_log(
	const struct project *p, enum log_level *level, bool *json, struct bread_err *err);
/* Gives a fault that starting found in what bread.yaml says its place there. */
void brd_project_place_main(const struct project *p, struct bread_err *err);
/* `server:`, `ingress:` as JSON; empty when not there. */
struct bread_str brd_project_part(const struct project *p, const char *key);
