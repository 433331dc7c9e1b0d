/* SPDX-License-Identifier: MIT */
/* The instance's insides, shared by the files of this folder.
 *
 * Threads: loops[0] belongs to the thread that drives the instance, the others to
 * threads of their own. What is registered and what is active is behind one
 * mutex, held for a lookup or a link at a time; a run itself is touched on its
 * own loop alone, so others reach it by its id, through a post to that loop. */
#pragma once
#include <pthread.h>
#include "config/conf.h"
#include "decision/decision.h"
#include "instance/instance.h"
#include "run/hooks.h"
#include "run/pipeline_def.h"
#include "run/run.h"
#include "script/format.h"
#include "script/plugin.h"

struct instance_conf {
	struct jval store, transport, blob, providers, decisions, crumb_filter, pipelines;
	struct jval hooks, plugins, formats;
	struct jval credentials;
	struct {
		char *root;
		bool allow_private;
	} documents;
	struct jval server, ingress, entrypoints, log; /* for those who stand above */
	struct {
		int64_t max;
	} concurrency;
	struct {
		int64_t run_ms, tool_ms, first_byte_ms, silence_ms;
		int64_t depth, tree_steps, tree_tokens;
	} limits;
};

struct provider {
	struct list link;
	char *name;
	struct bread_model *model;
};

struct format {
	struct list link;
	char *name;
	bread_format_fn *fn;
	void *arg;
	struct format_lua *lua; /* instead of fn */
};

struct opened_plugin {
	struct list link;
	struct plugin plugin;
};

struct registered { /* an agent */
	struct list link;
	struct agent_def *def;
};

struct listener {
	struct list link;
	void (*on_crumb)(const struct bread_crumb *c, void *arg);
	void *arg;
};

struct active { /* a tree that is live here */
	char id[UUID_MAX];
	char session_id[UUID_MAX]; /* empty: a pipeline */
	bool composed;
	struct loop *loop;
	struct tree *tree; /* for its loop's thread only; NULL: it is being taken up */
};

struct waiter { /* see waiter.c */
	struct ending ending;
	struct post post;
	struct loop *loop;
	void (*on_end)(const struct bread_outcome *o, void *arg);
	void *arg;
	struct bread_outcome outcome;
	struct arena arena;
};

struct bread {
	struct arena arena;
	struct instance_conf conf;
	const struct bread_store_ops *store_ops; /* the embedder's own */
	struct bread_str store_url, store_options;

	struct loop **loops;
	pthread_t *threads;
	size_t loop_count, threads_started;
	bool started, stopping;
	_Atomic bool leaving;      /* what comes to life leaves at once */
	_Atomic size_t cancelling; /* wishes and requests that are under way: cancel.c,
				      idempotency.c */
	bool alone;                /* takes up no run of another owner */

	struct bread_store *store;
	struct bread_blob *blob;
	struct decisions *decisions; /* NULL: none are configured */
	struct hub *hub;
	char owner[UUID_LEN + 1];
	struct run_env env;
	struct run_counts counts;

	pthread_mutex_t lock; /* of what follows */
	struct list agents, providers, formats, listeners, subscriptions;
	struct list tasks, pipelines; /* see compositions.c */
	struct list task_runs;        /* see tasks.c */
	struct map active, sessions;  /* run id, session id -> struct active */
	struct map keys;              /* of requests that are being begun; see idempotency.c */
	size_t active_count;
	struct list plugins;
	struct hook_table hooks; /* the lock is for those who add */

	struct owner *owner_state; /* see owner.c */
	struct due *due;           /* see due.c; NULL: it is not started */
};

/* ---- registry.c ---- */
/* One reference; NULL: there is none. */
struct agent_def *brd_registry_agent(struct bread *b, struct bread_str id);
/* NULL: there is none. It lives as long as the instance. */
struct bread_model *brd_registry_provider(struct bread *b, struct bread_str name);
/* PIPELINE_NOT_FOUND, with the names there are. */
int brd_pipeline_refuse(struct bread *b, struct bread_str id, struct bread_err *err);
void brd_registry_env(struct bread *b); /* gives runs their lookups */
void brd_registry_fini(struct bread *b);

/* ---- compositions.c ---- */
/* One reference; NULL: there is none. */
struct pipeline_def *brd_registry_pipeline(struct bread *b, struct bread_str id);
/* A task's JSON, as brd_task_read takes it; false: there is none. arg: the instance. *ret_known: a
 * JSON array of the names there are. */
bool brd_registry_task(void *arg, struct bread_str name, struct arena *a,
	struct bread_str *ret_json, struct bread_str *ret_known);
/* An agent's JSON with the tasks that it names: TASK_NOT_FOUND. */
int brd_registry_inline_tasks(struct bread *b, struct bread_str *ret, const char *agent_id,
	struct bread_str json, struct arena *a, struct bread_err *err);
int brd_instance_open_pipelines(struct bread *b, struct bread_err *err); /* of the configuration */
void brd_compositions_fini(struct bread *b);

/* ---- tasks.c ---- */
void brd_tasks_leave(struct bread *b); /* those that are under way are cancelled */

/* ---- hooks.c ---- */
int brd_hooks_configure(struct bread *b, struct bread_err *err); /* plugins, hooks, formats */
void brd_hooks_fini(struct bread *b);

/* ---- config.c ---- */
/* Providers, blobs, the filter, last the store. */
int brd_instance_open_parts(struct bread *b, struct bread_err *err);
int brd_instance_open_store(struct bread *b, struct bread_err *err);
void brd_instance_close_parts(struct bread *b);

/* ---- decisions.c ---- */
int brd_instance_open_decisions(struct bread *b, struct bread_err *err); /* after the providers */
/* v: the whole of bread.yaml. */
int brd_instance_check_decisions(struct jval v, const struct yaml_doc *doc, struct bread_err *err);

/* ---- loops.c ---- */
int brd_loops_open(struct bread *b, struct bread_err *err);
void brd_loops_join(struct bread *b); /* their threads end */
/* All of them are turned here until no operation is under way. */
void brd_loops_settle(struct bread *b, int64_t wait_ms);
void brd_loops_close(struct bread *b);

/* ---- subscribe.c ---- */
void brd_subscriptions_end(struct bread *b); /* after the threads have ended: all are told */

/* ---- active.c ---- */
struct active *brd_active_new(
	struct bread_str id, struct bread_str session, bool composed, struct loop *l);
int brd_active_room(struct bread *b, struct bread_err *err); /* CONCURRENCY_LIMIT at the cap */
/* Takes a new run in, or says why not: the cap, a run of that id; alone: another of its session. */
int brd_active_reserve(struct bread *b, struct active *a, bool alone, struct bread_err *err);
void brd_active_place(struct bread *b, int n); /* keeps, or gives back, a place under the cap */
/* run_env's */
bool brd_active_claim(
	void *arg, struct bread_str id, struct bread_str session, bool composed, struct loop *l);
void brd_active_unclaim(void *arg, struct bread_str id);
void brd_active_up(void *arg, struct tree *t);
void brd_active_gone(void *arg, struct tree *t);
void brd_active_wake(void *arg, struct bread_str root_id, struct waking *w);
/* Calls fn(tree) on each live tree's own loop. */
void brd_active_each(struct bread *b, void (*fn)(struct tree *t));
bool brd_active_known(struct bread *b, struct bread_str run_id);
/* One of its runs, perhaps the root itself; false: the tree is not live here. */
bool brd_active_cancel(struct bread *b, struct bread_str root_id, struct bread_str run_id);
/* Its answers are read, if it is live here. */
void brd_active_hear(struct bread *b, struct bread_str root_id);
int brd_active_composed(struct bread *b, struct bread_str run_id); /* -1: it is not known here */
size_t brd_active_count(struct bread *b);

/* ---- waiter.c ---- */
struct waiter *brd_waiter_new(
	struct loop *l, void (*on_end)(const struct bread_outcome *o, void *arg), void *arg);
void brd_waiter_tell(struct ending *e, const struct bread_outcome *o);

/* ---- cancel.c ---- */
void brd_cancel_ask(struct bread *b, struct bread_str run_id); /* bread_cancel, for nobody */
/* A run of ours was suspended: ends it if that was wished, also if the wish came into its row
 * meanwhile. */
void brd_cancel_suspended(struct bread *b, struct bread_str run_id, bool wished);

/* ---- owner.c: who is alive, whose runs are taken up ---- */
int brd_owner_open(struct bread *b, struct bread_err *err);
void brd_owner_close(struct bread *b); /* it is said to be gone, and does nothing more */
void brd_owner_free(struct bread *b);  /* once no operation is under way */

/* ---- due.c: questions that nobody answered in time ---- */
void brd_due_open(struct bread *b);
void brd_due_look(struct bread *b); /* on the first loop: answers what is due */
void brd_due_close(struct bread *b);
void brd_due_free(struct bread *b); /* once no operation is under way */

/* ---- runs.c ---- */
/* What is to be run: an agent, or a pipeline. */
struct what {
	struct agent_def *def;
	struct pipeline_def *pipeline;
};
void brd_what_fini(struct what *w);
/* Begins a request that was looked at; key NULL: it has none. */
int brd_runs_begin(struct bread *b, const struct what *w, const struct bread_run_request *req,
	struct bread_str input, const struct run_key *key, char ret_id[BREAD_RUN_ID_MAX],
	struct bread_err *err);

/* ---- idempotency.c ---- */
/* IDEMPOTENCY_KEY_INVALID. parts: all that the request asks for. */
int brd_key_make(struct run_key *ret, struct arena *a, const char *route, struct bread_str key,
	const struct bread_str *parts, size_t count, struct bread_err *err);
/* A run whose request has a key; what becomes of it its callbacks are told. *w is taken. */
int brd_keyed_run(struct bread *b, struct what *w, const struct bread_run_request *req,
	struct bread_str input, struct bread_err *err);
void brd_keys_clean(struct bread *b); /* on the first loop: those that are too old go */
