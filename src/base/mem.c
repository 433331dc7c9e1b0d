/* SPDX-License-Identifier: MIT */
/* Memory that never comes back NULL.
 *
 * One way to the system's allocator. Only what wants memory and gets none ends in
 * the handler; a handler may free what it can and jump or stop, but it must not
 * return to us: then we abort. The handler is set once, before threads start. */
#include "base/mem.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"

static void (*handler)(size_t wanted);

static _Noreturn void out_of_memory(size_t wanted)
{
	if (handler)
		handler(wanted);
	fprintf(stderr, "bread: no memory for %zu bytes\n", wanted);
	abort();
}

void *brd_alloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p)
		out_of_memory(n);
	return p;
}

void *brd_realloc(void *p, size_t n)
{
	void *q = realloc(p, n ? n : 1);

	if (!q)
		out_of_memory(n);
	return q;
}

void *brd_array(size_t count, size_t size)
{
	size_t n;

	brd_assert(!__builtin_mul_overflow(count, size, &n));
	return brd_alloc(n);
}

char *brd_strdup(const char *s)
{
	return brd_strndup((struct bread_str){ s, strlen(s) });
}

char *brd_strndup(struct bread_str s)
{
	char *p = brd_realloc(NULL, s.n + 1);

	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = 0;
	return p;
}

void brd_mem_handler(void (*on_empty)(size_t wanted))
{
	handler = on_empty;
}
