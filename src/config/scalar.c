/* SPDX-License-Identifier: MIT */
/* Scalars by the core schema of YAML 1.2, and the environment in them.
 *
 * Numbers are rewritten as text and never pass through a double, so that what
 * JSON can say keeps its digits. Relies on the caller for the bound on what comes
 * in; what goes out is bounded by the buffer. */
#include "config/scalar.h"
#include <stdlib.h>
#include "base/err.h"
#include "base/str.h"

#define TEXT_SHOWN 40 /* bytes of the file in a message */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Cuts c or d off the front of *s. */
static bool cut(struct bread_str *s, char c, char d)
{
	if (s->n == 0 || (s->p[0] != c && s->p[0] != d))
		return false;
	*s = brd_sub(*s, 1, s->n - 1);
	return true;
}

static struct bread_str cut_digits(struct bread_str *s)
{
	struct bread_str digits = { s->p, 0 };

	while (digits.n < s->n && is_digit(s->p[digits.n]))
		digits.n++;
	*s = brd_sub(*s, digits.n, s->n - digits.n);
	return digits;
}

/* [-+]? ( [.] [0-9]+ | [0-9]+ ( [.] [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool decimal(struct bread_str s, struct buf *num)
{
	bool minus = s.n > 0 && s.p[0] == '-';
	struct bread_str whole, fraction = { 0 }, power;

	cut(&s, '-', '+');
	whole = cut_digits(&s);
	if (cut(&s, '.', '.'))
		fraction = cut_digits(&s);
	if (whole.n + fraction.n == 0)
		return false;
	power = s;
	if (cut(&s, 'e', 'E')) {
		cut(&s, '-', '+');
		if (cut_digits(&s).n == 0)
			return false;
	}
	if (s.n > 0)
		return false;

	while (whole.n > 1 && whole.p[0] == '0')
		whole = brd_sub(whole, 1, whole.n - 1);
	brd_buf_addz(num, minus ? "-" : "");
	brd_buf_add(num, whole.n ? whole : BRD_STR("0"));
	if (fraction.n) {
		brd_buf_addc(num, '.');
		brd_buf_add(num, fraction);
	}
	brd_buf_add(num, power);
	return true;
}

/* 0o17 and 0x1F. */
static enum scalar_type based(struct bread_str s, struct buf *num, const char **ret_why)
{
	unsigned base = s.n > 2 && s.p[0] == '0' ? (s.p[1] == 'x' ? 16 : s.p[1] == 'o' ? 8 : 0) : 0;
	uint64_t value = 0;
	bool over = false;

	if (!base)
		return SCALAR_TEXT;
	for (size_t i = 2; i < s.n; i++) {
		int digit = brd_hex_value(s.p[i]);

		if (digit < 0 || (unsigned)digit >= base)
			return SCALAR_TEXT;
		over |= __builtin_mul_overflow(value, (uint64_t)base, &value);
		over |= __builtin_add_overflow(value, (uint64_t)digit, &value);
	}
	if (over) {
		*ret_why = "does not fit into 64 bits; write it in decimal or in quotes";
		return SCALAR_BAD;
	}
	brd_buf_addu(num, value);
	return SCALAR_NUMBER;
}

static bool is_one_of(struct bread_str s, const char *const words[3])
{
	return brd_str_is(s, words[0]) || brd_str_is(s, words[1]) || brd_str_is(s, words[2]);
}

static bool not_finite(struct bread_str s)
{
	static const char *const inf[3] = { ".inf", ".Inf", ".INF" };
	static const char *const nan[3] = { ".nan", ".NaN", ".NAN" };

	if (is_one_of(s, nan))
		return true;
	cut(&s, '-', '+');
	return is_one_of(s, inf);
}

enum scalar_type brd_scalar_type(struct bread_str s, struct buf *num, const char **ret_why)
{
	static const char *const null[3] = { "null", "Null", "NULL" };
	static const char *const yes[3] = { "true", "True", "TRUE" };
	static const char *const no[3] = { "false", "False", "FALSE" };

	if (s.n == 0 || brd_str_is(s, "~") || is_one_of(s, null))
		return SCALAR_NULL;
	if (is_one_of(s, yes))
		return SCALAR_TRUE;
	if (is_one_of(s, no))
		return SCALAR_FALSE;
	if (not_finite(s)) {
		*ret_why = "is not a number that JSON can say; leave it out, or put it in quotes";
		return SCALAR_BAD;
	}
	return decimal(s, num) ? SCALAR_NUMBER : based(s, num, ret_why);
}

static bool is_name(struct bread_str s)
{
	if (s.n == 0 || is_digit(s.p[0]))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i] | 0x20;

		if (!is_digit(s.p[i]) && s.p[i] != '_' && !(c >= 'a' && c <= 'z'))
			return false;
	}
	return true;
}

/* Bytes of s that a message shows: the first, up to a control character. */
static int shown(struct bread_str s)
{
	size_t n = 0;

	while (n < s.n && (unsigned char)s.p[n] >= 0x20 && s.p[n] != 0x7f)
		n++;
	return (int)brd_utf8_cut(brd_sub(s, 0, n), TEXT_SHOWN);
}

/* One ${...}: inner is what stands between the braces. */
static int expand_one(struct bread_str inner, struct buf *out, struct bread_err *err)
{
	ptrdiff_t dash = brd_str_find(inner, BRD_STR(":-"));
	struct bread_str name = dash < 0 ? inner : brd_sub(inner, 0, (size_t)dash);
	char z[256];
	const char *value;

	if (!is_name(name) || name.n >= sizeof(z))
		return brd_fail(err, BREAD_E_INVALID, "",
			"${%.*s} names no environment variable; write $${ for a literal ${",
			shown(inner), inner.p);
	memcpy(z, name.p, name.n);
	z[name.n] = '\0';
	value = getenv(z);
	if (dash >= 0 && (!value || !*value)) {
		brd_buf_add(out, brd_sub(inner, name.n + 2, inner.n - name.n - 2));
		return 0;
	}
	if (!value)
		return brd_fail(err, BREAD_E_INVALID, "",
			"the environment variable %s is not set; set it, or write ${%s:-text} to "
			"have a default",
			z, z);
	if (!brd_utf8_ok(brd_str(value)))
		return brd_fail(
			err, BREAD_E_INVALID, "", "the environment variable %s is not UTF-8", z);
	brd_buf_addz(out, value);
	return 0;
}

int brd_scalar_expand(struct bread_str text, struct buf *out, struct bread_err *err)
{
	for (;;) {
		ptrdiff_t at = brd_str_find(text, BRD_STR("${")), end;
		size_t start = (size_t)at;
		int r;

		if (at < 0) {
			brd_buf_add(out, text);
			return 0;
		}
		if (start > 0 && text.p[start - 1] == '$') {
			brd_buf_addn(out, text.p, start - 1);
			brd_buf_addz(out, "${");
			text = brd_sub(text, start + 2, text.n - start - 2);
			continue;
		}
		brd_buf_addn(out, text.p, start);
		text = brd_sub(text, start + 2, text.n - start - 2);
		end = brd_str_find(text, BRD_STR("}"));
		if (end < 0)
			return brd_fail(err, BREAD_E_INVALID, "",
				"${%.*s has no closing brace; write $${ for a literal ${",
				shown(text), text.p);
		r = expand_one(brd_sub(text, 0, (size_t)end), out, err);
		if (r < 0)
			return r;
		text = brd_sub(text, (size_t)end + 1, text.n - (size_t)end - 1);
	}
}
