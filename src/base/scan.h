/* SPDX-License-Identifier: MIT */
/* The one inner loop that the JSON reader and writer share. */
#pragma once
#include <stdint.h>
#include <string.h>

/* The first byte from p on that is not a plain one of a JSON string: a quote, a
 * backslash, a control character or a byte that is not ASCII; end, if all are.
 *
 * Eight at a time: in a byte below 0x80 each of the three subtractions reaches the
 * top bit only for its special. Borrows run upwards, so the lowest hit is true. */
static inline const char *scan_plain(const char *p, const char *end)
{
	while (end - p >= 8) {
		uint64_t x, quote, slash, hit;

		memcpy(&x, p, 8);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
		x = __builtin_bswap64(x);
#endif
		quote = x ^ 0x2222222222222222u;
		slash = x ^ 0x5c5c5c5c5c5c5c5cu;
		hit = (quote - 0x0101010101010101u) | (slash - 0x0101010101010101u) |
		      (x - 0x2020202020202020u) | x;
		hit &= 0x8080808080808080u;
		if (hit)
			return p + __builtin_ctzll(hit) / 8;
		p += 8;
	}
	while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
		*p != '\\')
		p++;
	return p;
}
