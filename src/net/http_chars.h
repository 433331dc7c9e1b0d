/* SPDX-License-Identifier: MIT */
/* Which bytes may stand where in HTTP (RFC 9110 5.5, 5.6.2). */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"

static inline bool brd_http_token_char(unsigned char c)
{
	static const uint32_t bits[4] = { 0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff };

	return c < 128 && (bits[c >> 5] >> (c & 31) & 1);
}

/* Of a header's value: no control but the tab. */
static inline bool brd_http_text_char(unsigned char c)
{
	return (c >= 0x20 && c != 0x7f) || c == '\t';
}

/* The byte that %xx at p (of n bytes) stands for; -1: a bad one, or NUL. */
static inline int brd_http_escaped(const char *p, size_t n)
{
	int high = n < 3 ? -1 : brd_hex_value(p[1]);
	int low = n < 3 ? -1 : brd_hex_value(p[2]);

	return high < 0 || low < 0 || (high | low) == 0 ? -1 : high << 4 | low;
}
