/* SPDX-License-Identifier: MIT */
/* A crumb: one event of a run, as everybody sees it.
 *
 * Its JSON was rendered once, at the choke point, and is what the log stores and
 * every wire carries (bread-wire.md 9). */
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
};

/* Borrowed: valid during the call that hands it over. */
struct bread_crumb {
	struct bread_str run_id;
	struct bread_str type;        /* "text:delta" */
	struct bread_str json;        /* the whole object, seq included */
	struct bread_str public_json; /* what SSE shows: equals json but for errors */
	int64_t seq;
	uint32_t offset; /* deltas: UTF-16 units of this kind since seq, this one included */
	unsigned flags;
};

#ifdef __cplusplus
}
#endif
#endif
