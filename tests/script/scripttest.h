/* SPDX-License-Identifier: MIT */
/* What the tests of scripts share: one function of a source text, called on this thread. */
#pragma once
#include <stdio.h>
#include "test.h"
#include "base/mem.h"
#include "script/engine.h"

struct scripted {
	struct script_code code;
	struct script_state *state;
	struct script_call call;
};

#define SCRIPT_MEMORY (4 << 20)
#define SCRIPT_MS 10000

/* Opens source, which defines function run(v). */
static inline int script_open(struct scripted *t, const char *source, struct bread_err *err)
{
	*t = (struct scripted){ .code = { .name = (char *)"@test.lua",
					.text = brd_str(source),
					.limits = { .memory = SCRIPT_MEMORY, .ms = SCRIPT_MS } } };
	return brd_script_state_new(&t->state, &t->code, NULL, err);
}

static inline void script_call(struct scripted *t, const char *arg)
{
	brd_script_call_init(&t->call);
	t->call.function = "run";
	t->call.args[0] = brd_str(arg);
	t->call.arg_count = 1;
	brd_script_run(t->state, &t->call);
}

static inline void scripted_fini(struct scripted *t)
{
	brd_script_call_fini(&t->call);
	brd_script_state_free(t->state);
}

/* run(arg) of source gives that JSON. */
static inline void script_gives(const char *source, const char *arg, const char *json)
{
	struct scripted t;
	struct bread_err err = { 0 };

	if (script_open(&t, source, &err))
		fail_msg("%s", err.text);
	script_call(&t, arg);
	if (t.call.failed)
		fail_msg("%s", t.call.error_text);
	assert_str(brd_buf_str(&t.call.value), json);
	scripted_fini(&t);
}

/* return EXPRESSION in a function gives that JSON. */
static inline void expression_gives(const char *expression, const char *json)
{
	char source[2000];

	snprintf(source, sizeof(source), "function run(v) return %s end", expression);
	script_gives(source, "null", json);
}

/* run() of source fails with a text that has those words. */
static inline void script_fails(const char *source, const char *words)
{
	struct scripted t;
	struct bread_err err = { 0 };
	const char *said;

	if (script_open(&t, source, &err))
		fail_msg("%s", err.text);
	script_call(&t, "null");
	said = t.call.failed ? t.call.error_text : "no failure";
	if (!t.call.failed || !strstr(said, words))
		fail_msg("%s: %s", said, t.call.value.data);
	scripted_fini(&t);
}
