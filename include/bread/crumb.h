/* SPDX-License-Identifier: MIT */
/* A crumb: one event of a run, as everybody sees it.
 *
 * Its JSON was rendered once, at the choke point, and is what the log stores and
 * every wire carries (docs/runs-and-crumbs.md). */
#ifndef BREAD_CRUMB_H
#define BREAD_CRUMB_H

#include "bread/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bread_crumb_flags {
	BREAD_CRUMB_DURABLE = 1,  /* has a number of its own; else seq is a watermark */
	BREAD_CRUMB_TERMINAL = 2, /* agent:run:end or agent:error: the last of its run */
	BREAD_CRUMB_ERROR = 4,    /* carries an error: public_json leaves out name and context */
	BREAD_CRUMB_FILTERED = 8, /* the project's crumbFilter keeps it from passive viewers */
	/* of a run below the root, shown on the root's own stream: the tree's has the original */
	BREAD_CRUMB_SURFACED = 16,
	/* start or end of a pipeline's own run: no part of the stream that its caller is answered
	 */
	BREAD_CRUMB_FRAME = 32,
};

/* Borrowed: valid during the call that hands it over. */
struct bread_crumb {
	struct bread_str run_id;
	struct bread_str type;        /* "text:delta" */
	struct bread_str json;        /* the whole object, seq included */
	struct bread_str public_json; /* what SSE shows: equals json but for errors */
	int64_t seq;
	int64_t tree_seq;      /* its number in the log of its tree; 0: its run is alone */
	struct bread_str path; /* JSON array: names from the root to its run; empty: it is alone */
	uint32_t offset; /* live deltas: UTF-16 units of this kind since seq, this one included */
	uint32_t offset_other; /* the same of the other kind (text, reasoning) */
	unsigned flags;
};

/* A run's failure as its own caller is told, beside the crumbs (docs/streaming.md). */
struct bread_failure {
	struct bread_str agent_id; /* of the last crumb, or the id that was asked for */
	struct bread_str run_id;   /* empty: there is none */
	struct bread_str code, message;
	struct bread_str context; /* JSON, or empty */
	int64_t timestamp;
};

/* Bytes that grow: what a framing adds to. Others may have one of their own, for an answer. What is
 * added is copied; memory is always found. One thread at a time. */
struct bread_sink;
BREAD_API struct bread_sink *bread_sink_new(void);
BREAD_API void bread_sink_free(struct bread_sink *s);                    /* NULL, too */
BREAD_API struct bread_str bread_sink_bytes(const struct bread_sink *s); /* until the next add */
BREAD_API void bread_sink_add(struct bread_sink *s, struct bread_str bytes);
BREAD_API void bread_sink_int(struct bread_sink *s, int64_t v);               /* decimal */
BREAD_API void bread_sink_quote(struct bread_sink *s, struct bread_str text); /* as a JSON string */

/* How crumbs become bytes on one wire (docs/streaming.md). Its functions are called on any loop,
 * under locks: they add to s and call nothing else. exact: ids with offsets (contract C5). Tables
 * are const: viewers of one framing share the encoded bytes, and framings are told apart by the
 * table's address. */
struct bread_framing {
	const char *name; /* "sse" */
	const char *content_type;
	const char *headers;   /* extra lines of the answer's head, each ending in CRLF; or "" */
	const char *hello;     /* first bytes of a passive stream; or "" */
	const char *heartbeat; /* every 15 s of silence */
	void (*crumb)(struct bread_sink *s, const struct bread_crumb *c, int exact);
	void (*failure)(struct bread_sink *s, const struct bread_failure *f);
	/* Retention removed what was asked for: the first number left. NULL: nothing is said. */
	void (*reset)(struct bread_sink *s, struct bread_str run_id, int64_t first);
	int tree; /* it shows whole trees: path and tree_seq, and the ends of pipelines */
};

#ifdef __cplusplus
}
#endif
#endif
