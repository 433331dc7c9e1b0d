/* SPDX-License-Identifier: MIT */
/* Evals: cases that an agent is run on, and scorers that look at its output.
 *
 *   agent: echo            # default: the agent in whose folder the file is
 *   type: functional       # or prompt-injection, jailbreak, data-exfiltration
 *   cases:
 *     - name: says hi
 *       input: hi
 *       scorers:
 *         - { type: contains, expected: hi }     # exact, contains: expected; regex: pattern */
#pragma once
#include "base/arena.h"
#include "config/yaml.h"

struct pcre2_real_code_8;

enum scorer_type { SCORE_EXACT, SCORE_CONTAINS, SCORE_REGEX };

struct eval_scorer {
	int type; /* enum scorer_type */
	char *expected, *pattern;
	struct pcre2_real_code_8 *regex;
};

struct eval_case {
	char *name, *skill;
	struct jval input; /* JSON_NONE: none */
	struct jval scorer_list;
	struct eval_scorer *scorers;
	size_t scorer_count;
};

struct eval_suite {
	struct arena arena;
	char *agent; /* NULL: the file's place says */
	char *type;
	struct eval_case *cases;
	size_t case_count;
};

/* On failure there is nothing to free. The message has the place. */
int brd_eval_read(struct eval_suite *ret, const char *file, struct bread_err *err);
void brd_eval_fini(struct eval_suite *s);

struct eval_result {
	double score;             /* mean of the scorers; 1 without any */
	bool passed;              /* a score of 1 */
	struct bread_str details; /* "exact: PASS, regex: FAIL"; in the arena */
};

/* output: JSON text; a string is judged by its characters, all else by its JSON. */
void brd_eval_score(const struct eval_case *c, struct bread_str output, struct arena *a,
	struct eval_result *ret);
