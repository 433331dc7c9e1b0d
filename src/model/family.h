/* SPDX-License-Identifier: MIT */
/* What the families of providers over HTTP share: an entry's options, the
 * exchange with its retries and watchdogs, and the writer of bodies.
 *
 * A family is a table: it writes the request, and it reads the answer through a
 * parser that takes bytes and makes events and knows nothing of the network. */
#pragma once
#include "base/arena.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "model/fault.h"
#include "model/stream.h"

struct family;

struct http_provider { /* an opened entry; a family's struct begins with it */
	struct bread_model model;
	const struct family *family;
	struct arena arena;
	struct bread_str name, server; /* the entry's key; its name in the catalogue */
	struct bread_str base_url;     /* without a slash at its end */
	struct bread_str api_key;      /* empty: none */
	struct jval options;           /* all of the entry */
	struct jval headers;           /* of the entry: name to value; null deletes one of ours */
	struct bread_str cache;        /* "none", "short", "long" */
	int64_t first_byte_ms, silence_ms, connect_ms, max_retry_delay_ms;
	int max_retries; /* -1: as the request says */
	const char *ca_file;
};

/* A request being written. Strings are in the arena. */
struct request_draft {
	struct arena *a;
	const struct http_provider *p;
	const struct bread_model_request *req;
	struct jval settings, over; /* over: the caller's providerOptions */
	struct bread_str path;      /* behind the base URL */
	const char *headers[64];    /* "Name: value" */
	size_t header_count;
	struct buf body;
	struct jsonw w;
	struct bread_str json_tool; /* the forced tool whose arguments are the structured answer */
};

struct family {
	const char *name;
	/* Writes headers, path and body (between brd_body_begin and brd_body_end). */
	int (*request)(struct request_draft *o, struct bread_err *err);
	/* json_tool: of the request, borrowed; empty: none */
	void *(*parser_new)(struct mstream *s, struct bread_str json_tool);
	void (*parser_feed)(void *parser, struct bread_str bytes);
	void (*parser_finish)(void *parser); /* the body has ended, well */
	void (*parser_free)(void *parser);
};

/* Opens the common part; options is kept in the provider's arena. */
int brd_provider_open(struct http_provider *p, const struct family *f, struct bread_str name,
	struct bread_str options, struct bread_err *err);
void brd_provider_close(struct bread_model *m);
void brd_provider_start(struct bread_model *m, struct bread_model_call *call);
void brd_provider_pause(struct bread_model *m, struct bread_model_call *call, int on);

/* ---- writing ---- */

/* The whole request: headers, path and body. o is zeroed; its body is the caller's to free. */
int brd_outgoing_write(struct request_draft *o, const struct http_provider *p,
	const struct bread_model_request *req, struct arena *a, struct bread_err *err);

/* For a family's request(): */

void brd_body_begin(struct request_draft *o);
/* true: write the value now; false: the caller's options give this key themselves. */
bool brd_body_key(struct request_draft *o, const char *key);
/* Left out when it is empty; when there is none. */
void brd_body_str(struct request_draft *o, const char *key, struct bread_str s);
void brd_body_raw(struct request_draft *o, const char *key, struct jval v);
void brd_body_bool(struct request_draft *o, const char *key, bool v);
void brd_body_int(struct request_draft *o, const char *key, int64_t v);
void brd_body_end(struct request_draft *o);
void brd_header(struct request_draft *o, const char *name, struct bread_str value);
void brd_header_bearer(struct request_draft *o); /* Authorization, when there is a key */

struct jval brd_setting(const struct request_draft *o, const char *key);
struct bread_str brd_setting_str(const struct request_draft *o, const char *key);
int64_t brd_setting_int(const struct request_draft *o, const char *key, int64_t dflt);
bool brd_reasoning_off(struct bread_str level); /* the setting "reasoning": none, off */

/* A JSON schema as providers take it: without "$schema". */
void brd_write_schema(struct jsonw *w, struct bread_str schema, struct arena *a);
/* Every object closed and every property required, as strict modes demand. */
bool brd_schema_is_strict(struct bread_str schema, struct arena *a);
/* The text of a result for families that take only text. */
struct bread_str brd_result_as_text(const struct bread_part *p);

/* ---- reading ---- */

#define EVENT_LINE_MAX ((size_t)16 * 1024 * 1024)

/* Parses one JSON event of a stream, mending it if it must be; false: the stream has failed. */
bool brd_event_parse(struct mstream *s, struct bread_str data, struct arena *a, struct jval *ret);
/* Ends the stream with what an error value says. */
void brd_stream_error(struct mstream *s, struct jval error, int status, struct arena *a);
void brd_stream_too_long(struct mstream *s); /* a line over EVENT_LINE_MAX */
void brd_stream_truncated(struct mstream *s, const char *missing);
void brd_stream_refused(struct mstream *s, struct bread_str why);
/* Numbers of a usage object that may be absent or null: old is kept then. */
void brd_usage_take(int64_t *count, struct jval v);
