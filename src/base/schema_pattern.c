/* SPDX-License-Identifier: MIT */
/* Patterns: ECMA-262 as far as people write it in schemas, run by PCRE2.
 *
 * Where the two differ a pattern is rewritten first: \s knows the Unicode blanks,
 * \p takes the long names of general categories, '[' in a class is only itself.
 * \d, \w and \b stay with ASCII in both.
 *
 * A match is bounded twice. PCRE2 counts its backtracking for each place where a
 * match may begin and gives up past MATCH_LIMIT; but it counts neither the places
 * nor the plain loops. So long subjects are tried a window of places at a time,
 * and what a window took on the clock is charged to the check's steps. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/schema_impl.h"
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/mem.h"
#include "base/str.h"

#define PATTERN_MAX ((size_t)64 * 1024)         /* bytes of one pattern */
#define COMPILED_MAX ((size_t)16 * 1024 * 1024) /* of all patterns of a schema */
/* Backtracking for one place: as much as honest patterns need, which is some for each
 * byte, and no more than some 40 ms. */
#define MATCH_LIMIT 20000
#define MATCH_LIMIT_BYTE 32
#define MATCH_LIMIT_MAX 4000000
#define HEAP_LIMIT 65536 /* KiB, for as long as a match takes */

/* Places where a match may begin, at a time: so many that backtracking at its limit in
 * all of them is bounded. Doubled while that is quick. */
#define WINDOW 256
#define WINDOW_WORK 4000000

#define STEP_NS 32        /* what a step of a check takes, roughly */
#define FREE_NS 20000     /* a match up to this long costs only by its length */
#define PASS_NS 4         /* for each byte: it was passed once, perhaps looking for one letter */
#define CHARGE_MAX 200000 /* a thread that was put to sleep has not matched all the while */

struct schema_regex {
	struct schema_regex *next;
	pcre2_code *code;
	struct bread_str text;
};

struct schema_matcher {
	pcre2_match_data *data;
	pcre2_match_context *context;
};

static const struct {
	const char *name, *code;
} categories[] = {
	{ "Letter", "L" },
	{ "Cased_Letter", "L&" },
	{ "Uppercase_Letter", "Lu" },
	{ "Lowercase_Letter", "Ll" },
	{ "Titlecase_Letter", "Lt" },
	{ "Modifier_Letter", "Lm" },
	{ "Other_Letter", "Lo" },
	{ "Mark", "M" },
	{ "Nonspacing_Mark", "Mn" },
	{ "Spacing_Mark", "Mc" },
	{ "Enclosing_Mark", "Me" },
	{ "Number", "N" },
	{ "Decimal_Number", "Nd" },
	{ "digit", "Nd" },
	{ "Letter_Number", "Nl" },
	{ "Other_Number", "No" },
	{ "Punctuation", "P" },
	{ "punct", "P" },
	{ "Connector_Punctuation", "Pc" },
	{ "Dash_Punctuation", "Pd" },
	{ "Open_Punctuation", "Ps" },
	{ "Close_Punctuation", "Pe" },
	{ "Initial_Punctuation", "Pi" },
	{ "Final_Punctuation", "Pf" },
	{ "Other_Punctuation", "Po" },
	{ "Symbol", "S" },
	{ "Math_Symbol", "Sm" },
	{ "Currency_Symbol", "Sc" },
	{ "Modifier_Symbol", "Sk" },
	{ "Other_Symbol", "So" },
	{ "Separator", "Z" },
	{ "Space_Separator", "Zs" },
	{ "Line_Separator", "Zl" },
	{ "Paragraph_Separator", "Zp" },
	{ "Other", "C" },
	{ "Control", "Cc" },
	{ "cntrl", "Cc" },
	{ "Format", "Cf" },
	{ "Surrogate", "Cs" },
	{ "Private_Use", "Co" },
	{ "Unassigned", "Cn" },
};

/* The blanks of ECMA-262: WhiteSpace and LineTerminator. */
static const char blanks[] = "\\t-\\r\\u0020\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f"
			     "\\u205f\\u3000\\ufeff";

static struct bread_str category(struct bread_str name)
{
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
		if (brd_str_is(name, categories[i].name))
			return brd_str(categories[i].code);
	return name;
}

/* s begins behind \p; returns how many bytes of it were written. */
static size_t add_property(struct buf *b, char p, struct bread_str s)
{
	const char *end = s.n && s.p[0] == '{' ? memchr(s.p, '}', s.n) : NULL;
	struct bread_str name, prefix;

	brd_buf_addc(b, '\\');
	brd_buf_addc(b, p);
	if (!end)
		return 0;
	name = (struct bread_str){ s.p + 1, (size_t)(end - s.p - 1) };
	for (const char *const *z = (const char *const[]){ "General_Category=", "gc=", NULL }; *z;
		z++) {
		prefix = brd_str(*z);
		if (brd_str_starts(name, prefix))
			name = brd_sub(name, prefix.n, name.n - prefix.n);
	}
	brd_buf_addc(b, '{');
	brd_buf_add(b, category(name));
	brd_buf_addc(b, '}');
	return (size_t)(end - s.p) + 1;
}

/* The code unit of \uXXXX at the front of s; -1: none is there. */
static int code_unit(struct bread_str s)
{
	int unit = 0;

	if (s.n < 6 || s.p[0] != '\\' || s.p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int digit = brd_hex_value(s.p[i]);

		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

/* Surrogates, s beginning with their backslash: a pair is one character, a lone one
 * is what match_mended makes of it. Returns how many bytes of s were written. */
static size_t add_surrogates(struct buf *b, struct bread_str s)
{
	int high = code_unit(s), low;

	if (high < 0xd800 || high > 0xdfff)
		return 0;
	low = code_unit(brd_sub(s, 6, s.n - 6));
	if (high > 0xdbff || low < 0xdc00 || low > 0xdfff) {
		brd_buf_addz(b, "\\ufffd");
		return 6;
	}
	brd_buf_addf(b, "\\u{%x}", 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
	return 12;
}

/* s begins behind a backslash; returns how many bytes of it were written. */
static size_t add_escape(struct buf *b, struct bread_str s, bool in_class)
{
	char c = s.n ? s.p[0] : 0;

	if (c == 'p' || c == 'P')
		return 1 + add_property(b, c, brd_sub(s, 1, s.n - 1));
	if (c == 's' || (c == 'S' && !in_class)) {
		if (!in_class)
			brd_buf_addz(b, c == 's' ? "[" : "[^");
		brd_buf_addz(b, blanks);
		if (!in_class)
			brd_buf_addc(b, ']');
		return 1;
	}
	brd_buf_addc(b, '\\');
	if (!s.n)
		return 0;
	brd_buf_addc(b, c);
	return 1;
}

static void rewrite(struct buf *b, struct bread_str s)
{
	bool in_class = false;

	for (size_t i = 0; i < s.n;) {
		char c = s.p[i++];

		if (c == '\\') {
			size_t n = add_surrogates(b, brd_sub(s, i - 1, s.n - i + 1));

			i += n ? n - 1 : add_escape(b, brd_sub(s, i, s.n - i), in_class);
			continue;
		}
		if (in_class && c == '[')
			brd_buf_addc(b, '\\');
		if (c == '[')
			in_class = true;
		else if (c == ']')
			in_class = false;
		brd_buf_addc(b, c);
	}
}

static pcre2_code *compile(struct bread_str s, char *why, size_t n_why)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	uint32_t options = PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_DOLLAR_ENDONLY |
			   PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF |
			   PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
	pcre2_code *code = NULL;
	PCRE2_SIZE at = 0;
	int error = 0, n;

	if (!context) {
		snprintf(why, n_why, "no memory");
		return NULL;
	}
	pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
	pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
	code = pcre2_compile((PCRE2_SPTR)s.p, s.n, options, &error, &at, context);
	if (!code) {
		n = pcre2_get_error_message(error, (PCRE2_UCHAR *)why, n_why);
		if (n < 0)
			snprintf(why, n_why, "error %d", error);
	}
	pcre2_compile_context_free(context);
	return code;
}

struct schema_regex *brd_schema_regex(
	struct schema *s, struct bread_str pattern, char *why, size_t n_why)
{
	struct schema_regex *r = NULL;
	pcre2_code *code;
	size_t size = 0;
	struct buf b;

	if (pattern.n > PATTERN_MAX) {
		snprintf(why, n_why, "longer than %zu bytes", PATTERN_MAX);
		return NULL;
	}
	brd_buf_init(&b, BUF_NO_LIMIT);
	rewrite(&b, pattern);
	code = compile(brd_buf_str(&b), why, n_why);
	brd_buf_fini(&b);
	if (!code)
		return NULL;
	pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
	s->regex_bytes += size;
	if (s->regex_bytes > COMPILED_MAX) {
		snprintf(why, n_why, "the patterns of the schema are too large together");
		pcre2_code_free(code);
		return NULL;
	}
	r = brd_arena_alloc(&s->arena, sizeof(*r));
	*r = (struct schema_regex){ s->regexes, code, pattern };
	s->regexes = r;
	return r;
}

void brd_schema_regex_free(struct schema_regex *all)
{
	for (; all; all = all->next)
		pcre2_code_free(all->code);
}

struct bread_str brd_schema_regex_text(const struct schema_regex *r)
{
	return r->text;
}

static struct schema_matcher *matcher_new(void)
{
	struct schema_matcher *m = brd_alloc(sizeof(*m));

	m->data = pcre2_match_data_create(1, NULL);
	m->context = pcre2_match_context_create(NULL);
	if (m->context)
		pcre2_set_heap_limit(m->context, HEAP_LIMIT);
	return m;
}

void brd_schema_matcher_free(struct schema_matcher *m)
{
	if (!m)
		return;
	pcre2_match_data_free(m->data);
	pcre2_match_context_free(m->context);
	free(m);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Matches that begin in [from, from + window). Returns what PCRE2 says. */
static int match_window(struct schema_matcher *m, const pcre2_code *code, struct bread_str s,
	size_t from, size_t window, int64_t *ret_ns)
{
	int64_t start = now_ns();
	int r;

	pcre2_set_offset_limit(m->context, from + window - 1);
	r = pcre2_match(code, (PCRE2_SPTR)s.p, s.n, from, PCRE2_NO_UTF_CHECK, m->data, m->context);
	*ret_ns = now_ns() - start;
	return r;
}

static int64_t charge(int64_t ns, size_t limit)
{
	int64_t steps = ns > FREE_NS ? ns / STEP_NS : 0, most = CHARGE_MAX + (int64_t)limit / 2;

	return 8 + (steps < most ? steps : most);
}

static size_t set_limit(struct schema_matcher *m, size_t n)
{
	size_t limit = MATCH_LIMIT + MATCH_LIMIT_BYTE * n;

	if (limit > MATCH_LIMIT_MAX)
		limit = MATCH_LIMIT_MAX;
	pcre2_set_match_limit(m->context, (uint32_t)limit);
	pcre2_set_depth_limit(m->context, (uint32_t)limit);
	return limit;
}

/* The start of the character that byte at belongs to. */
static size_t character(struct bread_str s, size_t at)
{
	while (at > 0 && at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static enum schema_match match_valid(
	struct schema_matcher *m, const pcre2_code *code, struct bread_str s, int64_t *steps)
{
	size_t limit = set_limit(m, s.n), window = WINDOW_WORK / limit + 1;

	if (window > WINDOW)
		window = WINDOW;
	for (size_t from = 0;;) {
		int64_t ns;
		int r = match_window(m, code, s, from, window, &ns);

		*steps -= charge(ns, limit);
		if (r >= 0)
			return SCHEMA_MATCH_YES;
		if (r != PCRE2_ERROR_NOMATCH || *steps < 0)
			return SCHEMA_MATCH_GAVE_UP;
		if (from + window > s.n)
			return SCHEMA_MATCH_NO;
		from = character(s, from + window);
		if (ns < FREE_NS + PASS_NS * (int64_t)s.n)
			window *= 2;
	}
}

/* PCRE2 wants UTF-8; the only other thing that comes here is a lone surrogate. */
static enum schema_match match_mended(
	struct schema_matcher *m, const pcre2_code *code, struct bread_str s, int64_t *steps)
{
	enum schema_match r;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	while (s.n) {
		size_t n = brd_utf8_char(s.p, s.n, NULL);

		if (n)
			brd_buf_add(&b, brd_sub(s, 0, n));
		else if (((unsigned char)s.p[0] & 0xc0) != 0x80)
			brd_buf_addz(&b, "\xef\xbf\xbd");
		n = n ? n : 1;
		s = brd_sub(s, n, s.n - n);
	}
	r = match_valid(m, code, brd_buf_str(&b), steps);
	brd_buf_fini(&b);
	return r;
}

enum schema_match brd_schema_match(struct schema_matcher **m, const struct schema_regex *regex,
	struct bread_str s, int64_t *steps)
{
	if (!*m)
		*m = matcher_new();
	if (!(*m)->data || !(*m)->context)
		return SCHEMA_MATCH_GAVE_UP;
	if (!s.n)
		s.p = "";
	*steps -= (int64_t)(s.n / 64);
	if (!brd_utf8_ok(s))
		return match_mended(*m, regex->code, s, steps);
	return match_valid(*m, regex->code, s, steps);
}
