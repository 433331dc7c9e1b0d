/* SPDX-License-Identifier: MIT */
/* One structured call of a task's model: instructions and input in, an output that fits the schema
 * out. It has no effect but its answer, so it may be made again. */
#pragma once
#include "run/run.h"

struct task_call {
	struct bread_op op; /* BREAD_OK: output is set; else code and message say why */
	const struct task_def *def;
	struct bread_str input; /* JSON; unchanged until the op ends */
	struct run_env *env;
	struct loop *loop;

	/* out */
	struct buf output; /* JSON, compact */
	struct bread_usage usage;
	struct bread_str code; /* of a failure that has a code word of its own; else empty */
	struct bread_str message;
	struct bread_str context;   /* JSON, or empty */
	struct arena arena;         /* of these */
	struct task_asking *asking; /* its own */
};
void brd_task_call_start(struct task_call *c); /* c->op is ready; it ends on c->loop */
void brd_task_call_fini(struct task_call *c);  /* what it gave; a zeroed one, too */

/* {"provider":P,"model":M}, and {"inputTokens":…} as records and crumbs have them. */
void brd_task_put_model(const struct task_def *d, struct buf *out);
void brd_task_put_usage(const struct bread_usage *u, struct buf *out);
