/* SPDX-License-Identifier: MIT */
/* Errors: filling them, naming them, and stopping on a bug.
 *
 * Nothing here allocates, so an error path cannot fail. The arguments of brd_fail
 * may point into the error that is being filled: a caller may put its own words
 * around a text that came from below. */
#include "base/err.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/str.h"

static _Thread_local const char *context;

/* Pieces of a text may come from a peer, or were cut by who put them together: what
 * is left of a character becomes a question mark, so that an error is UTF-8. */
static void scrub(char *z)
{
	size_t n = strlen(z), len;

	for (; n; z += len, n -= len) {
		len = brd_utf8_char(z, n, NULL);
		if (len)
			continue;
		*z = '?';
		len = 1;
	}
}

static void copy_cut(char *to, size_t cap, const char *from)
{
	struct bread_str s = brd_str(from);
	size_t n = brd_utf8_cut(s, cap - 1);

	if (n)
		memmove(to, s.p, n);
	to[n] = 0;
	scrub(to);
}

__attribute__((format(printf, 5, 0))) static int fail(struct bread_err *err, enum bread_code code,
	const char *name, const char *where, const char *fmt, va_list ap)
{
	char text[sizeof(err->text) + 4]; /* so that the cut can tell a whole character */

	if (!err)
		return code;
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = 0;
	copy_cut(err->where, sizeof(err->where), where);
	copy_cut(err->name, sizeof(err->name), name);
	copy_cut(err->text, sizeof(err->text), text);
	err->context[0] = 0;
	err->code = code;
	return code;
}

int brd_fail(struct bread_err *err, enum bread_code code, const char *where, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(err, code, "", where, fmt, ap);
	va_end(ap);
	return code;
}

int brd_fail_as(struct bread_err *err, enum bread_code code, const char *name, const char *where,
	const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(err, code, name, where, fmt, ap);
	va_end(ap);
	return code;
}

/* The system begins its texts with a capital, ours go on behind a colon. What
 * has a second capital ("I/O error", "RPC ...") is a name and stays. */
const char *brd_errno(int e)
{
	static _Thread_local char text[128];

	copy_cut(text, sizeof(text), strerror_r(e, text, sizeof(text)));
	if (text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
		text[0] = (char)(text[0] - 'A' + 'a');
	return text;
}

_Noreturn void brd_assert_failed(const char *cond, const char *file, int line)
{
	fprintf(stderr, "bread: bug: %s does not hold at %s:%d%s%s%s\n", cond, file, line,
		context ? " (" : "", context ? context : "", context ? ")" : "");
	abort();
}

void brd_assert_context(const char *note)
{
	context = note;
}

const char *bread_code_name(enum bread_code code)
{
	switch (code) {
	case BREAD_OK:
		return "ok";
	case BREAD_E_INVALID:
		return "invalid";
	case BREAD_E_NOT_FOUND:
		return "not found";
	case BREAD_E_CONFLICT:
		return "conflict";
	case BREAD_E_TOO_LARGE:
		return "too large";
	case BREAD_E_CANCELED:
		return "canceled";
	case BREAD_E_TIMEOUT:
		return "timeout";
	case BREAD_E_UPSTREAM:
		return "upstream";
	case BREAD_E_BUSY:
		return "busy";
	}
	return "unknown";
}
