/* SPDX-License-Identifier: MIT */
/* The bread dialect over HTTP: what the files of this folder share. Only public
 * headers are used here. */
#pragma once
#include "bread/ext/ingress.h"
#include "bread/json.h"

struct ingress {
	struct bread_ingress in;           /* first */
	const struct bread_framing *first; /* for who accepts anything */
};

#define LIT(text) ((struct bread_str){ (text), sizeof(text) - 1 })
#define LIST_MAX 10000 /* rows in one answer */

/* framing.c */
#define NO_PROXY "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n"
extern const struct bread_framing brd_ingress_ndjson, brd_ingress_sse;
const struct bread_framing *brd_ingress_accepted(
	struct bread_str accept, const struct bread_framing *first);
int64_t brd_ingress_now(void); /* ms since 1970 */
/* The pieces of frames that others are made of, too. */
void brd_ingress_ndjson_failure(struct bread_sink *s, const struct bread_failure *f);
void brd_ingress_ndjson_reset(struct bread_sink *s, struct bread_str run_id, int64_t first);
void brd_ingress_sse_failure(struct bread_sink *s, const struct bread_failure *f);
void brd_ingress_sse_reset(struct bread_sink *s, struct bread_str run_id, int64_t first);

/* text.c */
struct bread_str brd_ingress_str(const char *z); /* NULL gives the empty one */
/* What stands before sep; *rest is what stands behind it, p NULL when there is none. */
struct bread_str brd_ingress_cut(struct bread_str *rest, char sep);
int brd_ingress_is(struct bread_str s, const char *z);
int brd_ingress_number(struct bread_str s, int64_t *ret); /* digits and nothing else, up to 2^53 */
void brd_ingress_put(struct bread_sink *s, const char *z);
/* ,"key":"text" and ,"key":json, unless they are empty; ,"key":v. */
void brd_ingress_put_text(struct bread_sink *s, const char *key, struct bread_str text);
void brd_ingress_put_raw(struct bread_sink *s, const char *key, struct bread_str json);
void brd_ingress_put_int(struct bread_sink *s, const char *key, int64_t v);
/* s is JSON, and freed. */
void brd_ingress_reply(struct bread_request *req, int status, struct bread_sink *s);
/* {"error":text} */
void brd_ingress_reply_text_error(struct bread_request *req, int status, const char *text);
/* 400 {"error":{"code":code,"message":text}}; a text that is too long is cut. */
void brd_ingress_reply_invalid(struct bread_request *req, const char *code, struct bread_str text);
int brd_ingress_asked(struct bread_request *req, const char *name); /* ?name, not 0 or false */
void *brd_ingress_alloc(size_t n); /* zeroed, never NULL; for free() */
void brd_ingress_copy(
	char *to, size_t room, struct bread_str s); /* ends in a NUL, cut if need be */

/* body.c: 0: the request was answered with a refusal. */
int brd_ingress_body(struct bread_request *req, struct bread_json **ret); /* *ret NULL: no JSON */
/* A key that may be left out or null, else is of that type; body NULL has no keys. */
int brd_ingress_takes(struct bread_request *req, struct bread_json *body, const char *path,
	enum bread_json_type type);
int brd_ingress_takes_tags(struct bread_request *req, struct bread_json *body, const char *path);
int brd_ingress_takes_word(struct bread_request *req, struct bread_json *body, const char *path,
	const char *const words[], const char *wanted); /* words end with NULL */

/* A question to the store that a request waits for. */
struct store_question {
	struct bread_read read;
	struct bread_request *req;
	/* Answers the request. Not called when the store failed: that was answered. */
	void (*on_rows)(struct store_question *q);
	const void *arg; /* the asker's; in memory that lives as long as the request */
};
struct store_question *brd_ingress_question(struct bread_request *req, enum bread_read_kind kind,
	struct bread_str key, void (*on_rows)(struct store_question *q));
void brd_ingress_ask(struct store_question *q);
/* What one row is in JSON; 0: it is left out, and nothing was put. */
typedef int row_writer(struct bread_sink *s, const void *row);
void brd_ingress_put_rows(
	struct bread_sink *s, const struct bread_read *r, size_t row_size, row_writer *put);
/* A list of all rows; the first of them, or 404 with that text. */
void brd_ingress_reply_rows(struct store_question *q, size_t row_size, row_writer *put);
void brd_ingress_reply_row(struct store_question *q, row_writer *put, const char *not_found);
/* ?limit, else usual; up to max. 0: it is none from 1 on, and the request was answered. */
int brd_ingress_limit(struct bread_request *req, int64_t usual, int64_t max, size_t *ret);
/* The question about the row that :id names; 404 with that text for what is no id. */
void brd_ingress_ask_id(struct bread_request *req, enum bread_read_kind kind, const char *not_found,
	void (*on_rows)(struct store_question *q));

/* runs.c */
/* Last-Event-ID, else ?after, into spec; 0: it is no cursor, and the request was answered. */
int brd_ingress_cursor(struct bread_request *req, struct bread_stream_spec *spec);
const char *brd_ingress_status(enum bread_run_status s);
void brd_ingress_put_kind(struct bread_sink *s, const struct bread_run_row *r);
/* and where its logs end */
void brd_ingress_put_times(struct bread_sink *s, const struct bread_run_row *r);
void brd_ingress_put_usage(struct bread_sink *s, const struct bread_run_row *r); /* and steps */

/* run.c: the framing that a request wants; and its refusals, in that framing. */
const struct bread_framing *brd_ingress_framing(struct bread_request *req, const void *arg);
void brd_ingress_fail(struct bread_request *req, const struct bread_framing *f, const char *code,
	const char *message, const char *context);
void brd_ingress_refuse(
	struct bread_request *req, const struct bread_framing *f, const struct bread_err *err);

/* The routes. */
void brd_ingress_mount_compositions(struct ingress *in);
void brd_ingress_mount_checkpoints(struct ingress *in);
void brd_ingress_mount_tree(struct ingress *in);
void brd_ingress_mount_tree_stream(struct ingress *in);
void brd_ingress_mount_agents(struct ingress *in);
void brd_ingress_mount_run(struct ingress *in);
void brd_ingress_mount_resume(struct ingress *in);
void brd_ingress_mount_runs(struct ingress *in);
void brd_ingress_mount_sessions(struct ingress *in);
