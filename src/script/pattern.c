/* SPDX-License-Identifier: MIT */
/* From the text of a pattern to its items. The memory is Lua's, so that an error half way leaves
 * nothing behind. */
#include "script/pattern.h"
#include <ctype.h>

struct compiler {
	lua_State *L;
	const char *p, *end;
	struct pattern *to;
	size_t open[CAPTURES_MAX], depth;
};

static void add(uint8_t *set, unsigned char c)
{
	set[c >> 3] |= (uint8_t)(1 << (c & 7));
}

static bool in_class(char letter, int c, bool *known)
{
	switch (tolower((unsigned char)letter)) {
	case 'a':
		return isalpha(c);
	case 'c':
		return iscntrl(c);
	case 'd':
		return isdigit(c);
	case 'g':
		return isgraph(c);
	case 'l':
		return islower(c);
	case 'p':
		return ispunct(c);
	case 's':
		return isspace(c);
	case 'u':
		return isupper(c);
	case 'w':
		return isalnum(c);
	case 'x':
		return isxdigit(c);
	default:
		*known = false;
		return false;
	}
}

/* What %letter means: a class, its complement, or the character itself. */
static void add_class(uint8_t *set, char letter)
{
	bool upper = isupper((unsigned char)letter);

	for (int c = 0; c < 256; c++) {
		bool known = true;
		bool in = in_class(letter, c, &known);

		if (known ? in != upper : c == (unsigned char)letter)
			add(set, (unsigned char)c);
	}
}

static char next_char(struct compiler *c, const char *what)
{
	if (c->p == c->end)
		luaL_error(c->L, "malformed pattern (%s)", what);
	return *c->p++;
}

/* Behind a bracket. */
static void compile_set(struct compiler *c, uint8_t *set)
{
	bool inverse = c->p < c->end && *c->p == '^';
	bool first = true;

	c->p += inverse;
	for (;; first = false) {
		char x = next_char(c, "missing ']'");

		if (x == ']' && !first)
			break;
		if (x == '%') {
			add_class(set, next_char(c, "missing ']'"));
		} else if (c->end - c->p >= 2 && c->p[0] == '-' && c->p[1] != ']') {
			for (int i = (unsigned char)x; i <= (unsigned char)c->p[1]; i++)
				add(set, (unsigned char)i);
			c->p += 2;
		} else {
			add(set, (unsigned char)x);
		}
	}
	for (int i = 0; inverse && i < 32; i++)
		set[i] = (uint8_t)~set[i];
}

static struct item *new_item(struct compiler *c, enum item_kind kind)
{
	struct item *it = &c->to->items[c->to->n];

	if (c->to->n >= ITEMS_MAX)
		luaL_error(c->L, "the pattern is too long");
	c->to->n++;
	memset(it, 0, sizeof(*it));
	it->kind = kind;
	return it;
}

static void compile_open(struct compiler *c)
{
	struct pattern *to = c->to;
	bool position = c->p < c->end && *c->p == ')';
	struct item *it = new_item(c, position ? ITEM_POSITION : ITEM_OPEN);

	if (to->captures == CAPTURES_MAX)
		luaL_error(c->L, "too many captures");
	c->p += position;
	it->a = (unsigned char)to->captures;
	if (!position)
		c->open[c->depth++] = to->captures;
	to->captures++;
}

static void compile_close(struct compiler *c)
{
	if (!c->depth)
		luaL_error(c->L, "invalid pattern capture");
	new_item(c, ITEM_CLOSE)->a = (unsigned char)c->open[--c->depth];
}

static bool is_open(const struct compiler *c, size_t capture)
{
	for (size_t i = 0; i < c->depth; i++)
		if (c->open[i] == capture)
			return true;
	return false;
}

static void compile_back(struct compiler *c, char digit)
{
	size_t i = (size_t)(digit - '1');

	if (digit == '0' || i >= c->to->captures || is_open(c, i))
		luaL_error(c->L, "invalid capture index %%%c", digit);
	new_item(c, ITEM_BACK)->a = (unsigned char)i;
}

/* Behind a %; false: it is one character. */
static bool compile_special(struct compiler *c, char x)
{
	struct item *it;

	if (isdigit((unsigned char)x)) {
		compile_back(c, x);
	} else if (x == 'b') {
		it = new_item(c, ITEM_BALANCE);
		it->a = (unsigned char)next_char(c, "missing arguments to '%b'");
		it->b = (unsigned char)next_char(c, "missing arguments to '%b'");
	} else if (x == 'f') {
		it = new_item(c, ITEM_FRONTIER);
		if (next_char(c, "missing '[' after '%f'") != '[')
			luaL_error(c->L, "missing '[' after '%%f' in pattern");
		compile_set(c, it->set);
	} else {
		return false;
	}
	return true;
}

static void compile_single(struct compiler *c, char x, char escaped)
{
	struct item *it = new_item(c, ITEM_SET);

	if (x == '%')
		add_class(it->set, escaped);
	else if (x == '.')
		memset(it->set, 0xff, sizeof(it->set));
	else if (x == '[')
		compile_set(c, it->set);
	else
		add(it->set, (unsigned char)x);
	if (c->p < c->end && strchr("*+-?", *c->p) && *c->p)
		it->repeat = *c->p++;
}

static void compile_item(struct compiler *c)
{
	char x = *c->p++, escaped = 0;

	if (x == '(') {
		compile_open(c);
	} else if (x == ')') {
		compile_close(c);
	} else if (x == '$' && c->p == c->end) {
		new_item(c, ITEM_TAIL);
	} else {
		if (x == '%') {
			escaped = next_char(c, "ends with '%'");
			if (compile_special(c, escaped))
				return;
		}
		compile_single(c, x, escaped);
	}
}

const struct pattern *brd_pattern_compile(lua_State *L, struct bread_str text, bool anchors)
{
	size_t room = text.n < ITEMS_MAX ? text.n : ITEMS_MAX;
	struct compiler c = { .L = L, .p = text.p, .end = text.p + text.n };

	c.to = lua_newuserdatauv(L, sizeof(*c.to) + (room + 1) * sizeof(struct item), 0);
	memset(c.to, 0, sizeof(*c.to));
	if (anchors && text.n && text.p[0] == '^') {
		c.to->anchored = true;
		c.p++;
	}
	while (c.p < c.end)
		compile_item(&c);
	if (c.depth)
		luaL_error(L, "unfinished capture");
	c.to->items[c.to->n].kind = ITEM_DONE;
	return c.to;
}
