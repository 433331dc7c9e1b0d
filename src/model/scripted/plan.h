/* SPDX-License-Identifier: MIT */
/* An answer, filled in and laid out as a list of small actions in time. */
#pragma once
#include "model/scripted/script.h"
#include "model/stream.h"

enum act {
	ACT_TEXT,
	ACT_REASONING,
	ACT_SIGN,  /* text: signature of the open reasoning block */
	ACT_CALL,  /* id, name, text: arguments; not streamed */
	ACT_INPUT, /* id, name: arguments begin to stream */
	ACT_PIECE, /* text: of the arguments */
	ACT_INPUT_END,
	ACT_FILE,  /* name: media type; text: base64 */
	ACT_DELAY, /* ms */
	ACT_LOAD,
	ACT_HANG,  /* until it is cancelled */
	ACT_ERROR, /* fault, text */
};

struct load {
	double rate; /* deltas a second; 0: as fast as they are taken */
	int64_t n, hold_ms;
	bool tool;
};

struct action {
	enum act act;
	int64_t ms;
	struct bread_str text, id, name;
	struct fault fault;
	struct load load;
};

struct plan {
	struct action *actions;
	size_t count, cap;
	size_t bytes;
	bool too_large;
	struct bread_usage usage;
	enum bread_stop finish;
	struct bread_str id; /* response id */
};

#define PLAN_ACTIONS_MAX 1000000
#define PLAN_BYTES_MAX TMPL_TEXT_MAX

/* All but the list itself is in t's arena. */
void brd_plan_make(
	struct plan *p, const struct tmpl *t, const struct scripted_model *m, struct jval answer);
void brd_plan_fini(struct plan *p);
