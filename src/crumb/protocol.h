/* SPDX-License-Identifier: MIT */
/* Bread protocol frames, version 1 (bread-wire.md 10), to read. Writing them is
 * a prefix and a suffix around a crumb's JSON: see brd_frame_ndjson. */
#pragma once
#include "crumb/crumb.h"

enum frame_type { FRAME_CRUMB, FRAME_SUBSCRIBE };
struct frame {
	enum frame_type type;
	struct bread_str run_id; /* decoded */
	double seq;              /* afterSeq of a subscribe */
	struct jval crumb;
};
/* BREAD_E_INVALID with name PROTOCOL_DECODE_ERROR and the messages of the
 * specification; ret_raw gets the input cut to 200 UTF-16 units. */
int brd_frame_decode(struct bread_str text, struct arena *a, struct frame *ret, struct bread_err *err);

/* {"v":1,"type":"crumb","runId":R,"seq":N,"crumb":…}\n */
void brd_frame_ndjson(struct buf *b, const struct bread_crumb *c, bool exact);
/* id: N\ndata: {"type":T,"payload":…}\n\n */
void brd_frame_sse(struct buf *b, const struct bread_crumb *c, bool exact);
/* The failure that the transport itself adds (bread-wire.md 5.2, 5.3). */
struct failure {
	struct bread_str agent_id; /* last seen, or the route's id */
	struct bread_str run_id;   /* empty: none */
	struct bread_str code, message, context; /* context JSON or empty */
	int64_t timestamp;
};
void brd_failure_ndjson(struct buf *b, const struct failure *f);
void brd_failure_sse(struct buf *b, const struct failure *f);
