/* SPDX-License-Identifier: MIT */
/* Memory for what lives as long as one request, one parse, one turn of a run.
 *
 * Freed whole. What outlives it is copied to its new owner at one visible place.
 * A zeroed arena is an empty one. Not thread-safe. */
#pragma once
#include "bread/types.h"

struct arena_block;

struct arena {
	struct arena_block *block; /* the newest; older ones hang behind it */
	size_t used;               /* of the newest */
	size_t total;              /* bytes asked of the system */
};

void brd_arena_fini(struct arena *a);  /* frees all; the arena is empty again */
void brd_arena_reset(struct arena *a); /* the same, but keeps one block for the next turn */
void *brd_arena_alloc(struct arena *a, size_t n); /* zeroed, aligned for anything */
void *brd_arena_array(struct arena *a, size_t count, size_t size);
struct bread_str brd_arena_copy(struct arena *a, struct bread_str s); /* ends in a NUL */
char *brd_arena_strz(struct arena *a, struct bread_str s);
__attribute__((format(printf, 2, 3))) struct bread_str brd_arena_printf(
	struct arena *a, const char *fmt, ...);
