/* SPDX-License-Identifier: MIT */
/* Bytes that grow, up to a limit set at birth.
 *
 * An empty buf points at a constant NUL, so that data can always be read and a
 * buf that is never written to costs nothing. */
#include "base/buf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/mem.h"

static char nothing[1]; /* never written to: cap is 0 */

void brd_buf_init(struct buf *b, size_t limit)
{
	*b = (struct buf){ .data = nothing, .limit = limit };
}

void brd_buf_fini(struct buf *b)
{
	if (b->cap)
		free(b->data);
	brd_buf_init(b, b->limit);
}

void brd_buf_clear(struct buf *b)
{
	b->len = 0;
	b->bad = false;
	if (b->cap)
		b->data[0] = 0;
}

static void enlarge(struct buf *b, size_t wanted)
{
	size_t cap = b->cap ? b->cap : 64;

	while (cap < wanted)
		cap += cap < 1 << 20 ? cap : cap / 2;
	b->data = brd_realloc(b->cap ? b->data : NULL, cap);
	b->data[b->len] = 0;
	b->cap = cap;
}

/* true when n more bytes fit in, and there is room for them. */
static inline bool room(struct buf *b, size_t n)
{
	if (b->bad || n > b->limit - b->len) {
		b->bad = true;
		return false;
	}
	if (b->len + n >= b->cap)
		enlarge(b, b->len + n + 1);
	return true;
}

void brd_buf_grow(struct buf *b, size_t more)
{
	room(b, more);
}

void brd_buf_addn(struct buf *b, const void *p, size_t n)
{
	if (n == 0 || !room(b, n))
		return;
	memcpy(b->data + b->len, p, n);
	b->len += n;
	b->data[b->len] = 0;
}

void brd_buf_add(struct buf *b, struct bread_str s)
{
	brd_buf_addn(b, s.p, s.n);
}

void brd_buf_addz(struct buf *b, const char *z)
{
	brd_buf_addn(b, z, strlen(z));
}

void brd_buf_addc(struct buf *b, char c)
{
	if (!room(b, 1))
		return;
	b->data[b->len++] = c;
	b->data[b->len] = 0;
}

static char *put_digits(char *to, uint64_t v)
{
	char digits[INT_ROOM];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return mempcpy(to, digits + at, sizeof(digits) - at);
}

char *brd_put_int(char *to, int64_t v)
{
	if (v >= 0)
		return put_digits(to, (uint64_t)v);
	*to++ = '-';
	return put_digits(to, 0 - (uint64_t)v);
}

void brd_buf_addu(struct buf *b, uint64_t v)
{
	char text[INT_ROOM];

	brd_buf_addn(b, text, (size_t)(put_digits(text, v) - text));
}

void brd_buf_addi(struct buf *b, int64_t v)
{
	char text[INT_ROOM];

	brd_buf_addn(b, text, (size_t)(brd_put_int(text, v) - text));
}

void brd_buf_addf(struct buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	brd_assert(n >= 0);
	if ((size_t)n < sizeof(small)) {
		brd_buf_addn(b, small, (size_t)n);
	} else if (room(b, (size_t)n)) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void brd_buf_drop(struct buf *b, size_t n)
{
	brd_assert(n <= b->len);
	if (n == 0)
		return;
	b->len -= n;
	memmove(b->data, b->data + n, b->len + 1);
}

char *brd_buf_take(struct buf *b, size_t *ret_len)
{
	char *p = NULL;
	size_t len = 0;

	if (!b->bad) {
		if (b->cap == 0)
			enlarge(b, 1);
		p = b->data;
		len = b->len;
		b->cap = 0;
	}
	if (ret_len)
		*ret_len = len;
	brd_buf_fini(b);
	return p;
}
