/* SPDX-License-Identifier: MIT */
/* Asking the hooks of a point, one after the other.
 *
 *   struct hook_chain chain = { .own = def->hook_set, .table = env->hooks, .agent_id = … };
 *
 *   if (brd_hooks_hear(&chain, BREAD_HOOK_AGENT, BREAD_HOOK_BEFORE_RUN)) {
 *           struct hook_run *h = brd_hook_run_new(&chain, scope, point);
 *           h->about.agent_id = …; h->input = …;
 *           bread_op_init(&h->op, loop, on_end, node);
 *           brd_hooks_start(h);
 *   }
 *   … on_end: read h->answer, h->value …; brd_hook_run_free(h)
 *
 * The order is: the own hooks (of the tool, task, loop or agent), those that its agent has for
 * that scope, functions of the embedder for that agent, plugins, the instance. What the answers do
 * on their way (include/bread/ext/hook.h) is settled here; what the last one means is the
 * caller's. */
#pragma once
#include "script/hook.h"
#include "base/list.h"
#include "base/buf.h"
#include "base/str.h"

/* ---- the sets of definitions ---- */

struct hook_set; /* what one `hooks:` says, opened; shared by reference */

/* json: {"lua": …, "plugin": …} or a list of such. home: whose own hooks they are; a file of Lua
 * may name these points without their scope. dir: where relative paths start. BREAD_E_INVALID.
 * Empty json: *ret is NULL. */
int brd_hooks_open(struct hook_set **ret, struct bread_str json, enum bread_hook_scope home,
	const char *dir, struct bread_err *err);
struct hook_set *brd_hook_set_ref(struct hook_set *s); /* NULL, too */
void brd_hook_set_unref(struct hook_set *s);           /* NULL, too */

/* ---- the table of the instance ---- */

enum hook_place { HOOK_OF_AGENT, HOOK_OF_PLUGIN, HOOK_OF_INSTANCE };

/* Only grows; readers need no lock. A zeroed one is empty. */
struct hook_table {
	struct hook_entry *last; /* of those who add */
	_Atomic(struct hook_entry *) first;
};
/* Takes the hook. agent_id: for HOOK_OF_AGENT. One thread at a time. */
void brd_hook_table_add(
	struct hook_table *t, enum hook_place place, const char *agent_id, struct bread_hook *h);
void brd_hook_table_fini(struct hook_table *t); /* closes them; nothing runs any more */

/* ---- a chain ---- */

struct hook_chain {
	struct hook_set *own;      /* NULL: none */
	struct hook_set *of_agent; /* for tools, tasks and loops: their agent's. NULL: none */
	struct hook_table *table;  /* the instance's. NULL: none */
	struct bread_str agent_id;
};

/* false: nobody has anything to say there, and nothing need be asked. Cheap. */
bool brd_hooks_hear(
	const struct hook_chain *c, enum bread_hook_scope scope, enum bread_hook_point point);

/* What hooks are told of where they stand, beside the agent of the chain. Empty: left out. */
struct hook_about {
	struct bread_str run_id, session_id, skill;
	struct bread_str name; /* of the task, or the leaf of the tool */
	struct bread_str loop_id;
	int64_t iteration;            /* 0: left out */
	struct bread_str credentials; /* JSON object of names and values */
};

struct hook_run {
	/* The caller's: made with bread_op_init, begun by brd_hooks_start, can be cancelled.
	 * BREAD_OK: the answer is set. BREAD_E_CANCELED. Others: a hook failed; op.err has its
	 * words, op.err.name its code word or "". */
	struct bread_op op;

	/* The caller's, unchanged until op has ended. All strings are borrowed. */
	struct hook_about about;
	struct bread_str input, output;                            /* JSON; empty: none */
	struct bread_str error_code, error_message, error_context; /* on error; context: JSON */
	int64_t duration_ms;                                       /* after */

	/* Out. NOTHING: go on with what there was. INPUT: with value. OUTPUT: value is the result
	 * (before: nothing runs; after and round end: instead of output; on error: it recovered).
	 * RETRY. FAIL: with error_code_out and error_text_out (NULL: as they were). */
	enum bread_hook_answer answer;
	struct bread_str value; /* JSON */
	char *error_code_out, *error_text_out;

	/* private */
	enum bread_hook_scope scope;
	enum bread_hook_point point;
	struct bread_str agent_id;
	struct hook_set *held[2];
	struct bread_hook **hooks; /* those that hear the point, in order */
	size_t count, next;
	struct bread_hook_call call; /* the one that is asked */
	struct buf context;
	char *kept; /* what value points to */
};

/* A run of that chain, which is copied: the sets are held, the table must outlive it. */
struct hook_run *brd_hook_run_new(
	const struct hook_chain *c, enum bread_hook_scope scope, enum bread_hook_point point);
/* Asks them. Also with nobody to ask: then op ends with NOTHING. */
void brd_hooks_start(struct hook_run *h);
void brd_hook_run_free(struct hook_run *h); /* in or after op's end, or never started. NULL, too */
