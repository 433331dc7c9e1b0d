/* SPDX-License-Identifier: MIT */
/* Decision hosts by name, the one place that calls their seam, and what an answer
 * means.
 *
 * `decisions:` maps a name to an entry; an entry has a type: `scripted`, `model`, or a
 * host that speaks the System One wire (hosts.c has them). A step asks one question;
 * the host answers with a choice, a score or a probability, and the step's question
 * turns that into a label. */
#pragma once
#include "base/arena.h"
#include "base/json.h"
#include "bread/ext/decision.h"
#include "config/conf.h"

struct decisions; /* the registry; fixed once runs are started, so any loop may look */

/* Adds the hosts of registry (an object of entries; JSON_NONE and null: nothing happens) to *ds,
 * which is made when it is NULL. BREAD_E_INVALID names the entry. What was added stays. */
int brd_decisions_open(struct decisions **ds, struct jval registry, struct bread_err *err);
/* The same for one host of an embedder's own; it wins over others of that name. */
int brd_decisions_add(struct decisions **ds, const struct bread_decision_ops *ops,
	struct bread_str name, struct bread_str options, struct bread_err *err);
void brd_decisions_close(struct decisions *ds); /* NULL, too; no call is running by now */
/* All entries, with places in the messages; providers of `model` entries are not looked up. */
int brd_decisions_check(struct jval registry, const struct yaml_doc *doc, struct bread_err *err);

/* The keys of an entry, for the reference page. */
extern const struct conf_field brd_decision_fields[];
extern const size_t brd_decision_field_count;

/* NULL: there is none. known (may be NULL): all names, "a, b". */
struct bread_decision *brd_decision_find(
	const struct decisions *ds, struct bread_str name, struct buf *known);
/* The same for a step: without a host *err is DECISION_NOT_CONFIGURED (ds is NULL) or
 * UNKNOWN_DECISION_PROVIDER with its facts in *ret_context, which is empty where there are none. */
struct bread_decision *brd_decision_of(const struct decisions *ds, struct bread_str name,
	struct arena *a, struct bread_err *err, struct bread_str *ret_context);

/* Any loop. call->op was made ready by the caller; it ends BREAD_OK with an answer or without one
 * (brd_decision_label says what that means), or with a code word in op.err.name and its facts in
 * error_context: DECISION_HOST, PROVIDER_NOT_CONFIGURED, INTERNAL_ERROR. */
void brd_decision_start(struct bread_decision *d, struct bread_decision_call *call);
void brd_decision_call_fini(struct bread_decision_call *call); /* frees what the host gave */

/* ---- questions and answers: no state, any thread ---- */

/* Fills type, text and options of a call from a step's question: {type, text, options, otherwise,
 * minConfidence?} or {type, text, buckets}. What else it has stays here. */
void brd_question_ask(struct jval question, struct bread_decision_call *call, struct arena *a);

/* Appends the answer in its normal form; nothing for what is no object. A number that is missing
 * or not finite is left out, a probability may be called noul. */
void brd_answer_normal(struct buf *out, struct jval answer);

/* The label that the question gives to an answer (its normal form; empty: there was none). Else
 * DECISION_ANSWER or DECISION_BUCKET, with the facts in *ret_context. Both live as long as the
 * question's text and the arena. */
int brd_decision_label(struct jval question, struct bread_str answer, struct arena *a,
	struct bread_str *ret_label, struct bread_err *err, struct bread_str *ret_context);

/* ---- hosts of the type model ---- */

/* One structured answer of a chat model. Whoever owns the models fills in the second part. */
struct decision_ask {
	struct bread_op op; /* not BREAD_OK: status is the model server's, 0 where it gave none */
	struct bread_str provider, model, system, prompt;
	struct bread_str schema, settings; /* JSON; no schema: plain text is asked for */
	struct loop *loop;

	char *text; /* JSON if there is a schema; freed by the asker with free() */
	size_t text_len;
	double likely; /* of the text, 0 to 1, by its log-probabilities; NaN: not known */
	int status;
};
typedef void decision_ask_fn(void *arg, struct decision_ask *ask); /* begins and ends ask->op */
/* Who asks for hosts of the type model. Before anything is started. ds NULL: nothing happens. */
void brd_decisions_ask_by(struct decisions *ds, decision_ask_fn *fn, void *arg);
/* Calls fn for each host of the type model, with its name and its provider's, until it fails. */
int brd_decisions_models(const struct decisions *ds,
	int (*fn)(
		void *arg, struct bread_str name, struct bread_str provider, struct bread_err *err),
	void *arg, struct bread_err *err);
