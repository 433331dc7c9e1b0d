/* SPDX-License-Identifier: MIT */
/* What the program says, and the exit status that goes with an error. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/jsonw.h"
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
	if (err->code == BREAD_E_CANCELED)
		return EXIT_CANCELLED;
	/* a kind of store that there is not is a fault of the project */
	if (!strncmp(err->where, "store.", 6) ||
		(!strcmp(err->where, "store") && err->code != BREAD_E_INVALID))
		return EXIT_UNREACHABLE;
	return EXIT_FAILED;
}

/* NO_COLOR counts when it is not empty (no-color.org). */
bool cli_colour(FILE *f)
{
	const char *no = getenv("NO_COLOR");

	return isatty(fileno(f)) && !(no && *no);
}

void cli_text(FILE *f, struct bread_str text)
{
	if (!isatty(fileno(f))) {
		fwrite(text.p, 1, text.n, f);
		return;
	}
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		/* C0 and DEL, and C1 as UTF-8 spells it (0xc2 0x80 to 0x9f) */
		if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
			continue;
		if (c == 0xc2 && i + 1 < text.n && (unsigned char)text.p[i + 1] < 0xa0) {
			i++;
			continue;
		}
		fputc(c, f);
	}
}

void cli_dim(FILE *f, const char *fmt, ...)
{
	bool colour = cli_colour(f);
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	fputs(colour ? "\033[2m" : "", f);
	cli_text(f, brd_str(text));
	fputs(colour ? "\033[0m\n" : "\n", f);
	fflush(f);
	free(text);
}

struct bread_str cli_quote(struct bread_str text, struct arena *a)
{
	struct bread_str json;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_quote(&b, text);
	json = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return json;
}

const char *cli_time(int64_t ms, char text[CLI_TIME])
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(text, CLI_TIME, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, CLI_TIME - n, ".%03dZ", (int)(ms % 1000));
	return text;
}
