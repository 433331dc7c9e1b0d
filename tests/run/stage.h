/* SPDX-License-Identifier: MIT */
/* A member of the family being played: instances over one store that outlives them, humans who
 * answer, tools that answer when nothing else happens; and what must hold whatever happened on the
 * way. The clock is frozen, and turned by 5 ms whenever nobody has anything to do. */
#pragma once
#include <stdio.h>
#include "test.h"
#include "base/clock.h"
#include "bread/instance.h"
#include "run/family.h"
#include "run/store_faulty.h"

#define RAN_MAX 64
#define STAGED 2 /* instances at a time */

enum humans {
	HUMANS_ABSENT,
	HUMANS_PATIENT, /* answer one question when all is quiet */
	HUMANS_EAGER,   /* answer as soon as a question is on record */
	HUMANS_AT_ONCE, /* answer all that are open at the same moment */
};

struct ran {
	char run_id[40], call_id[16];
};

struct stage {
	struct family family;
	char story[160]; /* how it is played, for those who look for a fault */
	struct faulty store;
	struct bread *b[STAGED]; /* b[0] begins the run */
	unsigned turn_of;        /* which instance answers next */
	char id[BREAD_RUN_ID_MAX];
	enum humans humans;
	bool twice;    /* each answer is given twice */
	bool share;    /* the instances answer in turns */
	unsigned dice; /* the order of answers and of tools */
	bool idempotent;
	bool keep_tools; /* they do not answer yet */
	bool closing;
	struct bread_tool_call *held[RAN_MAX];
	unsigned held_count;
	struct ran ran[RAN_MAX];
	unsigned ran_count;
	unsigned told; /* outcomes, of the start and of answers */
	enum bread_run_status status;
	char error[64];
	unsigned answered, refused; /* answers */
	unsigned asking;            /* answers that were not taken or refused yet */
	int64_t rest_until;         /* one that was refused is not given again at once */
	unsigned deaths;
};

#define stage_fail(s, ...) \
	do { \
		stage_tell(s); \
		stage_say(s, __VA_ARGS__); \
		fail(); \
	} while (0)
#define stage_must(s, what) \
	do { \
		if (!(what)) \
			stage_fail(s, "%s:%d: not so: %s", __FILE__, __LINE__, #what); \
	} while (0)
#define stage_same(s, a, b) \
	do { \
		long long x_ = (long long)(a), y_ = (long long)(b); \
		if (x_ != y_) \
			stage_fail( \
				s, "%s:%d: %s is %lld, not %lld", __FILE__, __LINE__, #a, x_, y_); \
	} while (0)

/* With BREAD_TEST_SEED: all about it. */
void stage_tell(struct stage *s);
/* What is wrong, behind its story. */
void stage_say(const struct stage *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* fmt: what is special about this play. */
__attribute__((format(printf, 4, 5))) void stage_open(
	struct stage *s, unsigned seed, enum family_kind kind, const char *fmt, ...);
void stage_close(struct stage *s);
struct bread *stage_instance(struct stage *s); /* one more over the same store */
void stage_start(struct stage *s);
bool stage_turn(struct stage *s);  /* false: nobody had anything to do, and time went on */
bool stage_ended(struct stage *s); /* the store knows the end, and nobody works on it */
bool stage_suspended(struct stage *s);
void stage_until_ended(struct stage *s);
void stage_until_quiet(struct stage *s); /* ended, or suspended */
/* The process dies: b[0] writes no more, and the world knows that it is dead. Then another. */
void stage_kill(struct stage *s);
void stage_reborn(struct stage *s);
void stage_answer(struct stage *s, struct bread *b, const char *checkpoint_id, const char *call_id);
/* Open questions of the tree; end with bread_read_fini. */
size_t stage_questions(struct stage *s, struct bread_read *r);

/* ---- stage_check.c: what must hold ---- */
void stage_check_logs(struct stage *s);
void stage_check_ended(struct stage *s);  /* nothing is left open in the store */
void stage_check_output(struct stage *s); /* what came out is what the rules say */
void stage_check_tools(struct stage *s);
void stage_check_memory(struct stage *s); /* nothing of it is in any instance */
void stage_all(struct stage *s, struct bread_read *r, enum bread_read_kind kind, const char *key);

/* The seeds of a test: n of them from `from` on (and BREAD_TEST_SHIFT further, for others than
 * always), or the one of BREAD_TEST_SEED. */
struct seeds {
	unsigned at, end;
};
struct seeds seeds_of(unsigned from, unsigned n);
