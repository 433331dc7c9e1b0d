/* SPDX-License-Identifier: MIT */
/* What the files of this folder share: the driver, the choke point, the
 * transaction of a turn, the session's history, the kinds of nodes. */
#pragma once
#include "model/model.h"
#include "run/run.h"

/* ---- driver.c ---- */

/* The child of that name, made (and woken) if need be. */
struct node *brd_node_child(struct node *parent, const struct node_ops *ops, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
struct node *brd_node_root(struct run *r, const struct node_ops *ops, const char *name);
struct node *brd_node_find(const struct node *parent, const char *name);
void brd_node_wake(struct node *n);
enum flow brd_node_end(struct node *n, enum node_end end); /* wakes its parent; FLOW_WAIT */
enum flow brd_node_fail(struct node *n, const struct run_error *e); /* copies e */
/* A line of the journal, in this turn's transaction. state: 1 started, 2 ended. */
void brd_node_journal(struct node *n, int state, struct bread_str data);
/* Calls ops->launch once this turn's transaction is committed: the start of what
 * has effects is written before it happens. */
void brd_node_launch(struct node *n);
void brd_node_free(struct node *n); /* with its children */

void brd_run_drive(struct run *r); /* until no node is ready */
void brd_run_dirty(struct run *r); /* settle it at the end of this turn of the loop */
void brd_run_check_end(struct run *r);
/* Nothing more is written from here on. code: why, for its caller; NULL: it goes on elsewhere. */
void brd_run_lose(struct run *r, const char *code, const char *text);
void brd_run_hold(struct run *r);
void brd_run_release(struct run *r); /* frees it when nobody holds it */
void brd_run_free(struct run *r);

/* ---- start.c ---- */
struct run *brd_run_make(struct run_env *env, struct loop *l, struct agent_def *def,
	struct bread_str id, struct bread_str session_id);
void brd_run_go(struct run *r, int64_t spent_ms); /* the deadline is set, the tree is driven */
/* Refused before anything was written: its caller is told, and it is gone. context: JSON, or "". */
void brd_run_refuse(struct run *r, const char *code, const char *message, const char *context);
/* The rows that make it known: its session, its definition, itself. They borrow from r. */
#define RUN_ROWS 3
void brd_run_rows(const struct run *r, struct bread_str session_tags, enum bread_run_status status,
	struct bread_rec recs[RUN_ROWS]);
/* JSON from outside as one line, as NDJSON can carry it; empty when it is none. */
struct bread_str brd_run_compact(struct arena *a, struct bread_str json);
void brd_run_begin(struct run *r);  /* its first turn: the user's message, agent:run:start */
void brd_run_opened(struct run *r); /* nothing of its beginning is under way any more */
void brd_run_stored(struct run *r); /* its row is committed; says so once to who asked */

/* ---- queue.c ---- */

/* Begins when its session is free (ifBusy; contract C12). interrupt: the others are cancelled. */
void brd_run_queue(struct run *r, struct bread_str session_tags, bool interrupt);

/* ---- recover.c ---- */
/* Builds a run that this instance has claimed and just taken (row: as it was before) and drives it
 * on. head: its last number by now. done: once, before the first turn; NULL when it could not be
 * read. */
void brd_run_build(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	int64_t head, void (*done)(void *arg, struct run *r), void *arg);

/* ---- finish.c ---- */
void brd_run_complete(struct run *r, struct buf *output); /* output: JSON; it is taken */
void brd_run_fail(struct run *r, const struct run_error *e, bool cancelled); /* e is copied */
/* It waits for humans only: everything is stored, and it leaves memory. */
void brd_run_suspend(struct run *r);
/* An error with {"agentId"}; it borrows the message. */
struct run_error brd_run_error(struct run *r, const char *code, struct bread_str message);

/* ---- choke.c ---- */
void brd_choke_begin(struct run *r, struct crumb_draft *d, enum crumb_type t);
void brd_choke_emit(struct run *r, struct crumb_draft *d);
void brd_choke_delta(struct run *r, enum crumb_type t, struct bread_str delta);
void brd_choke_close_windows(struct run *r);
void brd_choke_release(struct run *r); /* what is committed goes out */
void brd_choke_drop(struct run *r);    /* forgets what waits: the run was lost */

/* ---- tx.c ---- */
struct run_tx {
	struct bread_tx tx;
	struct run *run;
	struct arena arena; /* of strings in its records */
	struct crumb **held;
	size_t room, held_count, held_room, bytes;
	uint64_t number;
	bool first; /* makes the run's row: no fence yet */
	struct list launches;
};
struct bread_rec *brd_tx_add(struct run *r, enum bread_rec_kind kind);
/* Into the open transaction's memory. */
struct bread_str brd_tx_copy(struct run *r, struct bread_str s);
void brd_tx_hold(struct run *r, struct crumb *c); /* until it is done */
void brd_tx_submit(struct run *r);
void brd_tx_free(struct run_tx *t);
void brd_tx_abandon(struct run *r);       /* one that waits to be tried again */
size_t brd_tx_bytes(const struct run *r); /* not committed yet */

/* ---- history.c: the session's messages ---- */
struct model_node;
/* Content of the user message for an input: a string as it is, else its JSON text as a string. */
void brd_history_input(struct buf *out, struct bread_str input);
int brd_history_load(struct run *r, const struct bread_read *messages, struct bread_err *err);
void brd_history_own_input(struct run *r); /* appends this run's user message */
void brd_history_request(struct run *r, const struct model_node *m, struct bread_model_request *req,
	struct arena *a);
/* Stores this run's turns that are not in the session yet, and forgets what they said: the run
 * stops here. */
enum history_mode {
	HISTORY_ENDED,
	HISTORY_CANCELLED, /* what was said so far, and an error for each missing result */
	HISTORY_SUSPENDED, /* results that are missing come later */
};
void brd_history_store(struct run *r, enum history_mode mode);
void brd_history_journal(struct run *r); /* so that a later owner knows what the session has */
void brd_history_trim(struct run *r, size_t before); /* messages from there on are this run's own */

/* ---- kinds of nodes ---- */
extern const struct node_ops brd_agent_node, brd_model_node, brd_tool_node, brd_human_node;

/* One assistant message: a model's stream taken in. */
struct model_part {
	struct bread_part part;
	struct buf text; /* what came so far; part.text is this, once it has ended */
	bool ended;      /* a call runs only if it was */
	bool announced;  /* tool:input:start was emitted */
	bool bad;        /* a call whose arguments are no JSON object */
};

/* A call of the turn that ended with the message: its part, and the node that answers it. */
struct turn_call {
	unsigned part;
	struct node *node; /* NULL: not looked for yet */
};

/* What a model may send for one message, however many attempts it takes. */
#define MODEL_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct model_node {
	struct node node;
	struct arena arena;
	unsigned turn, attempt;
	bool called;
	struct bread_model *model;
	struct bread_model_call call;
	struct bread_model_request req;
	bool call_running, put_running, paused;
	bool structured;          /* the answer is JSON, shown only as the output */
	bool emitted;             /* something of this attempt was shown */
	struct model_part *parts; /* in order of their starts: index is the place */
	unsigned count, room;
	unsigned *at; /* from the stream's index to the place */
	unsigned at_room;
	size_t taken;            /* bytes of all attempts */
	struct turn_call *calls; /* once it has ended */
	unsigned call_count;
	enum bread_stop reason;
	struct bread_usage usage;
	struct run_error fault; /* of the last attempt */
	struct timer backoff;
	struct bread_blob_put put; /* the file that is being stored */
	struct buf put_bytes;
	struct list held; /* events that wait behind it */
};

/* model_events.c: takes an event of the stream in, and emits its crumbs. */
void brd_model_event(struct model_node *m, const struct bread_event *ev);
void brd_model_parts_clear(struct model_node *m); /* of a broken attempt, or stored for good */
struct model_part *brd_model_part_new(
	struct model_node *m, unsigned index, enum bread_part_kind kind);
/* model_file.c: takes a file in; what comes until it is stored is copied behind it. */
void brd_model_file(struct model_node *m, const struct bread_event *ev);
void brd_model_hold(struct model_node *m, const struct bread_event *ev);
void brd_model_held_clear(struct model_node *m);
/* node_model.c */
void brd_model_settle(struct model_node *m); /* all of the attempt is over: what now? */
void brd_model_fault(struct model_node *m, struct run_error e); /* the attempt fails with this */
/* What was shown of an attempt does not count (contract C21). */
void brd_model_void(struct run *r, unsigned attempt, struct bread_str reason);
size_t brd_model_calls(const struct model_node *m); /* of its message, once it has ended */
const struct model_part *brd_model_call_at(const struct model_node *m, size_t i);

/* One tool call of a turn. */
struct tool_node {
	struct node node;
	struct arena arena;
	struct tool_def *tool;          /* NULL: there is none of that name */
	struct bread_str call_id, name; /* name: the leaf */
	struct bread_str args;          /* a JSON object */
	struct bread_part result;       /* what the model is told, once it has ended */
	struct bread_tool_call call;
	bool bad_json;    /* the model sent no JSON object */
	bool over;        /* the turn has more calls than may run */
	bool interrupted; /* it was started by an owner that died */
	bool again;       /* the wait before another attempt is over */
	unsigned attempt;
	int64_t began_mono;
	struct timer backoff;
};
/* Calls of one turn that are run; more are told to come again. */
#define TURN_CALLS_MAX 128
/* What a call is about: by the agent, from the model's message; at: its place among the calls. */
void brd_tool_init(struct tool_node *t, const struct model_part *call, size_t at);
/* A call that cannot run (arguments that do not fit, a name nobody has) is settled
 * with an answer for the model: true. */
bool brd_tool_refused(struct tool_node *t);
void brd_tool_answer(
	struct tool_node *t, struct bread_str text, struct bread_str json, bool failed);
enum flow brd_tool_ended(struct tool_node *t); /* its answer goes into the journal */

/* A question to a human: a tool call whose answer comes from outside, perhaps days
 * later (docs/tools.md). Shares the tool's struct up to its own fields. */
struct human_node {
	struct tool_node tool;
	char checkpoint_id[UUID_LEN + 1];
};
bool brd_human_waits(const struct node *n);
