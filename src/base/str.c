/* SPDX-License-Identifier: MIT */
/* Small things on borrowed bytes, and on UTF-8.
 *
 * Nothing here allocates or keeps anything, and every function takes the empty
 * string whose p is NULL. */
#include "base/str.h"
#include <limits.h>

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool brd_str_ieq(struct bread_str a, struct bread_str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		if (lower(a.p[i]) != lower(b.p[i]))
			return false;
	}
	return true;
}

bool brd_str_starts(struct bread_str s, struct bread_str prefix)
{
	return s.n >= prefix.n && brd_str_eq((struct bread_str){ s.p, prefix.n }, prefix);
}

bool brd_str_ends(struct bread_str s, struct bread_str suffix)
{
	return s.n >= suffix.n &&
	       (suffix.n == 0 || memcmp(s.p + (s.n - suffix.n), suffix.p, suffix.n) == 0);
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct bread_str brd_str_trim(struct bread_str s)
{
	while (s.n && blank(s.p[s.n - 1]))
		s.n--;
	while (s.n && blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	return s;
}

ptrdiff_t brd_str_find(struct bread_str s, struct bread_str what)
{
	const char *hit;

	if (what.n == 0)
		return 0;
	if (s.n < what.n)
		return -1;
	hit = memmem(s.p, s.n, what.p, what.n);
	return hit ? hit - s.p : -1;
}

int brd_str_cmp(struct bread_str a, struct bread_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

struct bread_str brd_str_split(struct bread_str *rest, char sep)
{
	struct bread_str head = *rest;
	const char *hit = rest->n ? memchr(rest->p, sep, rest->n) : NULL;

	if (!hit) {
		*rest = (struct bread_str){ NULL, 0 };
		return head;
	}
	head.n = (size_t)(hit - head.p);
	rest->p = hit + 1;
	rest->n -= head.n + 1;
	return head;
}

bool brd_str_int(struct bread_str s, int64_t *ret)
{
	bool minus = s.n && s.p[0] == '-';
	int64_t v = 0;

	if (s.n == (size_t)minus)
		return false;
	for (size_t i = minus; i < s.n; i++) {
		int digit = s.p[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, minus ? -digit : digit, &v))
			return false;
	}
	*ret = v;
	return true;
}

uint64_t brd_str_hash(struct bread_str s)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
	return h;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* One row of the usual table at a time. Names longer than a row are cut: they
 * are far from anything that they could have been meant to be. */
unsigned brd_str_distance(struct bread_str a, struct bread_str b)
{
	unsigned char row[256];
	size_t an = a.n < 255 ? a.n : 255, bn = b.n < 255 ? b.n : 255;

	for (size_t j = 0; j <= bn; j++)
		row[j] = (unsigned char)j;
	for (size_t i = 1; i <= an; i++) {
		unsigned corner = row[0];

		row[0] = (unsigned char)i;
		for (size_t j = 1; j <= bn; j++) {
			unsigned above = row[j];

			row[j] = (unsigned char)least(
				above + 1u, row[j - 1] + 1u, corner + (a.p[i - 1] != b.p[j - 1]));
			corner = above;
		}
	}
	return row[bn];
}

/* How a character goes on behind its first byte. */
struct lead {
	unsigned len;
	unsigned char low, high; /* what the second byte may be */
};

static struct lead lead_of(unsigned char c)
{
	if (c < 0x80)
		return (struct lead){ 1, 0, 0 };
	if (c < 0xc2 || c > 0xf4)
		return (struct lead){ 0, 0, 0 };
	if (c < 0xe0)
		return (struct lead){ 2, 0x80, 0xbf };
	if (c < 0xf0)
		return (struct lead){ 3, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf };
	return (struct lead){ 4, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf };
}

/* Any character, step by step; what it breaks off at is *ret_bad. */
static size_t walk_char(const char *p, size_t n, size_t *ret_bad)
{
	struct lead l = lead_of((unsigned char)p[0]);
	unsigned char low = l.low, high = l.high;
	size_t i;

	for (i = 1; i < l.len && i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < low || c > high)
			break;
		low = 0x80;
		high = 0xbf;
	}
	if (i == l.len)
		return i;
	if (ret_bad)
		*ret_bad = i;
	return 0;
}

static inline bool follows(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Most characters of two and three bytes need no table. */
size_t brd_utf8_char(const char *p, size_t n, size_t *ret_bad)
{
	unsigned char c = (unsigned char)p[0];

	if (n >= 3 && c > 0xe0 && c < 0xf0 && c != 0xed && follows(p[1]) && follows(p[2]))
		return 3;
	if (n >= 2 && c >= 0xc2 && c < 0xe0 && follows(p[1]))
		return 2;
	return walk_char(p, n, ret_bad);
}

bool brd_utf8_surrogate(const char *p, size_t n)
{
	return n >= 3 && (unsigned char)p[0] == 0xed && ((unsigned char)p[1] & 0xe0) == 0xa0 &&
	       follows(p[2]);
}

size_t brd_utf8_wide(const char *p, size_t n)
{
	size_t i = 0, len;

	while (i < n && (unsigned char)p[i] >= 0x80) {
		len = brd_utf8_char(p + i, n - i, NULL);
		if (len == 0)
			break;
		i += len;
	}
	return i;
}

/* Bytes at the front of s that are ASCII, eight at a time. */
static size_t ascii_run(struct bread_str s)
{
	size_t i = 0;

	for (; i + 8 <= s.n; i += 8) {
		uint64_t x;

		memcpy(&x, s.p + i, 8);
		if (x & 0x8080808080808080u)
			break;
	}
	while (i < s.n && (unsigned char)s.p[i] < 0x80)
		i++;
	return i;
}

bool brd_utf8_ok(struct bread_str s)
{
	size_t i = 0, n;

	if (s.n == 0)
		return true;
	do {
		i += ascii_run(brd_sub(s, i, s.n - i));
		n = brd_utf8_wide(s.p + i, s.n - i);
		i += n;
	} while (n > 0);
	return i == s.n;
}

size_t brd_utf8_cut(struct bread_str s, size_t n)
{
	if (s.n <= n)
		return s.n;
	return n - brd_utf8_open((struct bread_str){ s.p, n });
}

size_t brd_utf8_open(struct bread_str s)
{
	for (size_t back = 1; back <= 3 && back <= s.n; back++) {
		const char *p = s.p + (s.n - back);
		size_t bad = 0;

		if (follows(*p))
			continue; /* the middle of a character */
		if (lead_of((unsigned char)*p).len > back && !brd_utf8_char(p, back, &bad) &&
			bad == back)
			return back;
		return 0;
	}
	return 0;
}
