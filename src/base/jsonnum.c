/* SPDX-License-Identifier: MIT */
/* Numbers of JSON: a double as the shortest decimal that reads back equal, in
 * JavaScript's layout; and what the lexemes of others are worth.
 *
 * Neither depends on the locale of the program that we are a part of. */
#include "base/jsonw.h"
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonnum.h"
#include "base/mem.h"

/* value = 0.digits * 10^point; no zeros at either end of digits. */
struct decimal {
	char digits[20];
	int n;
	int point;
};

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	brd_assert(c_locale);
}

static double read_terminated(const char *z)
{
	pthread_once(&c_locale_once, make_c_locale);
	return strtod_l(z, NULL, c_locale);
}

static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

static void set_digits(struct decimal *d, uint64_t m, int exponent)
{
	char text[20];
	int at = sizeof(text);

	while (m % 10 == 0) {
		m /= 10;
		exponent++;
	}
	for (; m; m /= 10)
		text[--at] = (char)('0' + m % 10);
	d->n = (int)sizeof(text) - at;
	memcpy(d->digits, text + at, (size_t)d->n);
	d->point = d->n + exponent;
}

/* What people write: up to 15 digits, few of them behind the point. m and the
 * power of ten are exact, so that m / 10^k is what a reader makes of the text;
 * and two texts of up to 15 digits never mean the same double. */
static bool short_decimal(struct decimal *d, double v)
{
	if (v >= 1e15 || v < 1e-5)
		return false;
	for (int k = 0; k <= 15; k++) {
		double m = nearbyint(v * tens[k]);

		if (m >= 1e15)
			return false;
		if (m > 0 && m / tens[k] == v) {
			set_digits(d, (uint64_t)m, -k);
			return true;
		}
	}
	return false;
}

static double value_of(const struct decimal *d)
{
	char text[48];

	snprintf(text, sizeof(text), "%.*se%d", d->n, d->digits, d->point - d->n);
	return read_terminated(text);
}

/* v to n digits, rounded as the system's printf does it: exactly. */
static void round_to(struct decimal *d, double v, int n)
{
	char text[48];
	const char *p = text;
	uint64_t m = 0;
	int got = 0;

	snprintf(text, sizeof(text), "%.*e", n - 1, v);
	for (; *p != 'e'; p++) {
		if (*p < '0' || *p > '9')
			continue; /* the locale's point */
		m = m * 10 + (uint64_t)(*p - '0');
		got++;
	}
	set_digits(d, m, (int)strtol(p + 1, NULL, 10) - (got - 1));
}

/* One more in the last of n places. */
static void next_up(struct decimal *d, int n)
{
	uint64_t m = 0;

	for (int i = 0; i < n; i++)
		m = m * 10 + (i < d->n ? (uint64_t)(d->digits[i] - '0') : 0);
	set_digits(d, m + 1, d->point - n);
}

/* The neighbours of a power of two are not equally far: the nearest decimal of n
 * digits may miss below while the one above still reads back. */
static bool reads_back(struct decimal *d, double v, int n)
{
	int exponent;

	if (value_of(d) == v)
		return true;
	if (frexp(v, &exponent) != 0.5)
		return false;
	next_up(d, n);
	return value_of(d) == v;
}

/* All normal doubles keep 15 digits, so that shorter ones show as zeros there;
 * the subnormals may need as few as one. */
static void long_decimal(struct decimal *d, double v)
{
	for (int n = v < 2.2250738585072014e-308 ? 1 : 15; n <= 17; n++) {
		round_to(d, v, n);
		if (reads_back(d, v, n))
			return;
	}
}

static void add_zeros(struct buf *b, int n)
{
	for (int i = 0; i < n; i++)
		brd_buf_addc(b, '0');
}

/* ECMA-262, Number::toString: plain from 1e-6 up to 1e21, else with an exponent. */
static void lay_out(struct buf *b, const struct decimal *d)
{
	if (d->point > 21 || d->point < -5) {
		brd_buf_addc(b, d->digits[0]);
		if (d->n > 1) {
			brd_buf_addc(b, '.');
			brd_buf_addn(b, d->digits + 1, (size_t)d->n - 1);
		}
		brd_buf_addf(b, "e%+d", d->point - 1);
	} else if (d->point <= 0) {
		brd_buf_addz(b, "0.");
		add_zeros(b, -d->point);
		brd_buf_addn(b, d->digits, (size_t)d->n);
	} else if (d->point >= d->n) {
		brd_buf_addn(b, d->digits, (size_t)d->n);
		add_zeros(b, d->point - d->n);
	} else {
		brd_buf_addn(b, d->digits, (size_t)d->point);
		brd_buf_addc(b, '.');
		brd_buf_addn(b, d->digits + d->point, (size_t)(d->n - d->point));
	}
}

void brd_json_num_add(struct buf *b, double v)
{
	struct decimal d;

	if (!isfinite(v)) {
		brd_buf_addz(b, "null");
		return;
	}
	if (v == 0) { /* the negative one, too */
		brd_buf_addc(b, '0');
		return;
	}
	if (v < 0) {
		brd_buf_addc(b, '-');
		v = -v;
	}
	if (!short_decimal(&d, v))
		long_decimal(&d, v);
	lay_out(b, &d);
}

/* An integer or a fraction of up to 15 digits without an exponent. */
static bool read_short(struct bread_str s, double *ret)
{
	bool minus = s.p[0] == '-';
	uint64_t m = 0;
	int behind = 0;
	bool point = false;

	if (s.n > 16)
		return false;
	for (size_t i = minus; i < s.n; i++) {
		if (s.p[i] == '.') {
			point = true;
			continue;
		}
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		m = m * 10 + (uint64_t)(s.p[i] - '0');
		behind += point;
	}
	*ret = (double)m / tens[behind];
	if (minus)
		*ret = -*ret;
	return m < (uint64_t)1 << 53;
}

double brd_jnum_double(struct bread_str lexeme)
{
	char small[64];
	char *z = small;
	double v;

	if (read_short(lexeme, &v))
		return v;
	if (lexeme.n >= sizeof(small))
		z = brd_strndup(lexeme);
	else
		*(char *)mempcpy(small, lexeme.p, lexeme.n) = 0;
	v = read_terminated(z);
	if (z != small)
		free(z);
	return v;
}

/* A lexeme's parts: its digits from the first that is not 0 to the last, and where
 * the point stands. Of two lexemes with equal parts the values are equal. */
struct parts {
	const char *p; /* digits, perhaps with a point among them */
	size_t n;      /* digits; 0: the value is zero */
	int64_t point; /* value = 0.digits * 10^point */
	bool minus;
};

#define EXPONENT_MOST ((int64_t)1 << 60) /* more than any text is long */

static int64_t read_exponent(const char *p, const char *end)
{
	bool minus = *p == '-';
	int64_t e = 0;

	if (*p == '-' || *p == '+')
		p++;
	for (; p < end && e < EXPONENT_MOST / 16; p++)
		e = e * 10 + (*p - '0');
	if (p < end)
		e = EXPONENT_MOST;
	return minus ? -e : e;
}

static struct parts take_apart(struct bread_str s)
{
	struct parts d = { .minus = s.p[0] == '-' };
	const char *end = s.p + s.n;
	size_t zeros = 0; /* at the end of what was seen */
	bool fraction = false;

	for (const char *p = s.p + d.minus; p < end; p++) {
		if (*p == 'e' || *p == 'E') {
			d.point += read_exponent(p + 1, end);
			break;
		}
		if (*p == '.') {
			fraction = true;
			continue;
		}
		if (!fraction && (d.p || *p != '0'))
			d.point++;
		else if (fraction && !d.p && *p == '0')
			d.point--;
		if (!d.p && *p != '0')
			d.p = p;
		if (!d.p)
			continue;
		zeros = *p == '0' ? zeros + 1 : 0;
		d.n++;
	}
	d.n -= zeros;
	return d;
}

/* The next digit of *p, over a point. */
static char next_digit(const char **p)
{
	if (**p == '.')
		(*p)++;
	return *(*p)++;
}

bool brd_jnum_equal(struct bread_str a, struct bread_str b)
{
	struct parts x = take_apart(a), y = take_apart(b);

	if (x.n == 0 || y.n == 0)
		return x.n == y.n;
	if (x.n != y.n || x.point != y.point || x.minus != y.minus)
		return false;
	for (size_t i = 0; i < x.n; i++) {
		if (next_digit(&x.p) != next_digit(&y.p))
			return false;
	}
	return true;
}

bool brd_jnum_int(struct bread_str lexeme, int64_t *ret)
{
	struct parts d = take_apart(lexeme);
	int64_t v = 0;

	if (d.n == 0) {
		*ret = 0;
		return true;
	}
	if (d.point < (int64_t)d.n || d.point > 19)
		return false;
	for (int64_t i = 0; i < d.point; i++) {
		int digit = i < (int64_t)d.n ? next_digit(&d.p) - '0' : 0;

		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, d.minus ? -digit : digit, &v))
			return false;
	}
	*ret = v;
	return true;
}
