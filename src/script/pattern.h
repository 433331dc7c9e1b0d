/* SPDX-License-Identifier: MIT */
/* Lua's patterns, counted: compiled to a row of items, each at most once in a chain of calls, and
 * each character that is looked at counts as a step of the script. What patterns mean is Lua's
 * manual, 6.4.1. */
#pragma once
#include "script/engine.h"

#define ITEMS_MAX 512 /* of a pattern; so deep may the matcher nest */
#define CAPTURES_MAX 32

enum item_kind {
	ITEM_SET,      /* one character of a set, with a repeat */
	ITEM_OPEN,     /* ( */
	ITEM_CLOSE,    /* ) */
	ITEM_POSITION, /* () */
	ITEM_BACK,     /* %1 */
	ITEM_BALANCE,  /* %bxy */
	ITEM_FRONTIER, /* %f[set] */
	ITEM_TAIL,     /* $ at the end */
	ITEM_DONE,
};

struct item {
	enum item_kind kind;
	char repeat;        /* 0, '*', '+', '-', '?' */
	unsigned char a, b; /* of a balance; a: which capture */
	uint8_t set[32];
};

struct pattern {
	bool anchored;
	size_t n, captures;
	struct item items[];
};

#define CAPTURE_OPEN SIZE_MAX /* the length of a capture that has begun */
#define CAPTURE_POSITION (SIZE_MAX - 1)

struct matcher {
	lua_State *L;
	const struct pattern *p;
	const char *begin, *end;
	int64_t steps;
	struct capture {
		const char *at;
		size_t n;
	} captures[CAPTURES_MAX];
};

static inline bool brd_pattern_has(const uint8_t *set, unsigned char c)
{
	return set[c >> 3] >> (c & 7) & 1;
}

/* Pushes the memory that the pattern lies in. anchors: a ^ in front is one. Raises. */
const struct pattern *brd_pattern_compile(lua_State *L, struct bread_str text, bool anchors);
/* The end of a match that begins at s; NULL: there is none. Raises when the script must end. */
const char *brd_pattern_match(struct matcher *m, const char *s);
/* The first match from *s on; its end, or NULL. *s is where it begins. */
const char *brd_pattern_search(struct matcher *m, const char **s);
