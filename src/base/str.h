/* SPDX-License-Identifier: MIT */
/* Small things on borrowed bytes (struct bread_str), and on UTF-8. */
#pragma once
#include <stdbool.h>
#include <string.h>
#include "bread/types.h"

#define BRD_STR(literal) ((struct bread_str){ (literal), sizeof(literal) - 1 })
#define BRD_ARG(s) (int)(s).n, (s).p /* for "%.*s" */

static inline struct bread_str brd_str(const char *z) /* NULL gives the empty one */
{
	return (struct bread_str){ z, z ? strlen(z) : 0 };
}

/* n bytes of s from there on; the caller knows that they are there. */
static inline struct bread_str brd_sub(struct bread_str s, size_t from, size_t n)
{
	return (struct bread_str){ s.p + from, n };
}

static inline bool brd_str_eq(struct bread_str a, struct bread_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool brd_str_is(struct bread_str a, const char *z)
{
	return brd_str_eq(a, brd_str(z));
}

static inline int brd_hex_value(char c) /* 0 to 15; -1: it is no hex digit */
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool brd_str_ieq(struct bread_str a, struct bread_str b); /* ASCII letters of either case */
bool brd_str_starts(struct bread_str s, struct bread_str prefix);
bool brd_str_ends(struct bread_str s, struct bread_str suffix);
struct bread_str brd_str_trim(struct bread_str s); /* blanks, tabs, CR, LF at both ends */
ptrdiff_t brd_str_find(struct bread_str s, struct bread_str what); /* -1: not there */
int brd_str_cmp(struct bread_str a, struct bread_str b);           /* by bytes, as strcmp does */

/* Cuts *rest at the first sep and returns what stood before it; *rest is what
 * stood behind, and its p is NULL once there was no more sep. */
struct bread_str brd_str_split(struct bread_str *rest, char sep);

/* A whole decimal number and nothing else. */
bool brd_str_int(struct bread_str s, int64_t *ret);

/* FNV-1a; for hash maps, not for secrets. */
uint64_t brd_str_hash(struct bread_str s);

/* Edit distance, at most 255; for "did you mean". */
unsigned brd_str_distance(struct bread_str a, struct bread_str b);

/* true when s is UTF-8: no overlong form, no surrogate, nothing over U+10FFFF. */
bool brd_utf8_ok(struct bread_str s);

/* Bytes of the character that p begins with (n is at least 1); 0: it is none, and
 * *ret_bad (may be NULL) is how many bytes one U+FFFD stands for. */
size_t brd_utf8_char(const char *p, size_t n, size_t *ret_bad);

/* true when p (of n bytes) begins with a surrogate in three bytes (WTF-8): what a lone
 * \udxxx of JSON decodes to. It is no UTF-8. */
bool brd_utf8_surrogate(const char *p, size_t n);

/* Bytes at the front that are whole characters beyond ASCII. */
size_t brd_utf8_wide(const char *p, size_t n);

/* The longest prefix of s of at most n bytes that cuts no character in two. */
size_t brd_utf8_cut(struct bread_str s, size_t n);

/* Bytes at the end of s that begin a character and do not finish it (0..3). */
size_t brd_utf8_open(struct bread_str s);
