/* SPDX-License-Identifier: MIT */
/* A decision host: answers one question about a value with a choice, a score or a probability. For
 * those who write one (docs/pipelines.md); bread_decision in bread/instance.h adds it.
 *
 * open and close are called on any one thread, start on the loop of the run that asks; a host is
 * asked by several loops at once. */
#ifndef BREAD_EXT_DECISION_H
#define BREAD_EXT_DECISION_H

#include "bread/ext/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bread_question { BREAD_QUESTION_CHOICE, BREAD_QUESTION_SCORE, BREAD_QUESTION_NOUL };

struct bread_decision_call {
	/* Not BREAD_OK: the step fails; op.err.text says why, op.err.name is the code word
	 * (DECISION_HOST …). BREAD_E_CANCELED after a cancel through the op, which must bring the
	 * end about soon. */
	struct bread_op op;

	/* what is asked; unchanged until the op ends */
	struct bread_str model; /* as the step names it; empty: it names none */
	struct bread_str state; /* JSON: the value of the pipeline */
	enum bread_question type;
	struct bread_str text;    /* the question */
	struct bread_str options; /* JSON array of strings, of a choice */
	struct loop *loop;        /* that the op ends on */

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
	size_t size;      /* of the host's struct; zeroed by the caller of open */
	/* name: its key under `decisions:`; options: its entry there, or what its embedder gave, as
	 * JSON. Both are borrowed. BREAD_E_INVALID: the options are wrong, and err names them. */
	int (*open)(struct bread_decision *d, struct bread_str name, struct bread_str options,
		struct bread_err *err);
	void (*close)(struct bread_decision *d); /* of an opened one; no call is under way */
	/* Begins call->op and ends it, never inside this function. */
	void (*start)(struct bread_decision *d, struct bread_decision_call *call);
};

struct bread_decision {
	const struct bread_decision_ops *ops;
};

#ifdef __cplusplus
}
#endif
#endif
