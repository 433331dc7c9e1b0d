/* SPDX-License-Identifier: MIT */
/* Scorers that take time: a model that judges an output, or a tool. */
#pragma once
#include "bread/ext/tool.h"
#include "bread/instance.h"
#include "decision/decision.h"
#include "project/eval.h"

#define JUDGE_MODEL \
	"openai/gpt-4o-mini" /* where neither the environment nor the scorer says one \
			      */

struct judging {
	bool ended;
	int code; /* BREAD_OK: score; else err says why */
	double score;
	struct bread_err err;

	struct bread_op *op; /* the running one */
	struct decision_ask ask;
	struct bread_tool_call call;
	struct arena arena;
};

/* Starts on the driver's loop; s is an llmJudge or a custom one. Turn the instance until it has
 * ended. What is given stays until then. */
void brd_judging_start(struct judging *j, struct bread *b, const struct eval_scorer *s,
	const struct eval_shown *shown);
void brd_judging_cancel(struct judging *j); /* it ends soon */
void brd_judging_fini(struct judging *j);   /* after its end */

/* PROVIDER/MODEL: of the environment's BREAD_EVAL_MODEL, else the scorer's, else JUDGE_MODEL. */
void brd_judge_model(
	const struct eval_scorer *s, struct bread_str *ret_provider, struct bread_str *ret_model);
/* What a custom scorer gave: a number, a truth value, or an object with `score` or `passed`;
 * false: none of these. */
bool brd_judge_score(struct bread_str result, double *ret);
