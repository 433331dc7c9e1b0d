/* SPDX-License-Identifier: MIT */
/* The registry, and what hosts end their calls with. */
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "decision/internal.h"
#include "decision/model.h"

struct named_host {
	struct list link;
	char *name;
	struct bread_decision *host;
};

struct decisions {
	struct list hosts;
	size_t count;
};

static void add(struct decisions **ds, struct bread_str name, struct bread_decision *host, bool own)
{
	struct named_host *n = brd_alloc(sizeof(*n));

	n->name = brd_strndup(name);
	n->host = host;
	if (own)
		brd_list_push_front(&(*ds)->hosts, &n->link);
	else
		brd_list_push(&(*ds)->hosts, &n->link);
	(*ds)->count++;
}

static void make(struct decisions **ds)
{
	if (*ds)
		return;
	*ds = brd_alloc(sizeof(**ds));
	brd_list_init(&(*ds)->hosts);
}

static int open_host(struct bread_decision **ret, const struct bread_decision_ops *ops,
	struct bread_str name, struct bread_str options, struct bread_err *err)
{
	struct bread_decision *d = brd_alloc(ops->size);
	int r;

	d->ops = ops;
	r = ops->open(d, name, options, err);
	if (r)
		free(d);
	else
		*ret = d;
	return r;
}

int brd_decisions_add(struct decisions **ds, const struct bread_decision_ops *ops,
	struct bread_str name, struct bread_str options, struct bread_err *err)
{
	struct bread_decision *d;
	int r = open_host(&d, ops, name, options, err);

	if (r)
		return r;
	make(ds);
	add(ds, name, d, true);
	return 0;
}

static int open_entry(struct decisions **ds, struct bread_str name, struct jval entry,
	struct arena *a, struct bread_err *err)
{
	struct decision_conf c = { 0 };
	struct bread_decision *d;
	struct decision_type t;
	int r = brd_decision_conf(&c, name, entry, NULL, a, err);

	if (r || !brd_decision_type(brd_str(c.type), &t))
		return r;
	r = open_host(&d, t.ops, name, brd_json_raw(entry), err);
	if (!r)
		add(ds, name, d, false);
	return r;
}

int brd_decisions_open(struct decisions **ds, struct jval registry, struct bread_err *err)
{
	struct arena a = { 0 };
	int r = 0;

	if (brd_json_type(registry) <= JSON_NULL)
		return 0;
	make(ds);
	for (struct json_iter it = brd_json_each(registry); !r && brd_json_next(&it);)
		r = open_entry(ds, brd_json_str(it.key, &a), it.value, &a, err);
	brd_arena_fini(&a);
	return r;
}

void brd_decisions_close(struct decisions *ds)
{
	if (!ds)
		return;
	for (struct list *l; (l = brd_list_pop(&ds->hosts));) {
		struct named_host *n = brd_list_of(l, struct named_host, link);

		n->host->ops->close(n->host);
		free(n->host);
		free(n->name);
		free(n);
	}
	free(ds);
}

struct bread_decision *brd_decision_find(
	const struct decisions *ds, struct bread_str name, struct buf *known)
{
	struct bread_decision *found = NULL;

	if (!ds)
		return NULL;
	brd_list_each(l, &ds->hosts) {
		const struct named_host *n = brd_list_of(l, struct named_host, link);

		if (!found && brd_str_is(name, n->name))
			found = n->host;
		if (known)
			brd_buf_addf(known, "%s%s", known->len ? ", " : "", n->name);
	}
	return found;
}

/* {"provider":P,"registered":[…]} */
static struct bread_str unknown_context(
	const struct decisions *ds, struct bread_str name, struct arena *a)
{
	struct buf b;
	struct jsonw w;

	w = brd_jw_begin(&b);
	brd_jw_kstr(&w, "provider", name);
	brd_jw_key(&w, "registered");
	brd_jw_arr(&w);
	brd_list_each(l, &ds->hosts)
		brd_jw_str(&w, brd_str(brd_list_of(l, struct named_host, link)->name));
	brd_jw_end_arr(&w);
	return brd_jw_finish(&w, a);
}

struct bread_decision *brd_decision_of(const struct decisions *ds, struct bread_str name,
	struct arena *a, struct bread_err *err, struct bread_str *ret_context)
{
	struct bread_decision *d;
	struct buf known;

	*ret_context = (struct bread_str){ 0 };
	if (!ds) {
		brd_fail_as(err, BREAD_E_INVALID, "DECISION_NOT_CONFIGURED", "decision",
			"No decision registry is configured. Set `decisions` in bread.yaml.");
		return NULL;
	}
	brd_buf_init(&known, 4096);
	d = brd_decision_find(ds, name, &known);
	if (!d) {
		brd_fail_as(err, BREAD_E_INVALID, "UNKNOWN_DECISION_PROVIDER", "decision",
			"Unknown decision provider: \"%.*s\". Registered: %s. Set `decisions` in "
			"bread.yaml.",
			(int)(name.n < 128 ? name.n : 128), name.p ? name.p : "",
			known.len ? known.data : "none");
		*ret_context = unknown_context(ds, name, a);
	}
	brd_buf_fini(&known);
	return d;
}

/* ---- hosts of the type model ---- */

void brd_decisions_ask_by(struct decisions *ds, decision_ask_fn *fn, void *arg)
{
	if (!ds)
		return;
	brd_list_each(l, &ds->hosts) {
		struct bread_decision *d = brd_list_of(l, struct named_host, link)->host;

		if (d->ops == &brd_decision_model)
			brd_decision_model_ask_by(d, fn, arg);
	}
}

int brd_decisions_models(const struct decisions *ds,
	int (*fn)(
		void *arg, struct bread_str name, struct bread_str provider, struct bread_err *err),
	void *arg, struct bread_err *err)
{
	int r = 0;

	if (!ds)
		return 0;
	brd_list_each(l, &ds->hosts) {
		const struct named_host *n = brd_list_of(l, struct named_host, link);

		if (!r && n->host->ops == &brd_decision_model)
			r = fn(arg, brd_str(n->name), brd_decision_model_provider(n->host), err);
	}
	return r;
}

/* ---- calls ---- */

void brd_decision_start(struct bread_decision *d, struct bread_decision_call *call)
{
	d->ops->start(d, call);
}

void brd_decision_call_fini(struct bread_decision_call *call)
{
	free(call->answer);
	free(call->error_context);
	call->answer = call->error_context = NULL;
}

void brd_decision_fail(struct bread_decision_call *call, const char *name,
	struct bread_str provider, int status, const char *fmt, ...)
{
	struct bread_err err = { 0 };
	char text[sizeof(err.text)];
	struct buf b;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	brd_fail_as(&err, BREAD_E_UPSTREAM, name, "decision", "%s", text);
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, "{\"provider\":");
	brd_json_quote(&b, provider);
	if (status)
		brd_buf_addf(&b, ",\"status\":%d}", status);
	else
		brd_buf_addz(&b, ",\"status\":null}");
	call->error_context = brd_buf_take(&b, NULL);
	bread_op_end(&call->op, BREAD_E_UPSTREAM, &err);
}

void brd_decision_no_model(struct bread_decision_call *call, struct bread_str provider)
{
	brd_decision_fail(call, "DECISION_HOST", provider, 0,
		"decision host \"%.*s\" has no model of its own, and the step names none",
		BRD_ARG(provider));
}

void brd_decision_answer(struct bread_decision_call *call, struct jval answer)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_answer_normal(&b, answer);
	if (b.len)
		call->answer = brd_buf_take(&b, &call->answer_len);
	else
		brd_buf_fini(&b);
	bread_op_end(&call->op, BREAD_OK, NULL);
}
