/* SPDX-License-Identifier: MIT */
/* The loop that an agent's run has: one at a time. A line of the run's journal, and a record of its
 * own. */
#pragma once
#include "run/run.h"

struct loop_state {
	struct arena arena;
	char id[UUID_LEN + 1];
	struct pipeline_def *pipeline; /* what each round runs */
	struct bread_str agents;       /* JSON array of ids */
	int64_t rounds;                /* that have ended */
	struct bread_str input, last;  /* JSON: of the round that runs; the last output */
	int64_t began, round_began;
	bool open, running;
};

void brd_loop_state_open(struct run *r, char **agents, size_t count, struct bread_str json);
/* loop:end, and its record. result: JSON, or empty. */
void brd_loop_state_close(struct run *r, const char *status, struct bread_str result);
void brd_loop_close(struct run *r, const char *status); /* one that is open when its run ends */
void brd_loop_state_record(struct run *r, const char *status);
void brd_loop_state_journal(struct run *r);
void brd_loop_state_load(struct run *r, struct bread_str data); /* the journal's line */
void brd_loop_state_free(struct loop_state *l);                 /* NULL, too */
