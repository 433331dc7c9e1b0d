/* SPDX-License-Identifier: MIT */
/* Blocks that double, and a mark in the newest.
 *
 * A piece that would leave much of a block unused gets a block of its own behind
 * the newest, so that the newest goes on being filled. */
#include "base/arena.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/mem.h"

#define BLOCK_FIRST 512
#define BLOCK_MOST 65536
#define ALIGN _Alignof(max_align_t)

struct arena_block {
	struct arena_block *older;
	size_t cap;
	_Alignas(max_align_t) char data[];
};

void brd_arena_fini(struct arena *a)
{
	for (struct arena_block *b = a->block, *older; b; b = older) {
		older = b->older;
		free(b);
	}
	*a = (struct arena){ 0 };
}

void brd_arena_reset(struct arena *a)
{
	struct arena_block *kept = a->block;

	if (!kept)
		return;
	a->block = kept->older;
	brd_arena_fini(a);
	if (kept->cap > BLOCK_MOST) {
		free(kept);
		return;
	}
	kept->older = NULL;
	*a = (struct arena){ kept, 0, sizeof(*kept) + kept->cap };
}

static struct arena_block *block_new(struct arena *a, size_t cap)
{
	struct arena_block *b;
	size_t all;

	brd_assert(!__builtin_add_overflow(cap, sizeof(*b), &all));
	b = brd_realloc(NULL, all);
	b->cap = cap;
	a->total += all;
	return b;
}

static void *own_block(struct arena *a, size_t n)
{
	struct arena_block *b = block_new(a, n);

	b->older = a->block->older;
	a->block->older = b;
	return b->data;
}

static void next_block(struct arena *a, size_t n)
{
	size_t cap = a->block ? a->block->cap * 2 : BLOCK_FIRST;
	struct arena_block *b;

	if (cap > BLOCK_MOST)
		cap = BLOCK_MOST;
	b = block_new(a, cap < n ? n : cap);
	b->older = a->block;
	a->block = b;
	a->used = 0;
}

/* n bytes that hold whatever was there before. */
static void *bump(struct arena *a, size_t n)
{
	size_t left = a->block ? a->block->cap - a->used : 0;
	void *p;

	brd_assert(n <= SIZE_MAX / 2);
	n = n ? (n + ALIGN - 1) & ~(ALIGN - 1) : ALIGN;
	if (n > left) {
		if (a->block && (left > 1024 || n > BLOCK_MOST))
			return own_block(a, n);
		next_block(a, n);
	}
	p = a->block->data + a->used;
	a->used += n;
	return p;
}

void *brd_arena_alloc(struct arena *a, size_t n)
{
	return memset(bump(a, n), 0, n);
}

void *brd_arena_array(struct arena *a, size_t count, size_t size)
{
	size_t n;

	brd_assert(!__builtin_mul_overflow(count, size, &n));
	return brd_arena_alloc(a, n);
}

char *brd_arena_strz(struct arena *a, struct bread_str s)
{
	char *p = bump(a, s.n + 1);

	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = 0;
	return p;
}

struct bread_str brd_arena_copy(struct arena *a, struct bread_str s)
{
	return (struct bread_str){ brd_arena_strz(a, s), s.n };
}

struct bread_str brd_arena_printf(struct arena *a, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;
	int n;
	char *p;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	brd_assert(n >= 0);
	p = bump(a, (size_t)n + 1);
	if ((size_t)n < sizeof(small))
		memcpy(p, small, (size_t)n + 1);
	else
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return (struct bread_str){ p, (size_t)n };
}
