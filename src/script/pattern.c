/* SPDX-License-Identifier: MIT */
/* string.find, match, gmatch and gsub by Lua's patterns, counted.
 *
 * Lua's own try a pattern in C for as long as it takes, which for some patterns is for ever. Here
 * a pattern is compiled to a row of items, each at most once in a chain of calls, and each
 * character that is looked at counts as a step of the script. What patterns mean is Lua's manual,
 * 6.4.1. */
#include <ctype.h>
#include "script/engine.h"

#define ITEMS_MAX 512 /* of a pattern; so deep may the matcher nest */
#define CAPTURES_MAX 32
#define STEPS 1000 /* between two looks at the limits */

enum item_kind {
	ITEM_SET,      /* one character of a set, with a repeat */
	ITEM_OPEN,     /* ( */
	ITEM_CLOSE,    /* ) */
	ITEM_POSITION, /* () */
	ITEM_BACK,     /* %1 */
	ITEM_BALANCE,  /* %bxy */
	ITEM_FRONTIER, /* %f[set] */
	ITEM_TAIL,     /* $ at the end */
	ITEM_DONE,
};

struct item {
	enum item_kind kind;
	char repeat;        /* 0, '*', '+', '-', '?' */
	unsigned char a, b; /* of a balance; a: which capture */
	uint8_t set[32];
};

struct pattern {
	bool anchored;
	size_t n, captures;
	struct item items[];
};

#define OPEN SIZE_MAX /* the length of a capture that has begun */
#define POSITION (SIZE_MAX - 1)

struct matcher {
	lua_State *L;
	const struct pattern *p;
	const char *begin, *end;
	int64_t steps;
	struct capture {
		const char *at;
		size_t n;
	} captures[CAPTURES_MAX];
};

/* ---- compiling ---- */

struct compiler {
	lua_State *L;
	const char *p, *end;
	struct pattern *to;
	size_t open[CAPTURES_MAX], depth;
};

static bool has(const uint8_t *set, unsigned char c)
{
	return set[c >> 3] >> (c & 7) & 1;
}

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

/* Pushes the memory that the pattern lies in. */
static const struct pattern *compile(lua_State *L, struct bread_str text, bool anchors)
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

/* ---- matching ---- */

static const char *match(struct matcher *m, const struct item *it, const char *s);

static void count(struct matcher *m)
{
	if (++m->steps % STEPS == 0)
		brd_script_spend(m->L, STEPS);
}

static bool single(struct matcher *m, const struct item *it, const char *s)
{
	count(m);
	return s < m->end && has(it->set, (unsigned char)*s);
}

/* As many as there are, then fewer and fewer. */
static const char *match_most(struct matcher *m, const struct item *it, const char *s, size_t least)
{
	size_t n = 0;

	while (single(m, it, s + n))
		n++;
	for (;; n--) {
		const char *end = n >= least ? match(m, it + 1, s + n) : NULL;

		if (end || n <= least)
			return end;
		count(m);
	}
}

/* As few as will do. */
static const char *match_least(struct matcher *m, const struct item *it, const char *s)
{
	for (;; s++) {
		const char *end = match(m, it + 1, s);

		if (end)
			return end;
		if (!single(m, it, s))
			return NULL;
	}
}

static const char *match_set(struct matcher *m, const struct item *it, const char *s)
{
	const char *end;

	switch (it->repeat) {
	case '*':
		return match_most(m, it, s, 0);
	case '+':
		return match_most(m, it, s, 1);
	case '-':
		return match_least(m, it, s);
	case '?':
		end = single(m, it, s) ? match(m, it + 1, s + 1) : NULL;
		return end ? end : match(m, it + 1, s);
	default:
		return single(m, it, s) ? match(m, it + 1, s + 1) : NULL;
	}
}

/* Sets a capture for what follows, and takes it back when that does not match. */
static const char *match_capture(
	struct matcher *m, const struct item *it, const char *s, struct capture now)
{
	struct capture before = m->captures[it->a];
	const char *end;

	m->captures[it->a] = now;
	end = match(m, it + 1, s);
	if (!end)
		m->captures[it->a] = before;
	return end;
}

static const char *match_back(struct matcher *m, const struct item *it, const char *s)
{
	struct capture c = m->captures[it->a];
	size_t n = c.n == POSITION ? 0 : c.n;

	if (n > 64)
		brd_script_spend(m->L, (int64_t)(n / 64));
	if ((size_t)(m->end - s) < n || memcmp(c.at, s, n))
		return NULL;
	return match(m, it + 1, s + n);
}

static const char *match_balance(struct matcher *m, const struct item *it, const char *s)
{
	size_t depth = 0;

	if (s == m->end || (unsigned char)*s != it->a)
		return NULL;
	for (; s < m->end; s++) {
		count(m);
		if ((unsigned char)*s == it->b && depth) {
			if (--depth == 0)
				return match(m, it + 1, s + 1);
		} else if ((unsigned char)*s == it->a) {
			depth++;
		}
	}
	return NULL;
}

static const char *match_frontier(struct matcher *m, const struct item *it, const char *s)
{
	unsigned char before = s > m->begin ? (unsigned char)s[-1] : 0;
	unsigned char here = s < m->end ? (unsigned char)*s : 0;

	return !has(it->set, before) && has(it->set, here) ? match(m, it + 1, s) : NULL;
}

static const char *match(struct matcher *m, const struct item *it, const char *s)
{
	struct capture *c = &m->captures[it->a % CAPTURES_MAX];

	count(m);
	switch (it->kind) {
	case ITEM_SET:
		return match_set(m, it, s);
	case ITEM_OPEN:
		return match_capture(m, it, s, (struct capture){ s, OPEN });
	case ITEM_POSITION:
		return match_capture(m, it, s, (struct capture){ s, POSITION });
	case ITEM_CLOSE:
		return match_capture(m, it, s, (struct capture){ c->at, (size_t)(s - c->at) });
	case ITEM_BACK:
		return match_back(m, it, s);
	case ITEM_BALANCE:
		return match_balance(m, it, s);
	case ITEM_FRONTIER:
		return match_frontier(m, it, s);
	case ITEM_TAIL:
		return s == m->end ? match(m, it + 1, s) : NULL;
	case ITEM_DONE:
		return s;
	}
	return NULL;
}

/* The first match from *s on; its end, or NULL. *s is where it begins. */
static const char *search(struct matcher *m, const char **s)
{
	for (;; ++*s) {
		const char *end = match(m, m->p->items, *s);

		if (end || m->p->anchored || *s == m->end)
			return end;
	}
}

/* ---- the functions ---- */

/* Pushes capture i; i 0 of a pattern without any: all that matched. */
static void push_capture(struct matcher *m, size_t i, const char *s, const char *end)
{
	struct capture c = { s, (size_t)(end - s) };

	if (i < m->p->captures)
		c = m->captures[i];
	else if (i)
		luaL_error(m->L, "invalid capture index %%%d", (int)i + 1);
	if (c.n == POSITION)
		lua_pushinteger(m->L, c.at - m->begin + 1);
	else
		lua_pushlstring(m->L, c.at, c.n);
}

static int push_captures(struct matcher *m, const char *s, const char *end, bool whole)
{
	size_t n = m->p->captures || !whole ? m->p->captures : 1;

	luaL_checkstack(m->L, (int)n, "too many captures");
	for (size_t i = 0; i < n; i++)
		push_capture(m, i, s, end);
	return (int)n;
}

static struct bread_str check_str(lua_State *L, int index)
{
	struct bread_str s;

	s.p = luaL_checklstring(L, index, &s.n);
	return s;
}

/* The subject is argument 1, the pattern argument 2. */
static void matcher_init(struct matcher *m, lua_State *L, bool anchors)
{
	struct bread_str s = check_str(L, 1);

	memset(m, 0, sizeof(*m));
	m->L = L;
	m->begin = s.p;
	m->end = s.p + s.n;
	m->p = compile(L, check_str(L, 2), anchors);
}

/* Where to begin, of argument i: counted from 1, or from the end; n + 1: behind the text. */
static size_t start_of(lua_State *L, int i, size_t n)
{
	lua_Integer at = luaL_optinteger(L, i, 1);

	if (at > 0)
		return (lua_Unsigned)at - 1 > n ? n + 1 : (size_t)at - 1;
	if (at == 0 || at < -(lua_Integer)n)
		return 0;
	return n - (size_t)-at;
}

static int find_plain(lua_State *L, struct bread_str s, size_t from)
{
	struct bread_str what = check_str(L, 2), rest = brd_sub(s, from, s.n - from);
	const char *at = what.n ? memmem(rest.p, rest.n, what.p, what.n) : rest.p;

	if (!at) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushinteger(L, at - s.p + 1);
	lua_pushinteger(L, at - s.p + (lua_Integer)what.n);
	return 2;
}

static int find_or_match(lua_State *L, bool find)
{
	struct bread_str s = check_str(L, 1);
	size_t from = start_of(L, 3, s.n);
	struct matcher m;
	const char *at, *end = NULL;

	luaL_checkstring(L, 2);
	if (from > s.n) {
		lua_pushnil(L);
		return 1;
	}
	if (find && lua_toboolean(L, 4))
		return find_plain(L, s, from);
	lua_settop(L, 2);
	matcher_init(&m, L, true);
	at = s.p + from;
	end = search(&m, &at);
	brd_script_spend(L, m.steps % STEPS);
	if (!end) {
		lua_pushnil(L);
		return 1;
	}
	if (!find)
		return push_captures(&m, at, end, true);
	lua_pushinteger(L, at - s.p + 1);
	lua_pushinteger(L, end - s.p);
	return 2 + push_captures(&m, at, end, false);
}

static int str_find(lua_State *L)
{
	return find_or_match(L, true);
}

static int str_match(lua_State *L)
{
	return find_or_match(L, false);
}

/* Upvalues: the text, the compiled pattern, where to go on, where the last match ended. */
static int gmatch_next(lua_State *L)
{
	struct matcher m = { .L = L, .p = lua_touserdata(L, lua_upvalueindex(2)) };
	size_t n;
	const char *at, *end, *last;

	m.begin = lua_tolstring(L, lua_upvalueindex(1), &n);
	m.end = m.begin + n;
	at = m.begin + lua_tointeger(L, lua_upvalueindex(3));
	last = m.begin + lua_tointeger(L, lua_upvalueindex(4));
	for (; at <= m.end; at++) {
		end = search(&m, &at);
		if (!end)
			break;
		if (end == last)
			continue; /* nothing, just where the last one ended */
		lua_pushinteger(L, end - m.begin);
		lua_copy(L, -1, lua_upvalueindex(3));
		lua_replace(L, lua_upvalueindex(4));
		return push_captures(&m, at, end, true);
	}
	lua_pushinteger(L, (lua_Integer)n + 1);
	lua_replace(L, lua_upvalueindex(3));
	return 0;
}

static int str_gmatch(lua_State *L)
{
	struct bread_str s = check_str(L, 1);
	size_t from = start_of(L, 3, s.n);

	compile(L, check_str(L, 2), false);
	lua_pushvalue(L, 1);
	lua_insert(L, -2);
	lua_pushinteger(L, (lua_Integer)from);
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, gmatch_next, 4);
	return 1;
}

/* A text with %0 to %9 in it. */
static void add_text(struct matcher *m, luaL_Buffer *b, const char *s, const char *end)
{
	struct bread_str text;

	text.p = lua_tolstring(m->L, 3, &text.n);
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c != '%') {
			luaL_addchar(b, c);
			continue;
		}
		c = ++i < text.n ? text.p[i] : 0;
		if (c == '%')
			luaL_addchar(b, '%');
		else if (!isdigit((unsigned char)c))
			luaL_error(m->L, "invalid use of '%%' in replacement string");
		else if (c == '0')
			luaL_addlstring(b, s, (size_t)(end - s));
		else {
			push_capture(m, (size_t)(c - '1'), s, end);
			luaL_tolstring(m->L, -1, NULL);
			lua_remove(m->L, -2);
			luaL_addvalue(b);
		}
	}
}

/* What takes the place of a match: of a text, a table's member, a function's result. */
static void add_value(struct matcher *m, luaL_Buffer *b, const char *s, const char *end)
{
	lua_State *L = m->L;

	if (lua_isfunction(L, 3)) {
		lua_pushvalue(L, 3);
		lua_call(L, push_captures(m, s, end, true), 1);
	} else if (lua_istable(L, 3)) {
		push_capture(m, 0, s, end);
		lua_gettable(L, 3);
	} else {
		add_text(m, b, s, end);
		return;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(b, s, (size_t)(end - s));
	} else if (!lua_isstring(L, -1)) {
		luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
	} else {
		luaL_addvalue(b);
	}
}

static void check_replacement(lua_State *L)
{
	int t = lua_type(L, 3);

	luaL_argexpected(L,
		t == LUA_TNUMBER || t == LUA_TSTRING || t == LUA_TFUNCTION || t == LUA_TTABLE, 3,
		"string/function/table");
}

static int str_gsub(lua_State *L)
{
	struct bread_str s = check_str(L, 1);
	lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)s.n + 1), n = 0;
	const char *at = s.p, *last = NULL;
	struct matcher m;
	luaL_Buffer b;

	check_replacement(L);
	lua_settop(L, 3);
	matcher_init(&m, L, true);
	luaL_buffinit(L, &b);
	while (n < most) {
		const char *end = match(&m, m.p->items, at);

		if (end && end != last) {
			n++;
			add_value(&m, &b, at, end);
			at = last = end;
		} else if (at < m.end) {
			luaL_addchar(&b, *at++);
		} else {
			break;
		}
		if (m.p->anchored)
			break;
	}
	luaL_addlstring(&b, at, (size_t)(m.end - at));
	luaL_pushresult(&b);
	lua_pushinteger(L, n);
	return 2;
}

void brd_script_patterns(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "find", str_find },
		{ "match", str_match },
		{ "gmatch", str_gmatch },
		{ "gsub", str_gsub },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);
}
