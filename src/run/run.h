/* SPDX-License-Identifier: MIT */
/* A run: a tree of nodes that are data, driven on one loop.
 *
 * The driver (driver.c) takes ready nodes from a queue and calls their kind's
 * advance, which looks at the node's data and its children's ends and does the
 * next thing. What a turn of the driver decided becomes one transaction: ends of
 * nodes, messages, crumbs. Only when it is committed does the outside hear of it:
 * then crumbs are published, and tools that it starts are started.
 *
 * The choke point (choke.c) is the only place that emits.
 *
 * A run outlives the call and the connection that started it; it ends when its
 * root has ended, all of its operations have ended and its last transaction is
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
#include "store/store.h"
#include "transport/hub.h"

struct run;
struct node;

/* What runs need of the instance they belong to. It outlives them. */
struct run_env {
	struct bread_store *store;
	struct hub *hub;
	struct bread_blob *blob;           /* NULL: none is configured */
	struct bread_str owner;            /* id of this instance */
	bool filtered[CRUMB_TYPES];        /* by crumbFilter: kept from passive viewers */
	int64_t run_ms;                    /* longest time of a run */
	int64_t tool_ms;                   /* of a tool call */
	int64_t first_byte_ms, silence_ms; /* of a model's stream */
	struct run_counts *counts;
	_Atomic bool draining; /* runs stop at their next step boundary and stay in the store */
	struct core_conf core; /* of our own tools */

	/* The provider of that name; NULL: none. ret_known gets the names there are, to be said. */
	struct bread_model *(*provider)(void *arg, const char *name, struct buf *ret_known);
	/* A definition of that id and hash, one reference; NULL: it is not registered any more. */
	struct agent_def *(*definition)(void *arg, struct bread_str id, struct bread_str hash);
	/* Reshapes text in a custom format. false: *ret_error says why. out gets JSON. */
	bool (*format)(void *arg, const char *name, struct bread_str text, struct buf *out,
		const char **ret_error);
	/* Asks that run to end, wherever it is. */
	void (*interrupt)(void *arg, struct bread_str run_id);
	/* Local listeners. NULL: there are none. */
	void (*on_crumb)(void *arg, const struct crumb *c);
	/* A run of the store is about to be worked on here; false: it is already. Then up, or
	 * unclaim. */
	bool (*claim)(void *arg, struct bread_str id, struct bread_str session_id, struct loop *l);
	void (*unclaim)(void *arg, struct bread_str id);
	void (*up)(void *arg, struct run *r);
	/* Its last call: the run is freed after it. */
	void (*on_gone)(void *arg, struct run *r);
	void *arg;
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

enum node_end { END_NONE, END_OK, END_FAILED, END_CANCELED };

/* What advance gives: nothing to do until a wake; call me once more. */
enum flow { FLOW_WAIT, FLOW_AGAIN };

struct node_ops {
	const char *kind; /* "agent", "model", "tool": the word in the journal */
	size_t size;      /* of the node's struct, whose first member is struct node */
	enum flow (*advance)(struct node *n);
	/* What the last transaction of a turn made true may now be acted on. Optional. */
	void (*launch)(struct node *n);
	/* Bring the end about soon. Optional: inner nodes wait for their children. */
	void (*cancel)(struct node *n);
	/* Takes its data back from the journal. state: 1 started, 2 ended. Optional. */
	void (*load)(struct node *n, int state, struct jval data);
	void (*fini)(struct node *n); /* optional */
};

struct node {
	struct list siblings; /* in the parent's children */
	struct list children; /* in order of creation */
	struct list ready;    /* in the run's queue */
	struct list launch;   /* in a transaction's launches */
	const struct node_ops *ops;
	struct run *run;
	struct node *parent;
	char name[48]; /* its key in the journal: "model.2", "tool.2.0" */
	enum node_end end;
	bool begun;             /* its start is in the journal, or need not be */
	bool busy;              /* an operation of it is running */
	struct run_error error; /* of a failed one */
};

enum run_phase { RUN_STARTING, RUN_GOING, RUN_ENDING, RUN_ENDED };

struct run_tx;

struct run {
	struct list link; /* in the instance's list */
	struct run_env *env;
	struct loop *loop;
	struct arena arena;
	char id[UUID_MAX];
	struct crumb_base base;
	struct bread_str agent_context, ids_context; /* {"agentId":A}, {"agentId":A,"runId":R} */
	struct agent_def *def;
	int64_t epoch;
	enum run_phase phase;
	bool cancelled;   /* somebody asked for it */
	bool cancel_late; /* somebody asked when it was ending: heard if that is a suspension */
	bool timed_out;
	bool lost;    /* another owner has it, or the store failed: nothing is written any more */
	bool left;    /* it was lost, and goes on elsewhere */
	bool fresh;   /* it began here: its row is made by the first transaction */
	bool opening; /* reads and writes that come before its first turn are under way */
	int calls;    /* callbacks and operations that still hold it */

	/* the request */
	struct bread_str input; /* JSON, compact */
	struct bread_str session_id;
	struct bread_str options, tags;
	void (*on_stored)(void *arg); /* NULL: nobody asked, or told already */
	void (*on_end)(const struct bread_outcome *o, void *arg);
	void *arg;

	/* the conversation: the session's messages before this run, its own input last */
	struct bread_message *history;
	size_t history_count;
	unsigned stored_turns; /* of this run: their messages are in the session already */

	/* the tree */
	struct node *root;
	struct list queue;

	/* the choke point */
	struct sequencer seq;
	struct topic *topic;
	struct list out;       /* crumbs and marks that wait for their commit */
	struct run_tx *tx;     /* being filled; NULL: nothing to commit */
	struct run_tx *flying; /* on its way; NULL: none */
	struct node *stalled;  /* stopped reading until a transaction is done; NULL: none */
	uint64_t tx_made, tx_done;
	int64_t stored;    /* the last number that is committed */
	struct list dirty; /* in the loop's list of runs to settle at the end of the turn */
	struct timer window_timer, deadline;

	/* the end */
	enum bread_run_status status;
	struct bread_str output, files; /* JSON; output lies in output_json */
	struct buf output_json;
	struct run_error error;
	struct buf text; /* of all steps */
	struct buf files_json;
	int64_t started_wall, started_mono;
	struct bread_usage usage;
	unsigned store_tries;
	struct timer again;
};

#define RUN_BACKLOG (1024 * 1024) /* uncommitted bytes at which a run stops reading its model */

/* What starts one. Strings are copied. */
struct run_start {
	struct bread_str run_id, input, session_id, session_tags, options, tags;
	bool new_session; /* the id was made just now: nobody else can have it */
	enum bread_if_busy if_busy;
	void (*on_stored)(void *arg); /* as for bread_run */
	void (*on_end)(const struct bread_outcome *o, void *arg);
	void *arg;
};

/* Begins a run on this loop: writes its first rows, then drives it. */
struct run *brd_run_new(
	struct run_env *env, struct loop *l, struct agent_def *def, const struct run_start *s);

/* An answer to a run that waits. Strings are copied. */
struct run_resume {
	struct bread_str checkpoint_id, response; /* response: JSON, or empty */
	/* Once: r goes on and its crumbs come after that number; or err says why not
	 * (CHECKPOINT_NOT_FOUND, CHECKPOINT_CLAIMED). */
	void (*on_claimed)(void *arg, struct run *r, int64_t after, const struct bread_err *err);
	void (*on_end)(const struct bread_outcome *o, void *arg);
	void *arg;
};
void brd_run_resume(struct run_env *env, struct loop *l, const struct run_resume *in);

/* Takes up a run of the store whose owner is dead (contract C11). done is called once, when it goes
 * on (or another owner was first: r NULL). */
void brd_run_take_up(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	void (*done)(void *arg, struct run *r), void *arg);
/* The same for a suspended run that was cancelled: it is taken up to end. */
void brd_run_end_suspended(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	void (*done)(void *arg, struct run *r), void *arg);
void brd_run_cancel(struct run *r); /* on its loop */
/* Stops it where it stands, for another owner: nothing more is written. For a drain, and for the
 * process's end. */
void brd_run_leave(struct run *r);
