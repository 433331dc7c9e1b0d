/* SPDX-License-Identifier: MIT */
/* string.find, match, gmatch and gsub. Lua's own try a pattern in C for as long as it takes, which
 * for some patterns is for ever. */
#include <ctype.h>
#include "script/pattern.h"

/* Pushes capture i; i 0 of a pattern without any: all that matched. */
static void push_capture(struct matcher *m, size_t i, const char *s, const char *end)
{
	struct capture c = { s, (size_t)(end - s) };

	if (i < m->p->captures)
		c = m->captures[i];
	else if (i)
		luaL_error(m->L, "invalid capture index %%%d", (int)i + 1);
	if (c.n == CAPTURE_POSITION)
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
	m->p = brd_pattern_compile(L, check_str(L, 2), anchors);
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
	end = brd_pattern_search(&m, &at);
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
		end = brd_pattern_search(&m, &at);
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

	brd_pattern_compile(L, check_str(L, 2), false);
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
		const char *end = brd_pattern_match(&m, at);

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
