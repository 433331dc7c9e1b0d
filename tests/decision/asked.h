/* SPDX-License-Identifier: MIT */
/* What the tests of decision hosts share: a registry, and one call of a host. */
#pragma once
#include "base/str.h"
#include "decision/decision.h"
#include "loop/loop.h"
#include "test.h"

struct asked {
	struct arena a;
	struct decisions *ds;
	struct bread_decision_call call;
	bool ended;
};

#define CHOICE \
	"{\"type\":\"choice\",\"text\":\"Which desk?\",\"options\":[\"billing\",\"shipping\"]," \
	"\"otherwise\":\"review\"}"
#define SCORE "{\"type\":\"score\",\"text\":\"Urgency?\",\"buckets\":[]}"
#define NOUL "{\"type\":\"noul\",\"text\":\"Spam?\",\"buckets\":[]}"

static inline struct jval parsed(struct arena *a, const char *json)
{
	struct jval v;

	if (brd_json_parse(a, brd_str(json), 0, &v, NULL))
		fail_msg("no JSON: %s", json);
	return v;
}

static inline void on_asked(struct bread_op *op)
{
	((struct asked *)op->arg)->ended = true;
}

static inline void asked_open(struct asked *q, const char *registry)
{
	struct bread_err err = { 0 };

	memset(q, 0, sizeof(*q));
	if (brd_decisions_open(&q->ds, parsed(&q->a, registry), &err))
		fail_msg("%s: %s", err.where, err.text);
}

/* Starts a question to the host of that name. */
static inline void ask_start(struct asked *q, struct loop *l, const char *host,
	const char *question, const char *state, const char *model)
{
	struct bread_decision *d = brd_decision_find(q->ds, brd_str(host), NULL);

	assert_non_null(d);
	brd_decision_call_fini(&q->call);
	q->call = (struct bread_decision_call){
		.model = brd_str(model), .state = brd_str(state), .loop = l
	};
	brd_question_ask(parsed(&q->a, question), &q->call, &q->a);
	q->ended = false;
	bread_op_init(&q->call.op, l, on_asked, q);
	brd_decision_start(d, &q->call);
	assert_false(q->ended);
}

static inline void ask_await(struct asked *q, struct loop *l)
{
	while (!q->ended)
		brd_loop_turn(l, 1000);
}

static inline void ask(struct asked *q, struct loop *l, const char *host, const char *question,
	const char *state, const char *model)
{
	ask_start(q, l, host, question, state, model);
	ask_await(q, l);
}

static inline void asked_fini(struct asked *q)
{
	brd_decision_call_fini(&q->call);
	brd_decisions_close(q->ds);
	brd_arena_fini(&q->a);
}

#define assert_answer(q, json) \
	do { \
		assert_int_equal((q)->call.op.code, BREAD_OK); \
		assert_non_null((q)->call.answer); \
		assert_string_equal((q)->call.answer, (json)); \
	} while (0)

#define assert_failure(q, word, json) \
	do { \
		assert_int_not_equal((q)->call.op.code, BREAD_OK); \
		assert_string_equal((q)->call.op.err.name, (word)); \
		assert_string_equal((q)->call.error_context, (json)); \
		assert_null((q)->call.answer); \
	} while (0)
