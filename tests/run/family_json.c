/* SPDX-License-Identifier: MIT */
/* A member of the family in the words of definitions and scripts. */
#include <stdio.h>
#include "run/family.h"

#define MODEL "\"model\":{\"provider\":\"mock\",\"model\":\"%s\"}"

const char *family_result_of(enum call_kind kind)
{
	switch (kind) {
	case CALL_DELEGATE:
		return "{{result %u|none}}";
	case CALL_LOOP_START:
	case CALL_LOOP_ITERATE:
		return "{{result %u.output|none}}";
	case CALL_LOOP_FINISH:
		return "{{result %u.result|none}}";
	default:
		return "{{result %u.v|none}}";
	}
}

static void put_result(struct buf *out, const struct made_turn *t, unsigned i)
{
	char text[40];

	snprintf(text, sizeof(text), family_result_of(t->calls[i].kind), i + 1);
	brd_buf_addz(out, text);
}

/* What came before it goes into each call: the input, or the first result of the turn before. */
static void put_before(struct buf *out, const struct made_agent *a, unsigned turn)
{
	if (turn)
		put_result(out, &a->turns[turn - 1], 0);
	else
		brd_buf_addz(out, "{{input}}");
}

static void put_pool(struct buf *out, const struct made_agent *a)
{
	for (unsigned i = 0; i < a->pool_count; i++)
		brd_buf_addf(out, "%s\"%s\"", i ? "," : "", a->pool[i]->id);
}

static const char *name_of(enum call_kind kind)
{
	static const char *const names[] = { "tool_add", "human_ask", "tool_gate", "task_tk",
		"core_delegate", "core_start_loop", "core_iterate_loop", "core_finish_loop" };

	return names[kind];
}

static void put_args(struct buf *out, const struct made_agent *a, unsigned turn, unsigned i)
{
	const struct made_call *c = &a->turns[turn].calls[i];

	switch (c->kind) {
	case CALL_DELEGATE:
		brd_buf_addf(out, "\"agentId\":\"%s\",\"input\":\"d:", c->to->id);
		put_before(out, a, turn);
		brd_buf_addc(out, '"');
		break;
	case CALL_LOOP_START:
		brd_buf_addz(out, "\"pipeline\":[");
		put_pool(out, a);
		brd_buf_addz(out, c->no_input ? "]" : "],\"input\":\"s:{{input}}\"");
		break;
	case CALL_LOOP_ITERATE:
		brd_buf_addz(out, c->feedback ? "\"feedback\":\"f\"" : "");
		break;
	case CALL_LOOP_FINISH:
		brd_buf_addz(out, c->feedback ? "\"result\":\"r\"" : "");
		break;
	default:
		brd_buf_addz(out, "\"a\":\"");
		put_before(out, a, turn);
		brd_buf_addc(out, '"');
	}
}

static void put_turn(struct buf *out, const struct made_agent *a, unsigned turn)
{
	const struct made_turn *t = &a->turns[turn];

	brd_buf_addf(out, "{\"match\":{\"count\":%u},\"stream\":[", 1 + 2 * turn);
	for (unsigned i = 0; i < t->count; i++) {
		brd_buf_addf(out, "%s{\"tool_call\":{\"id\":\"%s\",\"name\":\"%s\",\"args\":{",
			i ? "," : "", t->calls[i].id, name_of(t->calls[i].kind));
		put_args(out, a, turn, i);
		brd_buf_addz(out, "}}}");
	}
	brd_buf_addz(out, "]},");
}

static void put_last(struct buf *out, const struct made_agent *a)
{
	const struct made_turn *t = a->turn_count ? &a->turns[a->turn_count - 1] : NULL;

	if (a->turn_count) /* one without tools may stand in a session with others */
		brd_buf_addf(out, "{\"match\":{\"count\":%u},", 1 + 2 * a->turn_count);
	else
		brd_buf_addz(out, "{");
	if (a->fails) {
		brd_buf_addz(out, "\"throw\":\"down\"}");
		return;
	}
	brd_buf_addf(out, "\"stream\":[{\"text\":\"%s({{input}}\"},{\"text\":\"", a->id);
	for (unsigned i = 0; t && i < t->count; i++) {
		brd_buf_addc(out, ';');
		put_result(out, t, i);
	}
	brd_buf_addz(out, ")\"}]}");
}

void family_models(const struct family *f, struct buf *out)
{
	brd_buf_addz(out, "{\"tk\":{\"when\":[{\"generate\":{\"v\":\"tk\"}}]}");
	for (unsigned i = 0; i < f->agent_count; i++) {
		const struct made_agent *a = f->agents[i];

		brd_buf_addf(out, ",\"%s\":{\"when\":[", a->id);
		for (unsigned t = 0; t < a->turn_count; t++)
			put_turn(out, a, t);
		put_last(out, a);
		brd_buf_addz(out, "]}");
	}
	brd_buf_addc(out, '}');
}

static void put_questions(const struct made_list *l, struct buf *out)
{
	for (unsigned i = 0; i < l->count; i++) {
		const struct made_step *s = l->steps[i];

		if (s->kind == MADE_DECISION)
			brd_buf_addf(out, "%s\"%s\":{\"type\":\"choice\",\"choice\":\"%s\"}",
				out->data[out->len - 1] == '{' ? "" : ",", s->question, s->label);
		for (unsigned k = 0; k < s->arm_count; k++)
			put_questions(&s->arms[k], out);
	}
}

void family_decisions(const struct family *f, struct buf *out)
{
	brd_buf_addz(out, "{\"desk\":{\"type\":\"scripted\",\"questions\":{");
	put_questions(&f->steps, out);
	brd_buf_addz(out, "}}}");
}

void family_agent_json(const struct made_agent *a, struct buf *out)
{
	brd_buf_addf(out,
		"{" MODEL ",\"humanTools\":[{\"name\":\"ask\",\"schema\":{\"type\":\"object\"}}],"
		"\"permissions\":{\"ask\":[\"tool:gate\"]},\"tasks\":[\"tk\"]",
		a->id);
	if (a->below_count)
		brd_buf_addz(out, ",\"supervisor\":{\"agents\":[");
	for (unsigned i = 0; i < a->below_count; i++)
		brd_buf_addf(out, "%s{\"agentId\":\"%s\",\"visibility\":\"%s\"}", i ? "," : "",
			a->below[i]->id, a->shown[i]);
	if (a->below_count)
		brd_buf_addz(out, "]}");
	if (a->pool_count) {
		brd_buf_addz(out, ",\"loop\":{\"pool\":[");
		put_pool(out, a);
		brd_buf_addf(out, "],\"maxIterations\":%u}", a->rounds_max);
	}
	brd_buf_addc(out, '}');
}

static void step_json(const struct made_step *s, struct buf *out)
{
	switch (s->kind) {
	case MADE_MAP:
		brd_buf_addf(out, "{\"type\":\"map\",\"agentId\":\"%s\",\"concurrency\":%u}",
			s->agent->id, s->concurrency);
		break;
	case MADE_AGENT:
		brd_buf_addf(out, "{\"type\":\"agent\",\"agentId\":\"%s\"%s}", s->agent->id,
			s->shared ? ",\"session\":\"shared\"" : "");
		break;
	case MADE_DECISION:
		brd_buf_addf(out,
			"{\"type\":\"decision\",\"provider\":\"desk\",\"model\":\"m\",\"question\":"
			"{\"type\":\"choice\",\"text\":\"%s\",\"options\":[\"l0\",\"l1\"],"
			"\"otherwise\":\"l1\"}}",
			s->question);
		break;
	case MADE_PARALLEL:
		brd_buf_addz(out, "{\"type\":\"parallel\",\"steps\":[");
		for (unsigned i = 0; i < s->arm_count; i++) {
			brd_buf_addz(out, i ? "," : "");
			step_json(s->arms[i].steps[0], out);
		}
		brd_buf_addz(out, "]}");
		break;
	case MADE_BRANCH:
		brd_buf_addf(out, "{\"type\":\"branch\"%s,\"cases\":[{\"eq\":\"%s\",\"steps\":",
			s->on ? ",\"on\":\"0\"" : "", s->label);
		family_steps_json(&s->arms[0], out);
		brd_buf_addz(out, "}],\"default\":");
		family_steps_json(&s->arms[1], out);
		brd_buf_addc(out, '}');
		break;
	}
}

void family_steps_json(const struct made_list *l, struct buf *out)
{
	brd_buf_addc(out, '[');
	for (unsigned i = 0; i < l->count; i++) {
		brd_buf_addz(out, i ? "," : "");
		step_json(l->steps[i], out);
	}
	brd_buf_addc(out, ']');
}
