/* SPDX-License-Identifier: MIT */
/* Errors and assertions.
 *
 * Three kinds, told apart by what the reader should do: a bug of ours stops the
 * program (brd_assert, on in release builds too; never for anything that a peer,
 * a file or a model can cause); a condition that the caller handles is a code
 * that the function's comment names; all else goes up unchanged, with its text,
 * to where a person can be told. */
#pragma once
#include "bread/types.h"

/* Fills *err, if there is one, and returns code: return brd_fail(...);
 * brd_fail_as also gives the code word of the wire, "AGENT_NOT_FOUND". */
__attribute__((format(printf, 4, 5))) int brd_fail(
	struct bread_err *err, enum bread_code code, const char *where, const char *fmt, ...);
__attribute__((format(printf, 5, 6))) int brd_fail_as(struct bread_err *err, enum bread_code code,
	const char *name, const char *where, const char *fmt, ...);

/* What a failing system call said: "no such file or directory". It is the
 * thread's, and stays until its next call. */
const char *brd_errno(int e);

#define brd_assert(cond) \
	do { \
		if (__builtin_expect(!(cond), 0)) \
			brd_assert_failed(#cond, __FILE__, __LINE__); \
	} while (0)

_Noreturn void brd_assert_failed(const char *cond, const char *file, int line);

/* What an assertion prints beside itself: the run, node and step at work on this
 * thread. The driver sets it; NULL clears it. note is borrowed. */
void brd_assert_context(const char *note);
