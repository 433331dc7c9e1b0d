/* SPDX-License-Identifier: MIT */
/* Bytes that grow, up to a limit set at birth.
 *
 * data is never NULL and always ends in a NUL that len does not count. An add
 * that would go over the limit changes nothing and sets bad; later adds then do
 * nothing, so that a writer of many pieces checks once, at its end. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include "bread/types.h"

struct buf {
	char *data;
	size_t len;
	size_t cap; /* 0: nothing to free */
	size_t limit;
	bool bad;
};

#define BUF_NO_LIMIT ((size_t)1 << 40)

#define INT_ROOM 20 /* bytes of any 64-bit number in decimal, its sign included */

void brd_buf_init(struct buf *b, size_t limit);
void brd_buf_fini(struct buf *b);              /* a zeroed one, too */
void brd_buf_clear(struct buf *b);             /* empty again, memory kept, bad forgotten */
void brd_buf_grow(struct buf *b, size_t more); /* room for more bytes; bad if over the limit */
void brd_buf_add(struct buf *b, struct bread_str s);
void brd_buf_addz(struct buf *b, const char *z);
void brd_buf_addc(struct buf *b, char c);
void brd_buf_addn(struct buf *b, const void *p, size_t n);
void brd_buf_addu(struct buf *b, uint64_t v); /* decimal */
void brd_buf_addi(struct buf *b, int64_t v);
char *brd_put_int(char *to, int64_t v); /* into INT_ROOM bytes, no NUL; returns its end */
__attribute__((format(printf, 2, 3))) void brd_buf_addf(struct buf *b, const char *fmt, ...);
void brd_buf_drop(struct buf *b, size_t n);         /* the first n bytes */
char *brd_buf_take(struct buf *b, size_t *ret_len); /* NULL if bad; else the caller frees it */

static inline struct bread_str brd_buf_str(const struct buf *b)
{
	return (struct bread_str){ b->data, b->len };
}
