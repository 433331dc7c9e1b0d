/* SPDX-License-Identifier: MIT */
/* Rows on their way to whoever asked: one block of memory that is freed whole.
 *
 * For implementations of the store. Strings are copied, so that the answer
 * outlives what it was read from. */
#pragma once
#include "base/arena.h"
#include "bread/ext/store.h"

struct answer {
	struct arena strings;
	char *rows;
	size_t row_size;
	size_t count, cap;
};

struct answer *brd_answer_new(enum bread_read_kind kind);
void brd_answer_free(struct answer *a); /* NULL, too */
void *brd_answer_row(struct answer *a); /* one more, zeroed; valid until the next one */
void brd_answer_drop(struct answer *a); /* takes the newest row back */
struct bread_str brd_answer_str(struct answer *a, struct bread_str s);

/* Makes it the answer of r, which owns it from now on. */
void brd_answer_give(struct answer *a, struct bread_read *r);

/* What 0 stands for. */
size_t brd_read_limit(const struct bread_read *r);
size_t brd_read_max_bytes(const struct bread_read *r);
