/* SPDX-License-Identifier: MIT */
/* A host whose answers are written in its entry, for tests and demos.
 *
 *   answers: [ {type: choice, choice: a, confidence: 0.9}, null, {throw: "down"} ]
 *   questions: { "Spam?": {type: noul, probability: 0.1}, "Desk?": [ …, … ] }
 *
 * What questions says for a question's text comes first: one answer for each time it
 * is asked, or a list in order. Otherwise the n-th of answers is for the n-th call.
 * null: the host gives no answer; throw: it fails; before_ms: it takes so long. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "decision/internal.h"
#include "loop/loop.h"

#define DELAY_MAX_MS (24 * 3600 * 1000.0)

struct scripted_host {
	struct bread_decision host;
	struct arena arena;
	struct bread_str name;
	struct decision_conf conf;
	pthread_mutex_t lock; /* of the counts: any loop may ask */
	int64_t calls;
	int64_t *asked; /* of each question that has a list */
	int record_fd;
};

struct scripted_play {
	struct bread_decision_call *call;
	struct scripted_host *host;
	struct jval answer;
	struct timer timer;
};

/* ---- the entry ---- */

static int check_answer(struct jval v, const struct yaml_doc *doc, const char *base,
	struct arena *a, struct bread_err *err)
{
	static const char keys[] =
		" type choice confidence score probability noul throw before_ms ";

	if (brd_json_type(v) != JSON_NULL && brd_json_type(v) != JSON_OBJECT)
		return brd_conf_fault(err, doc, v, base, "is an object or null, not %s",
			brd_json_type_name(brd_json_type(v)));
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		struct bread_str key = brd_json_str(it.key, a);
		struct bread_str word = brd_arena_printf(a, " %.*s ", BRD_ARG(key));

		if (brd_str_find(brd_str(keys), word) < 0)
			return brd_conf_fault(err, doc, it.key, base,
				"has the key %.*s, which no answer has; type, choice, confidence, "
				"score, probability, throw and before_ms are known",
				BRD_ARG(key));
	}
	return 0;
}

static int check_list(struct jval list, const struct yaml_doc *doc, const char *base,
	struct arena *a, struct bread_err *err)
{
	int r = 0;

	for (struct json_iter it = brd_json_each(list); !r && brd_json_next(&it);)
		r = check_answer(
			it.value, doc, brd_arena_printf(a, "%s.%zu", base, it.index).p, a, err);
	return r;
}

int brd_scripted_check(const struct decision_conf *c, const struct yaml_doc *doc, const char *base,
	struct arena *a, struct bread_err *err)
{
	int r = check_list(c->answers, doc, brd_arena_printf(a, "%s.answers", base).p, a, err);

	for (struct json_iter it = brd_json_each(c->questions); !r && brd_json_next(&it);) {
		const char *at = brd_arena_printf(a, "%s.questions.%zu", base, it.index).p;

		r = brd_json_type(it.value) == JSON_ARRAY ? check_list(it.value, doc, at, a, err)
							  : check_answer(it.value, doc, at, a, err);
	}
	return r;
}

static int open_record(struct scripted_host *h, struct bread_err *err)
{
	if (!h->conf.record)
		return 0;
	h->record_fd = open(h->conf.record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (h->record_fd < 0)
		return brd_fail(err, BREAD_E_INVALID, "decision.scripted", "%s cannot be written",
			h->conf.record);
	return 0;
}

static int scripted_open(struct bread_decision *d, struct bread_str name, struct bread_str options,
	struct bread_err *err)
{
	struct scripted_host *h = (struct scripted_host *)d;
	int r;

	h->record_fd = -1;
	h->name = brd_arena_copy(&h->arena, name);
	r = brd_decision_options(&h->conf, name, options, &h->arena, err);
	if (!r)
		r = open_record(h, err);
	if (r) {
		brd_arena_fini(&h->arena);
		return r;
	}
	h->asked = brd_arena_array(
		&h->arena, brd_json_count(h->conf.questions) + 1, sizeof(*h->asked));
	pthread_mutex_init(&h->lock, NULL);
	return 0;
}

static void scripted_close(struct bread_decision *d)
{
	struct scripted_host *h = (struct scripted_host *)d;

	if (h->record_fd >= 0)
		close(h->record_fd);
	pthread_mutex_destroy(&h->lock);
	brd_arena_fini(&h->arena);
}

/* ---- a call ---- */

/* The answer that is written for this text; JSON_NONE: there is none (more). */
static struct jval by_question(struct scripted_host *h, struct bread_str text)
{
	struct jval none = { 0 };

	for (struct json_iter it = brd_json_each(h->conf.questions); brd_json_next(&it);) {
		if (!brd_json_iss(it.key, text))
			continue;
		if (brd_json_type(it.value) != JSON_ARRAY)
			return it.value;
		return brd_json_at(it.value, (size_t)h->asked[it.index]++);
	}
	return none;
}

/* The next answer; *ret_call is its number, from 0. */
static struct jval choose(struct scripted_host *h, struct bread_str text, int64_t *ret_call)
{
	struct jval v;

	pthread_mutex_lock(&h->lock);
	*ret_call = h->calls++;
	v = by_question(h, text);
	if (brd_json_type(v) == JSON_NONE)
		v = brd_json_at(h->conf.answers, (size_t)*ret_call);
	pthread_mutex_unlock(&h->lock);
	return v;
}

/* A line as recordings of the original have it. */
static void write_record(struct scripted_host *h, const struct bread_decision_call *call, int64_t n)
{
	struct buf line;
	struct jsonw w;

	if (h->record_fd < 0)
		return;
	brd_buf_init(&line, BUF_NO_LIMIT);
	w = brd_jsonw(&line);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "decision_provider", h->name);
	brd_jw_kstr(&w, "model", call->model);
	brd_jw_kint(&w, "call", n);
	brd_jw_key(&w, "request");
	brd_jw_obj(&w);
	brd_jw_kraw(&w, "state", call->state.n ? call->state : BRD_STR("null"));
	brd_jw_key(&w, "questions");
	brd_jw_arr(&w);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "type", brd_str(brd_question_name(call->type)));
	brd_jw_kstr(&w, "text", call->text);
	brd_jw_kraw(&w, "options", call->options);
	brd_jw_end_obj(&w);
	brd_jw_end_arr(&w);
	brd_jw_end_obj(&w);
	brd_jw_end_obj(&w);
	brd_buf_addc(&line, '\n');
	if (write(h->record_fd, line.data, line.len) != (ssize_t)line.len)
		log_warn("decision.record", "%s could not be written", h->conf.record);
	brd_buf_fini(&line);
}

/* A failure that is no host's answer: callers see no more than that (contract C28). */
static void throw(struct scripted_play * p, struct jval why)
{
	struct arena a = { 0 };
	struct bread_str text = brd_json_str(why, &a);
	struct bread_err err = { 0 };

	log_warn("decision.scripted", "%.*s: %.*s", BRD_ARG(p->host->name), BRD_ARG(text));
	brd_fail_as(&err, BREAD_E_UPSTREAM, "INTERNAL_ERROR", "decision", "Internal server error");
	bread_op_end(&p->call->op, BREAD_E_UPSTREAM, &err);
	brd_arena_fini(&a);
}

static void on_timer(struct timer *t)
{
	struct scripted_play *p = brd_list_of(t, struct scripted_play, timer);
	struct jval why = brd_json_get(p->answer, "throw");

	if (p->call->op.canceled)
		bread_op_end(&p->call->op, BREAD_E_CANCELED, NULL);
	else if (brd_json_type(p->answer) == JSON_NONE)
		brd_decision_fail(p->call, "DECISION_HOST", p->host->name, 0,
			"Decision host \"%.*s\" has no answer left; write more under answers",
			BRD_ARG(p->host->name));
	else if (brd_json_type(why) != JSON_NONE)
		throw(p, why);
	else
		brd_decision_answer(p->call, p->answer);
	free(p);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct scripted_play *p = by;

	brd_timer_start(&p->timer, p->call->loop, 0, on_timer);
}

static void scripted_start(struct bread_decision *d, struct bread_decision_call *call)
{
	struct scripted_host *h = (struct scripted_host *)d;
	struct scripted_play *p = brd_alloc(sizeof(*p));
	double ms;
	int64_t n;

	p->call = call;
	p->host = h;
	p->answer = choose(h, call->text, &n);
	write_record(h, call, n);
	ms = brd_json_num(brd_json_get(p->answer, "before_ms"), 0);
	bread_op_begin(&call->op, on_cancel, p);
	brd_timer_start(&p->timer, call->loop,
		ms >= 1 ? (int64_t)(ms < DELAY_MAX_MS ? ms : DELAY_MAX_MS) : 0, on_timer);
}

const struct bread_decision_ops brd_decision_scripted = {
	.name = "scripted",
	.size = sizeof(struct scripted_host),
	.open = scripted_open,
	.close = scripted_close,
	.start = scripted_start,
};
