/* SPDX-License-Identifier: MIT */
/* Numbers of JSON, compared and divided exactly.
 *
 * Works on the lexeme, so 0.3 is a multiple of 0.1 and 9007199254740993 is not
 * 9007199254740992. Relies on the lexeme being what the JSON reader let through.
 * Exponents beyond +-2^40 are taken as that; two such numbers may then be called
 * equal, which no double could tell apart either. */
#include "base/schema_impl.h"
#include "base/str.h"

#define EXPONENT_MAX ((int64_t)1 << 40)
#define SMALL_DIGITS 18

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* What stands behind the 'e'. */
static int64_t exponent_of(const char *p, const char *end)
{
	bool negative = p < end && *p == '-';
	int64_t e = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	for (; p < end; p++)
		if (e < EXPONENT_MAX)
			e = e * 10 + (*p - '0');
	if (e > EXPONENT_MAX)
		e = EXPONENT_MAX;
	return negative ? -e : e;
}

/* An integer that is short enough: by far the most frequent number. */
static bool small_decimal(struct bread_str s, struct schema_decimal *d)
{
	size_t i = d->negative ? 1 : 0;
	int64_t v = 0;

	if (s.n - i > SMALL_DIGITS)
		return false;
	for (; i < s.n; i++) {
		if (!is_digit(s.p[i]))
			return false;
		v = v * 10 + (s.p[i] - '0');
	}
	d->value = d->negative ? -v : v;
	return true;
}

struct schema_decimal brd_schema_decimal(struct bread_str s)
{
	struct schema_decimal d = { .negative = s.n && s.p[0] == '-' };
	const char *end = s.p + s.n;
	const char *p = s.p + (d.negative ? 1 : 0);
	int64_t index = 0, whole = -1, first = 0, last = 0, e = 0;

	d.small = small_decimal(s, &d);
	for (; p < end && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.') {
			whole = index;
			continue;
		}
		if (*p != '0') {
			if (!d.p) {
				d.p = p;
				first = index;
			}
			last = index;
		}
		index++;
	}
	if (whole < 0)
		whole = index;
	if (p < end)
		e = exponent_of(p + 1, end);
	if (d.p) {
		d.n = (size_t)(last - first + 1);
		d.lead = whole - 1 - first + e;
		d.last = whole - 1 - last + e;
	} else {
		d.negative = false; /* -0 is 0 */
	}
	return d;
}

/* The next digit of *p, over a '.'. */
static char next_digit(const char **p)
{
	if (**p == '.')
		(*p)++;
	return *(*p)++;
}

static int magnitude_cmp(const struct schema_decimal *a, const struct schema_decimal *b)
{
	size_t common = a->n < b->n ? a->n : b->n;
	const char *p = a->p, *q = b->p;

	if (!a->n || !b->n)
		return (a->n > 0) - (b->n > 0);
	if (a->lead != b->lead)
		return a->lead < b->lead ? -1 : 1;
	for (size_t i = 0; i < common; i++) {
		char x = next_digit(&p), y = next_digit(&q);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return (a->n > b->n) - (a->n < b->n);
}

int brd_schema_decimal_cmp(const struct schema_decimal *a, const struct schema_decimal *b)
{
	if (a->small && b->small)
		return (a->value > b->value) - (a->value < b->value);
	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	return a->negative ? magnitude_cmp(b, a) : magnitude_cmp(a, b);
}

/* Equal for equal numbers, however they are written. */
uint64_t brd_schema_decimal_hash(const struct schema_decimal *d)
{
	uint64_t h = 0x9e3779b97f4a7c15u ^ (uint64_t)d->lead ^ (d->negative ? 0x55 : 0);
	const char *p = d->p;

	for (size_t i = 0; i < d->n; i++)
		h = (h ^ (unsigned char)next_digit(&p)) * 0x100000001b3u;
	return h;
}

bool brd_schema_integral(struct bread_str s)
{
	struct schema_decimal d;
	size_t i = 0;

	while (i < s.n && (is_digit(s.p[i]) || s.p[i] == '-'))
		i++;
	if (i == s.n)
		return true;
	d = brd_schema_decimal(s);
	return d.n == 0 || d.last >= 0;
}

bool brd_schema_divisor(struct bread_str s, struct schema_divisor *ret)
{
	struct schema_decimal d = brd_schema_decimal(s);
	const char *p = d.p;

	*ret = (struct schema_divisor){ .last = d.last, .lexeme = s };
	if (d.n > SCHEMA_DIVISOR_DIGITS)
		return false;
	for (size_t i = 0; i < d.n; i++)
		ret->digits = ret->digits * 10 + (unsigned)(next_digit(&p) - '0');
	if (d.small)
		ret->value = d.value;
	return true;
}

/* v = V 10^e and m = M 10^f, where neither V nor M ends in a zero. If e < f, m
 * cannot divide v: V would have to end in a zero. Else M must divide V 10^(e-f);
 * more than 127 factors of ten bring no new factor that M could have. */
bool brd_schema_multiple(struct bread_str s, const struct schema_divisor *m)
{
	struct schema_decimal v = brd_schema_decimal(s);
	schema_u128 rest = 0;
	const char *p = v.p;
	int64_t tens;

	if (v.n == 0)
		return true;
	if (v.small && m->value)
		return v.value % m->value == 0;
	tens = v.last - m->last;
	if (tens < 0)
		return false;
	for (size_t i = 0; i < v.n; i++)
		rest = (rest * 10 + (unsigned)(next_digit(&p) - '0')) % m->digits;
	for (int64_t i = 0; i < tens && i < 128 && rest; i++)
		rest = rest * 10 % m->digits;
	return rest == 0;
}
