/* SPDX-License-Identifier: MIT */
/* What must come of a member, told from what it is: values go from step to step, agents answer with
 * their input and what their calls gave, humans say what the test makes them say. */
#include <stdio.h>
#include "base/json.h"
#include "base/jsonw.h"
#include "run/family.h"

#define FAR_TOO_MANY 100 /* runs: nobody wants it */
#define TEXT_MAX 2000

struct world {
	struct arena *a;
	struct expected *w;
};

/* A value with the label that goes beside it. */
struct passed {
	struct bread_str value; /* JSON */
	const char *label;      /* NULL: nobody has decided */
};

static struct bread_str quoted(struct arena *a, struct bread_str text)
{
	struct buf b;
	struct bread_str s;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_quote(&b, text);
	s = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return s;
}

/* How a model reads a value. */
static struct bread_str as_text(struct arena *a, struct bread_str json)
{
	struct jval v;

	if (!json.n)
		return BRD_STR("{}");
	if (json.p[0] != '"' || brd_json_parse(a, json, 0, &v, NULL))
		return json;
	return brd_json_str(v, a);
}

/* ---- agents ---- */

/* false: it fails. */
static bool agent(
	struct world *w, const struct made_agent *a, struct bread_str input, struct bread_str *ret);

struct loop_now {
	bool open;
	unsigned rounds;
	struct bread_str last; /* JSON; empty: none yet */
};

static bool a_round(
	struct world *w, const struct made_agent *a, struct bread_str input, struct loop_now *l)
{
	w->w->runs++; /* the round itself */
	for (unsigned i = 0; i < a->pool_count; i++)
		if (!agent(w, a->pool[i], input, &input))
			return false;
	l->rounds++;
	l->last = input;
	return true;
}

static struct bread_str loop_call(struct world *w, const struct made_agent *a,
	const struct made_call *c, struct bread_str input, struct loop_now *l)
{
	const struct bread_str none = BRD_STR("none");

	if (c->kind == CALL_LOOP_START) {
		if (l->open)
			return none;
		*l = (struct loop_now){ .open = true };
		input = quoted(w->a, brd_arena_printf(w->a, "s:%.*s", BRD_ARG(input)));
		if (c->no_input)
			input = (struct bread_str){ 0 };
		return a_round(w, a, input, l) ? as_text(w->a, l->last) : none;
	}
	if (!l->open)
		return none;
	if (c->kind == CALL_LOOP_FINISH) {
		l->open = false;
		if (c->feedback)
			return BRD_STR("r");
		return l->last.n ? as_text(w->a, l->last) : none;
	}
	if (l->rounds >= a->rounds_max) {
		l->open = false;
		return none;
	}
	input = l->last;
	if (c->feedback)
		input = l->last.n ? brd_arena_printf(w->a,
					    "{\"previousOutput\":%.*s,\"feedback\":\"f\"}",
					    BRD_ARG(l->last))
				  : BRD_STR("{\"feedback\":\"f\"}");
	return a_round(w, a, input, l) ? as_text(w->a, l->last) : none;
}

static struct bread_str delegated(
	struct world *w, const struct made_call *c, struct bread_str before)
{
	struct bread_str in = brd_arena_printf(w->a, "d:%.*s", BRD_ARG(before)), out;

	if (!agent(w, c->to, quoted(w->a, in), &out))
		return BRD_STR("BreadError: down");
	return as_text(w->a, out);
}

static struct bread_str call(struct world *w, const struct made_agent *a, const struct made_call *c,
	struct bread_str input, struct bread_str before, struct loop_now *l)
{
	bool allowed = c->id[strlen(c->id) - 1] != 'n';

	switch (c->kind) {
	case CALL_ASK:
		w->w->questions++;
		return brd_str(c->id);
	case CALL_GATED:
		w->w->questions++;
		w->w->tools += allowed;
		return allowed ? brd_arena_printf(w->a, "%.*s!", BRD_ARG(before)) : BRD_STR("none");
	case CALL_TOOL:
		w->w->tools++;
		return brd_arena_printf(w->a, "%.*s!", BRD_ARG(before));
	case CALL_TASK:
		w->w->tasks++;
		return BRD_STR("tk");
	case CALL_DELEGATE:
		return delegated(w, c, before);
	default:
		return loop_call(w, a, c, input, l);
	}
}

static bool agent(
	struct world *w, const struct made_agent *a, struct bread_str value, struct bread_str *ret)
{
	struct bread_str input = as_text(w->a, value), before = input;
	struct bread_str text = brd_arena_printf(w->a, "%s(%.*s", a->id, BRD_ARG(input));
	struct loop_now loop = { 0 };

	*ret = BRD_STR("\"\"");
	if (input.n > TEXT_MAX)
		w->w->runs = FAR_TOO_MANY;
	if (w->w->runs++ >= FAR_TOO_MANY)
		return false;
	for (unsigned t = 0; t < a->turn_count; t++) {
		const struct made_turn *turn = &a->turns[t];
		struct bread_str first = { 0 };

		for (unsigned i = 0; i < turn->count; i++) {
			struct bread_str got = call(w, a, &turn->calls[i], input, before, &loop);

			if (i == 0)
				first = got;
			if (t + 1 == a->turn_count)
				text = brd_arena_printf(
					w->a, "%.*s;%.*s", BRD_ARG(text), BRD_ARG(got));
		}
		before = first;
	}
	if (text.n > TEXT_MAX)
		w->w->runs = FAR_TOO_MANY;
	else
		*ret = quoted(w->a, brd_arena_printf(w->a, "%.*s)", BRD_ARG(text)));
	return !a->fails;
}

/* ---- steps ---- */

static bool steps(struct world *w, const struct made_list *l, struct passed *p);

static bool map(struct world *w, const struct made_step *s, struct passed *p)
{
	struct bread_str list = BRD_STR("");
	struct jval v = { 0 };
	bool ok = true;

	if (p->value.n && p->value.p[0] == '[')
		brd_json_parse(w->a, p->value, 0, &v, NULL);
	if (brd_json_type(v) != JSON_ARRAY) {
		ok = agent(w, s->agent, p->value, &list);
	} else {
		for (struct json_iter it = brd_json_each(v); ok && brd_json_next(&it);) {
			struct bread_str out;

			ok = agent(w, s->agent, brd_json_raw(it.value), &out);
			list = brd_arena_printf(w->a, "%.*s%s%.*s", BRD_ARG(list),
				it.index ? "," : "", BRD_ARG(out));
		}
	}
	p->value = brd_arena_printf(w->a, "[%.*s]", BRD_ARG(list));
	return ok;
}

static bool differ(const char *a, const char *b)
{
	return !a || !b ? a != b : strcmp(a, b) != 0;
}

static bool parallel(struct world *w, const struct made_step *s, struct passed *p)
{
	struct bread_str list = BRD_STR("");
	const char *label = NULL;
	bool ok = true;

	for (unsigned i = 0; i < s->arm_count; i++) {
		struct passed slot = *p;

		ok = steps(w, &s->arms[i], &slot) && ok;
		list = brd_arena_printf(
			w->a, "%.*s%s%.*s", BRD_ARG(list), i ? "," : "", BRD_ARG(slot.value));
		if (!slot.label || !differ(slot.label, p->label))
			continue;
		if (label && differ(label, slot.label))
			ok = false;
		label = slot.label;
	}
	if (label)
		p->label = label;
	p->value = brd_arena_printf(w->a, "[%.*s]", BRD_ARG(list));
	return ok;
}

static bool branch(struct world *w, const struct made_step *s, struct passed *p)
{
	struct bread_str chosen = brd_str(p->label);

	if (!s->on && !p->label)
		return false;
	if (s->on) {
		struct jval v = { 0 };

		brd_json_parse(w->a, p->value, 0, &v, NULL);
		chosen = brd_json_str(brd_json_path(v, "0"), w->a);
	}
	return steps(w, &s->arms[brd_str_is(chosen, s->label) ? 0 : 1], p);
}

static bool step(struct world *w, const struct made_step *s, struct passed *p)
{
	switch (s->kind) {
	case MADE_AGENT:
		return agent(w, s->agent, p->value, &p->value);
	case MADE_MAP:
		return map(w, s, p);
	case MADE_PARALLEL:
		return parallel(w, s, p);
	case MADE_BRANCH:
		return branch(w, s, p);
	case MADE_DECISION:
		break;
	}
	p->label = s->label;
	return true;
}

static bool steps(struct world *w, const struct made_list *l, struct passed *p)
{
	for (unsigned i = 0; i < l->count; i++)
		if (!step(w, l->steps[i], p))
			return false;
	return true;
}

void family_evaluate(struct family *f)
{
	struct world w = { &f->arena, &f->want };
	struct passed p = { .value = BRD_STR(FAMILY_INPUT) };

	f->want = (struct expected){ 0 };
	if (f->pipeline) {
		f->want.runs = 1;
		f->want.fails = !steps(&w, &f->steps, &p);
	} else {
		f->want.fails = !agent(&w, f->agents[0], p.value, &p.value);
	}
	f->want.output = p.value;
}
