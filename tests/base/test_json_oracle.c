/* SPDX-License-Identifier: MIT */
/* Our parser and Jansson's must take and refuse the same texts: thousands that
 * grow out of good ones by small harm, always the same thousands. Where Jansson
 * refuses what RFC 8259 allows (lone surrogates, numbers that its types cannot
 * hold, a NUL in a key), its message says so and the text does not count. It
 * overlooks some raw NULs, so that those are not its to judge: they are no JSON. */
#include "test.h"
#include <stdio.h>
#include "base/json.h"
#include "jansson_oracle.h"

#define ROUNDS 40000
#define TEXT_MOST 256

static const char *const seeds[] = {
	"{\"type\":\"text\",\"n\":[0,-1.5e+10,1E-2,12],\"ok\":true,\"no\":false,\"x\":null}",
	"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"]",
	"[\"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\"]",
	" { \"a\" : { \"b\" : [ ] , \"c\" : { } } , \"\" : \"\" } ",
	"[[[[1],[2,[3]]],{}],[{\"k\":[{}]}]]",
	"-0.0e-0",
	"\"\xe2\x82\xac \xf4\x8f\xbf\xbf \xed\x9f\xbf \xee\x80\x80\"",
	"{\"a\":1,\"a\":2,\"b\":\"\\u0000\"}",
	"true",
};

/* What harms most: JSON's own characters and the borders of UTF-8. */
static const unsigned char harm[] = { '{', '}', '[', ']', '"', ',', ':', '\\', 'u', '0', '1', '-',
	'+', '.', 'e', 'E', ' ', '\n', '\t', 0, 0x1f, 0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xe0, 0xed,
	0xa0, 0xef, 0xf0, 0xf4, 0x90, 0xff, 't', 'n', 'f', '/' };

static uint32_t noise(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static size_t damage(char *text, size_t n, uint32_t *seed)
{
	size_t at = noise(seed) % (n + 1);
	char c = (char)harm[noise(seed) % sizeof(harm)];

	switch (noise(seed) % 4) {
	case 0: /* put in */
		if (n == TEXT_MOST)
			return n;
		memmove(text + at + 1, text + at, n - at);
		text[at] = c;
		return n + 1;
	case 1: /* take out */
		if (at == n)
			return n;
		memmove(text + at, text + at + 1, n - at - 1);
		return n - 1;
	case 2: /* cut */
		return noise(seed) % 8 == 0 ? at : n;
	}
	if (at < n)
		text[at] = c;
	return n;
}

static void compare(const char *text, size_t n)
{
	const char *why = "a raw NUL";
	enum verdict theirs = memchr(text, 0, n) ? REFUSED : jansson_verdict(text, n, &why);
	bool ours = brd_json_ok((struct bread_str){ text, n }, 2048);

	if (theirs == NARROWER || (theirs == TAKEN) == ours)
		return;
	print_error("%.*s\nours: %d, theirs: %s\n", (int)n, text, ours, why);
	fail();
}

static void takes_and_refuses_what_jansson_does(void **state)
{
	uint32_t seed = 2463534242u;

	for (int i = 0; i < ROUNDS; i++) {
		char text[TEXT_MOST];
		const char *from = seeds[noise(&seed) % (sizeof(seeds) / sizeof(*seeds))];
		size_t n = strlen(from);

		memcpy(text, from, n);
		compare(text, n);
		for (unsigned k = noise(&seed) % 4 + 1; k > 0; k--) {
			n = damage(text, n, &seed);
			compare(text, n);
		}
	}
}

/* Every pair of bytes, in a string and outside of one. */
static void every_pair_of_bytes(void **state)
{
	for (unsigned i = 0; i < 0x10000; i++) {
		char in[4] = { '"', (char)(i >> 8), (char)i, '"' }, bare[2] = { in[1], in[2] };

		compare(in, 4);
		compare(bare, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_and_refuses_what_jansson_does),
		cmocka_unit_test(every_pair_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
