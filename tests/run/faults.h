/* SPDX-License-Identifier: MIT */
/* Runs of every kind over a faulty store, and what must hold for them whatever
 * happened on the way. */
#pragma once
#include "run/run_fixture.h"
#include "run/store_faulty.h"

#define CALLS_MAX 16

struct scenario {
	const char *name;
	const char *agent;  /* JSON */
	const char *models; /* JSON; keyed by what the conversation holds, so that it survives an
			       instance */
	const char *output; /* what it completes with */
	unsigned questions; /* to humans, in all */
	unsigned tools;     /* calls of tools, in all */
	bool workers;       /* threads take part: time must pass for them, too */
};
extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* A scenario being played: its store outlives its instances. */
struct play {
	const struct scenario *sc;
	struct faulty store;
	struct bread *b;
	char id[BREAD_RUN_ID_MAX];
	char blobs[64];
	struct seen seen; /* of the first instance's viewer */
	bool keep;        /* the viewer's crumbs are kept */
	bool idempotent;  /* the tool may run again */
	bool hold;        /* tools answer when they are told to */
	struct bread_tool_call *held[CALLS_MAX];
	unsigned held_count;
	char ran[CALLS_MAX][32]; /* ids of calls, each time one ran */
	unsigned ran_count;
	unsigned told; /* outcomes */
	enum bread_run_status status;
	char error[64], output[512];
	unsigned answered; /* questions */
};

void play_open(struct play *p, const struct scenario *sc);
void play_close(struct play *p);             /* all of it */
struct bread *play_instance(struct play *p); /* one more over the same store */
void play_start(struct play *p);
void play_turn(
	struct play *p); /* one turn; questions that have come are answered; a frozen clock moves */
void play_until_told(struct play *p);  /* its caller knows the end */
void play_until_ended(struct play *p); /* the store knows the end, whoever brings it about */
void play_answer_held(struct play *p, unsigned i);
/* The process dies: this instance writes no more, and the world knows that it is dead. */
void play_kill(struct play *p);

/* What the store has, whatever happened. */
struct bread_run_row play_row(struct play *p, struct bread_read *r); /* r: to be ended with fini */
void check_log(struct play *p);      /* gapless, one terminal crumb, and it is the last */
void check_messages(struct play *p); /* each call has one result, after it */
void check_tools(struct play *p, bool crashed);
unsigned play_interrupted(struct play *p); /* calls that ended as TOOL_INTERRUPTED */
void check_viewer(struct play *p);         /* what was seen stands in the log as it was seen */
void check_ended(struct play *p);          /* all of these, and nothing is left open */
