/* SPDX-License-Identifier: MIT */
/* What the files of this folder share: the driver, the choke point, the
 * transaction of a turn, the session's history, the kinds of nodes. */
#pragma once
#include "model/model.h"
#include "run/run.h"

/* ---- driver.c: nodes, and the turns of a tree ---- */

/* The child of that name, made (and woken) if need be; what the journal has of it is loaded. */
struct node *brd_node_child(struct node *parent, const struct node_ops *ops, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The root of a run's nodes; at: the node of its parent that started it, NULL for a root. */
struct node *brd_node_root(
	struct run *r, struct node *at, const struct node_ops *ops, const char *name);
struct node *brd_node_find(const struct node *parent, const char *name);
#define NODE_NAME_MAX 512 /* steps are nested 32 deep at the most */
/* The journal has something of a node of that name, which is not made yet. */
bool brd_node_written(const struct run *r, const char *name);
void brd_node_wake(struct node *n);
enum flow brd_node_end(struct node *n, enum node_end end); /* wakes its parent; FLOW_WAIT */
enum flow brd_node_fail(struct node *n, const struct run_error *e); /* copies e */
/* It waits for humans alone: its parent is woken, and may do the same. FLOW_WAIT */
enum flow brd_node_park(struct node *n);
/* One of the humans has answered: it and those above it go on. */
void brd_node_unpark(struct node *n);
/* A line of the journal, in this turn's transaction. state: 1 started, 2 ended. */
void brd_node_journal(struct node *n, int state, struct bread_str data);
/* Calls ops->launch once this turn's transaction is committed: the start of what
 * has effects is written before it happens. */
void brd_node_launch(struct node *n);
/* true: too much of its tree is not committed yet; it is woken when there is less. */
bool brd_node_stall(struct node *n);
void brd_tree_unstall(struct tree *t);     /* a transaction is done */
void brd_node_cancel(struct node *n);      /* its run, with all that is below it */
void brd_node_cancel_runs(struct node *n); /* the runs below it, and not its own */
void brd_node_free(struct node *n);        /* with its children */

void brd_tree_drive(struct tree *t); /* until no node is ready */
void brd_tree_dirty(struct tree *t); /* settle it at the end of this turn of the loop */

/* ---- asking.c: hooks ---- */
/* A run of that chain that the node waits for: fill in what it is about, then brd_hooks_start. The
 * node is busy, and woken when it has ended. */
struct hook_run *brd_node_ask(struct node *n, const struct hook_chain *c,
	enum bread_hook_scope scope, enum bread_hook_point point);
void brd_node_asked(struct node *n); /* its answer was taken in */
struct run_error brd_hook_error(struct run *r, const struct hook_run *h); /* it has failed itself */
struct hook_chain brd_agent_chain(const struct run *r);
bool brd_agent_hears(const struct run *r, enum bread_hook_point point);

/* ---- tree.c: a tree's life ---- */
struct tree *brd_tree_new(struct run_env *env, struct loop *l);
/* Nothing more is written from here on. code: why, for its caller; NULL: it goes on elsewhere. */
void brd_tree_lose(struct tree *t, const char *code, const char *text);
void brd_tree_check_end(struct tree *t);
void brd_tree_plant(struct tree *t, struct run *root); /* it may have others below it, or not */
void brd_tree_go_live(struct tree *t, int64_t head);   /* its topics begin; head: the root's */
/* The process drains: nothing new is begun here, and when nothing is at work any more, the tree is
 * left to the next owner. false: go on. */
bool brd_tree_held_back(struct tree *t);
bool brd_tree_spent(const struct tree *t); /* a budget of the whole tree is (contract C14) */
void brd_tree_hold(struct tree *t);
void brd_tree_release(struct tree *t); /* frees it when nobody holds it */
/* Child runs whose end is committed leave memory. */
void brd_tree_reap(struct tree *t);
/* Its caller's failure, if it ended with one, and who it is said to come from. */
struct run *brd_tree_run(const struct tree *t, struct bread_str run_id); /* in memory; or NULL */

/* ---- start.c ---- */
/* A run in memory, with a tree of its own if there is none. parent NULL: the root. It takes a
 * reference of its definition. */
struct run *brd_run_make(struct tree *t, struct run *parent, struct agent_def *def,
	struct pipeline_def *pipeline, struct bread_str id, struct bread_str session_id);
void brd_run_free(struct run *r);
/* Its longest time begins; the time that it waits for humans does not count. */
void brd_run_clock(struct run *r, int64_t spent_ms);
/* The deadline is set, its nodes are driven. at: as for brd_node_root. */
void brd_run_go(struct run *r, struct node *at, int64_t spent_ms);
/* Refused before anything was written: its caller is told, and it is gone. context: JSON, or "". */
void brd_tree_refuse(struct tree *t, const char *code, const char *message, const char *context);
/* The rows that make a run known: its session (a pipeline has none), its definition, itself. They
 * borrow from r. */
#define RUN_ROWS 3
void brd_run_rows(const struct run *r, struct bread_str session_tags, enum bread_run_status status,
	struct bread_rec recs[RUN_ROWS]);
void brd_run_add_rows(
	struct run *r, struct bread_str session_tags); /* in this turn's transaction */
void brd_run_begin(struct run *r, struct node *at);    /* its first turn, unless hooks come first */
void brd_run_announce(struct run *r);                  /* its user's message, agent:run:start */
void brd_tree_opened(struct tree *t); /* nothing of its beginning is under way any more */
void brd_tree_stored(struct tree *t); /* its row is committed; says so once to who asked */

/* ---- child.c: runs that nodes start ---- */
struct child_spec {
	struct agent_def *def; /* one of them; a reference of it is taken */
	struct pipeline_def *pipeline;
	struct bread_str id;         /* empty: a new one */
	struct bread_str input;      /* JSON; empty: no value */
	struct bread_str session_id; /* empty: a fresh one */
	struct bread_str path; /* names between its parent's and its own; JSON texts with commas */
	enum visibility show;
};
/* Begins it in this turn's transaction. */
struct run *brd_run_child(struct node *at, const struct child_spec *s);
/* The run of that id that was read from the store, now below at; NULL: it has ended. */
struct run *brd_run_adopt(struct node *at, struct bread_str id, enum visibility show);
/* Why no child may be started there (contract C14): false, and *ret_error says so. */
bool brd_run_may_start(
	struct run *r, struct bread_str agent_id, struct arena *a, struct run_error *ret_error);
/* The agent as it runs from here, for that input; NULL: *ret_error says why not. A reference. */
struct agent_def *brd_child_agent(struct run *r, struct bread_str agent_id, const char *skill,
	struct bread_str input, struct arena *a, struct run_error *ret_error);

/* A node's hold on the run it started. */
struct child {
	struct run *run; /* NULL: none was started, or its end was taken */
	char id[UUID_MAX];
};
enum child_state { CHILD_NONE, CHILD_RUNS, CHILD_PARKED, CHILD_OK, CHILD_FAILED, CHILD_CANCELED };
enum child_state brd_child_state(const struct child *c);
/* {"runId":…} of a journal's line, as brd_child_found reads it. */
void brd_child_journal(const struct child *c, struct jsonw *w);
/* From the journal: the run of the store that goes on below n. */
void brd_child_found(struct node *n, struct child *c, struct jval data, enum visibility show);

/* ---- queue.c ---- */

/* Begins when its session is free (ifBusy; contract C12). interrupt: the others are cancelled. */
void brd_run_queue(struct run *r, struct bread_str session_tags, bool interrupt);

/* ---- recover.c ---- */
/* Builds a tree that this instance has claimed and just taken (row: its root's, as it was before)
 * and drives it on. done: once, before the first turn; NULL when it could not be read. */
void brd_run_build(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	void (*done)(void *arg, struct tree *t), void *arg);

/* The nodes of a run that was read from the store, with what its journal has. */
void brd_run_rebuild(struct run *r, struct node *at);

/* ---- finish.c ---- */
void brd_run_complete(struct run *r, struct buf *output); /* output: JSON; it is taken */
void brd_run_fail(struct run *r, const struct run_error *e, bool cancelled); /* e is copied */
/* It waits for humans only: what it said is stored. When it is the root, the tree leaves memory. */
void brd_run_suspend(struct run *r);
void brd_run_unsuspend(struct run *r); /* its row says running again */
/* An error with {"agentId"}; it borrows the message. */
struct run_error brd_run_error(struct run *r, const char *code, struct bread_str message);

/* ---- links.c: what the original's own rows say of a tree that waits ---- */
/* The tree is put aside: in this turn's transaction. */
void brd_links_write(struct tree *t);
/* All delegations of that turn have ended: the supervisor waits no more. */
void brd_links_forget(struct run *r, unsigned turn);
/* link_frames.c: where a pipeline goes on when the run below that node has ended. false: the
 * original has no words for it. */
bool brd_link_frames(struct node *at, struct jsonw *w);
/* Calls fn for each checkpoint that stands for the run: of its own questions, and of the
 * delegations that it waits for; without any, for those of the runs below it. */
void brd_links_of_run(
	struct run *r, void (*fn)(void *arg, struct bread_str checkpoint_id), void *arg);

/* ---- choke.c ---- */
void brd_choke_begin(struct run *r, struct crumb_draft *d, enum crumb_type t);
void brd_choke_emit(struct run *r, struct crumb_draft *d);
/* A human's crumb: seen whatever is hidden, and on the root's own stream, too (contract C17). fill
 * writes its members, once or twice. */
void brd_choke_emit_human(struct run *r, enum crumb_type t,
	void (*fill)(struct jsonw *w, const void *arg), const void *arg);
void brd_choke_delta(struct run *r, enum crumb_type t, struct bread_str delta);
void brd_choke_close_windows(struct tree *t);
void brd_choke_release(struct tree *t); /* what is committed goes out */
void brd_choke_drop(struct tree *t);    /* forgets what waits: the tree was lost */

/* ---- tx.c ---- */
struct held {
	struct crumb *crumb;
	struct run *run;
};
struct run_tx {
	struct bread_tx tx;
	struct tree *tree;
	struct arena arena; /* of strings in its records */
	struct held *held;
	size_t room, held_count, held_room, bytes;
	uint64_t number;
	bool first; /* makes the root's row: no fence yet */
	struct list launches;
};
struct bread_rec *brd_tx_add(struct run *r, enum bread_rec_kind kind);
/* Into the open transaction's memory. */
struct bread_str brd_tx_copy(struct run *r, struct bread_str s);
void brd_tx_hold(struct run *r, struct crumb *c); /* until it is done */
void brd_tx_submit(struct tree *t);
void brd_tx_free(struct run_tx *t);
void brd_tx_abandon(struct tree *t);       /* one that waits to be tried again */
size_t brd_tx_bytes(const struct tree *t); /* not committed yet */

/* ---- history.c: the session's messages ---- */
struct model_node;
struct tool_node;
/* Content of the user message for an input: a string as it is, else its JSON text as a string. */
void brd_history_input(struct buf *out, struct bread_str input);
int brd_history_load(struct run *r, const struct bread_read *messages, struct bread_err *err);
/* history_repair.c: pairs each call with a result, for the model; store: for the session, too, with
 * the messages that brd_history_write_repairs adds to this turn's transaction. rows: where the
 * messages are from. */
void brd_history_repair(struct run *r, const struct bread_message_row *const *rows, bool store);
void brd_history_write_repairs(struct run *r);
void brd_history_own_input(struct run *r); /* appends this run's user message */
/* The conversation is known; else it is being read, and n is woken when it is. */
bool brd_history_ready(struct node *n);
/* A result that came after its turn was stored: a message of its own. */
void brd_history_late(struct run *r, const struct tool_node *t);
void brd_history_request(struct run *r, const struct model_node *m, struct bread_model_request *req,
	struct arena *a);
/* Stores this run's turns that are not in the session yet; when it has ended, what they said is
 * forgotten. */
enum history_mode {
	HISTORY_ENDED,
	HISTORY_CANCELLED, /* what was said so far, and an error for each missing result */
	HISTORY_SUSPENDED, /* results that are missing come later */
};
void brd_history_store(struct run *r, enum history_mode mode);
/* A hook answered instead of a model: JSON, stored as a text. */
void brd_history_answer(struct run *r, struct bread_str json);
void brd_history_journal(struct run *r); /* so that a later owner knows what the session has */

/* ---- hear.c ---- */
void brd_hear_abandon(struct tree *t); /* a reading that waits to be tried again */

/* ---- kinds of nodes ---- */
extern const struct node_ops brd_agent_node, brd_model_node, brd_tool_node, brd_human_node;
extern const struct node_ops brd_pipeline_node, brd_delegate_node, brd_loop_node, brd_task_node;

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
	bool beyond;              /* the tree's budget was spent before it was called */
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
	struct list held;           /* events that wait behind it */
	struct bread_str recovered; /* JSON: the run's output instead of what failed */
};

/* knowledge.c: what the agent knows is read before its first call; false: it is being read, and the
 * node is woken. */
bool brd_knowledge_ready(struct node *n);

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
	unsigned turn;  /* of the model's message that asks for it */
	bool inner;     /* below the question that it waits for, which tells its answer */
	bool bad_json;  /* the model sent no JSON object */
	bool over;      /* the turn has more calls than may run */
	bool may_begin; /* its hooks let it pass */
	bool cut_short; /* a hook gave the result: it is told once the others have seen it */
	struct bread_str value; /* its result, while hooks are asked about it */
	struct run_error error; /* of its last attempt */
	bool interrupted;       /* it was started by an owner that died */
	bool again;             /* the wait before another attempt is over */
	unsigned attempt;
	int64_t began_mono;
	struct timer backoff;
};
/* Calls of one turn that are run; more are told to come again. */
#define TURN_CALLS_MAX 128
/* What a call is about: by the agent, from the model's message; at: its place among the calls. */
void brd_tool_init(struct tool_node *t, const struct model_node *m, size_t at);
/* The same call as another node's, which decided that it may run. */
void brd_tool_init_as(struct tool_node *t, const struct tool_node *of);
/* A call that cannot run (arguments that do not fit, a name nobody has) is settled
 * with an answer for the model: true. */
bool brd_tool_refused(struct tool_node *t);
/* true once: it was checked, its hooks let it pass, it was announced. Else it has ended, or is
 * woken when its hooks have answered. */
bool brd_tool_may_begin(struct tool_node *t);
/* First in each advance of a call: what hooks have answered is taken in. FLOW_AGAIN: there is
 * nothing to wait for, and it has not ended. */
enum flow brd_tool_asked(struct tool_node *t);
void brd_tool_answer(
	struct tool_node *t, struct bread_str text, struct bread_str json, bool failed);
enum flow brd_tool_ended(struct tool_node *t); /* its answer goes into the journal */

/* What answers a call of that tool, once nobody needs to be asked. NULL: nobody has that name. */
const struct node_ops *brd_call_ops(const struct tool_def *tool);
/* For the kinds of nodes that answer a call, ends of it, each with its crumb: it has its result
 * (JSON, or empty); an attempt has failed, which hooks and the tool's definition may repeat (again
 * is set then, and the node woken); it has failed for good. */
void brd_tool_announce(struct tool_node *t);
void brd_tool_crumb(struct tool_node *t, struct crumb_draft *d, enum crumb_type type);
void brd_tool_fail_crumb(struct tool_node *t, const struct run_error *e);
bool brd_tool_late(const struct tool_node *t); /* its turn was put aside already */
void brd_tool_journal(struct tool_node *t, int state, const struct child *c);
void brd_tool_journal_task(struct tool_node *t, const char *task_run_id); /* it begins */
enum flow brd_tool_succeed(struct tool_node *t, struct bread_str json);
enum flow brd_tool_failed(struct tool_node *t, const struct run_error *e);
enum flow brd_tool_fail(struct tool_node *t, const struct run_error *e);
void brd_tool_back_off(struct tool_node *t, int64_t ms); /* sets again after it */
/* It had begun before a crash, and it is not known what it did. */
enum flow brd_tool_interrupted(struct tool_node *t);

/* ---- node_loop.c ---- */
void brd_loop_close(struct run *r, const char *status); /* one that is open when its run ends */

/* ---- steps.c, step.c: pipelines ---- */
/* A value on its way through a pipeline, and the latest decision's label. */
struct flow_value {
	struct bread_str value; /* JSON; empty: no value */
	struct bread_str label; /* p NULL: nobody has decided */
};
/* Steps one after the other. Also the root of a pipeline's run. */
struct steps_node {
	struct node node;
	const struct step_list *list;
	struct bread_str pid; /* what numbers the steps: "p", "p:0:branch" */
	struct flow_value in, out;
	size_t at;
};
struct steps_node *brd_steps_child(struct node *at, const struct step_list *list,
	struct bread_str pid, const struct flow_value *in, const char *name);
extern const struct node_ops brd_steps_node, brd_step_node, brd_item_node;

/* A question to a human: a tool call whose answer comes from outside, perhaps days
 * later (docs/tools.md). Shares the tool's struct up to its own fields. */
struct human_node {
	struct tool_node tool;
	char checkpoint_id[UUID_LEN + 1];
	bool approval; /* of a tool that runs if the answer says so */
	bool answered, expired;
	struct bread_str response; /* JSON; empty: none was given */
};
