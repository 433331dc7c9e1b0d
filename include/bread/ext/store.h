/* SPDX-License-Identifier: MIT */
/* What a store has to do. For those who write one.
 *
 * A store keeps sessions, messages, runs, their journal and their crumbs. It has
 * two verbs: commit, a list of records that becomes true at once or not at all,
 * and read, a question with typed rows as its answer. Neither blocks: work
 * happens on the store's own threads and ends the op on its loop.
 *
 * Order: commits of one run (same fence) become true in the order in which they
 * were handed over, and a read that is started after a commit has ended sees it.
 * Commits of different runs may share one transaction of the database, and
 * should: natural batching makes durability cheap. */
#ifndef BREAD_EXT_STORE_H
#define BREAD_EXT_STORE_H

#include "bread/ext/op.h"
#include "bread/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bread_run_status {
	BREAD_RUN_QUEUED,
	BREAD_RUN_RUNNING,
	BREAD_RUN_SUSPENDED,
	BREAD_RUN_COMPLETED,
	BREAD_RUN_FAILED,
	BREAD_RUN_CANCELLED,
};

enum bread_run_kind { BREAD_RUN_AGENT, BREAD_RUN_PIPELINE };

/* JSON texts are empty when there is none. Times are milliseconds since 1970.
 *
 * A run that others hang on (a pipeline, a supervisor) is the root of a tree: all of its runs have
 * its id as root_id, are written under its fence, and belong to its owner. Only the root's owner,
 * epoch, cancel_requested and wake mean anything. */
struct bread_run_row {
	struct bread_str id, root_id, parent_id; /* root_id: its own id for a root */
	struct bread_str agent_id, session_id;   /* agent_id: the pipeline's for a pipeline */
	struct bread_str path; /* JSON array: names of nodes from the root; empty for a root */
	enum bread_run_kind kind;
	int composed; /* a root that may have runs below it: its tree has a log of its own */
	enum bread_run_status status;
	struct bread_str owner;                       /* the instance that has it; empty: none */
	int64_t epoch;                                /* grows by one at each change of owner */
	struct bread_str definition;                  /* hash: see BREAD_REC_DEFINITION */
	struct bread_str input, output, files, error; /* JSON */
	struct bread_str options; /* JSON: skill, traceparent, … as the run was asked for */
	struct bread_str tags;    /* JSON object */
	int64_t created_at, started_at, ended_at; /* 0: not yet */
	int64_t head;                             /* highest number in its log; 0: none */
	int64_t tree_head;                        /* highest treeSeq of a composed root; 0: none */
	int64_t input_tokens, output_tokens;
	int64_t steps; /* model calls */
	int cancel_requested;
	int64_t wake; /* answers that were written since its owner last took it */
};

struct bread_session_row {
	struct bread_str id, agent_id, tags; /* tags: JSON object, "{}" */
	int64_t created_at, updated_at;
};

struct bread_message_row {
	struct bread_str id, session_id, role, content; /* content: JSON */
	int64_t timestamp;
};

struct bread_crumb_row {
	struct bread_str run_id, session_id, agent_id, type, crumb;
	int64_t seq, created_at;
	/* Its line in the log of a composed tree; tree_seq 0: it has none. Only TREE_CRUMBS gives
	 * it back, without root_id. BREAD_E_CONFLICT when (root_id, tree_seq) is taken. */
	struct bread_str root_id, path;
	int64_t tree_seq;
};

/* In stores by their numbers. */
enum bread_node_state {
	BREAD_NODE_STARTED = 1,
	BREAD_NODE_ENDED = 2,    /* data holds the end */
	BREAD_NODE_ANSWERED = 3, /* by somebody who need not own the run */
};

/* One line of a run's journal. */
struct bread_node_row {
	struct bread_str run_id, name, kind; /* "tool.2.0", "tool" */
	enum bread_node_state state;
	struct bread_str data; /* JSON of the node's kind */
};

/* A run that waits for somebody. parent, pending: JSON, or empty. Those of the second part are
 * ours: empty and 0 for one that the original wrote. */
struct bread_checkpoint_row {
	struct bread_str id, agent_id, run_id, session_id, tool_name, tool_call_id;
	struct bread_str schema; /* JSON: the arguments of the call */
	struct bread_str prompt, skill, parent, pending;
	int64_t created_at;

	struct bread_str root_id;       /* of the run's tree */
	struct bread_str node;          /* the question's line in the run's journal */
	struct bread_str kind;          /* "input", "approval"; "delegate": not for anybody */
	struct bread_str answer_schema; /* JSON Schema of the answer; empty: anything goes */
	struct bread_str fallback;      /* JSON: the answer when the deadline is over */
	int64_t deadline;               /* 0: none */
};

/* A loop that an agent runs over others, and its rounds (docs/compositions.md). */
struct bread_loop_row {
	struct bread_str id, agent_id, session_id, run_id;
	struct bread_str pool, pipeline; /* JSON arrays of agent ids */
	struct bread_str status;         /* "running", "completed", "exhausted", "failed" */
	struct bread_str result;         /* JSON; empty: none */
	int64_t max_iterations, iterations, started_at, completed_at; /* completed_at 0: not yet */
};
struct bread_loop_round_row {
	struct bread_str id, loop_id, input, output; /* JSON; empty: none */
	int64_t index, started_at, completed_at;
};

/* One structured call of a task. */
struct bread_task_run_row {
	struct bread_str id, task_id, agent_id, session_id, run_id;
	struct bread_str model;                        /* JSON: {"provider","model"} */
	struct bread_str input, output, usage;         /* JSON; empty: none */
	struct bread_str status;                       /* "running", "completed", "failed" */
	struct bread_str error;                        /* text */
	int64_t duration_ms, created_at, completed_at; /* -1, …, 0: not yet */
};

struct bread_knowledge_row {                                    /* a node of the knowledge graph */
	struct bread_str id, agent_id, session_id, label, data; /* data: JSON object */
	int64_t created_at;
	struct bread_str to_id, relation; /* of an edge that is added with it; empty: none */
	struct bread_str edge_id;
};

struct bread_document_row {
	struct bread_str id, agent_id, title, content, source; /* source empty: none */
	int64_t created_at;
};

/* What a request with an Idempotency-Key led to (contract C13). */
struct bread_idempotency_row {
	struct bread_str key;  /* with caller and route in it */
	struct bread_str hash; /* of the body */
	struct bread_str run_id;
	int64_t after; /* where its stream begins, in the tree's numbers */
	int64_t created_at;
};

struct bread_owner_row {
	struct bread_str id;    /* of the instance */
	struct bread_str place; /* host and boot: a dead process of this machine is seen at once */
	int64_t pid, pid_started, lease_until;
};

/* What a record does, and which members of struct bread_rec it uses. */
enum bread_rec_kind {
	/* session: created unless the id exists; affected: 1 if it was. */
	BREAD_REC_SESSION,
	/* message: added; the session's updated_at becomes its time. BREAD_E_NOT_FOUND: no such
	 * session; BREAD_E_CONFLICT: the id is taken. */
	BREAD_REC_MESSAGE,
	/* run: a new row. BREAD_E_CONFLICT: the id exists; or, with the name SESSION_BUSY: it is
	 * running, has no parent, and its session, which was there before this tx, has a run
	 * without a parent that has not ended (contract C12). */
	BREAD_REC_RUN,
	/* run.id, status, output, files, error, started_at, ended_at, tokens (an empty text and a 0
	 * keep what is there). BREAD_E_NOT_FOUND: no such run. A queued one that is to be running:
	 * SESSION_BUSY, as for RUN_TAKE. */
	BREAD_REC_RUN_STATUS,
	/* run.id, owner: owner := it, epoch := fence_epoch + 1, status := running. BREAD_E_CONFLICT
	 * unless the epoch is fence_epoch (checked by the fence itself) and the run has not ended.
	 * For a queued one BREAD_E_CONFLICT with the name SESSION_BUSY while its session has
	 * another that runs, is suspended or was queued before it. */
	BREAD_REC_RUN_TAKE, /* and wake := 0 */
	/* run.id: cancel_requested := 1 while it has not ended; affected: 1 if it was. */
	BREAD_REC_RUN_CANCEL,
	/* run.id: wake grows by one while it has not ended; affected: 1 if it was. Needs no fence.
	 */
	BREAD_REC_RUN_WAKE,
	BREAD_REC_RUN_HEARD,  /* run.id: wake := 0, while it has not ended */
	BREAD_REC_NODE,       /* node: added, or its state and data replaced */
	BREAD_REC_CRUMB,      /* crumb: BREAD_E_CONFLICT when (run_id, seq) is taken */
	BREAD_REC_DEFINITION, /* key: hash, value: JSON; nothing when it is there */
	BREAD_REC_OWNER,      /* owner: written or renewed */
	BREAD_REC_OWNER_GONE, /* key: the owner's id is removed */
	BREAD_REC_CHECKPOINT, /* checkpoint: added, or replaced */
	/* key: id; it is gone. BREAD_E_CONFLICT when it was not there: others see the same,
	 * whatever the timing (contract C15). */
	BREAD_REC_CHECKPOINT_CLAIM,
	/* key: a run's id; all of its checkpoints are gone, and those of its tree if it is a root;
	 * affected counts. */
	BREAD_REC_CHECKPOINT_DROP,
	/* key: id; value: JSON, its parent from here on. Nothing when it is gone; affected: 1 if it
	 * was there. */
	BREAD_REC_CHECKPOINT_LINK,
	BREAD_REC_CHECKPOINT_FORGET, /* key: id; it is gone; affected: 1 if it was there */
	/* key: id; with its messages, checkpoints, crumbs, runs, the runs below these, and the
	 * sessions that those ran in; with runs go their nodes, lines of trees, checkpoints and
	 * idempotency keys. affected: 1 if it was there. */
	BREAD_REC_SESSION_DELETE,
	BREAD_REC_LOOP,       /* loop: added, or replaced */
	BREAD_REC_LOOP_ROUND, /* round: added */
	BREAD_REC_TASK_RUN,   /* task_run: added, or replaced */
	/* knowledge: a node, and an edge from it to to_id if that is there (else no edge: affected
	 * 0; 1: the edge was added) */
	BREAD_REC_KNOWLEDGE,
	BREAD_REC_KNOWLEDGE_FORGET, /* key: a node's id, value: its agent's; affected: 1 if it was
				     */
	BREAD_REC_DOCUMENT,         /* document: added */
	/* idempotency: added. BREAD_E_CONFLICT with the name IDEMPOTENCY_KEY when the key is there
	 */
	BREAD_REC_IDEMPOTENCY,
	BREAD_REC_IDEMPOTENCY_CLEANUP, /* number: those made before this time go; affected counts */
	/* number: updated before this time; value: tags as a JSON object or empty, all must match;
	 * affected counts, with the sessions below them. */
	BREAD_REC_SESSION_CLEANUP,
};

struct bread_rec {
	enum bread_rec_kind kind;
	struct bread_str key, value;
	int64_t number;
	int64_t affected; /* out, by the kinds that say so */
	union {
		struct bread_session_row session;
		struct bread_message_row message;
		struct bread_run_row run;
		struct bread_crumb_row crumb;
		struct bread_node_row node;
		struct bread_owner_row owner;
		struct bread_checkpoint_row checkpoint;
		struct bread_loop_row loop;
		struct bread_loop_round_row round;
		struct bread_task_run_row task_run;
		struct bread_knowledge_row knowledge;
		struct bread_document_row document;
		struct bread_idempotency_row idempotency;
	};
};

/* One commit. All memory it names stays unchanged until op ends. */
struct bread_tx {
	struct bread_op op;
	struct bread_str fence; /* a run's id: nothing happens unless its epoch is fence_epoch
				   (BREAD_E_CONFLICT). Empty: no fence */
	int64_t fence_epoch;
	struct bread_rec *recs;
	size_t count;
	struct {
		void *p[4];
	} priv; /* the store's */
	struct {
		void *p[3];
	} core;
};

enum bread_read_kind {
	BREAD_READ_RUN,        /* key */
	BREAD_READ_RUNS,       /* filter; newest first */
	BREAD_READ_CRUMBS,     /* key: run; after, limit, max_bytes; ascending */
	BREAD_READ_CRUMB,      /* key: run; after: the seq itself */
	BREAD_READ_NODES,      /* key: run; in order of first writing */
	BREAD_READ_SESSION,    /* key */
	BREAD_READ_SESSIONS,   /* filter.tag_key, tag_value; by created_at */
	BREAD_READ_MESSAGES,   /* key: session; by timestamp, then id */
	BREAD_READ_CHECKPOINT, /* key */
	/* key: a run's id, or empty for all; filter.agent_id, session_id, root_id; by created_at,
	 * then id */
	BREAD_READ_CHECKPOINTS,
	BREAD_READ_DUE, /* checkpoints with a deadline that is not after filter.until; soonest first
			 */
	BREAD_READ_DEFINITION, /* key: hash; text */
	BREAD_READ_OWNERS,
	/* roots with status running or queued, and suspended ones with wake > 0 or
	 * cancel_requested: id, agent_id, session_id, owner, epoch, status, cancel_requested, wake
	 */
	BREAD_READ_UNFINISHED,
	BREAD_READ_TREE,       /* key: root; its runs, the root first, then as they were made */
	BREAD_READ_TREE_OPEN,  /* key: root; the same, without those below it that have ended */
	BREAD_READ_TREE_NODES, /* key: root; the journals of those: by run, in order of first
				  writing */
	/* key: root; nodes of its tree that are answered */
	BREAD_READ_ANSWERS,
	/* key: root of a composed tree; after: a tree_seq; limit, max_bytes; ascending by tree_seq
	 */
	BREAD_READ_TREE_CRUMBS,
	BREAD_READ_LOOPS,       /* filter.agent_id, session_id, status_word; newest first */
	BREAD_READ_LOOP,        /* key */
	BREAD_READ_LOOP_ROUNDS, /* key: loop; by index */
	BREAD_READ_TASK_RUNS, /* filter.agent_id, session_id, task_id, status_word; newest first */
	BREAD_READ_TASK_RUN,  /* key */
	/* filter.agent_id; filter.text: in the label, whatever its case; newest first */
	BREAD_READ_KNOWLEDGE,
	BREAD_READ_KNOWLEDGE_OF, /* filter.agent_id, session_id; newest first */
	/* filter.agent_id; filter.text: in title or content; as they were added */
	BREAD_READ_DOCUMENTS,
	BREAD_READ_DOCUMENT,    /* key; filter.agent_id */
	BREAD_READ_IDEMPOTENCY, /* key */
	BREAD_READ_ACTIVE,      /* key: session; its runs that are queued, running or suspended */
};

struct bread_run_filter {
	struct bread_str agent_id, session_id, before; /* before: a run id, for pages */
	int status;                                    /* -1: any */
	struct bread_str tag_key, tag_value; /* key empty: any; value's p NULL: only without it */
	struct bread_str root_id, task_id, status_word, text; /* empty: any */
	int64_t until;
};

/* One question. The caller fills the first part; rows and their strings live in
 * memory that the store gives and bread_read_fini takes back. */
struct bread_read {
	struct bread_op op;
	enum bread_read_kind kind;
	struct bread_str key; /* its bytes and the filter's stay unchanged until the op ends */
	/* crumbs: the last seq the caller has; lists of other rows, but for runs by filter, owners,
	 * UNFINISHED and ACTIVE: rows to skip */
	int64_t after;
	size_t limit;     /* of rows; 0: 1,000 */
	size_t max_bytes; /* of crumbs; 0: 1 MiB. At least one row is given */
	struct bread_run_filter filter;

	/* the answer; count 0 when there is nothing (never BREAD_E_NOT_FOUND) */
	size_t count;
	union {
		struct bread_run_row *runs;
		struct bread_session_row *sessions;
		struct bread_message_row *messages;
		struct bread_crumb_row *crumbs;
		struct bread_node_row *nodes;
		struct bread_owner_row *owners;
		struct bread_checkpoint_row *checkpoints;
		struct bread_loop_row *loops;
		struct bread_loop_round_row *rounds;
		struct bread_task_run_row *task_runs;
		struct bread_knowledge_row *knowledge;
		struct bread_document_row *documents;
		struct bread_idempotency_row *idempotency;
		void *rows;
	};
	struct bread_str text;
	int more;     /* limit or max_bytes cut the answer */
	void *memory; /* freed by release */
	void (*release)(void *memory);
	struct {
		void *p[4];
	} priv; /* the store's */
	struct {
		void *p[3];
	} core;
};
/* Takes the rows' memory back. After its end; one never started (zeroed), too. On the loop's
 * thread. */
BREAD_API void bread_read_fini(struct bread_read *r);

struct bread_store; /* first member of an implementation's struct */

struct bread_store_ops {
	const char *name; /* "sqlite": the word in the configuration */
	size_t size;      /* of the instance; zeroed by the core before open */

	/* Makes the instance usable, tables included. May block: it runs before the
	 * loops do. url is the rest of the configuration ("./bread.db"); options a
	 * JSON object ({"sync":"normal"}). */
	int (*open)(struct bread_store *s, struct bread_str url, struct bread_str options,
		struct bread_err *err);

	/* No op is in flight by now. Everything committed is on disk. */
	void (*close)(struct bread_store *s);

	/* From any loop's thread; ends tx->op. */
	void (*commit)(struct bread_store *s, struct bread_tx *tx);
	void (*read)(struct bread_store *s, struct bread_read *r);

	/* Cheap and from any thread: 1 when the last commit and read went well. Optional. NULL: it
	 * always is. */
	int (*healthy)(struct bread_store *s);
};

struct bread_store {
	const struct bread_store_ops *ops;
};

BREAD_API extern const struct bread_store_ops bread_store_memory;
BREAD_API extern const struct bread_store_ops bread_store_sqlite;

#ifdef __cplusplus
}
#endif
#endif
