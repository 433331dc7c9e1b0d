/* SPDX-License-Identifier: MIT */
/* What a pipeline is: a list of steps, parsed once from JSON and never changed
 * (docs/pipelines.md).
 *
 * Shared by reference, as an agent's definition: a run holds the one that it began
 * with, and its JSON is stored under its hash. What is wrong with one is found here,
 * with its place, and not by a run: an unknown type of step, a branch without a
 * default, a question that cannot be answered, nesting deeper than STEP_DEPTH_MAX. */
#pragma once
#include <stdatomic.h>
#include "bread/ext/decision.h"
#include "config/conf.h"

enum { STEP_DEPTH_MAX = 32, STEPS_MAX = 10000 };

enum step_kind { STEP_AGENT, STEP_PARALLEL, STEP_MAP, STEP_DECISION, STEP_BRANCH };

struct step_def;
struct step_case;

struct step_list {
	struct step_def *steps;
	size_t count;
};

struct step_def {
	enum step_kind kind;
	struct bread_str json; /* the whole step */
	struct jval at;        /* the same as a value: of the tape that it was parsed from */

	char *agent_id;      /* agent, map */
	char *skill;         /* agent, map; NULL: none */
	bool shared_session; /* agent, map: the pipeline's session; else a fresh one each */
	int64_t concurrency; /* map: runs at the same time */

	struct step_list *slots; /* parallel: one a slot, each a list of one step */
	size_t slot_count;

	char *provider, *model; /* decision */
	struct jval question;
	enum bread_question question_type;

	struct bread_str on; /* branch: a path in dots; empty: the latest label */
	struct step_case *cases;
	size_t case_count;
	bool has_default;
	struct step_list otherwise;
};

struct step_case {
	struct bread_str eq;
	struct step_list steps;
};

struct pipeline_def {
	atomic_int refs;
	struct arena arena;
	char *id;
	struct bread_str json; /* an array of steps */
	char hash[65];         /* of json and id: SHA-256, hex */
	struct step_list steps;
};

/* Parses a list of steps; BREAD_E_INVALID names the step and the key, PIPELINE_BRANCH_DEFAULT
 * is a name of its own. One reference for the caller. */
int brd_pipeline_def_new(
	struct pipeline_def **ret, const char *id, struct bread_str json, struct bread_err *err);
struct pipeline_def *brd_pipeline_def_ref(struct pipeline_def *d);
void brd_pipeline_def_unref(struct pipeline_def *d); /* NULL, too */

/* A list of agents one after the other, as a loop runs them; ids: NULL-terminated. */
int brd_pipeline_def_of_agents(
	struct pipeline_def **ret, const char *id, const char *const *ids, struct bread_err *err);

/* Parses what a file says: every fault is heard, with its place. base: the key in dots that v has
 * in the file. *ret lies in the arena, without what is faulty; false: there were faults. */
bool brd_pipeline_check(struct step_list *ret, struct jval v, const struct yaml_doc *doc,
	const char *base, struct arena *a, conf_heard *heard, void *arg);

/* Calls fn for each step, those inside others too, in the order of the text. */
void brd_pipeline_each(
	const struct step_list *l, void (*fn)(const struct step_def *s, void *arg), void *arg);
