/* SPDX-License-Identifier: MIT */
/* The System One wire: one question a request, under the name q0. */
#include "decision/internal.h"

/* null and texts stay, numbers and truth values become texts, all else goes as JSON. */
static void put_state(struct jsonw *w, struct jval state)
{
	brd_jw_key(w, "state");
	switch (brd_json_type(state)) {
	case JSON_NONE:
		brd_jw_null(w);
		break;
	case JSON_BOOL:
	case JSON_NUMBER:
		brd_jw_str(w, brd_json_raw(state));
		break;
	default:
		brd_jw_raw(w, brd_json_raw(state));
	}
}

static void put_choices(struct jsonw *w, struct jval options, struct arena *a)
{
	for (struct json_iter it = brd_json_each(options); brd_json_next(&it);) {
		brd_jw_keys(w, brd_json_str(it.value, a));
		brd_jw_null(w);
	}
}

/* The score is a number on this scale, whatever the buckets are. */
static void put_levels(struct jsonw *w)
{
	for (char level[] = "0"; level[0] <= '9'; level[0]++) {
		brd_jw_key(w, level);
		brd_jw_null(w);
	}
}

static void put_question(struct jsonw *w, const struct bread_decision_call *call,
	struct jval options, struct arena *a)
{
	brd_jw_obj(w);
	brd_jw_kstr(w, "type", brd_str(brd_question_name(call->type)));
	brd_jw_kstr(w, "instructions", call->text);
	if (call->type != BREAD_QUESTION_NOUL) {
		brd_jw_key(w, "criteria");
		brd_jw_obj(w);
		if (call->type == BREAD_QUESTION_CHOICE)
			put_choices(w, options, a);
		else
			put_levels(w);
		brd_jw_end_obj(w);
	}
	brd_jw_end_obj(w);
}

int brd_wire_request(struct buf *out, const struct bread_decision_call *call,
	struct bread_str model, struct arena *a)
{
	struct jsonw w = brd_jsonw(out);
	struct jval state = { 0 }, options = { 0 };

	if ((call->state.n && brd_json_parse(a, call->state, 0, &state, NULL)) ||
		(call->options.n && brd_json_parse(a, call->options, 0, &options, NULL)))
		return BREAD_E_INVALID;
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "model", model);
	put_state(&w, state);
	brd_jw_key(&w, "questions");
	brd_jw_obj(&w);
	brd_jw_key(&w, "q0");
	put_question(&w, call, options, a);
	brd_jw_end_obj(&w);
	brd_jw_end_obj(&w);
	return BREAD_OK;
}

struct jval brd_wire_answer(struct jval body)
{
	struct jval answers = brd_json_get(body, "answers");

	if (brd_json_type(answers) == JSON_NONE) /* some hosts wrap it */
		answers = brd_json_get(brd_json_get(body, "result"), "answers");
	return brd_json_get(answers, "q0");
}
