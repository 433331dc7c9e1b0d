/* SPDX-License-Identifier: MIT */
/* What a host is asked and what it said, and what that means to the step that asked.
 *
 * Hosts are asked for a choice, a score or a probability and know nothing of
 * labels: these are the step's own, so that the same answer can be read in two ways. */
#include <math.h>
#include "base/err.h"
#include "decision/internal.h"

const char *brd_question_name(enum bread_question q)
{
	static const char *const names[] = { "choice", "score", "noul" };

	return names[q];
}

void brd_question_ask(struct jval question, struct bread_decision_call *call, struct arena *a)
{
	struct jval type = brd_json_get(question, "type");

	call->type = BREAD_QUESTION_CHOICE;
	if (brd_json_is(type, "score"))
		call->type = BREAD_QUESTION_SCORE;
	else if (brd_json_is(type, "noul"))
		call->type = BREAD_QUESTION_NOUL;
	call->text = brd_json_str(brd_json_get(question, "text"), a);
	if (call->type == BREAD_QUESTION_CHOICE)
		call->options = brd_json_raw(brd_json_get(question, "options"));
}

/* Left out unless it is a finite number. */
static void put_number(struct jsonw *w, const char *key, struct jval v)
{
	double n = brd_json_num(v, NAN);

	if (!isfinite(n))
		return;
	brd_jw_key(w, key);
	brd_jw_num(w, n);
}

void brd_answer_normal(struct buf *out, struct jval answer)
{
	struct jsonw w = brd_jsonw(out);
	struct jval type = brd_json_get(answer, "type"), noul = brd_json_get(answer, "noul");

	if (brd_json_type(answer) != JSON_OBJECT)
		return;
	brd_jw_obj(&w);
	if (brd_json_type(type) == JSON_STRING)
		brd_jw_kraw(&w, "type", brd_json_raw(type));
	if (brd_json_is(type, "choice")) {
		brd_jw_kraw(&w, "choice", brd_json_raw(brd_json_get(answer, "choice")));
		put_number(&w, "confidence", brd_json_get(answer, "confidence"));
	} else if (brd_json_is(type, "score")) {
		put_number(&w, "score", brd_json_get(answer, "score"));
	} else if (brd_json_is(type, "noul")) {
		put_number(&w, "probability",
			brd_json_type(noul) == JSON_NUMBER ? noul
							   : brd_json_get(answer, "probability"));
	}
	brd_jw_end_obj(&w);
}

struct judging {
	struct jval question, answer;
	struct bread_str type;
	struct arena *a;
	struct bread_err *err;
	struct bread_str *ret_context;
};

static int no_answer(struct judging *j)
{
	*j->ret_context = brd_arena_printf(j->a, "{\"expected\":\"%.*s\"}", BRD_ARG(j->type));
	return brd_fail_as(j->err, BREAD_E_UPSTREAM, "DECISION_ANSWER", "decision",
		"Decision host returned no %.*s answer.", BRD_ARG(j->type));
}

static int other_type(struct judging *j, struct jval received)
{
	struct bread_str name = brd_json_str(received, j->a);
	struct buf b;
	struct jsonw w;

	w = brd_jw_begin(&b);
	brd_jw_kstr(&w, "expected", j->type);
	brd_jw_key(&w, "received");
	if (brd_json_type(received) == JSON_STRING)
		brd_jw_str(&w, name);
	else
		brd_jw_null(&w);
	*j->ret_context = brd_jw_finish(&w, j->a);
	return brd_fail_as(j->err, BREAD_E_UPSTREAM, "DECISION_ANSWER", "decision",
		"Decision host returned %s%.*s answer; expected %.*s.",
		name.n ? "a " : "an untyped", (int)(name.n < 64 ? name.n : 64),
		name.n ? name.p : "", BRD_ARG(j->type));
}

/* One of the options, confidently enough; else the question's otherwise. */
static struct bread_str choice_label(struct judging *j)
{
	struct jval choice = brd_json_get(j->answer, "choice");
	struct jval least = brd_json_get(j->question, "minConfidence");
	double confidence = brd_json_num(brd_json_get(j->answer, "confidence"), NAN);
	bool sure = brd_json_type(least) != JSON_NUMBER ||
		    (isfinite(confidence) && confidence >= brd_json_num(least, 0));

	for (struct json_iter it = brd_json_each(brd_json_get(j->question, "options"));
		sure && brd_json_next(&it);)
		if (brd_json_type(choice) == JSON_STRING &&
			brd_json_iss(choice, brd_json_str(it.value, j->a)))
			return brd_json_str(it.value, j->a);
	return brd_json_str(brd_json_get(j->question, "otherwise"), j->a);
}

/* Both ends belong to a bucket; an end that is missing holds nothing. */
static bool holds(struct jval bucket, double value)
{
	return value >= brd_json_num(brd_json_get(bucket, "min"), NAN) &&
	       value <= brd_json_num(brd_json_get(bucket, "max"), NAN);
}

static int wrong_bucket(struct judging *j, double value, size_t matches, struct bread_str labels)
{
	struct buf b, shown;
	struct jsonw w;

	w = brd_jw_begin(&b);
	brd_jw_kstr(&w, "type", j->type);
	brd_jw_key(&w, "value");
	brd_jw_num(&w, value);
	brd_jw_kraw(&w, "matches", labels);
	*j->ret_context = brd_jw_finish(&w, j->a);
	brd_buf_init(&shown, BUF_NO_LIMIT);
	brd_json_num_add(&shown, value);
	brd_fail_as(j->err, BREAD_E_UPSTREAM, "DECISION_BUCKET", "decision",
		"Decision %.*s value %s matched %zu buckets; exactly one is required.",
		BRD_ARG(j->type), shown.data, matches);
	brd_buf_fini(&shown);
	return BREAD_E_UPSTREAM;
}

static int bucket_label(struct judging *j, struct bread_str *ret_label)
{
	const char *key = brd_str_is(j->type, "score") ? "score" : "probability";
	double value = brd_json_num(brd_json_get(j->answer, key), NAN);
	size_t matches = 0;
	struct buf labels;
	struct jsonw w;
	int r = 0;

	if (!isfinite(value)) {
		*j->ret_context = brd_arena_printf(j->a, "{\"type\":\"%.*s\"}", BRD_ARG(j->type));
		return brd_fail_as(j->err, BREAD_E_UPSTREAM, "DECISION_ANSWER", "decision",
			"Decision %.*s answer is missing a finite number.", BRD_ARG(j->type));
	}
	brd_buf_init(&labels, BUF_NO_LIMIT);
	w = brd_jsonw(&labels);
	brd_jw_arr(&w);
	for (struct json_iter it = brd_json_each(brd_json_get(j->question, "buckets"));
		brd_json_next(&it);) {
		if (!holds(it.value, value))
			continue;
		*ret_label = brd_json_str(brd_json_get(it.value, "label"), j->a);
		brd_jw_str(&w, *ret_label);
		matches++;
	}
	brd_jw_end_arr(&w);
	if (matches != 1)
		r = wrong_bucket(j, value, matches, brd_buf_str(&labels));
	brd_buf_fini(&labels);
	return r;
}

int brd_decision_label(struct jval question, struct bread_str answer, struct arena *a,
	struct bread_str *ret_label, struct bread_err *err, struct bread_str *ret_context)
{
	struct judging j = { .question = question, .a = a, .err = err, .ret_context = ret_context };
	struct jval type;

	*ret_context = (struct bread_str){ 0 };
	j.type = brd_json_str(brd_json_get(question, "type"), a);
	if (!answer.n || brd_json_parse(a, answer, 0, &j.answer, NULL) ||
		brd_json_type(j.answer) != JSON_OBJECT)
		return no_answer(&j);
	type = brd_json_get(j.answer, "type");
	if (brd_json_type(type) != JSON_STRING || !brd_json_iss(type, j.type))
		return other_type(&j, type);
	if (!brd_str_is(j.type, "choice"))
		return bucket_label(&j, ret_label);
	*ret_label = choice_label(&j);
	return BREAD_OK;
}
