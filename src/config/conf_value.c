/* SPDX-License-Identifier: MIT */
/* Values of fields.
 *
 * Everything becomes a JSON value first (a default and an environment variable
 * too), so each type is checked in one place. Nothing is stored in the slot
 * unless the value fits. */
#include "config/conf_value.h"
#include <math.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/uuid.h"
#include "config/scalar.h"

/* Sizes count in 1024s, whichever way the unit is written. */
static const struct conf_unit size_units[] = {
	{ "", 1 },
	{ "b", 1 },
	{ "k", 1 << 10 },
	{ "kb", 1 << 10 },
	{ "kib", 1 << 10 },
	{ "m", 1 << 20 },
	{ "mb", 1 << 20 },
	{ "mib", 1 << 20 },
	{ "g", 1 << 30 },
	{ "gb", 1 << 30 },
	{ "gib", 1 << 30 },
	{ "t", INT64_C(1) << 40 },
	{ "tb", INT64_C(1) << 40 },
	{ "tib", INT64_C(1) << 40 },
};

static const struct conf_unit time_units[] = {
	{ "", 1 },
	{ "ms", 1 },
	{ "s", 1000 },
	{ "min", 60 * 1000 },
	{ "m", 60 * 1000 },
	{ "h", 60 * 60 * 1000 },
	{ "d", 24 * 60 * 60 * 1000 },
	{ "w", 7 * 24 * 60 * 60 * 1000 },
};

static bool within(const struct conf_field *f, double v)
{
	return !CONF_BOUNDED(f) || (v >= f->min && v <= f->max);
}

static bool has_nul(struct bread_str s)
{
	return s.n > 0 && memchr(s.p, '\0', s.n);
}

/* A whole number and one of the units behind it, in either case. */
static bool parse_units(struct bread_str s, const struct conf_unit *units, size_t n, int64_t *ret)
{
	size_t digits = 0;
	int64_t number;
	struct bread_str unit;

	s = brd_str_trim(s);
	while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9')
		digits++;
	if (!brd_str_int(brd_sub(s, 0, digits), &number))
		return false;
	unit = brd_str_trim(brd_sub(s, digits, s.n - digits));
	for (size_t i = 0; i < n; i++)
		if (brd_str_ieq(unit, brd_str(units[i].name)))
			return !__builtin_mul_overflow(number, units[i].factor, ret);
	return false;
}

static enum conf_fit take_units(const struct conf_field *f, struct jval v, struct arena *a,
	const struct conf_unit *units, size_t n, void *slot)
{
	int64_t i;

	if (brd_json_type(v) == JSON_STRING ? !parse_units(brd_json_str(v, a), units, n, &i)
					    : !brd_json_int(v, &i))
		return CONF_MISFIT;
	if (i < 0 || !within(f, (double)i))
		return CONF_MISFIT;
	*(int64_t *)slot = i;
	return CONF_FITS;
}

static enum conf_fit take_int(const struct conf_field *f, struct jval v, void *slot)
{
	int64_t i;

	if (!brd_json_int(v, &i) || !within(f, (double)i))
		return CONF_MISFIT;
	*(int64_t *)slot = i;
	return CONF_FITS;
}

static enum conf_fit take_num(const struct conf_field *f, struct jval v, void *slot)
{
	double d = brd_json_num(v, NAN);

	if (brd_json_type(v) != JSON_NUMBER || !isfinite(d) || !within(f, d))
		return CONF_MISFIT;
	*(double *)slot = d;
	return CONF_FITS;
}

static enum conf_fit take_str(
	const struct conf_field *f, struct jval v, void *slot, struct arena *a)
{
	struct bread_str s;

	if (brd_json_type(v) != JSON_STRING)
		return CONF_MISFIT;
	s = brd_json_str(v, a);
	if (has_nul(s))
		return CONF_HAS_NUL;
	if (!brd_utf8_ok(s))
		return CONF_HAS_HALF;
	if (f->type == CONF_ID && !brd_id_ok(s))
		return CONF_MISFIT;
	if (f->type == CONF_NAME && !brd_name_ok(s))
		return CONF_MISFIT;
	if (!within(f, (double)s.n))
		return CONF_MISFIT;
	*(char **)slot = brd_arena_strz(a, s);
	return CONF_FITS;
}

/* The place of word among "a|b|c", or -1. */
static int word_index(const char *words, struct bread_str word)
{
	struct bread_str rest = brd_str(words);

	for (int i = 0; rest.p; i++)
		if (brd_str_eq(brd_str_split(&rest, '|'), word))
			return i;
	return -1;
}

static enum conf_fit take_enum(
	const struct conf_field *f, struct jval v, void *slot, struct arena *a)
{
	int i = brd_json_type(v) == JSON_STRING ? word_index(f->words, brd_json_str(v, a)) : -1;

	if (i < 0)
		return CONF_MISFIT;
	*(int *)slot = i;
	return CONF_FITS;
}

static enum conf_fit take_json(const struct conf_field *f, struct jval v, void *slot)
{
	const char *word = brd_json_type_name(brd_json_type(v));

	if (brd_json_type(v) == JSON_NONE || (f->words && word_index(f->words, brd_str(word)) < 0))
		return CONF_MISFIT;
	*(struct jval *)slot = v;
	return CONF_FITS;
}

static enum conf_fit take_strs(
	const struct conf_field *f, struct jval v, void *slot, struct arena *a, struct jval *ret_at)
{
	struct conf_strs strs = { .n = brd_json_count(v) };
	static const struct conf_field member = { .type = CONF_STR };

	if (brd_json_type(v) != JSON_ARRAY || !within(f, (double)strs.n))
		return CONF_MISFIT;
	strs.v = brd_arena_array(a, strs.n + 1, sizeof(*strs.v));
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		enum conf_fit fit = take_str(&member, it.value, &strs.v[it.index], a);

		if (fit != CONF_FITS) {
			*ret_at = it.value;
			return fit;
		}
	}
	*(struct conf_strs *)slot = strs;
	return CONF_FITS;
}

enum conf_fit brd_conf_take(
	const struct conf_field *f, struct jval v, void *slot, struct arena *a, struct jval *ret_at)
{
	*ret_at = v;
	switch (f->type) {
	case CONF_BOOL:
		if (brd_json_type(v) != JSON_BOOL)
			return CONF_MISFIT;
		*(bool *)slot = brd_json_bool(v, false);
		return CONF_FITS;
	case CONF_INT:
		return take_int(f, v, slot);
	case CONF_NUM:
		return take_num(f, v, slot);
	case CONF_STR:
	case CONF_ID:
	case CONF_NAME:
		return take_str(f, v, slot, a);
	case CONF_ENUM:
		return take_enum(f, v, slot, a);
	case CONF_SIZE:
		return take_units(f, v, a, size_units, CONF_COUNT(size_units), slot);
	case CONF_TIME:
		return take_units(f, v, a, time_units, CONF_COUNT(time_units), slot);
	case CONF_JSON:
		return take_json(f, v, slot);
	case CONF_STRS:
		return take_strs(f, v, slot, a, ret_at);
	case CONF_GROUP:
		break;
	}
	return CONF_MISFIT;
}

/* Text as the JSON value of a field's type; it may turn out not to fit later. */
static void text_to_json(const struct conf_field *f, struct bread_str text, struct buf *json)
{
	struct jsonw w = brd_jsonw(json);
	const char *why;

	switch (f->type) {
	case CONF_BOOL:
		brd_buf_add(json, brd_str_is(text, "1")   ? BRD_STR("true")
				  : brd_str_is(text, "0") ? BRD_STR("false")
							  : text);
		return;
	case CONF_INT:
	case CONF_NUM:
		if (brd_scalar_type(text, json, &why) != SCALAR_NUMBER)
			brd_buf_clear(json);
		return;
	case CONF_JSON:
		brd_buf_add(json, text);
		return;
	case CONF_STRS:
		if (brd_str_starts(text, BRD_STR("["))) {
			brd_buf_add(json, text);
			return;
		}
		brd_jw_arr(&w);
		while (text.p && text.n > 0)
			brd_jw_str(&w, brd_str_trim(brd_str_split(&text, ',')));
		brd_jw_end_arr(&w);
		return;
	default:
		brd_jw_str(&w, text);
	}
}

enum conf_fit brd_conf_take_text(
	const struct conf_field *f, struct bread_str text, void *slot, struct arena *a)
{
	enum conf_fit fit = CONF_MISFIT;
	struct jval v, at;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	text_to_json(f, text, &b);
	if (brd_json_parse(a, brd_arena_copy(a, brd_buf_str(&b)), JSON_DEPTH, &v, NULL) == 0)
		fit = brd_conf_take(f, v, slot, a, &at);
	brd_buf_fini(&b);
	return fit;
}
