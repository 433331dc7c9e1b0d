/* SPDX-License-Identifier: MIT */
/* Chunked bodies.
 *
 * Strict: hex digits, an optional extension after a semicolon, CRLF; exactly
 * CRLF after the data. Extensions and trailers are checked for their form and
 * their length and dropped. The state between two calls is a few numbers, so a
 * body may be cut anywhere. */
#include "net/http.h"
#include <stdio.h>
#include "net/http_chars.h"

#define EXTENSION_MAX 256
#define TRAILERS_MAX 8192
#define CHUNK_MAX ((uint64_t)1 << 59) /* so that one more digit cannot overflow */
#define DIGITS_MAX 16

enum chunk_state {
	CHUNK_SIZE, /* a zeroed reader begins here */
	CHUNK_EXTENSION,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	CHUNK_TRAILER, /* at the start of a line */
	CHUNK_TRAILER_NAME,
	CHUNK_TRAILER_VALUE,
	CHUNK_TRAILER_LF,
	CHUNK_LAST_LF,
	CHUNK_END,
};

static bool go(struct http_chunks *c, enum chunk_state next)
{
	c->state = next;
	return true;
}

static bool on_size(struct http_chunks *c, unsigned char ch)
{
	int digit = brd_hex_value((char)ch);

	if (digit >= 0) {
		if (c->digits++ == DIGITS_MAX || c->left >= CHUNK_MAX)
			return false;
		c->left = c->left << 4 | (unsigned)digit;
		return true;
	}
	if (c->digits == 0)
		return false;
	c->digits = 0;
	c->line = 0;
	return ch == ';' ? go(c, CHUNK_EXTENSION) : ch == '\r' ? go(c, CHUNK_SIZE_LF) : false;
}

static bool on_extension(struct http_chunks *c, unsigned char ch)
{
	if (ch == '\r')
		return go(c, CHUNK_SIZE_LF);
	return brd_http_text_char(ch) && c->line++ < EXTENSION_MAX;
}

static bool on_size_lf(struct http_chunks *c, unsigned char ch)
{
	c->line = 0; /* from here on it counts the trailers */
	return ch == '\n' && go(c, c->left ? CHUNK_DATA : CHUNK_TRAILER);
}

static bool on_trailer(struct http_chunks *c, unsigned char ch)
{
	if (ch == '\r')
		return go(c, CHUNK_LAST_LF);
	return brd_http_token_char(ch) && c->line++ < TRAILERS_MAX && go(c, CHUNK_TRAILER_NAME);
}

static bool on_trailer_name(struct http_chunks *c, unsigned char ch)
{
	if (c->line++ >= TRAILERS_MAX)
		return false;
	if (ch == ':')
		return go(c, CHUNK_TRAILER_VALUE);
	return brd_http_token_char(ch);
}

static bool on_trailer_value(struct http_chunks *c, unsigned char ch)
{
	if (ch == '\r')
		return go(c, CHUNK_TRAILER_LF);
	return brd_http_text_char(ch) && c->line++ < TRAILERS_MAX;
}

/* One byte that is no data; false: malformed. */
static bool step(struct http_chunks *c, unsigned char ch)
{
	switch ((enum chunk_state)c->state) {
	case CHUNK_SIZE:
		return on_size(c, ch);
	case CHUNK_EXTENSION:
		return on_extension(c, ch);
	case CHUNK_SIZE_LF:
		return on_size_lf(c, ch);
	case CHUNK_DATA_CR:
		return ch == '\r' && go(c, CHUNK_DATA_LF);
	case CHUNK_DATA_LF:
		return ch == '\n' && go(c, CHUNK_SIZE);
	case CHUNK_TRAILER:
		return on_trailer(c, ch);
	case CHUNK_TRAILER_NAME:
		return on_trailer_name(c, ch);
	case CHUNK_TRAILER_VALUE:
		return on_trailer_value(c, ch);
	case CHUNK_TRAILER_LF:
		return ch == '\n' && go(c, CHUNK_TRAILER);
	case CHUNK_LAST_LF:
		return ch == '\n' && go(c, CHUNK_END);
	case CHUNK_DATA:
	case CHUNK_END:
		break;
	}
	return false;
}

static size_t take_data(struct http_chunks *c, struct bread_str in, struct buf *out)
{
	size_t n = c->left < in.n ? (size_t)c->left : in.n;

	if (out)
		brd_buf_addn(out, in.p, n);
	c->left -= n;
	if (c->left == 0)
		c->state = CHUNK_DATA_CR;
	return n;
}

ptrdiff_t brd_http_chunks_feed(
	struct http_chunks *c, struct bread_str in, struct buf *out, bool *ret_done)
{
	size_t at = 0;

	while (at < in.n && c->state != CHUNK_END) {
		if (c->state == CHUNK_DATA)
			at += take_data(c, brd_sub(in, at, in.n - at), out);
		else if (!step(c, (unsigned char)in.p[at++]))
			return -400;
	}
	*ret_done = c->state == CHUNK_END;
	return (ptrdiff_t)at;
}

size_t brd_http_chunk_head(char out[HTTP_CHUNK_HEAD], size_t n)
{
	return (size_t)snprintf(out, HTTP_CHUNK_HEAD, "%zx\r\n", n);
}
