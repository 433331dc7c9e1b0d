/* SPDX-License-Identifier: MIT */
/* A conversation made fit to be sent: what providers refuse is mended first.
 *
 * Each call has one result, right behind its turn (one that is missing says so);
 * a result without a call goes; blank text, lone surrogates and empty messages
 * go; ids are what the provider takes, and no two of them become one. */
#pragma once
#include "base/arena.h"
#include "bread/ext/model.h"

enum id_rule {
	IDS_ANY,
	IDS_64, /* [A-Za-z0-9_-]{1,64} */
	IDS_40, /* at most 40 characters */
	IDS_9,  /* exactly nine letters and digits */
};

struct replay {
	struct bread_message *messages;
	size_t count;
};

/* All of it in the arena. System prompts of no text are left out by the caller. */
void brd_replay(struct replay *ret, const struct bread_model_request *req, enum id_rule ids,
	struct arena *a);
/* Without lone surrogates. */
struct bread_str brd_replay_clean(struct bread_str text, struct arena *a);
