/* SPDX-License-Identifier: MIT */
/* Memory that never comes back NULL.
 *
 * For small objects of our own making. When the system has no more, the handler
 * is called (default: say so on stderr and abort), so no caller carries a path
 * for a case that hardly ever is. Sizes that a peer chooses are checked against
 * a limit before they come here. */
#pragma once
#include "bread/types.h"

void *brd_alloc(size_t n); /* zeroed */
void *brd_realloc(void *p, size_t n);
void *brd_array(size_t count, size_t size); /* zeroed; asserts that the product fits */
char *brd_strdup(const char *s);
char *brd_strndup(struct bread_str s); /* a copy that ends in a NUL */
/* Once, before threads start. on_empty may jump or end the process; when it returns, we abort. */
void brd_mem_handler(void (*on_empty)(size_t wanted));
