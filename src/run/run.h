/* SPDX-License-Identifier: MIT */
/* Runs and their trees.
 *
 * A run is one execution of an agent or of a pipeline: it has an id, a row, a log and a tree of
 * nodes that are data. Runs that start runs form a tree of runs; its root is the unit of ownership:
 * one loop, one owner, one fence, one transaction at a time for all of them. So a child's end and
 * what its parent makes of it are true at the same moment.
 *
 * The driver (driver.c) takes ready nodes from the tree's queue and calls their kind's
 * advance, which looks at the node's data and its children's ends and does the
 * next thing. What a turn of the driver decided becomes one transaction: ends of
 * nodes, messages, crumbs. Only when it is committed does the outside hear of it:
 * then crumbs are published, and tools that it starts are started.
 *
 * The choke point (choke.c) is the only place that emits.
 *
 * A tree outlives the call and the connection that started it; it ends when its root has
 * ended, or waits for humans alone, all of its operations have ended and its last transaction is
 * committed. Everything here is touched by the loop's thread alone. */
#pragma once
#include "base/list.h"
#include "base/map.h"
#include "base/uuid.h"
#include "bread/ext/blob.h"
#include "bread/ext/model.h"
#include "crumb/sequencer.h"
#include "loop/loop.h"
#include "run/core_tool.h"
#include "run/def.h"
#include "run/key.h"
#include "run/pipeline_def.h"
#include "store/store.h"
#include "transport/hub.h"

struct run;
struct tree;
struct node;
struct journal;
struct format_call;
struct hook_table;

struct waking;

/* What runs need of the instance they belong to. It outlives them. */
struct run_env {
	struct bread_store *store;
	struct hub *hub;
	struct bread_blob *blob;                    /* NULL: none is configured */
	struct decisions *decisions;                /* NULL: none are configured */
	struct bread_str owner;                     /* id of this instance */
	bool filtered[CRUMB_TYPES];                 /* by crumbFilter: kept from passive viewers */
	int64_t run_ms;                             /* longest time of a run */
	int64_t tool_ms;                            /* of a tool call */
	int64_t first_byte_ms, silence_ms;          /* of a model's stream */
	int64_t depth_max, tree_steps, tree_tokens; /* budgets of a tree; 0: none (contract C14) */
	struct run_counts *counts;
	_Atomic bool draining;    /* runs stop at their next step boundary and stay in the store */
	struct core_conf core;    /* of our own tools */
	struct hook_table *hooks; /* of the instance and its plugins: see hooks.h */

	/* The provider of that name; NULL: none. ret_known gets the names there are, to be said. */
	struct bread_model *(*provider)(void *arg, const char *name, struct buf *ret_known);
	/* A definition of that id and hash, one reference; NULL: it is not registered any more.
	 * hash empty: the newest one. */
	struct agent_def *(*definition)(void *arg, struct bread_str id, struct bread_str hash);
	/* Reshapes text in a custom format. */
	void (*format_start)(void *arg, const char *name, struct format_call *call);
	/* Asks that run to end, wherever it is. */
	void (*interrupt)(void *arg, struct bread_str run_id);
	/* Local listeners. NULL: there are none. */
	void (*on_crumb)(void *arg, const struct crumb *c);
	/* A tree of the store is about to be worked on here; false: it is already. Then up, or
	 * unclaim. */
	bool (*claim)(void *arg, struct bread_str id, struct bread_str session_id, bool composed,
		struct loop *l);
	void (*unclaim)(void *arg, struct bread_str id);
	void (*up)(void *arg, struct tree *t);
	/* Answers were written for a tree that was at work: if it is here, it hears them. */
	void (*wake)(void *arg, struct bread_str root_id, struct waking *w);
	/* Its last call: the tree is freed after it. */
	void (*on_gone)(void *arg, struct tree *t);
	void *arg;
};

/* A tree is woken. done comes once, on the loop of who asks. */
struct waking {
	struct post post;
	struct loop *loop;
	void (*on_end)(
		const struct bread_outcome *o, void *arg); /* of the tree that heard; or NULL */
	void *end_arg;
	enum {
		WAKE_HEARD,
		WAKE_MISSED, /* it is here, and is just being put aside or taken up */
		WAKE_ELSEWHERE
	} outcome;
	void (*done)(struct waking *w);
};

struct run_counts { /* any thread reads them */
	_Atomic uint64_t started, completed, failed, cancelled, suspended, crumbs;
	_Atomic uint64_t tool_calls, tool_errors, model_calls, model_errors;
	_Atomic int64_t input_tokens, output_tokens;
};

/* An error on its way to the wire: code word, message, context. Strings live in the run's arena. */
struct run_error {
	struct bread_str code, message, context; /* context: JSON, or empty */
};

enum run_phase { RUN_STARTING, RUN_GOING, RUN_ENDING, RUN_ENDED };

struct run_tx;

/* Somebody beside its caller who is told a tree's end, on its loop. */
struct ending {
	struct list link;
	void (*tell)(struct ending *e, const struct bread_outcome *o);
};

/* One run of a tree. */
struct run {
	struct list link; /* in the tree's runs, the root first */
	struct tree *tree;
	struct run_env *env;
	struct loop *loop;
	struct arena arena;
	enum bread_run_kind kind;
	char id[UUID_MAX];
	struct run *parent;    /* NULL: the root */
	struct bread_str path; /* JSON array of names, from the root */
	enum visibility show;  /* what of it is seen */
	bool muted;            /* it is below one that is not shown: nothing but humans is seen */
	struct crumb_base base;
	struct bread_str agent_context, ids_context; /* {"agentId":A}, {"agentId":A,"runId":R} */
	struct agent_def *def;                       /* of an agent */
	struct pipeline_def *pipeline;               /* of a pipeline */
	bool cancelled;                              /* somebody asked for it */
	bool timed_out;
	bool announced;   /* its user message and agent:run:start were decided */
	bool ended;       /* its last crumb was decided */
	uint64_t tx_last; /* the last transaction that borrows from it */

	struct bread_str input; /* JSON, compact; empty: no value */
	struct bread_str session_id;
	struct bread_str options, tags;

	/* the conversation: the session's messages before this run, its own input last */
	struct bread_message *history;
	size_t history_count;
	int64_t history_before; /* that many of the session's messages are not its own turns; -1:
				   all */
	int64_t history_extra;  /* messages in memory that the session has not in that place */
	struct list repairs;    /* of the session's history, that are yet to be written */
	bool history_known;     /* else it is read before the next model call */
	struct run_error history_fault; /* it could not be read */
	char input_id[UUID_LEN + 1];    /* of its user message, if that was written here */
	bool linked;                    /* a row of the store says that it waits for delegations */
	bool knowledge_known;           /* it was read, or none is to be */
	struct buf knowledge;  /* a section of the prompt, as it was when the run began to call */
	unsigned stored_turns; /* of this run: their messages are in the session already */

	struct node *root;
	struct journal *journal; /* of a run that was read from the store */

	/* its log */
	struct sequencer seq;
	struct topic *topic;
	struct list windows; /* in the tree's list of runs with open windows */
	int64_t stored;      /* the last number that is committed */
	struct timer deadline;

	struct loop_state *loop_state; /* of the loop that it runs; NULL: none was ever begun */

	/* the end */
	enum bread_run_status status;
	struct bread_str output, files; /* JSON; output lies in output_json */
	struct buf output_json;
	struct run_error error;
	struct buf text; /* of all steps */
	struct buf files_json;
	int64_t started_wall, started_mono;
	struct bread_usage usage;
	int64_t steps; /* model calls */
};

/* A root with all that hangs on it. */
struct tree {
	struct run_env *env;
	struct loop *loop;
	struct run *root;
	struct list runs;  /* that are in memory */
	struct list ended; /* runs whose end is on its way into the store */
	bool composed;     /* it may have more than one: its crumbs have numbers of the tree, too */
	int64_t epoch;
	enum run_phase phase;
	bool cancel_late; /* somebody asked when it was ending: heard if that is a suspension */
	bool lost;      /* another owner has it, or the store failed: nothing is written any more */
	bool left;      /* it was lost, and goes on elsewhere */
	bool fresh;     /* it began here: its row is made by the first transaction */
	bool held_back; /* something is not begun because the process drains */
	bool opening;   /* reads and writes that come before its first turn are under way */
	int calls;      /* callbacks and operations that still hold it */

	/* the request */
	struct run_key key;
	void (*on_stored)(void *arg); /* NULL: nobody asked, or told already */
	void (*on_end)(const struct bread_outcome *o, void *arg);
	void *arg;
	struct list endings;

	struct list queue;  /* of ready nodes */
	struct list loaded; /* runs of the store whose parent's node is yet to be made */

	/* the choke point */
	struct topic *topic;                                 /* of a composed one */
	int64_t seq;                                         /* the last number of the tree */
	char last_agent_id[UUID_MAX], last_run_id[UUID_MAX]; /* of a composed one's last crumb */
	int64_t stored;                                      /* the last one that is committed */
	struct list out;     /* crumbs and marks that wait for their commit */
	struct list windows; /* runs that have one open: they close together */
	struct timer window_timer;
	struct run_tx *tx;     /* being filled; NULL: nothing to commit */
	struct run_tx *flying; /* on its way; NULL: none */
	struct list stalled;   /* nodes that wait until less is uncommitted */
	uint64_t tx_made, tx_done;
	struct list dirty; /* in the loop's list of trees to settle at the end of the turn */
	unsigned store_tries;
	struct timer again;
	struct hearing *hearing; /* answers are being read; NULL: none */

	/* budgets of the whole tree (contract C14) */
	int64_t steps, tokens;
};

/* Uncommitted bytes at which a tree stops reading its models, and begins no further steps. */
#define RUN_BACKLOG (1024 * 1024)

/* What starts one. Strings are copied. */
struct run_start {
	struct bread_str run_id, input, session_id, session_tags, options, tags;
	struct run_key key; /* of the request; written with the run's first rows. The outcome
			       IDEMPOTENCY_KEY: somebody else has just used it */
	bool new_session;   /* the id was made just now: nobody else can have it */
	enum bread_if_busy if_busy;
	void (*on_stored)(void *arg); /* as for bread_run */
	void (*on_end)(const struct bread_outcome *o, void *arg);
	void *arg;
};

/* Begins a run on this loop: writes its first rows, then drives it. One of def and pipeline; a
 * reference of it is taken. */
struct tree *brd_run_new(struct run_env *env, struct loop *l, struct agent_def *def,
	struct pipeline_def *pipeline, const struct run_start *s);

/* An answer to a run that waits. Strings are copied. */
struct run_resume {
	struct bread_str checkpoint_id, response; /* response: JSON, or empty */
	bool expired;       /* nobody answered in time: response is the fallback */
	struct run_key key; /* of the request: again it leads to the same place of the same tree */
	/* Once: the answer is on record, and the tree of that root goes on after that number (of
	 * the tree, or of the run itself if it is a lone one); or err says why not:
	 * CHECKPOINT_NOT_FOUND, CHECKPOINT_CLAIMED, ANSWER_INVALID … */
	void (*on_claimed)(
		void *arg, struct bread_str root_id, int64_t after, const struct bread_err *err);
	void (*on_end)(const struct bread_outcome *o, void *arg); /* the tree's; NULL: not wanted */
	void *arg;
};
void brd_run_resume(struct run_env *env, struct loop *l, const struct run_resume *in);
/* JSON from outside as one line, as NDJSON can carry it; empty when it is none. */
struct bread_str brd_run_compact(struct arena *a, struct bread_str json);
/* Tells on_end what the store knows of that run; it may be at work. */
void brd_run_tell(struct run_env *env, struct loop *l, struct bread_str run_id,
	void (*on_end)(const struct bread_outcome *o, void *arg), void *arg);

/* Takes up a tree of the store whose owner is dead, or that has answers nobody has heard (contract
 * C11). row: its root's, as it was seen: id, status, epoch. done is called once, when it goes on
 * (or another owner was first: NULL).
 */
void brd_run_take_up(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	void (*done)(void *arg, struct tree *t), void *arg);
/* The same for a suspended one, of which a run was cancelled: it is taken up to end that. */
void brd_run_end_suspended(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	struct bread_str run_id, void (*done)(void *arg, struct tree *t), void *arg);

/* On its loop, all of these. */
void brd_tree_cancel(struct tree *t);
/* One run of it, with what is below; false: it is not there, or has ended. */
bool brd_tree_cancel_run(struct tree *t, struct bread_str run_id);
/* Answers were written for it: they are read, and it goes on. */
void brd_tree_hear(struct tree *t);
/* Stops it where it stands, for another owner: nothing more is written. For a drain, and for the
 * process's end. */
void brd_tree_leave(struct tree *t);
