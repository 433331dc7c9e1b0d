/* SPDX-License-Identifier: MIT */
/* The JSON parser: one pass over the text, strict RFC 8259, no recursion.
 *
 * A tape of tokens in the order of the text is all that it makes. The stack of
 * open containers is the tape itself: as long as a container is open, its len
 * holds the place of the one around it. The tape grows on the stack at first, so
 * that a small text costs one piece of the arena and no call to the allocator.
 *
 * When nobody wants the tape, what has ended is dropped from it at once, and it is
 * never longer than the text is deep. */
#include "base/json.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/scan.h"

#define TEXT_MOST ((size_t)1 << 30)
#define COUNT_MOST ((1u << 27) - 1) /* what json_tok.count holds */
#define NOWHERE UINT32_MAX          /* around the root; NOWHERE + 1 is the tape's start */
#define LOCAL_TOKENS 192

struct parser {
	const char *text;
	const char *p; /* here */
	const char *end;
	struct json_tok *tok;
	uint32_t n, cap;
	uint32_t open;   /* the container around p, or NOWHERE */
	unsigned deeper; /* levels that may still be opened */
	bool keep;       /* the tape */
	int code;        /* of the fault */
	const char *what;
	struct json_tok local[LOCAL_TOKENS];
};

static bool fault(struct parser *ps, const char *at, const char *what)
{
	ps->p = at;
	ps->what = what;
	ps->code = BREAD_E_INVALID;
	return false;
}

static bool too_large(struct parser *ps, const char *what)
{
	fault(ps, ps->p, what);
	ps->code = BREAD_E_TOO_LARGE;
	return false;
}

static __attribute__((noinline)) void enlarge(struct parser *ps)
{
	size_t cap = (size_t)ps->cap * 2;
	bool first = ps->tok == ps->local;

	ps->tok = brd_realloc(first ? NULL : ps->tok, cap * sizeof(*ps->tok));
	if (first)
		memcpy(ps->tok, ps->local, sizeof(ps->local));
	ps->cap = (uint32_t)cap;
}

/* A token from where the parser is up to end, behind which it then is. */
static inline struct json_tok *push(struct parser *ps, enum json_type type, const char *end)
{
	struct json_tok *t;

	if (ps->n == ps->cap)
		enlarge(ps);
	t = &ps->tok[ps->n++];
	*t = (struct json_tok){ .at = (uint32_t)(ps->p - ps->text),
		.len = (uint32_t)(end - ps->p),
		.skip = 1,
		.type = type };
	ps->p = end;
	return t;
}

static inline void skip_blanks(struct parser *ps)
{
	while (ps->p < ps->end &&
		(*ps->p == ' ' || *ps->p == '\n' || *ps->p == '\t' || *ps->p == '\r'))
		ps->p++;
}

static inline bool at(const struct parser *ps, char c)
{
	return ps->p < ps->end && *ps->p == c;
}

static inline bool digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

static const char *digits(const char *p, const char *end)
{
	while (digit(p, end))
		p++;
	return p;
}

static bool number(struct parser *ps)
{
	const char *p = ps->p, *end = ps->end;

	if (*p == '-')
		p++;
	if (!digit(p, end))
		return fault(ps, p, "a digit was expected");
	p = *p == '0' ? p + 1 : digits(p, end);
	if (p < end && *p == '.') {
		if (!digit(++p, end))
			return fault(ps, p, "a digit was expected behind the point");
		p = digits(p, end);
	}
	if (p < end && (*p | 0x20) == 'e') {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		if (!digit(p, end))
			return fault(ps, p, "a digit was expected in the exponent");
		p = digits(p, end);
	}
	push(ps, JSON_NUMBER, p);
	return true;
}

static bool hex4(const char *p)
{
	for (int i = 0; i < 4; i++) {
		char c = (char)(p[i] | 0x20);

		if (!(p[i] >= '0' && p[i] <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
	}
	return true;
}

/* The length of the escape at p, or 0. */
static size_t escape_len(const char *p, const char *end)
{
	if (end - p < 2)
		return 0;
	switch (p[1]) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return 2;
	case 'u':
		return end - p >= 6 && hex4(p + 2) ? 6 : 0;
	}
	return 0;
}

static bool string(struct parser *ps)
{
	const char *p = ps->p + 1, *end = ps->end;
	bool plain = true;

	for (;;) {
		size_t n;

		p = scan_plain(p, end);
		if (p == end)
			return fault(ps, p, "the string does not end");
		if (*p == '"')
			break;
		if (*p == '\\') {
			plain = false;
			n = escape_len(p, end);
			if (n == 0)
				return fault(ps, p, "this is no escape");
		} else if ((unsigned char)*p < 0x20) {
			return fault(ps, p, "a control character must be escaped");
		} else {
			n = brd_utf8_wide(p, (size_t)(end - p));
			if (n == 0)
				return fault(ps, p, "this byte is no UTF-8");
		}
		p += n;
	}
	push(ps, JSON_STRING, p + 1)->plain = plain;
	return true;
}

static bool word(struct parser *ps, enum json_type type, struct bread_str w)
{
	if ((size_t)(ps->end - ps->p) < w.n || memcmp(ps->p, w.p, w.n) != 0)
		return fault(ps, ps->p, "a value was expected");
	push(ps, type, ps->p + w.n);
	return true;
}

static bool open_container(struct parser *ps, enum json_type type)
{
	uint32_t around = ps->open;

	if (ps->deeper == 0)
		return too_large(ps, "values nest too deep");
	ps->deeper--;
	ps->open = ps->n;
	push(ps, type, ps->p + 1)->len = around;
	return true;
}

static void close_container(struct parser *ps)
{
	struct json_tok *t = &ps->tok[ps->open];
	uint32_t around = t->len;

	ps->p++;
	t->len = (uint32_t)(ps->p - ps->text) - t->at;
	t->skip = ps->n - ps->open;
	ps->open = around;
	ps->deeper++;
}

/* A scalar, or the bracket that opens a container; *ret_opened tells. */
static inline bool value(struct parser *ps, bool *ret_opened)
{
	*ret_opened = false;
	skip_blanks(ps);
	if (ps->p == ps->end)
		return fault(ps, ps->p, "a value was expected");
	switch (*ps->p) {
	case '"':
		return string(ps);
	case '{':
		*ret_opened = true;
		return open_container(ps, JSON_OBJECT);
	case '[':
		*ret_opened = true;
		return open_container(ps, JSON_ARRAY);
	case 't':
		return word(ps, JSON_BOOL, BRD_STR("true"));
	case 'f':
		return word(ps, JSON_BOOL, BRD_STR("false"));
	case 'n':
		return word(ps, JSON_NULL, BRD_STR("null"));
	}
	if (*ps->p == '-' || digit(ps->p, ps->end))
		return number(ps);
	return fault(ps, ps->p, "a value was expected");
}

/* One more member of the open container: of an object its key and colon. */
static inline bool member(struct parser *ps)
{
	struct json_tok *t = &ps->tok[ps->open];

	if (t->count == COUNT_MOST)
		return too_large(ps, "there are too many members");
	t->count++;
	if (t->type != JSON_OBJECT)
		return true;
	skip_blanks(ps);
	if (!at(ps, '"'))
		return fault(ps, ps->p, "a key was expected");
	if (!string(ps))
		return false;
	skip_blanks(ps);
	if (!at(ps, ':'))
		return fault(ps, ps->p, "a colon was expected");
	ps->p++;
	return true;
}

/* Goes on behind a value: closes what ends here, up to the next value of a
 * container that goes on, or to the end of the root. false: there is no more. */
static inline bool next_value(struct parser *ps)
{
	for (;;) {
		bool object;

		if (!ps->keep)
			ps->n = ps->open + 1;
		if (ps->open == NOWHERE)
			return false;
		object = ps->tok[ps->open].type == JSON_OBJECT;
		skip_blanks(ps);
		if (at(ps, ',')) {
			ps->p++;
			return member(ps);
		}
		if (!at(ps, object ? '}' : ']'))
			return fault(ps, ps->p,
				object ? "a comma or } was expected" : "a comma or ] was expected");
		close_container(ps);
	}
}

/* Behind an opening bracket: the first value, or what follows an empty container. */
static inline bool first_value(struct parser *ps)
{
	skip_blanks(ps);
	if (!at(ps, ps->tok[ps->open].type == JSON_OBJECT ? '}' : ']'))
		return member(ps);
	close_container(ps);
	return next_value(ps);
}

static void parse(struct parser *ps)
{
	bool opened;

	do {
		if (!value(ps, &opened))
			return;
	} while (opened ? first_value(ps) : next_value(ps));
	if (ps->code)
		return;
	skip_blanks(ps);
	if (ps->p < ps->end)
		fault(ps, ps->p, "the text should end here");
}

static void parser_init(struct parser *ps, struct bread_str text, unsigned max_depth, bool keep)
{
	ps->text = ps->p = text.n ? text.p : "";
	ps->end = ps->text + text.n;
	ps->tok = ps->local;
	ps->n = 0;
	ps->cap = LOCAL_TOKENS;
	ps->open = NOWHERE;
	ps->deeper = max_depth ? max_depth : JSON_DEPTH;
	ps->keep = keep;
	ps->code = BREAD_OK;
	ps->what = NULL;
}

static void parser_fini(struct parser *ps)
{
	if (ps->tok != ps->local)
		free(ps->tok);
}

static void parse_text(struct parser *ps, size_t n)
{
	if (n > TEXT_MOST)
		too_large(ps, "the text is over 1 GiB");
	else
		parse(ps);
}

int brd_json_parse(struct arena *a, struct bread_str text, unsigned max_depth, struct jval *ret,
	struct json_where *where)
{
	struct parser ps;
	struct json_tok *tape;

	parser_init(&ps, text, max_depth, true);
	parse_text(&ps, text.n);
	*ret = (struct jval){ NULL, ps.text };
	if (ps.code == BREAD_OK) {
		tape = brd_arena_array(a, ps.n, sizeof(*tape));
		memcpy(tape, ps.tok, ps.n * sizeof(*tape));
		ret->tok = tape;
	} else if (where) {
		*where = (struct json_where){ (size_t)(ps.p - ps.text), ps.what };
	}
	parser_fini(&ps);
	return ps.code;
}

bool brd_json_ok(struct bread_str text, unsigned max_depth)
{
	struct parser ps;

	parser_init(&ps, text, max_depth, false);
	parse_text(&ps, text.n);
	parser_fini(&ps);
	return ps.code == BREAD_OK;
}
