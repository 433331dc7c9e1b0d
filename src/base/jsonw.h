/* SPDX-License-Identifier: MIT */
/* Writing JSON: compact, keys in the order they are written, only the escapes
 * that JSON demands, straight into a buf.
 *
 * The writer puts the commas; it trusts its caller for the rest (a key before
 * each value of an object, ends that match). Errors stick in the buf. */
#pragma once
#include "base/buf.h"
#include "base/json.h"

struct jsonw {
	struct buf *b;
	bool comma; /* the next value needs one in front */
};

static inline struct jsonw brd_jsonw(struct buf *b)
{
	return (struct jsonw){ b, false };
}

void brd_jw_obj(struct jsonw *w);
void brd_jw_end_obj(struct jsonw *w);
void brd_jw_arr(struct jsonw *w);
void brd_jw_end_arr(struct jsonw *w);
void brd_jw_key(struct jsonw *w, const char *key);       /* plain ASCII without escapes */
void brd_jw_keys(struct jsonw *w, struct bread_str key); /* any bytes */
void brd_jw_str(struct jsonw *w, struct bread_str s);
void brd_jw_strz(struct jsonw *w, const char *z); /* NULL gives null */
void brd_jw_int(struct jsonw *w, int64_t v);
void brd_jw_num(struct jsonw *w, double v); /* the shortest that reads back; not finite: null */
void brd_jw_bool(struct jsonw *w, bool v);
void brd_jw_null(struct jsonw *w);
void brd_jw_raw(struct jsonw *w, struct bread_str json); /* a value that is JSON already */

/* key and value at once */
void brd_jw_kstr(struct jsonw *w, const char *key, struct bread_str s);
void brd_jw_kint(struct jsonw *w, const char *key, int64_t v);
void brd_jw_kbool(struct jsonw *w, const char *key, bool v);
/* Left out when json is empty. */
void brd_jw_kraw(struct jsonw *w, const char *key, struct bread_str json);

/* One object as a text of an arena. begin: it is opened in *b, which has no limit. finish: it is
 * closed and copied, and *b is freed. */
struct jsonw brd_jw_begin(struct buf *b);
struct bread_str brd_jw_finish(struct jsonw *w, struct arena *a);

/* A quoted string with its escapes, appended to b. Bytes that are no UTF-8
 * become U+FFFD; three-byte surrogates become \udxxx. */
void brd_json_quote(struct buf *b, struct bread_str s);

/* A number as brd_jw_num writes it, without a comma. */
void brd_json_num_add(struct buf *b, double v);
