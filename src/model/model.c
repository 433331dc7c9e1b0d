/* SPDX-License-Identifier: MIT */
/* The one place that calls the seam.
 *
 * It finds the table for an entry, allocates the instance, and stands between a
 * provider and its caller: it measures each call and checks the order of its
 * events. A provider that breaks the order is a bug, so it is logged as an error;
 * the caller gets the events as they came. */
#include "model/model.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/catalogue.h"
#include "model/order.h"

/* Beside a call while it runs (bread_model_call.core). */
struct watched {
	struct event_order order;
	struct bread_model *model;
	void (*on_event)(struct bread_model_call *call, const struct bread_event *ev);
	int64_t began_us, first_us;
	bool complained;
};

static const char *const fault_names[] = {
	[BREAD_FAULT_NONE] = "none",
	[BREAD_FAULT_RATE_LIMIT] = "rate_limit",
	[BREAD_FAULT_OVERLOADED] = "overloaded",
	[BREAD_FAULT_SERVER] = "server",
	[BREAD_FAULT_TIMEOUT] = "timeout",
	[BREAD_FAULT_NETWORK] = "network",
	[BREAD_FAULT_TRUNCATED] = "truncated",
	[BREAD_FAULT_OVERFLOW] = "overflow",
	[BREAD_FAULT_AUTH] = "auth",
	[BREAD_FAULT_PERMISSION] = "permission",
	[BREAD_FAULT_NOT_FOUND] = "not_found",
	[BREAD_FAULT_QUOTA] = "quota",
	[BREAD_FAULT_CONTENT_FILTER] = "content_filter",
	[BREAD_FAULT_INVALID_REQUEST] = "invalid_request",
	[BREAD_FAULT_PROTOCOL] = "protocol",
	[BREAD_FAULT_ABORTED] = "aborted",
};

const char *bread_model_fault_name(enum bread_model_fault f)
{
	return (size_t)f < sizeof(fault_names) / sizeof(*fault_names) ? fault_names[f] : "unknown";
}

int brd_model_open_ops(struct bread_model **ret, const struct bread_model_ops *ops,
	struct bread_str name, struct bread_str options, struct bread_err *err)
{
	struct bread_model *m = brd_alloc(ops->size);
	int r;

	m->ops = ops;
	r = ops->open(m, name, options.n ? options : BRD_STR("{}"), err);
	if (r) {
		free(m);
		return r;
	}
	*ret = m;
	return BREAD_OK;
}

int brd_model_open(
	struct bread_model **ret, struct bread_str name, struct jval entry, struct bread_err *err)
{
	const struct bread_model_ops *ops;
	struct buf options;
	int r;

	brd_buf_init(&options, PROVIDER_ENTRY_MAX);
	r = brd_catalogue_resolve(&ops, &options, name, entry, err);
	if (!r)
		r = brd_model_open_ops(ret, ops, name, brd_buf_str(&options), err);
	brd_buf_fini(&options);
	return r;
}

void brd_model_close(struct bread_model *m)
{
	if (!m)
		return;
	m->ops->close(m);
	free(m);
}

static void complain(struct watched *w, const char *rule)
{
	if (!rule || w->complained)
		return;
	w->complained = true;
	log_error("model.order", "provider %s broke the order of its events: %s",
		w->model->ops->name, rule);
}

static void measured(const struct watched *w, const struct bread_event *ev)
{
	int64_t now = brd_clock_mono_us();
	int64_t first = w->first_us ? w->first_us : now;

	log_debug("model.call",
		"%s: %s after %lld ms, first event after %lld ms, tokens %lld in, %lld out",
		w->model->ops->name,
		ev->kind == BREAD_EV_DONE ? "done" : bread_model_fault_name(ev->fault),
		(long long)(now - w->began_us) / 1000, (long long)(first - w->began_us) / 1000,
		(long long)ev->usage.input, (long long)ev->usage.output);
}

static void on_event(struct bread_model_call *call, const struct bread_event *ev)
{
	struct watched *w = call->core;

	complain(w, brd_event_order(&w->order, ev));
	if (!w->first_us && ev->kind != BREAD_EV_START)
		w->first_us = brd_clock_mono_us();
	if (ev->kind != BREAD_EV_DONE && ev->kind != BREAD_EV_ERROR) {
		w->on_event(call, ev);
		return;
	}
	measured(w, ev);
	call->on_event = w->on_event;
	call->core = NULL;
	brd_event_order_fini(&w->order);
	free(w);
	call->on_event(call, ev);
}

void brd_model_start(struct bread_model *m, struct bread_model_call *call)
{
	struct watched *w = brd_alloc(sizeof(*w));

	w->model = m;
	w->on_event = call->on_event;
	w->began_us = brd_clock_mono_us();
	call->core = w;
	call->on_event = on_event;
	m->ops->start(m, call);
}

void brd_model_pause(struct bread_model *m, struct bread_model_call *call, bool on)
{
	if (m->ops->pause && bread_op_running(&call->op))
		m->ops->pause(m, call, on);
}
