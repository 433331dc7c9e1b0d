/* SPDX-License-Identifier: MIT */
/* Base64 (RFC 4648, section 4) and hex.
 *
 * The decoder is strict: padded, no blanks, no bits left over that are not zero,
 * so that each sequence of bytes has one text. */
#include "base/base64.h"
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void brd_base64_add(struct buf *b, const void *p, size_t n)
{
	const unsigned char *in = p;
	size_t len = b->len;
	char *out;

	brd_buf_grow(b, (n + 2) / 3 * 4);
	if (b->bad || n == 0)
		return;
	out = b->data + len;
	for (; n >= 3; in += 3, n -= 3) {
		unsigned v = (unsigned)in[0] << 16 | (unsigned)in[1] << 8 | in[2];

		*out++ = alphabet[v >> 18];
		*out++ = alphabet[v >> 12 & 63];
		*out++ = alphabet[v >> 6 & 63];
		*out++ = alphabet[v & 63];
	}
	if (n) {
		unsigned v = (unsigned)in[0] << 16 | (n == 2 ? (unsigned)in[1] << 8 : 0);

		*out++ = alphabet[v >> 18];
		*out++ = alphabet[v >> 12 & 63];
		*out++ = n == 2 ? alphabet[v >> 6 & 63] : '=';
		*out++ = '=';
	}
	b->len = (size_t)(out - b->data);
	b->data[b->len] = 0;
}

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* n characters (2 to 4) give n - 1 bytes. */
static bool decode_group(struct buf *b, const char *in, unsigned n)
{
	unsigned v = 0;
	char out[3];

	for (unsigned i = 0; i < 4; i++) {
		int six = i < n ? value_of(in[i]) : 0;

		if (six < 0)
			return false;
		v = v << 6 | (unsigned)six;
	}
	if ((n == 2 && (v & 0xffff)) || (n == 3 && (v & 0xff)))
		return false;
	out[0] = (char)(v >> 16);
	out[1] = (char)(v >> 8);
	out[2] = (char)v;
	brd_buf_addn(b, out, n - 1);
	return true;
}

bool brd_base64_decode(struct buf *b, struct bread_str text)
{
	unsigned last = 4;

	if (text.n % 4)
		return false;
	if (text.n == 0)
		return true;
	if (text.p[text.n - 1] == '=')
		last = text.p[text.n - 2] == '=' ? 2 : 3;
	brd_buf_grow(b, text.n / 4 * 3 - (4 - last));
	for (size_t i = 0; i + 4 < text.n; i += 4) {
		if (!decode_group(b, text.p + i, 4))
			return false;
	}
	return decode_group(b, text.p + text.n - 4, last);
}

void brd_hex_add(struct buf *b, const void *p, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *in = p;

	for (size_t i = 0; i < n; i++) {
		char two[2] = { hex[in[i] >> 4], hex[in[i] & 15] };

		brd_buf_addn(b, two, 2);
	}
}
