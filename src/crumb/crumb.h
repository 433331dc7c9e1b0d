/* SPDX-License-Identifier: MIT */
/* Crumbs: their types, and how one is rendered (docs/runs-and-crumbs.md).
 *
 * A crumb is a reference-counted, immutable buffer. Whoever makes one fills a
 * draft: base fields first, then its own, and seals it with its number. The log
 * row, the NDJSON line, the SSE event are that buffer between a prefix and a
 * suffix; nothing on the way parses it. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include "base/jsonw.h"
#include "bread/crumb.h"

enum crumb_type {
	CRUMB_RUN_START,        /* agent:run:start */
	CRUMB_RUN_END,          /* agent:run:end */
	CRUMB_TEXT_DELTA,       /* text:delta */
	CRUMB_REASONING_DELTA,  /* reasoning:delta */
	CRUMB_FILE,             /* file:generated */
	CRUMB_TOOL_INPUT_START, /* tool:input:start */
	CRUMB_TOOL_INPUT_DELTA,
	CRUMB_TOOL_INPUT_END,
	CRUMB_TOOL_CALL,           /* tool:call */
	CRUMB_TOOL_RESULT_PARTIAL, /* tool:result:partial */
	CRUMB_TOOL_RESULT,         /* tool:result */
	CRUMB_TOOL_ERROR,          /* tool:error */
	CRUMB_AGENT_ERROR,         /* agent:error */
	CRUMB_HUMAN_REQUIRED,      /* human:required */
	CRUMB_HUMAN_RESUMED,       /* human:resumed */
	CRUMB_SUBAGENT_START,      /* subagent:run:start: all that is seen of a mediated run */
	CRUMB_SUBAGENT_END,
	CRUMB_STEP_START, /* pipeline:step:start */
	CRUMB_STEP_END,
	CRUMB_BRANCH_TAKEN,     /* pipeline:branch:taken */
	CRUMB_LOOP_START,       /* loop:start */
	CRUMB_LOOP_ROUND_START, /* loop:iteration:start */
	CRUMB_LOOP_ROUND_END,
	CRUMB_LOOP_END,
	CRUMB_TASK_START, /* task:start */
	CRUMB_TASK_END,
	CRUMB_ATTEMPT_VOID, /* agent:attempt:void, ours: text of the broken attempt before it does
			       not count (C21) */
	CRUMB_TYPES
};

struct crumb_kind {
	const char *name;
	size_t len;     /* of name */
	unsigned flags; /* enum bread_crumb_flags */
};
extern const struct crumb_kind brd_crumb_kinds[CRUMB_TYPES];
enum crumb_type brd_crumb_type(struct bread_str name); /* CRUMB_TYPES: not known */

struct crumb { /* its bytes lie behind it, in one block */
	atomic_int refs;
	enum crumb_type type;
	unsigned flags;
	int64_t seq;
	int64_t tree_seq; /* its number in the tree's log, a watermark for deltas; 0: none */
	int64_t timestamp;
	uint32_t units;        /* deltas: UTF-16 units of its text */
	uint32_t offset;       /* deltas: units of its window up to and with this one */
	uint32_t offset_other; /* deltas: units of the other kind's window */
	struct bread_str name; /* of its type */
	struct bread_str run_id;
	struct bread_str log_id; /* the run in whose log it stands: a step's is its pipeline's */
	struct bread_str path;   /* of its run in the tree; empty: it is alone */
	struct bread_str json;
	struct bread_str public_json; /* json itself, or the reduced rendering of an error */
};

struct crumb *brd_crumb_ref(struct crumb *c);
void brd_crumb_unref(struct crumb *c); /* NULL, too */
void brd_crumb_view(const struct crumb *c, struct bread_crumb *ret);

/* Whose crumbs they are: rendered once per run, used by each of its crumbs. */
struct crumb_base {
	struct bread_str agent_id, run_id, session_id; /* session_id may be empty: left out */
	struct bread_str ids;    /* ,"agentId":…,"runId":…,"sessionId":… */
	struct bread_str path;   /* JSON array; empty: a run that is alone */
	struct bread_str log_id; /* the run in whose log they stand; empty: run_id */
};
void brd_crumb_base_init(struct crumb_base *b, struct bread_str agent_id, struct bread_str run_id,
	struct bread_str session_id, struct arena *a);
/* A pipeline's run: it has no session, and says that it is a pipeline. */
void brd_crumb_base_pipeline(struct crumb_base *b, struct bread_str pipeline_id,
	struct bread_str run_id, struct arena *a);
/* A step of a pipeline, for pipeline:* crumbs: PIPELINE:INDEX is its runId, root_id its root's;
 * path and log_id are the caller's to set. */
void brd_crumb_base_step(struct crumb_base *b, struct bread_str pipeline_id, int64_t index,
	struct bread_str agent_id, struct bread_str root_id, struct arena *a);

/* A crumb in the making. w writes its own fields. */
struct crumb_draft {
	struct buf buf;
	struct jsonw w;
	enum crumb_type type;
	int64_t timestamp;
	uint32_t units;
	const struct crumb_base *base;
	size_t error_from, error_to; /* span of the value of "error", for public_json */
	struct buf reduced;          /* its {"code","message"} form */
};
/* {"type":T,"agentId":…,"runId":…,"sessionId":…,"timestamp":N  (agent:error, pipeline:step:end and
 * pipeline:branch:taken have their own members before the timestamp) */
void brd_crumb_begin(
	struct crumb_draft *d, enum crumb_type t, const struct crumb_base *base, int64_t timestamp);
/* "error":{"name":"BreadError","code":C,"message":M,"context":X?}; context is JSON or empty */
void brd_crumb_error(struct crumb_draft *d, struct bread_str code, struct bread_str message,
	struct bread_str context);
/* Appends ,"seq":N} and gives the finished crumb (one reference). The draft is spent. */
struct crumb *brd_crumb_seal(struct crumb_draft *d, int64_t seq);
void brd_crumb_abandon(struct crumb_draft *d); /* instead of seal; a zeroed or spent one, too */

/* The fast path: a delta, with one allocation and no draft. */
struct crumb *brd_crumb_delta(enum crumb_type t, const struct crumb_base *base, int64_t timestamp,
	struct bread_str delta, int64_t seq);

/* A row of the log as a framing takes it, for replay: its JSON is taken as it is, only errors are
 * looked into; scratch gets their public form. */
void brd_crumb_row_view(struct bread_str run_id, struct bread_str type, int64_t seq,
	struct bread_str json, struct buf *scratch, struct bread_crumb *ret);
/* The runId that a row's JSON names: a step's is another than that of the log it stands in. */
struct bread_str brd_crumb_row_names(struct bread_str json);

/* The JSON of a crumb that is too large for a stream: its big values are cut to texts, and
 * "truncated":true and "ref":"/runs/R/crumbs/N" stand before its seq. At most about max bytes. */
void brd_crumb_preview(
	struct bread_str json, struct bread_str run_id, int64_t seq, size_t max, struct buf *out);
