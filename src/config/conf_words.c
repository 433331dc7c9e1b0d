/* SPDX-License-Identifier: MIT */
/* Fields and their values in words: for faults and for the reference page.
 *
 * Nothing of a text that may be a secret is shown, only how long it is. */
#include "config/conf_value.h"

static void add_units(int64_t value, const struct conf_unit *units, size_t n, struct buf *out)
{
	const struct conf_unit *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (value != 0 && value % units[i].factor == 0 &&
			(!best || units[i].factor >= best->factor))
			best = &units[i];
	brd_buf_addi(out, best ? value / best->factor : value);
	brd_buf_addz(out, best ? best->name : "");
}

void brd_conf_add_size(int64_t bytes, struct buf *out)
{
	static const struct conf_unit shown[] = { { "", 1 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 },
		{ "GiB", 1 << 30 }, { "TiB", INT64_C(1) << 40 } };

	add_units(bytes, shown, CONF_COUNT(shown), out);
}

void brd_conf_add_time(int64_t ms, struct buf *out)
{
	static const struct conf_unit shown[] = { { "ms", 1 }, { "s", 1000 }, { "min", 60 * 1000 },
		{ "h", 60 * 60 * 1000 }, { "d", 24 * 60 * 60 * 1000 } };

	add_units(ms, shown, CONF_COUNT(shown), out);
}

static void add_bound(const struct conf_field *f, double v, struct buf *out)
{
	if (f->type == CONF_SIZE)
		brd_conf_add_size((int64_t)v, out);
	else if (f->type == CONF_TIME)
		brd_conf_add_time((int64_t)v, out);
	else if (f->type == CONF_NUM)
		brd_buf_addf(out, "%g", v);
	else
		brd_buf_addi(out, (int64_t)v);
}

static void add_bounds(const struct conf_field *f, const char *unit, struct buf *out)
{
	if (!CONF_BOUNDED(f))
		return;
	brd_buf_addz(out, *unit ? " of " : " from ");
	add_bound(f, f->min, out);
	brd_buf_addz(out, " to ");
	add_bound(f, f->max, out);
	brd_buf_addz(out, unit);
}

/* "a|b|c" as: a, b or c */
static void add_words(const char *words, struct buf *out)
{
	struct bread_str rest = brd_str(words), word = brd_str_split(&rest, '|');

	brd_buf_add(out, word);
	while (rest.p) {
		word = brd_str_split(&rest, '|');
		brd_buf_addz(out, rest.p ? ", " : " or ");
		brd_buf_add(out, word);
	}
}

void brd_conf_expected(const struct conf_field *f, struct buf *out)
{
	switch (f->type) {
	case CONF_BOOL:
		brd_buf_addz(out, "true or false");
		return;
	case CONF_INT:
		brd_buf_addz(out, "a whole number");
		add_bounds(f, "", out);
		return;
	case CONF_NUM:
		brd_buf_addz(out, "a number");
		add_bounds(f, "", out);
		return;
	case CONF_STR:
		brd_buf_addz(out, "a text");
		add_bounds(f, " bytes", out);
		return;
	case CONF_ID:
		brd_buf_addz(out, "an id of 1 to 128 letters, digits and . _ : -");
		return;
	case CONF_NAME:
		brd_buf_addz(
			out, "a name of small letters, digits and _ that begins with a letter");
		add_bounds(f, " bytes", out);
		return;
	case CONF_ENUM:
		add_words(f->words, out);
		return;
	case CONF_SIZE:
		brd_buf_addz(out, "a size such as 65536, 64k or 1MiB");
		add_bounds(f, "", out);
		return;
	case CONF_TIME:
		brd_buf_addz(out, "a time such as 1500 (ms), 500ms, 15s, 1h or 7d");
		add_bounds(f, "", out);
		return;
	case CONF_JSON:
		brd_buf_addz(out, f->words ? "of type " : "a value");
		if (f->words)
			add_words(f->words, out);
		return;
	case CONF_STRS:
		brd_buf_addz(out, "a list of texts such as [a, b]");
		add_bounds(f, " texts", out);
		return;
	case CONF_GROUP:
		brd_buf_addz(out, "a mapping of keys");
		return;
	}
}

static bool may_be_secret(const struct conf_field *f)
{
	return f->type == CONF_STR || f->type == CONF_STRS || f->type == CONF_JSON ||
	       f->type == CONF_GROUP;
}

static void add_cut(struct bread_str raw, struct buf *out)
{
	enum { SHOWN = 48 };
	bool quoted = raw.n > 0 && raw.p[0] == '"';
	size_t n = brd_utf8_cut(raw, SHOWN);

	brd_buf_add(out, brd_sub(raw, 0, n));
	if (n < raw.n)
		brd_buf_addz(out, quoted ? "...\"" : "...");
}

void brd_conf_shown(const struct conf_field *f, struct jval v, struct buf *out)
{
	struct bread_str raw = brd_json_raw(v);

	switch (brd_json_type(v)) {
	case JSON_NONE:
	case JSON_NULL:
		brd_buf_addz(out, "empty");
		return;
	case JSON_ARRAY:
		brd_buf_addz(out, brd_json_count(v) ? "a list" : "an empty list");
		if (f->type == CONF_STRS && brd_json_count(v))
			brd_buf_addf(out, " of %zu", brd_json_count(v));
		return;
	case JSON_OBJECT:
		brd_buf_addz(out, "a mapping of keys");
		return;
	case JSON_STRING:
		if (may_be_secret(f)) {
			brd_buf_addf(out, "a text of %zu bytes", raw.n - 2);
			return;
		}
		break;
	case JSON_NUMBER:
		if (may_be_secret(f)) {
			brd_buf_addz(out, "a number");
			return;
		}
		break;
	case JSON_BOOL:
		break;
	}
	add_cut(raw, out);
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

void brd_conf_env_name(const char *key, struct buf *out)
{
	brd_buf_addz(out, "BREAD_");
	for (const char *p = key; *p; p++) {
		bool letter = p > key && p[-1] != '.' && p[-1] != '-' && p[-1] != '_';
		bool lower_next = p[1] >= 'a' && p[1] <= 'z';

		/* maxBody: MAX_BODY; baseURL: BASE_URL; URLPath: URL_PATH */
		if (is_upper(*p) && letter && (!is_upper(p[-1]) || lower_next))
			brd_buf_addc(out, '_');
		if (*p == '.' || *p == '-')
			brd_buf_addc(out, '_');
		else
			brd_buf_addc(out, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
	}
}

char *brd_conf_key(const char *base, const char *key, struct arena *a)
{
	return (char *)brd_arena_printf(a, "%s%s%s", base, *base ? "." : "", key).p;
}
