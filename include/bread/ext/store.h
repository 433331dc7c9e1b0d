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

/* JSON texts are empty when there is none. Times are milliseconds since 1970. */
struct bread_run_row {
	struct bread_str id, root_id, parent_id;
	struct bread_str agent_id, session_id;
	enum bread_run_status status;
	struct bread_str owner;                       /* the instance that has it; empty: none */
	int64_t epoch;                                /* grows by one at each change of owner */
	struct bread_str definition;                  /* hash: see BREAD_REC_DEFINITION */
	struct bread_str input, output, files, error; /* JSON */
	struct bread_str options; /* JSON: skill, traceparent, … as the run was asked for */
	struct bread_str tags;    /* JSON object */
	int64_t created_at, started_at, ended_at; /* 0: not yet */
	int64_t head;                             /* highest number in its log; 0: none */
	int64_t input_tokens, output_tokens;
	int cancel_requested;
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
};

/* One line of a run's journal: a node has begun, or has ended (data then holds the end). */
struct bread_node_row {
	struct bread_str run_id, name, kind; /* "tool.2.0", "tool" */
	int state;                           /* 1 started, 2 ended */
	struct bread_str data;               /* JSON of the node's kind */
};

/* A run that waits for somebody. parent, pending: JSON, or empty. */
struct bread_checkpoint_row {
	struct bread_str id, agent_id, run_id, session_id, tool_name, tool_call_id;
	struct bread_str schema; /* JSON: the arguments of the call */
	struct bread_str prompt, skill, parent, pending;
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
	BREAD_REC_RUN_TAKE,
	/* run.id: cancel_requested := 1 while it has not ended; affected: 1 if it was. */
	BREAD_REC_RUN_CANCEL,
	BREAD_REC_NODE,       /* node: added, or its state and data replaced */
	BREAD_REC_CRUMB,      /* crumb: BREAD_E_CONFLICT when (run_id, seq) is taken */
	BREAD_REC_DEFINITION, /* key: hash, value: JSON; nothing when it is there */
	BREAD_REC_OWNER,      /* owner: written or renewed */
	BREAD_REC_OWNER_GONE, /* key: the owner's id is removed */
	BREAD_REC_CHECKPOINT, /* checkpoint: added, or replaced */
	/* key: id; it is gone. BREAD_E_CONFLICT when it was not there: others see the same,
	 * whatever the timing (contract C15). */
	BREAD_REC_CHECKPOINT_CLAIM,
	/* key: a run's id; all of its checkpoints are gone; affected counts. */
	BREAD_REC_CHECKPOINT_DROP,
	/* key: id; with its messages, checkpoints, crumbs, runs and their nodes; affected: 1 if it
	 * was there. */
	BREAD_REC_SESSION_DELETE,
	/* number: updated before this time; value: tags as a JSON object or empty, all must match;
	 * affected counts. */
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
	BREAD_READ_RUN,         /* key */
	BREAD_READ_RUNS,        /* filter; newest first */
	BREAD_READ_CRUMBS,      /* key: run; after, limit, max_bytes; ascending */
	BREAD_READ_CRUMB,       /* key: run; after: the seq itself */
	BREAD_READ_NODES,       /* key: run; in order of first writing */
	BREAD_READ_SESSION,     /* key */
	BREAD_READ_SESSIONS,    /* filter.tag_key, tag_value; by created_at */
	BREAD_READ_MESSAGES,    /* key: session; by timestamp, then id */
	BREAD_READ_CHECKPOINT,  /* key */
	BREAD_READ_CHECKPOINTS, /* key: a run's id, or empty for all; by created_at */
	BREAD_READ_DEFINITION,  /* key: hash; text */
	BREAD_READ_OWNERS,
	/* runs with status running or queued: id, agent_id, session_id, owner, epoch, status,
	 * cancel_requested */
	BREAD_READ_UNFINISHED,
	BREAD_READ_ACTIVE, /* key: session; its runs that are queued, running or suspended */
};

struct bread_run_filter {
	struct bread_str agent_id, session_id, before; /* before: a run id, for pages */
	int status;                                    /* -1: any */
	struct bread_str tag_key, tag_value; /* key empty: any; value's p NULL: only without it */
};

/* One question. The caller fills the first part; rows and their strings live in
 * memory that the store gives and bread_read_fini takes back. */
struct bread_read {
	struct bread_op op;
	enum bread_read_kind kind;
	struct bread_str key; /* its bytes and the filter's stay unchanged until the op ends */
	/* crumbs: the last seq the caller has; sessions, messages, nodes: rows to skip */
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
