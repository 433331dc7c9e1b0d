/* SPDX-License-Identifier: MIT */
/* The one inner loop that the JSON reader and writer share. */
#pragma once
#include <stdint.h>
#include <string.h>

/* The top bits of those of the eight bytes at p that are not plain: a quote, a
 * backslash, a control character, or not ASCII. In a byte below 0x80 each of the
 * three subtractions reaches the top bit only for its special. Borrows run upwards,
 * so that only the lowest bit can be trusted; it is the first byte's. */
static inline uint64_t scan_hits(const char *p)
{
	uint64_t x, quote, slash;

	memcpy(&x, p, 8);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	quote = x ^ 0x2222222222222222u;
	slash = x ^ 0x5c5c5c5c5c5c5c5cu;
	return ((quote - 0x0101010101010101u) | (slash - 0x0101010101010101u) |
		       (x - 0x2020202020202020u) | x) &
	       0x8080808080808080u;
}

/* The first byte from p on that is not a plain one of a JSON string; end, if all are. */
static inline const char *scan_plain(const char *p, const char *end)
{
	const char *start = p;
	uint64_t hits;

	for (; end - p >= 8; p += 8) {
		hits = scan_hits(p);
		if (hits)
			return p + __builtin_ctzll(hits) / 8;
	}
	if (end - start >= 8) { /* once more, over bytes that are plain and those left */
		hits = scan_hits(end - 8);
		return hits ? end - 8 + __builtin_ctzll(hits) / 8 : end;
	}
	while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
		*p != '\\')
		p++;
	return p;
}
