/* SPDX-License-Identifier: MIT */
/* The instance: agents, their runs, and everything one may ask of them.
 *
 *   bread_new -> bread_configure, bread_agent, bread_agent_tool … -> bread_start
 *   -> bread_run, bread_subscribe, bread_cancel … -> bread_stop -> bread_free
 *
 * It drives itself (bread_drive, on its own loops) or is driven by the embedder's
 * loop (bread_turn, bread_fd). Unless a function says otherwise it is called on
 * the thread that drives the instance; callbacks come on the thread of the loop
 * that was current when they were asked for. Strings given to callbacks are
 * borrowed for the call; strings given to functions are copied unless a comment
 * says otherwise.
 *
 * Functions that return int give BREAD_OK, or a code and its reason in *err. Their
 * comments name the codes to expect; BREAD_E_INVALID for what is malformed is
 * always possible. Times are milliseconds. */
#ifndef BREAD_INSTANCE_H
#define BREAD_INSTANCE_H

#include "bread/crumb.h"
#include "bread/ext/op.h"
#include "bread/ext/store.h"
#include "bread/hook.h"
#include "bread/tool.h"
#include "bread/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bread;
struct bread_decision_ops;
struct bread_model_ops;
struct bread_store_ops;
struct bread_tool_ops;
struct bread_hook_ops;
struct bread_ingress_ops;

/* ---- life ---- */

/* An instance without anything: the caller's, until bread_free. Any number may be in a process. */
BREAD_API int bread_new(struct bread **ret, struct bread_err *err);
/* Stops it (waiting for nothing) and frees it with all that hangs on it. On the thread that
 * drove it, not from one of its callbacks. NULL, too. */
BREAD_API void bread_free(struct bread *b);

/* What bread.yaml may say, as a JSON object (store, transport, providers, concurrency,
 * crumbFilter, blobStore, limits …; not agents). Before start; a second call takes the place of the
 * first. BREAD_E_INVALID names the key and what is expected; docs/configuration.md has all. */
BREAD_API int bread_configure(struct bread *b, struct bread_str json, struct bread_err *err);

/* Opens the store, the providers and the other parts, and takes up runs that were cut short
 * (contract C11). May block while the store is opened. STORE_NOT_CONFIGURED,
 * TRANSPORT_NOT_CONFIGURED, PROVIDER_NOT_CONFIGURED; BREAD_E_UPSTREAM: the store takes no write. */
BREAD_API int bread_start(struct bread *b, struct bread_err *err);

/* Turns the loops until bread_quit: the first on the calling thread, the others on threads of
 * their own. Once, after bread_start. */
BREAD_API void bread_drive(struct bread *b);
/* Makes bread_drive return soon. Any thread; not from a signal handler itself. */
BREAD_API void bread_quit(struct bread *b);
/* Instead of bread_drive, in a loop of the embedder's. One turn of the first loop, always on the
 * same thread: at most wait_ms of waiting (0: none, -1: until something happens). 1: something
 * was done. Call it when bread_fd is readable or bread_next_timer is over, until it gives 0.
 * Loops beyond the first are turned by bread_drive alone: leave server.threads at 1. */
BREAD_API int bread_turn(struct bread *b, int wait_ms);
/* A descriptor for poll(2), readable when a turn has something to do. The instance's. */
BREAD_API int bread_fd(struct bread *b);
/* Milliseconds that poll(2) may wait; 0: turn now; -1: there is no timer. */
BREAD_API int64_t bread_next_timer(struct bread *b);

/* Drains (contract C20): new runs are refused, running ones stop at their next step
 * boundary and stay in the store for the next owner; at most wait_ms. Then everything is closed. */
BREAD_API void bread_stop(struct bread *b, int64_t wait_ms);

/* ---- definitions: before start, or while running (runs keep the one they began with) ---- */

/* Defines an agent. json is the keys of agent.yaml, plus "prompt" and "tools" (a list of tool
 * objects as in tools/NAME.yaml, each with its "name"). dir: the folder that
 * relative paths start from; NULL: the current one. An agent of that id is replaced, with its
 * tools in C; runs go on with what they began with. BREAD_E_INVALID names the key. */
BREAD_API int bread_agent(struct bread *b, const char *id, struct bread_str json, const char *dir,
	struct bread_err *err);
/* Forgets it; its runs go on. BREAD_E_NOT_FOUND. */
BREAD_API int bread_agent_remove(struct bread *b, const char *id);

/* Defines a task: one structured call of a model. json is the keys of tasks/NAME.yaml; dir: the
 * folder that relative paths of its hooks start from; NULL: the current one. One of that name is
 * replaced. Agents get the tasks that they name when they are defined, so a task comes first; one
 * that names another gives TASK_NOT_FOUND. BREAD_E_INVALID names the key. */
BREAD_API int bread_task(struct bread *b, const char *name, struct bread_str json, const char *dir,
	struct bread_err *err);
/* Forgets it; agents that have it keep it. BREAD_E_NOT_FOUND. */
BREAD_API int bread_task_remove(struct bread *b, const char *name);

/* Defines a pipeline: json is a list of steps (docs/pipelines.md). One of that id is replaced,
 * also one of `pipelines` in the configuration; runs go on with what they began with.
 * BREAD_E_INVALID names the step and the key; PIPELINE_BRANCH_DEFAULT. */
BREAD_API int bread_pipeline(
	struct bread *b, const char *id, struct bread_str json, struct bread_err *err);
/* Forgets it; its runs go on. BREAD_E_NOT_FOUND. */
BREAD_API int bread_pipeline_remove(struct bread *b, const char *id);

/* What is defined; fn is called as by bread_agents. Those of the configuration are there from
 * bread_start on. Any thread. */
BREAD_API void bread_tasks(struct bread *b,
	void (*fn)(struct bread_str name, struct bread_str json, void *arg), void *arg);
BREAD_API void bread_pipelines(struct bread *b,
	void (*fn)(struct bread_str id, struct bread_str json, void *arg), void *arg);

/* A tool written in C, for one agent; the model sees it as tool_NAME. schema: JSON Schema of its
 * arguments, empty: any object. fn is called on the run's loop with arg, which must outlive the
 * instance's runs. AGENT_NOT_FOUND: define the agent first. */
BREAD_API int bread_agent_tool(struct bread *b, const char *agent_id, const char *name,
	const char *description, struct bread_str schema, bread_tool_fn *fn, void *arg,
	struct bread_err *err);

/* What a tool in C may read: names of credentials, NULL-terminated; see bread_tool_credential. The
 * source is `credentials` of the configuration. AGENT_NOT_FOUND; BREAD_E_NOT_FOUND: it has no such
 * tool; INVALID_CREDENTIAL_NAME. */
BREAD_API int bread_agent_tool_credentials(struct bread *b, const char *agent_id, const char *tool,
	const char *const *names, struct bread_err *err);

/* A custom output format, for agents whose output.format is name: reshapes the joined text of a
 * run. What fn returns is JSON text that is freed with free(), or NULL: then the run fails with
 * *ret_error (a static string). Called on the run's loop; must not block. */
typedef char *bread_format_fn(struct bread_str text, const char **ret_error, void *arg);
BREAD_API int bread_format(
	struct bread *b, const char *name, bread_format_fn *fn, void *arg, struct bread_err *err);

/* A hook in C (bread/hook.h), for the runs of one agent, or of all: agent_id NULL. The agent need
 * not be there yet, and may be defined anew: its hooks stay, for good. Several of a point are
 * asked in the order in which they came. fn is called on the run's loop with arg, which must
 * outlive the instance. BREAD_E_INVALID: the scope has no such point. Any thread. */
BREAD_API int bread_hook(struct bread *b, const char *agent_id, enum bread_hook_scope scope,
	enum bread_hook_point point, bread_hook_fn *fn, void *arg, struct bread_err *err);
/* The same for a set of a kind (bread/ext/hook.h): one's own, &bread_hook_lua or
 * &bread_hook_plugin. options: what would stand behind its key under `hooks`, as JSON. dir: where
 * relative paths start; NULL: the current folder. ops must outlive the instance. Fails as ops->open
 * does. Any thread. */
BREAD_API int bread_hook_use(struct bread *b, const char *agent_id,
	const struct bread_hook_ops *ops, struct bread_str options, const char *dir,
	struct bread_err *err);

/* A provider of the embedder's own: agents name it as model.provider. It wins over one of that
 * name in `providers`. options: JSON object, given to ops->open. ops must outlive the instance. */
BREAD_API int bread_provider(struct bread *b, const char *name, const struct bread_model_ops *ops,
	struct bread_str options, struct bread_err *err);
/* A decision host of the embedder's own: steps name it as their provider. It wins over one of that
 * name in `decisions`. options: given to ops->open as they are. ops must outlive the instance.
 * Before start. */
BREAD_API int bread_decision(struct bread *b, const char *name,
	const struct bread_decision_ops *ops, struct bread_str options, struct bread_err *err);
/* A store of the embedder's own, instead of `store`. Before start, which opens it. */
BREAD_API int bread_use_store(struct bread *b, const struct bread_store_ops *ops,
	struct bread_str url, struct bread_str options, struct bread_err *err);

/* What is registered, as GET /agents shows it. fn is called before the function returns, for each
 * in order of registration; it must not call the instance. Any thread. */
struct bread_agent_info {
	struct bread_str id, provider, model;
	struct bread_str settings, provider_options; /* JSON, or empty */
	struct bread_str format; /* "text", "markdown", "json", or a custom one's name */
	int custom_format;
	struct bread_str input_schema, output_schema; /* JSON, or empty */
};
BREAD_API void bread_agents(
	struct bread *b, void (*fn)(const struct bread_agent_info *a, void *arg), void *arg);
BREAD_API int bread_agent_get(struct bread *b, struct bread_str id,
	void (*fn)(const struct bread_agent_info *a, void *arg), void *arg); /* BREAD_E_NOT_FOUND */

/* ---- runs ---- */

#define BREAD_RUN_ID_MAX 132 /* room for any run id and its NUL */

struct bread_outcome {
	struct bread_str run_id, session_id;
	enum bread_run_status status; /* completed, failed, cancelled or suspended; running: it goes
					 on with another owner, and no more is heard of it here */
	struct bread_str output;      /* JSON; empty: none */
	struct bread_str files;       /* JSON array; empty: none */
	struct bread_str error_code, error_message, error_context; /* failed and cancelled */
};

enum bread_if_busy { BREAD_BUSY_REJECT, BREAD_BUSY_QUEUE, BREAD_BUSY_INTERRUPT };

struct bread_run_request {
	struct bread_str agent_id;
	struct bread_str pipeline_id;  /* instead of an agent: it has no session and no skill */
	struct bread_str input;        /* JSON; empty: none was given */
	struct bread_str session_id;   /* empty: a new one */
	struct bread_str session_tags; /* JSON object, for a new session; empty: {} */
	struct bread_str skill;        /* empty: none */
	struct bread_str tags;         /* JSON object kept with the run; empty: {} */
	struct bread_str traceparent;
	struct bread_str run_id; /* empty: a new id is made */
	/* 1 to 255 visible ASCII characters; p NULL: none. Kept for 24 hours: another request with
	 * the same key that asks for the same is led to the same run (contract C13). */
	struct bread_str idempotency_key;
	enum bread_if_busy if_busy;
	const char *ingress; /* for metrics: "http", "cli"; NULL: "library" */

	/* With idempotency_key alone, once, before on_stored: the run that it leads to; again: 1
	 * when an earlier request has begun it. Not at all for one that could not begin. May be
	 * NULL. */
	void (*on_run)(struct bread_str run_id, int again, void *arg);
	/* Once, when the run is on record, queued or running: from then on a crash loses it no
	 * more. Not at all for one that could not begin. May be NULL. */
	void (*on_stored)(void *arg);
	/* Once, when the run has ended, is suspended or has left this instance; may be NULL. */
	void (*on_end)(const struct bread_outcome *o, void *arg);
	void *arg;
};

/* Starts a run on the calling thread's loop and gives its id; its crumbs are at bread_subscribe.
 * Refusals that need no store come here (nothing was started, on_end is not called):
 * AGENT_NOT_FOUND, PIPELINE_NOT_FOUND (context lists those there are), SKILL_NOT_FOUND,
 * INPUT_INVALID (err->text has the place in the input), INVALID_ID, RUN_EXISTS,
 * CONCURRENCY_LIMIT, DRAINING, IDEMPOTENCY_KEY_INVALID. Others (SESSION_BUSY …) come as the
 * outcome.
 *
 * With an idempotency_key the run is known only when the store was asked: ret_id is empty, on_run
 * tells it, and all refusals that follow come as the outcome, IDEMPOTENCY_CONFLICT among them (the
 * key was used for something else). Led to an earlier run, on_end tells at once what the store
 * knows of that: running means that it goes on, and no more is heard of it here. */
BREAD_API int bread_run(struct bread *b, const struct bread_run_request *req,
	char ret_id[BREAD_RUN_ID_MAX], struct bread_err *err);

/* How a task's call ended. usage: {"inputTokens","outputTokens","totalTokens"}. Strings live for
 * the call. */
struct bread_task_outcome {
	/* its record: BREAD_READ_TASK_RUN; empty: a hook answered before a model was asked */
	struct bread_str task_run_id;
	struct bread_str output, usage; /* JSON; empty when it failed */
	/* NULL: done; else why not: TASK_ERROR {taskName}, UNKNOWN_PROVIDER, a code of the model's
	 * own, STORE_FAILED, RUN_CANCELLED: the instance went down */
	const struct bread_err *err;
};
/* Calls a task by itself (docs/compositions.md). input: JSON, empty: {}. It is on record as agent
 * "standalone", and its session and run are one fresh id. on_end comes once, not from inside this
 * call. Refusals come here, and then it is not called: TASK_NOT_FOUND {taskId, available},
 * INPUT_INVALID, CONCURRENCY_LIMIT, DRAINING. */
BREAD_API int bread_task_run(struct bread *b, struct bread_str name, struct bread_str input,
	void (*on_end)(const struct bread_task_outcome *o, void *arg), void *arg,
	struct bread_err *err);

/* Answers a run that waits for a human (contract C15, C16). response: JSON, empty: none was given.
 * req is copied; its strings need not outlive the call. */
struct bread_resume_request {
	struct bread_str checkpoint_id, response;
	/* As for bread_run: the same answer again is led to the same place of the same tree. */
	struct bread_str idempotency_key;
	/* Once: err NULL and the root of the tree whose crumbs go on after that number of the tree
	 * (bread_subscribe_tree); or why not: CHECKPOINT_NOT_FOUND, CHECKPOINT_CLAIMED,
	 * ANSWER_INVALID (the checkpoint waits on), SUPERVISOR_CHECKPOINT_NOT_RESUMABLE,
	 * IDEMPOTENCY_CONFLICT, IDEMPOTENCY_KEY_INVALID, CONCURRENCY_LIMIT, DRAINING, STORE_FAILED.
	 */
	void (*on_claimed)(
		struct bread_str run_id, int64_t after, const struct bread_err *err, void *arg);
	/* As for bread_run; may be NULL. */
	void (*on_end)(const struct bread_outcome *o, void *arg);
	void *arg;
};
BREAD_API void bread_resume(struct bread *b, const struct bread_resume_request *req);

/* Cancels, wherever it runs (contract C10). op ends when the wish is on record: BREAD_OK;
 * BREAD_E_NOT_FOUND; BREAD_E_CONFLICT: it had ended before (*ret_status says as what). */
BREAD_API void bread_cancel(struct bread *b, struct bread_str run_id,
	enum bread_run_status *ret_status, struct bread_op *op);

/* A run's crumbs from a place in its log on, live ones as they come, each once and in order
 * (contract C1, C2): a window of deltas comes as its deltas or, from the log, as one. after: the
 * last number that the caller has, 0: all. The subscription lives until on_end has returned or it
 * is unsubscribed, also inside on_crumb. Both calls on one thread; never a call from inside
 * subscribe. */
struct bread_subscription;
struct bread_subscriber {
	void (*on_crumb)(const struct bread_crumb *c, void *arg);
	/* The last call: BREAD_OK after a terminal crumb; BREAD_E_NOT_FOUND; other trouble with the
	 * store; BREAD_E_BUSY in bread_free, if it is still subscribed. */
	void (*on_end)(enum bread_code code, const struct bread_err *err, void *arg);
	void *arg;
};
BREAD_API struct bread_subscription *bread_subscribe(
	struct bread *b, struct bread_str run_id, int64_t after, const struct bread_subscriber *s);
/* The same for all runs of the tree whose root that is, in the order in which they said it: after
 * and bread_crumb.tree_seq are numbers of the tree. It ends with the root. */
BREAD_API struct bread_subscription *bread_subscribe_tree(
	struct bread *b, struct bread_str root_id, int64_t after, const struct bread_subscriber *s);
/* No call comes after this. Not after on_end. */
BREAD_API void bread_unsubscribe(struct bread_subscription *s);

/* Every crumb of this instance's runs, as it leaves the choke point, on the loop of its run. Before
 * start, and for good: there is no way to stop. Must not block. */
BREAD_API void bread_listen(
	struct bread *b, void (*on_crumb)(const struct bread_crumb *c, void *arg), void *arg);

/* A question to a human, as it is asked. answer_schema, fallback: JSON, empty: none; args: JSON of
 * the call. Strings live for the call. */
struct bread_human {
	struct bread_str checkpoint_id, run_id, root_id, session_id, agent_id;
	struct bread_str tool, args, kind; /* kind: "input", "approval" */
	struct bread_str answer_schema, fallback;
	int64_t deadline; /* ms since 1970; 0: none */
};
typedef void bread_human_fn(const struct bread_human *q, void *arg);
/* Calls fn for each question that runs of this instance ask, also below the root, when it is on
 * record; on the loop of its run. bread_resume answers it, from inside fn or any time later.
 * Before start, and for good. Questions of earlier days are in the store: BREAD_READ_CHECKPOINTS.
 */
BREAD_API void bread_on_human(struct bread *b, bread_human_fn *fn, void *arg);

/* Questions to the store (runs, crumbs, sessions, messages): see bread/ext/store.h. r->op was made
 * with bread_op_init on bread_here; r and its key stay unchanged until it ends, then
 * bread_read_fini. */
BREAD_API void bread_read(struct bread *b, struct bread_read *r);
/* Deletes a session and all that hangs on it, after its runs were cancelled. BREAD_OK also when
 * there was none (contract C12, C24). id is copied. */
BREAD_API void bread_session_delete(struct bread *b, struct bread_str id, struct bread_op *op);
/* Deletes sessions not touched since before_ms (since 1970) whose tags (JSON object or empty) all
 * match; *ret_deleted is how many, when op has ended. */
BREAD_API void bread_session_cleanup(struct bread *b, int64_t before_ms, struct bread_str tags,
	int64_t *ret_deleted, struct bread_op *op);

/* The loop of the calling thread, the first one for a thread that has none: for ops of the caller's
 * own. */
BREAD_API struct loop *bread_here(struct bread *b);

/* Counts since bread_new; times are summed microseconds. */
struct bread_stats {
	uint64_t runs_started, runs_completed, runs_failed, runs_cancelled, runs_suspended;
	uint64_t crumbs, tool_calls, tool_errors, model_calls, model_errors;
	int64_t input_tokens, output_tokens;
	size_t runs_active, topics;
	uint64_t store_commits, store_reads, store_failures, store_commit_us, store_read_us;
	int store_ok, draining;
};
BREAD_API void bread_stats(struct bread *b, struct bread_stats *ret); /* any thread */

#ifdef __cplusplus
}
#endif
#endif
