/* SPDX-License-Identifier: MIT */
#include "run/family.h"
#include <stdio.h>
#include <string.h>

/* ---- chance ---- */

struct maker {
	struct family *f;
	uint64_t state;
	enum family_kind kind;
	unsigned calls;
	unsigned side_by_side; /* parallel steps that the step is in */
};

static unsigned below(struct maker *m, unsigned n)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return (unsigned)((m->state >> 20) % n);
}

static bool often(struct maker *m, unsigned percent)
{
	return below(m, 100) < percent;
}

/* ---- agents ---- */

static struct made_agent *make_agent(struct maker *m, unsigned depth);

static bool room(const struct maker *m)
{
	return m->f->agent_count < MADE_AGENTS;
}

static enum call_kind simple_call(struct maker *m)
{
	if (m->kind != FAMILY_QUIET && often(m, 45))
		return often(m, 65) ? CALL_ASK : CALL_GATED;
	return often(m, 80) ? CALL_TOOL : CALL_TASK;
}

static struct made_call *add_call(struct maker *m, struct made_turn *t, enum call_kind kind)
{
	struct made_call *c = &t->calls[t->count++];

	c->kind = kind;
	snprintf(c->id, sizeof(c->id), "c%u%s", m->calls++,
		kind == CALL_GATED && often(m, 35) ? "n" : "");
	return c;
}

static struct made_agent *sub_agent(struct maker *m, struct made_agent *a, unsigned depth)
{
	static const char *const shown[] = { "passthrough", "passthrough", "mediate", "hidden" };

	if (a->below_count && (a->below_count == MADE_BELOW || !room(m) || often(m, 25)))
		return a->below[below(m, a->below_count)];
	a->shown[a->below_count] = shown[below(m, 4)];
	a->below[a->below_count++] = make_agent(m, depth - 1);
	return a->below[a->below_count - 1];
}

static void fill_turn(struct maker *m, struct made_turn *t)
{
	unsigned n = 1 + below(m, MADE_CALLS);

	while (t->count < n)
		add_call(m, t, simple_call(m));
}

static void make_worker(struct maker *m, struct made_agent *a)
{
	a->turn_count = 1 + often(m, 30);
	for (unsigned t = 0; t < a->turn_count; t++)
		fill_turn(m, &a->turns[t]);
}

static void make_supervisor(struct maker *m, struct made_agent *a, unsigned depth)
{
	a->turn_count = 1 + often(m, 35);
	for (unsigned t = 0; t < a->turn_count; t++) {
		unsigned n = 1 + below(m, MADE_CALLS);

		for (unsigned i = 0; i < n; i++)
			if (i == 0 || (often(m, 60) && (room(m) || a->below_count)))
				add_call(m, &a->turns[t], CALL_DELEGATE)->to =
					sub_agent(m, a, depth);
			else
				add_call(m, &a->turns[t], simple_call(m));
	}
}

static void make_looper(struct maker *m, struct made_agent *a, unsigned depth)
{
	static const enum call_kind kinds[] = { CALL_LOOP_START, CALL_LOOP_ITERATE,
		CALL_LOOP_FINISH };

	a->pool_count = room(m) && often(m, 40) ? 2 : 1;
	for (unsigned i = 0; i < a->pool_count; i++)
		a->pool[i] = room(m) ? make_agent(m, depth - 1) : a->pool[0];
	if (a->pool_count == 2 && a->pool[1] == a->pool[0])
		a->pool_count = 1;
	a->rounds_max = 1 + below(m, 3);
	a->turn_count = 2 + often(m, 60);
	for (unsigned t = 0; t < a->turn_count; t++) {
		enum call_kind kind = kinds[t == 0 ? 0 : often(m, 60) ? 1 : 2];
		struct made_call *c = add_call(m, &a->turns[t], kind);

		c->feedback = often(m, 50);
		c->no_input = often(m, 20);
		if (often(m, 30))
			add_call(m, &a->turns[t], simple_call(m));
	}
}

static struct made_agent *make_agent(struct maker *m, unsigned depth)
{
	struct made_agent *a = brd_arena_alloc(&m->f->arena, sizeof(*a));
	unsigned dice = below(m, 100);

	snprintf(a->id, sizeof(a->id), "a%u", m->f->agent_count);
	m->f->agents[m->f->agent_count++] = a;
	if (depth && room(m) && dice < 35)
		make_supervisor(m, a, depth);
	else if (depth && room(m) && dice < 55)
		make_looper(m, a, depth);
	else if (dice < 85)
		make_worker(m, a);
	a->fails = m->kind == FAMILY_FAILING && often(m, 22);
	return a;
}

/* ---- steps ---- */

static struct made_list make_list(struct maker *m, unsigned depth, unsigned most);

static void make_run_step(struct maker *m, struct made_step *s, unsigned depth)
{
	s->kind = often(m, 25) ? MADE_MAP : MADE_AGENT;
	s->concurrency = 1 + below(m, 3);
	s->agent = room(m) ? make_agent(m, depth) : m->f->agents[0];
	s->shared =
		!s->agent->turn_count && s->kind == MADE_AGENT && often(m, 50) && !m->side_by_side;
}

static void make_decision(struct maker *m, struct made_step *s)
{
	s->kind = MADE_DECISION;
	snprintf(s->label, sizeof(s->label), "l%u", below(m, 2));
	snprintf(s->question, sizeof(s->question), "q%u", m->calls++);
}

static struct made_step *make_step(struct maker *m, unsigned depth, bool decided)
{
	struct made_step *s = brd_arena_alloc(&m->f->arena, sizeof(*s));
	unsigned dice = below(m, 100);

	if (!depth || !room(m) || dice < 35) {
		make_run_step(m, s, depth ? depth - 1 : 0);
	} else if (dice < 65) {
		s->kind = MADE_PARALLEL;
		s->arm_count = 2;
		m->side_by_side++;
		for (unsigned i = 0; i < 2; i++)
			s->arms[i] = make_list(m, depth - 1, 1);
		m->side_by_side--;
	} else if (dice < 90 && (decided || often(m, 60))) {
		s->kind = MADE_BRANCH;
		s->on = !decided || often(m, 15);
		snprintf(s->label, sizeof(s->label), "l%u", below(m, 2));
		s->arm_count = 2;
		for (unsigned i = 0; i < 2; i++)
			s->arms[i] = make_list(m, depth - 1, 1 + below(m, 2));
		if (often(m, 15))
			s->arms[below(m, 2)].count = 0;
	} else {
		make_decision(m, s);
	}
	return s;
}

static struct made_list make_list(struct maker *m, unsigned depth, unsigned most)
{
	struct made_list l = { .count = most };
	bool decided = false;

	for (unsigned i = 0; i < most; i++) {
		l.steps[i] = make_step(m, depth, decided);
		decided = decided || l.steps[i]->kind == MADE_DECISION;
	}
	return l;
}

static void make(struct maker *m)
{
	struct family *f = m->f;

	f->pipeline = often(m, 65);
	if (!f->pipeline) {
		make_agent(m, 4);
		return;
	}
	f->steps = make_list(m, 4, 1 + below(m, 3));
	if (often(m, 25) && f->steps.count < MADE_STEPS) {
		for (unsigned i = f->steps.count++; i > 0; i--)
			f->steps.steps[i] = f->steps.steps[i - 1];
		f->steps.steps[0] = brd_arena_alloc(&f->arena, sizeof(struct made_step));
		make_decision(m, f->steps.steps[0]);
	}
}

/* Large enough to be worth it, small enough to take milliseconds. */
static bool fits(const struct family *f, enum family_kind kind)
{
	const struct expected *w = &f->want;

	if (w->runs > 14 || w->questions > 6 || w->tools > 14 || w->runs + w->tools < 3)
		return false;
	if (kind == FAMILY_FAILING)
		return true;
	return !w->fails && (kind == FAMILY_QUIET) == !w->questions;
}

void family_make(struct family *f, unsigned seed, enum family_kind kind)
{
	struct maker m = {
		.f = f, .kind = kind, .state = (seed * 3 + (unsigned)kind + 1) * 0x9E3779B97F4A7C15u
	};

	memset(f, 0, sizeof(*f));
	do {
		family_fini(f);
		f->seed = seed;
		m.calls = 0;
		for (unsigned i = 0; i < 8; i++)
			below(&m, 2);
		make(&m);
		family_evaluate(f);
	} while (!fits(f, kind));
}

void family_fini(struct family *f)
{
	brd_arena_fini(&f->arena);
	memset(f, 0, sizeof(*f));
}
