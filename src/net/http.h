/* SPDX-License-Identifier: MIT */
/* HTTP/1.1, the parts that server and client share, and the strict reader of
 * request heads (RFC 9112: no bare LF, no space before the colon, no folded
 * lines, no Content-Length beside Transfer-Encoding, one Host). */
#pragma once
#include <stdbool.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

struct http_header {
	struct bread_str name, value; /* value without blanks at its ends */
};

struct http_head {
	struct bread_str method;
	struct bread_str target; /* as sent */
	struct bread_str path;   /* percent-decoded but for %2F, "/agents/a" */
	struct bread_str query;  /* as sent, without the ? */
	int minor;               /* of HTTP/1.x */
	struct http_header *headers;
	size_t header_count;
	bool keep_alive;
	bool chunked;
	bool expect_continue;
	bool upgrade;           /* Connection: upgrade and an Upgrade header */
	int64_t content_length; /* -1: none */
	const char *fault;      /* when the head is refused: a sentence that says why */
};

#define HTTP_HEAD_MAX (32 * 1024)
#define HTTP_LINE_MAX (8 * 1024) /* the request line; a longer one is 414 */
#define HTTP_HEADERS_MAX 100

/* Looks for the end of a head, of which the first seen bytes were looked at
 * before. Returns the head's length, 0 when more is needed, or a negative status
 * (then ret->fault is set). For readers that collect a head from many pieces. */
ptrdiff_t brd_http_head_end(struct bread_str in, size_t seen, struct http_head *ret);

/* Reads a request head from the start of in. Returns bytes taken, 0 when more
 * are needed, or a negative HTTP status (-400, -414, -431, -501, -505) when it
 * is refused; ret->fault then says why. Strings point into in or the arena. */
ptrdiff_t brd_http_head_parse(struct bread_str in, struct arena *a, struct http_head *ret);

/* Chunked bodies, bytes in, bytes out, split anywhere. */
struct http_chunks { /* a zeroed one is at the start of a body */
	int state;
	uint64_t left;         /* bytes of the chunk at work */
	unsigned digits, line; /* seen of its size; of an extension or the trailers */
};
/* Takes from in, appends body bytes to out (out may be NULL: drop them), sets
 * *ret_done at the end of the trailers. Returns bytes taken, or -400. */
ptrdiff_t brd_http_chunks_feed(
	struct http_chunks *c, struct bread_str in, struct buf *out, bool *ret_done);
#define HTTP_CHUNK_HEAD 24 /* room for the head of a chunk, its NUL included */
/* The head of a chunk of n bytes, "1a4\r\n"; returns its length. */
size_t brd_http_chunk_head(char out[HTTP_CHUNK_HEAD], size_t n);

/* The first header of that name, in either case; p NULL: absent. */
struct bread_str brd_http_get(const struct http_head *h, const char *name);
/* One parameter of a query string, decoded (+ is a blank); p NULL: absent. */
struct bread_str brd_http_query(struct bread_str query, const char *name, struct arena *a);
const char *brd_http_reason(int status); /* "Not Found"; never NULL */
