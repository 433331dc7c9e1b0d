/* SPDX-License-Identifier: MIT */
/* Outgoing HTTP: libcurl on the loop, with bodies that stream in.
 *
 * No total limit and no low-speed limit of curl's: the watchdogs are ours
 * (connect, headers, silence), because a stream may rightly be slow. Connections
 * are kept alive and shared per loop. No compression, no redirects unless asked. */
#pragma once
#include "loop/loop.h"
#include "net/http.h"

struct http_client;
struct http_call;

int brd_http_client_new(struct http_client **ret, struct loop *l, struct bread_err *err);
/* The loop's own, by brd_loop_local; only after brd_url_check has let a URL pass. */
struct http_client *brd_http_client_of(struct loop *l);
void brd_http_client_free(struct http_client *c); /* its calls are ended first, as cancelled */

struct http_call_spec {
	const char *method;
	const char *url;
	const char *const *headers; /* NULL-terminated "Name: value" */
	struct bread_str body;      /* copied */
	int64_t connect_ms;         /* 0: 10,000 */
	int64_t headers_ms;         /* until the final status line; 0: 300,000 */
	int64_t silence_ms;         /* between bytes of the body; 0: none */
	int max_redirects;          /* 0: none; calls with keys in headers stay at their host */
	const char *ca_file;        /* NULL: the system's */
	/* May veto a resolved address (contract C27), also one of a redirect or of a connection
	 * that was kept; NULL: all are allowed. sa is a struct sockaddr. */
	bool (*allow_addr)(void *arg, const void *sa);

	/* Once, before any body byte; may be NULL. */
	void (*on_head)(void *arg, struct http_call *c);
	/* Body bytes as they come. false: enough, the call ends BREAD_E_CANCELED. */
	bool (*on_data)(void *arg, struct bread_str bytes);
	void *arg;
};

/* op ends BREAD_OK when the whole answer was read, whatever its status; else op->err.name
 * says what it was:
 *   BREAD_E_UPSTREAM  "refused", "reset" (cut before or in the answer), "dns", "tls",
 *                     "protocol" (no HTTP, or a head over 128 KiB), "redirects" (too many,
 *                     or to what is not http)
 *   BREAD_E_TIMEOUT   "connect", "headers", "silence"; none when it was the op's own deadline
 *   BREAD_E_INVALID   "url", "header", "method": nothing was sent; "address": vetoed
 *   BREAD_E_CANCELED  within this turn after a cancel (the connection is closed, not drained)
 * Its text names the host and no secret. Callbacks may start, pause and cancel any call.
 * The call's memory stays until brd_http_call_free. */
struct http_call *brd_http_call_start(
	struct http_client *c, const struct http_call_spec *spec, struct bread_op *op);
int brd_http_call_status(const struct http_call *c); /* 0: no answer yet */
/* p NULL: absent, or no answer yet. Valid until brd_http_call_free. */
struct bread_str brd_http_call_header(const struct http_call *c, const char *name);
void brd_http_call_pause(struct http_call *c, bool on); /* stop reading from the peer, or go on */
void brd_http_call_free(struct http_call *c);           /* only after its op has ended; NULL, too */
