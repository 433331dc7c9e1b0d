/* SPDX-License-Identifier: MIT */
/* Evals: cases that an agent is run on, and scorers that look at its output.
 *
 *   agent: echo            # default: the agent in whose folder the file is
 *   type: functional       # or prompt-injection, jailbreak, data-exfiltration
 *   cases:
 *     - name: says hi
 *       input: hi
 *       skill: polite      # optional
 *       scorers:
 *         - { type: exact, expected: hi }         # contains: expected, too
 *         - { type: regex, pattern: "^h" }
 *         - { type: llmJudge, criteria: "greets", model: openai/gpt-4o-mini }
 *         - { type: custom, name: short, command: [./short.py] }   # a tool: command, http */
#pragma once
#include "base/arena.h"
#include "config/yaml.h"

struct bread_tool;
struct pcre2_real_code_8;

enum scorer_type { SCORE_EXACT, SCORE_CONTAINS, SCORE_REGEX, SCORE_JUDGE, SCORE_CUSTOM };

struct eval_scorer {
	int type;         /* enum scorer_type */
	const char *name; /* in the report; NULL: the type's */
	const char *expected, *pattern, *criteria, *model;
	struct jval command, http;
	int64_t timeout_ms;
	struct pcre2_real_code_8 *regex;
	struct bread_tool *tool; /* of a custom one */
};

struct eval_case {
	const char *name, *skill;
	struct jval input; /* JSON_NONE: none */
	struct jval scorer_list;
	struct eval_scorer *scorers;
	size_t scorer_count;
};

struct eval_suite {
	struct arena arena;
	const char *agent; /* NULL: the file's place says */
	const char *type;
	struct eval_case *cases;
	size_t case_count;
};

/* On failure there is nothing to free. The message has the place. Programs of custom scorers are
 * looked for in the file's folder. */
int brd_eval_read(struct eval_suite *ret, const char *file, struct bread_err *err);
void brd_eval_fini(struct eval_suite *s);

struct eval_result {
	double score;             /* mean of the scorers; 1 without any */
	bool passed;              /* a score of 1 */
	bool error;               /* there is no score: the run, or a scorer, failed */
	struct bread_str details; /* "exact: PASS, regex: FAIL"; in the arena */
	int64_t ms;               /* how long it took; the caller's */
};

/* What a scorer is shown. */
struct eval_shown {
	const struct eval_case *c;
	struct bread_str output; /* JSON; empty: none */
	struct bread_str text;   /* the characters of a string, the JSON of all else */
};

/* Who judges where that takes more than looking (llmJudge, custom): gives a score from 0 to 1 to
 * *ret_score, or a code. */
struct eval_judge {
	int (*judge)(void *arg, const struct eval_scorer *s, const struct eval_shown *shown,
		double *ret_score, struct bread_err *err);
	void *arg;
};

/* Scores an output: JSON text, empty when there was none. */
void brd_eval_score(const struct eval_case *c, struct bread_str output,
	const struct eval_judge *judge, struct arena *a, struct eval_result *ret);
/* The result of a run that failed. */
void brd_eval_failed(struct bread_str message, struct arena *a, struct eval_result *ret);
