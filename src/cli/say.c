/* SPDX-License-Identifier: MIT */
/* What the program says, and the exit status that goes with an error. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cli/cli.h"

static void say(FILE *f, const char *fmt, va_list ap)
{
	fputs("[bread] ", f);
	vfprintf(f, fmt, ap);
	fputc('\n', f);
	fflush(f);
}

void cli_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(stdout, fmt, ap);
	va_end(ap);
}

void cli_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(stderr, fmt, ap);
	va_end(ap);
}

int cli_fail(const struct bread_err *err)
{
	if (err->where[0] && !err->name[0])
		cli_error("%s: %s", err->where, err->text);
	else
		cli_error("%s", err->text);
	switch (err->code) {
	case BREAD_E_CANCELED:
		return EXIT_CANCELLED;
	case BREAD_E_UPSTREAM:
	case BREAD_E_BUSY:
		return EXIT_UNREACHABLE;
	default:
		return EXIT_FAILED;
	}
}

bool cli_colour(FILE *f)
{
	return isatty(fileno(f)) && !getenv("NO_COLOR");
}
