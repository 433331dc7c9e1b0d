/* SPDX-License-Identifier: MIT */
/* An instance over the memory store with a scripted model, driven by hand, and a
 * record of what a subscriber saw. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include "test.h"
#include "base/buf.h"
#include "base/str.h"
#include "bread/instance.h"

struct seen {
	struct buf types; /* "agent:run:start agent:run:end " */
	struct buf json;  /* a line a crumb */
	struct buf text;  /* joined deltas */
	int64_t last;     /* highest durable number */
	bool gap;         /* a durable number was not last + 1 or more */
	bool ended;
	enum bread_code code;
	enum bread_run_status status;
	char error[64];
	char output[4096];
	bool told;
};

struct bread *fixture_new(const char *models, const char *extra);
void fixture_agent(struct bread *b, const char *id, const char *json);
/* Runs the agent and turns the loop until its end was seen; ret_id may be NULL. */
void fixture_run(struct bread *b, const char *agent, const char *input, struct seen *s);
void fixture_start(struct bread *b, const char *agent, const char *input, const char *session,
	struct seen *s, char id[BREAD_RUN_ID_MAX]);
void fixture_watch(struct bread *b, const char *run_id, int64_t after, struct seen *s);
void fixture_until(struct bread *b, const bool *done);
void fixture_turn(struct bread *b, int ms);
void seen_fini(struct seen *s);
