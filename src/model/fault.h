/* SPDX-License-Identifier: MIT */
/* What went wrong, in our words: kinds of errors from statuses, type words and
 * sentences of providers. */
#pragma once
#include "base/arena.h"
#include "base/json.h"
#include "model/stream.h"

struct signals { /* what a provider said; empty or 0 where it did not */
	int status;
	struct bread_str type, code, message;
};

/* kind, retryable and status of *f; text is set to the message. */
void brd_fault_classify(struct fault *f, const struct signals *s);

/* Signals of an error body, JSON of any shape, HTML or nothing. Strings are the arena's. */
void brd_fault_read_body(struct signals *s, struct bread_str body, struct arena *a);
/* The same of an error value: an object, a string. */
void brd_fault_read_value(struct signals *s, struct jval error, struct arena *a);

bool brd_is_overflow(struct bread_str text); /* a sentence about a context that is too long */

/* ms that retry-after-ms or retry-after (seconds or a date) ask for; -1: they ask nothing. */
int64_t brd_retry_after(struct bread_str after_ms, struct bread_str after);
/* The n-th wait (from 0) when the provider asked for none: 0.5 s doubled up to 8 s, less up to a
 * quarter by chance. */
int64_t brd_retry_backoff(unsigned n);
