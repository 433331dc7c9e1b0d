/* SPDX-License-Identifier: MIT */
/* An ingress: a way in for callers (NDJSON and SSE over HTTP, and others). For
 * those who write one. It is written against this header and the other public
 * ones alone; ours have nothing that an outsider has not.
 *
 * An ingress registers routes with the server. A handler gets a request whose body is
 * complete and answers it exactly once: with a whole answer, later or at once,
 * or with a stream of a run's crumbs in a framing of its own. All calls are made on
 * the loop's thread that serves the request. */
#ifndef BREAD_EXT_INGRESS_H
#define BREAD_EXT_INGRESS_H

#include "bread/crumb.h"
#include "bread/instance.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bread_ingress;
struct bread_request;

struct bread_ingress_ops {
	const char *name; /* "bread": the word in `ingress:` */
	size_t size;
	/* Registers routes. options: its entry as a JSON object. word: the very name it
	 * was listed under ("http-sse"). */
	int (*open)(struct bread_ingress *in, struct bread_str word, struct bread_str options,
		struct bread_err *err);
	void (*close)(struct bread_ingress *in);
};

struct bread_ingress {
	const struct bread_ingress_ops *ops;
	struct bread *bread;
	struct bread_server *server;
};

typedef void bread_handler(struct bread_request *req, void *arg);

/* In open only. pattern: "/agents/:id/run"; a parameter takes one segment. Earlier routes win. fn
 * is called with arg on the loop that serves the request, after the checks at the edge (contract
 * C25). */
BREAD_API void bread_route(struct bread_ingress *in, const char *method, const char *pattern,
	bread_handler *fn, void *arg);

/* The request. Strings live until it is answered; p NULL: absent. */
BREAD_API struct bread *bread_request_instance(const struct bread_request *req);
BREAD_API struct bread_str bread_request_method(const struct bread_request *req);
BREAD_API struct bread_str bread_request_path(const struct bread_request *req);
BREAD_API struct bread_str bread_request_param(const struct bread_request *req, const char *name);
BREAD_API struct bread_str bread_request_query(struct bread_request *req, const char *name);
BREAD_API struct bread_str bread_request_header(const struct bread_request *req, const char *name);
BREAD_API struct bread_str bread_request_body(const struct bread_request *req);
/* 1 when it is an id that may come from outside: [A-Za-z0-9._:-]{1,128}. */
BREAD_API int bread_id_ok(struct bread_str id);
/* Memory that lives as long as the request; zeroed, never NULL. */
BREAD_API void *bread_request_alloc(struct bread_request *req, size_t n);
BREAD_API struct bread_str bread_request_printf(struct bread_request *req, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Whole answers: the request is gone afterwards. headers: extra lines, each ending in CRLF, or
 * empty. What is given is copied or sent before the call returns. */
BREAD_API void bread_reply(struct bread_request *req, int status, const char *content_type,
	struct bread_str headers, struct bread_str body);
BREAD_API void bread_reply_json(struct bread_request *req, int status, struct bread_str json);
/* {"error":{"code":C,"message":M}}: status and code follow from err (one table for all). */
BREAD_API void bread_reply_error(struct bread_request *req, const struct bread_err *err);

struct bread_stream_spec {
	const struct bread_framing *framing;
	struct bread_str run_id;
	/* the caller's own run: it also gets what the filter drops and the failure, the stream ends
	 * when the run suspends, and there is no hello */
	int own;
	int64_t after; /* the log's place: 0 is the start */
	/* exact: units of the windows after it that the client has */
	int64_t offset_text, offset_reasoning;
	int exact;
	int full;       /* no previews: whole crumbs, however large (contract C8) */
	int until_idle; /* end when the run suspends */
	/* the whole tree of that root, after and ids of a framing with `tree` in the tree's numbers
	 */
	int tree;
};

/* Streams a run until it ends (contract C2, C3, C7, C9). Answers 404 RUN_NOT_FOUND
 * for a run that nobody knows and 400 INVALID_CURSOR for a place beyond its head. */
BREAD_API void bread_reply_stream(struct bread_request *req, const struct bread_stream_spec *spec);
/* A stream that is nothing but a failure (status 200, docs/http-api.md). */
BREAD_API void bread_reply_failure(struct bread_request *req, const struct bread_framing *framing,
	const struct bread_failure *f);

BREAD_API extern const struct bread_ingress_ops bread_ingress_bread; /* NDJSON and SSE */

#ifdef __cplusplus
}
#endif
#endif
