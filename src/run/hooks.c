/* SPDX-License-Identifier: MIT */
/* Sets and tables of hooks, and the chain that asks them in order.
 *
 * Which hooks are asked is settled when a run of a chain is made: the sets are held until it is
 * freed, the table only grows. So a definition that is replaced meanwhile changes nothing. */
#include "run/hooks.h"
#include <stdatomic.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"

#define HOOKS_MAX 16 /* of one `hooks:` */

struct hook_set {
	atomic_int refs;
	size_t count;
	struct bread_hook *hooks[HOOKS_MAX];
};

struct hook_entry {
	_Atomic(struct hook_entry *) next;
	enum hook_place place;
	char *agent_id;
	struct bread_hook *hook;
};

/* ---- sets ---- */

static int open_one(struct hook_set *s, struct bread_str name, struct jval options,
	enum bread_hook_scope home, const char *dir, struct bread_err *err)
{
	const struct bread_hook_ops *ops = brd_hook_kind(name);
	int r;

	if (!ops)
		return brd_fail(err, BREAD_E_INVALID, "hooks",
			"hooks.%.*s is not known; lua and plugin are", BRD_ARG(name));
	if (s->count == HOOKS_MAX)
		return brd_fail(err, BREAD_E_TOO_LARGE, "hooks", "there are over %d sets of hooks",
			HOOKS_MAX);
	r = brd_hook_open(&s->hooks[s->count], ops, home, brd_json_raw(options), dir, err);
	if (!r)
		s->count++;
	return r;
}

static int open_object(struct hook_set *s, struct jval v, enum bread_hook_scope home,
	const char *dir, struct arena *a, struct bread_err *err)
{
	int r = 0;

	if (brd_json_type(v) != JSON_OBJECT)
		return brd_fail(err, BREAD_E_INVALID, "hooks",
			"hooks must be an object such as {lua: hooks.lua}, or a list of such");
	for (struct json_iter it = brd_json_each(v); !r && brd_json_next(&it);)
		r = open_one(s, brd_json_str(it.key, a), it.value, home, dir, err);
	return r;
}

static int open_all(struct hook_set *s, struct bread_str json, enum bread_hook_scope home,
	const char *dir, struct arena *a, struct bread_err *err)
{
	struct jval v;
	int r = 0;

	if (brd_json_parse(a, json, 0, &v, NULL))
		return brd_fail(err, BREAD_E_INVALID, "hooks", "hooks is not JSON");
	if (brd_json_type(v) != JSON_ARRAY)
		return open_object(s, v, home, dir, a, err);
	for (struct json_iter it = brd_json_each(v); !r && brd_json_next(&it);)
		r = open_object(s, it.value, home, dir, a, err);
	return r;
}

int brd_hooks_open(struct hook_set **ret, struct bread_str json, enum bread_hook_scope home,
	const char *dir, struct bread_err *err)
{
	struct arena a = { 0 };
	struct hook_set *s;
	int r;

	*ret = NULL;
	if (!json.n)
		return 0;
	s = brd_alloc(sizeof(*s));
	atomic_init(&s->refs, 1);
	r = open_all(s, json, home, dir, &a, err);
	brd_arena_fini(&a);
	if (r)
		brd_hook_set_unref(s);
	else
		*ret = s;
	return r;
}

struct hook_set *brd_hook_set_ref(struct hook_set *s)
{
	if (s)
		atomic_fetch_add(&s->refs, 1);
	return s;
}

void brd_hook_set_unref(struct hook_set *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	for (size_t i = 0; i < s->count; i++)
		brd_hook_close(s->hooks[i]);
	free(s);
}

/* ---- the table ---- */

void brd_hook_table_add(
	struct hook_table *t, enum hook_place place, const char *agent_id, struct bread_hook *h)
{
	struct hook_entry *e = brd_alloc(sizeof(*e));

	e->place = place;
	e->agent_id = agent_id ? brd_strdup(agent_id) : NULL;
	e->hook = h;
	if (t->last)
		atomic_store_explicit(&t->last->next, e, memory_order_release);
	else
		atomic_store_explicit(&t->first, e, memory_order_release);
	t->last = e;
}

void brd_hook_table_fini(struct hook_table *t)
{
	struct hook_entry *e = atomic_load(&t->first);

	while (e) {
		struct hook_entry *next = atomic_load(&e->next);

		brd_hook_close(e->hook);
		free(e->agent_id);
		free(e);
		e = next;
	}
	atomic_store(&t->first, NULL);
	t->last = NULL;
}

/* ---- who is asked ---- */

struct listing {
	enum bread_hook_scope scope;
	enum bread_hook_point point;
	struct bread_hook **to; /* NULL: they are counted */
	size_t room, n;
};

static void list_hook(struct listing *l, struct bread_hook *h)
{
	if ((l->to && l->n == l->room) || !h->ops->hears(h, l->scope, l->point))
		return;
	if (l->to)
		l->to[l->n] = h;
	l->n++;
}

static void list_set(struct listing *l, const struct hook_set *s)
{
	for (size_t i = 0; s && i < s->count; i++)
		list_hook(l, s->hooks[i]);
}

static void list_place(struct listing *l, const struct hook_chain *c, enum hook_place place)
{
	struct hook_entry *e = atomic_load_explicit(&c->table->first, memory_order_acquire);

	for (; e; e = atomic_load_explicit(&e->next, memory_order_acquire))
		if (e->place == place &&
			(place != HOOK_OF_AGENT || brd_str_is(c->agent_id, e->agent_id)))
			list_hook(l, e->hook);
}

static void list_chain(struct listing *l, const struct hook_chain *c)
{
	list_set(l, c->own);
	if (c->of_agent != c->own)
		list_set(l, c->of_agent);
	if (!c->table)
		return;
	list_place(l, c, HOOK_OF_AGENT);
	list_place(l, c, HOOK_OF_PLUGIN);
	list_place(l, c, HOOK_OF_INSTANCE);
}

static bool nobody(const struct hook_chain *c)
{
	return !c->own && !c->of_agent &&
	       (!c->table || !atomic_load_explicit(&c->table->first, memory_order_relaxed));
}

bool brd_hooks_hear(
	const struct hook_chain *c, enum bread_hook_scope scope, enum bread_hook_point point)
{
	struct listing l = { .scope = scope, .point = point };

	if (nobody(c))
		return false;
	list_chain(&l, c);
	return l.n;
}

struct hook_run *brd_hook_run_new(
	const struct hook_chain *c, enum bread_hook_scope scope, enum bread_hook_point point)
{
	struct hook_run *h = brd_alloc(sizeof(*h));
	struct listing l = { .scope = scope, .point = point };

	h->scope = scope;
	h->point = point;
	h->agent_id = c->agent_id;
	h->held[0] = brd_hook_set_ref(c->own);
	h->held[1] = brd_hook_set_ref(c->of_agent);
	brd_buf_init(&h->context, BUF_NO_LIMIT);
	list_chain(&l, c);
	h->hooks = brd_array(l.n + 1, sizeof(struct bread_hook *));
	l.to = h->hooks;
	l.room = l.n; /* the table may grow meanwhile */
	l.n = 0;
	list_chain(&l, c);
	h->count = l.n;
	return h;
}

void brd_hook_run_free(struct hook_run *h)
{
	if (!h)
		return;
	brd_hook_call_fini(&h->call);
	brd_hook_set_unref(h->held[0]);
	brd_hook_set_unref(h->held[1]);
	brd_buf_fini(&h->context);
	free(h->hooks);
	free(h->kept);
	free(h->error_code_out);
	free(h->error_text_out);
	free(h);
}

/* ---- asking ---- */

static void kstr(struct jsonw *w, const char *key, struct bread_str s)
{
	if (s.n)
		brd_jw_kstr(w, key, s);
}

static void write_context(struct hook_run *h)
{
	const struct hook_about *o = &h->about;
	struct jsonw w = brd_jsonw(&h->context);

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "scope", brd_str(brd_hook_scope_name(h->scope)));
	kstr(&w, "agentId", h->agent_id);
	kstr(&w, "runId", o->run_id);
	kstr(&w, "sessionId", o->session_id);
	kstr(&w, "skill", o->skill);
	kstr(&w, h->scope == BREAD_HOOK_TASK ? "taskName" : "toolName", o->name);
	kstr(&w, "loopId", o->loop_id);
	if (o->iteration)
		brd_jw_kint(&w, "iteration", o->iteration);
	brd_jw_kraw(&w, "credentials", o->credentials);
	brd_jw_end_obj(&w);
}

static void ask_next(struct hook_run *h);

/* value takes the place of what was there, and is the answer so far. */
static void keep_value(struct hook_run *h)
{
	free(h->kept);
	h->kept = h->call.value;
	h->value = (struct bread_str){ h->kept, h->call.value_len };
	h->call.value = NULL;
	h->answer = h->call.answer;
}

/* true: the chain goes on. */
static bool take_answer(struct hook_run *h)
{
	switch (h->call.answer) {
	case BREAD_HOOK_NOTHING:
		return true;
	case BREAD_HOOK_INPUT:
		keep_value(h);
		return true;
	case BREAD_HOOK_OUTPUT:
		keep_value(h);
		return h->point == BREAD_HOOK_AFTER_RUN || h->point == BREAD_HOOK_LOOP_ROUND_END;
	case BREAD_HOOK_RETRY:
	case BREAD_HOOK_FAIL:
		h->answer = h->call.answer;
		h->error_code_out = h->call.error_code_out;
		h->error_text_out = h->call.error_text_out;
		h->call.error_code_out = h->call.error_text_out = NULL;
		return false;
	}
	return false;
}

static void on_answer(struct bread_op *op)
{
	struct hook_run *h = op->arg;
	const char *fault = op->code ? NULL : brd_hook_fault(&h->call);
	bool more;

	if (op->code || fault) {
		struct bread_err err = op->err;
		enum bread_code code = op->code;

		if (fault)
			code = brd_fail(&err, BREAD_E_UPSTREAM, "hooks", "%s: %s",
				brd_hook_point_name(h->point), fault);
		brd_hook_call_fini(&h->call);
		bread_op_end(&h->op, code, &err);
		return;
	}
	more = take_answer(h) && h->next < h->count && !h->op.canceled;
	brd_hook_call_fini(&h->call);
	if (more)
		ask_next(h);
	else
		bread_op_end(&h->op, h->op.canceled ? BREAD_E_CANCELED : BREAD_OK, NULL);
}

/* What it is told: what the ones before it made of it. */
static void ask_next(struct hook_run *h)
{
	struct bread_hook *hook = h->hooks[h->next++];
	struct bread_hook_call *c = &h->call;

	memset(c, 0, sizeof(*c));
	c->info = (struct bread_hook_info){ .scope = h->scope,
		.point = h->point,
		.context = brd_buf_str(&h->context),
		.input = h->answer == BREAD_HOOK_INPUT ? h->value : h->input,
		.output = h->answer == BREAD_HOOK_OUTPUT ? h->value : h->output,
		.error_code = h->error_code,
		.error_message = h->error_message,
		.error_context = h->error_context,
		.duration_ms = h->duration_ms };
	c->loop = h->op.loop;
	bread_op_init(&c->op, h->op.loop, on_answer, h);
	hook->ops->start(hook, c);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct hook_run *h = by;

	bread_op_cancel(&h->call.op); /* whose end is ours */
}

void brd_hooks_start(struct hook_run *h)
{
	bread_op_begin(&h->op, on_cancel, h);
	if (!h->count) {
		bread_op_end(&h->op, BREAD_OK, NULL);
		return;
	}
	write_context(h);
	ask_next(h);
}
