/* SPDX-License-Identifier: MIT */
/* A configured script: its source, its limits, and calls of it on threads of its own.
 *
 * A loop never waits for a script, and neither does anybody else's work: a script has at most
 * `states` threads, which come with its calls and go when there are none for a while. Further
 * calls wait their turn. A cancelled one ends as soon as its script has noticed. */
#pragma once
#include <pthread.h>
#include "loop/loop.h"
#include "script/engine.h"

#define SCRIPT_SOURCE_MAX ((size_t)1024 * 1024)

struct script {
	struct arena arena;
	struct script_code code;
	int64_t threads_max;
	pthread_mutex_t lock;             /* of what follows */
	pthread_cond_t more;              /* a job waits, or it is closed */
	pthread_cond_t gone;              /* a thread has ended */
	struct list waiting;              /* jobs */
	int64_t queued, threads, resting; /* resting: of the threads, those without a job */
	struct script_state *idle;        /* a state that no thread has; NULL: none */
	bool closing;
};

/* options: "FILE", or {"file" or "source", "memory", "time", "instructions", "states"}. dir: where
 * relative paths start. Runs the script once, on this thread, which checks it. */
int brd_script_open(
	struct script **ret, struct bread_str options, const char *dir, struct bread_err *err);
void brd_script_close(struct script *s); /* no call is under way. NULL, too */
/* As brd_script_inspect, in a state that is free. Before the first call. */
int brd_script_look(struct script *s, lua_CFunction fn, void *arg, struct bread_err *err);

/* A call on a worker. The owner fills call (brd_script_call_init first) and what is the owner's,
 * and frees the memory in or after finish. */
struct script_job {
	struct script_call call;
	/* the owner's */
	struct bread_op *op; /* of the seam: begun here. finish ends it */
	/* On the loop: it has ended as that; call has the outcome. Ends op and frees the job, after
	 * brd_script_call_fini. */
	void (*finish)(struct script_job *job, enum bread_code code);
	/* On the loop, in order, before finish: a value that was yielded. NULL: none are wanted. */
	void (*on_value)(struct script_job *job, struct bread_str json);

	/* private */
	struct script *script;
	struct list link;
	struct post done; /* its thread is through with it */
	bool canceled, ended;

	pthread_mutex_t lock; /* of what follows */
	struct list values;
	size_t values_size;
	struct post flush;
	bool flushing;
};
void brd_script_start(struct script *s, struct script_job *job);
/* What a failed job's error is: as op's err. */
void brd_script_err(const struct script_job *job, struct bread_err *ret);
