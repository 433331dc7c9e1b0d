/* SPDX-License-Identifier: MIT */
/* Words for faults in files.
 *
 * What a file holds comes into a message only escaped and cut, so that no file
 * can write control characters to a terminal or a log. Messages are cut between
 * characters (brd_fail). */
#include "config/fault.h"
#include <stdio.h>
#include "base/err.h"
#include "base/jsonw.h"

enum { KEY_SHOWN = 160, TEXT_SHOWN = 48 };

/* Of a long path its end is worth more than its beginning. */
static void say_where(char *where, size_t size, const char *file, struct yaml_place at)
{
	struct bread_str name = brd_str(file);
	char place[32] = "";
	size_t room, skip;

	if (at.line)
		snprintf(place, sizeof(place), ":%u:%u", at.line, at.column);
	room = size - strlen(place) - 1;
	if (name.n <= room) {
		snprintf(where, size, "%s%s", file, place);
		return;
	}
	skip = name.n - (room - 3);
	while (skip < name.n && (name.p[skip] & 0xc0) == 0x80)
		skip++;
	snprintf(where, size, "...%s%s", name.p + skip, place);
}

int brd_yaml_vfault(struct bread_err *err, const char *file, struct yaml_place at, const char *key,
	enum bread_code code, const char *fmt, va_list ap)
{
	char where[sizeof(err->where)], text[sizeof(err->text) + 8];
	struct bread_str k = brd_str(key);
	size_t n = brd_utf8_cut(k, KEY_SHOWN);

	say_where(where, sizeof(where), file, at);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	return brd_fail(err, code, where, "%.*s%s%s%s", (int)n, key, n < k.n ? "..." : "",
		n ? " " : "", text);
}

int brd_yaml_fault(struct bread_err *err, const char *file, struct yaml_place at,
	enum bread_code code, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = brd_yaml_vfault(err, file, at, "", code, fmt, ap);
	va_end(ap);
	return r;
}

struct bread_str brd_yaml_show(struct bread_str s, struct arena *a)
{
	size_t n = brd_utf8_cut(s, TEXT_SHOWN);
	struct bread_str shown;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_quote(&b, brd_sub(s, 0, n));
	if (n < s.n) {
		b.data[--b.len] = '\0'; /* the closing quote, which comes behind the dots */
		brd_buf_addz(&b, "...\"");
	}
	shown = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return shown;
}
