/* SPDX-License-Identifier: MIT */
/* An HTTP/1.1 server on one loop: keep-alive, pipelining, chunked both ways,
 * limits, Expect, TLS; and streams that are pulled by the socket.
 *
 * A request is handed over once its body is complete (bodies are small: JSON up
 * to max_body). Exactly one answer: brd_http_reply, or brd_http_stream .. _end.
 * Pipelined requests wait until the one before is answered. The request's memory
 * (head, body, arena) lives until the answer has been written, or the peer has gone.
 *
 * Peers cannot hurt: head and body limits, 10 s for a head, 30 s idle, at most
 * max_conns connections (the oldest idle ones go first), half-open peers are
 * found by RDHUP, TCP_USER_TIMEOUT and a write deadline. */
#pragma once
#include <sys/uio.h>
#include "loop/loop.h"
#include "net/http.h"

struct http_server;
struct http_req;

struct http_server_conf {
	const char *host;     /* "127.0.0.1", "::1", "localhost", "0.0.0.0" or "unix:/path" */
	int port;             /* 0: a free one */
	size_t max_body;      /* over it: 413 before it is read */
	size_t max_conns;     /* 0: what the file limit allows, less 64 */
	int64_t idle_ms;      /* a kept-alive connection without a request; 0: 30,000 */
	int64_t stall_ms;     /* a peer that takes nothing of an answer; 0: 30,000 (contract C7) */
	const char *tls_cert; /* PEM files; NULL: no TLS */
	const char *tls_key;
	bool reuse_port; /* several loops listen on one port */

	void (*on_request)(struct http_req *req, void *arg);
	void *arg;
};

/* Listens from now on. BREAD_E_CONFLICT: the port or socket file is taken; BREAD_E_INVALID: the
 * host, the port or a TLS file cannot be used. c is copied, its strings are not kept. */
int brd_http_server_new(struct http_server **ret, struct loop *l, const struct http_server_conf *c,
	struct bread_err *err);
int brd_http_server_port(const struct http_server *s); /* the one that was taken */
/* Stops accepting; requests go on, keep-alive ends. */
void brd_http_server_refuse(struct http_server *s);
/* Closes everything; requests still open get on_closed in this call. Also from a callback of its
 * own. NULL, too. */
void brd_http_server_free(struct http_server *s);

struct http_server_stats {
	uint64_t accepted, requests;
	size_t open, streams;
};
void brd_http_server_stats(const struct http_server *s, struct http_server_stats *ret);

const struct http_head *brd_http_req_head(const struct http_req *req);
struct bread_str brd_http_req_body(const struct http_req *req);
struct arena *brd_http_req_arena(struct http_req *req);
struct loop *brd_http_req_loop(const struct http_req *req);
bool brd_http_req_local(const struct http_req *req); /* it came over a loopback or unix address */
void brd_http_req_peer(const struct http_req *req, char *out, size_t n); /* "127.0.0.1:4711" */

/* A whole answer; what is given is sent or copied before the call returns. Extra
 * headers are lines that each end in CRLF, or empty. req is gone afterwards, and
 * on_closed is not called. */
void brd_http_reply(struct http_req *req, int status, const char *content_type,
	struct bread_str extra_headers, struct bread_str body);

/* What the owner of a streamed answer, or one who answers later, wants to hear. */
struct http_stream_events {
	/* The last write is out: more may be written. */
	void (*on_writable)(struct http_req *req, void *arg);
	/* The peer has gone, was too slow, or the server closes. Last call; req dies with it. */
	void (*on_closed)(struct http_req *req, void *arg);
	void *arg;
};
/* For a request that is answered later: hear when the peer goes. May be called before
 * brd_http_stream; the answer goes on being awaited. */
void brd_http_watch(struct http_req *req, const struct http_stream_events *ev);

/* Sends the head at once; the caller's first write follows (contract C9). ev
 * may be NULL after brd_http_watch: then that one's stays. Over HTTP/1.1 the body
 * is chunked and the caller writes the chunk frames itself (so that encoded bytes
 * can be shared: see brd_http_chunk_head); brd_http_stream_chunked says so.
 * HTTP/1.0 peers get a body that ends with the connection; what is written for a
 * HEAD request is dropped. A peer that ends its side of the connection has gone. */
void brd_http_stream(struct http_req *req, int status, const char *content_type,
	struct bread_str extra_headers, const struct http_stream_events *ev);
bool brd_http_stream_chunked(const struct http_req *req);

/* Writes from memory that the caller keeps unchanged until on_writable, or until
 * this returns true (all of it is out; on_writable is not called). Must not be
 * called while a write is pending (the head, which may wait too, does not count). */
bool brd_http_stream_write(struct http_req *req, const struct iovec *v, int n);
bool brd_http_stream_pending(const struct http_req *req);

/* The end: the last chunk (if chunked). The connection is kept if both want it. req is gone. */
void brd_http_stream_end(struct http_req *req);
/* Cuts the connection: for a viewer that must come back. req is gone, no on_closed. */
void brd_http_stream_abort(struct http_req *req);
