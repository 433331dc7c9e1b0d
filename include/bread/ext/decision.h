/* SPDX-License-Identifier: MIT */
/* A decision host: answers one question about a value with a choice, a score or a probability. For
 * those who write one (docs/pipelines.md). */
#ifndef BREAD_EXT_DECISION_H
#define BREAD_EXT_DECISION_H

#include "bread/ext/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bread_question { BREAD_QUESTION_CHOICE, BREAD_QUESTION_SCORE, BREAD_QUESTION_NOUL };

struct bread_decision_call {
	struct bread_op op; /* not BREAD_OK: op.err.name is the code word (DECISION_HOST …) */

	/* what is asked; unchanged until the op ends */
	struct bread_str model;
	struct bread_str state; /* JSON: the value of the pipeline */
	enum bread_question type;
	struct bread_str text;    /* the question */
	struct bread_str options; /* JSON array of strings, of a choice */
	struct loop *loop;
	void *arg;

	/* out: freed by the caller with free(). The answer in its normal form:
	 * {"type":"choice","choice":s, "confidence"?:n}, {"type":"score","score":n},
	 * {"type":"noul","probability":n}; NULL: the host gave none. */
	char *answer;
	size_t answer_len;
	char *error_context; /* JSON; NULL: none */
	void *priv;          /* the host's */
};

struct bread_decision; /* first member of a host's struct: one configured host */

struct bread_decision_ops {
	const char *name; /* "typesafe": the key in `decisions:` or its type */
	size_t size;
	int (*open)(struct bread_decision *d, struct bread_str name, struct bread_str options,
		struct bread_err *err);
	void (*close)(struct bread_decision *d);
	void (*start)(struct bread_decision *d, struct bread_decision_call *call);
};

struct bread_decision {
	const struct bread_decision_ops *ops;
};

#ifdef __cplusplus
}
#endif
#endif
