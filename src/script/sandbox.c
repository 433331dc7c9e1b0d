/* SPDX-License-Identifier: MIT */
/* What a script can reach: the parts of Lua's libraries that touch nothing outside, and a table
 * `bread`.
 *
 * The engine counts instructions of Lua, not loops of its libraries in C. Functions that could be
 * made to loop there for ever are given here anew or get a guard: what shifts elements by a length
 * that a script may claim, what compares without a function of Lua's, what repeats nothing. Code
 * that would run where nothing is counted is not run: finalizers cannot be made, and the handler
 * of xpcall is not asked about the error that ends a script, which comes out of a hook. */
#include "base/log.h"
#include "script/engine.h"

#define LOG_TEXT_MAX ((size_t)1000)
#define MOVE_MAX 1000000

/* ---- guards: the first upvalue is Lua's own function ---- */

static int call_original(lua_State *L)
{
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
	return lua_gettop(L);
}

/* A length that is claimed by a function may be any. */
static int guard_length(lua_State *L)
{
	if (luaL_getmetafield(L, 1, "__len") != LUA_TNIL)
		return luaL_error(L, "this function takes no table with __len");
	return call_original(L);
}

static int guard_move(lua_State *L)
{
	lua_Integer from = luaL_checkinteger(L, 2), to = luaL_checkinteger(L, 3);

	if (to >= from && (lua_Unsigned)to - (lua_Unsigned)from >= MOVE_MAX)
		return luaL_error(L, "table.move takes at most %d elements", MOVE_MAX);
	return call_original(L);
}

/* The second upvalue makes a comparison a function of Lua's, which is counted. */
static int guard_sort(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 2);
	lua_pushvalue(L, lua_upvalueindex(2));
	lua_insert(L, 2);
	lua_call(L, 1, 1);
	return guard_length(L);
}

static int guard_rep(lua_State *L)
{
	size_t n, between;

	luaL_checklstring(L, 1, &n);
	luaL_optlstring(L, 3, "", &between);
	if (n + between)
		return call_original(L);
	lua_pushliteral(L, "");
	return 1;
}

static int guard_setmetatable(lua_State *L)
{
	if (lua_istable(L, 2)) {
		lua_pushliteral(L, "__gc");
		if (lua_rawget(L, 2) != LUA_TNIL)
			return luaL_error(L, "finalizers (__gc) are not there for scripts");
		lua_pop(L, 1);
	}
	return call_original(L);
}

static int handler(lua_State *L)
{
	if (brd_script_state_of(L)->killed)
		return 1;
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, 1);
	return 1;
}

static int guard_xpcall(lua_State *L)
{
	luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushvalue(L, 2);
	lua_pushcclosure(L, handler, 1);
	lua_replace(L, 2);
	return call_original(L);
}

/* Puts a guard around the function of that name in the table at the top. */
static void guard(lua_State *L, const char *name, lua_CFunction fn)
{
	lua_getfield(L, -1, name);
	lua_pushcclosure(L, fn, 1);
	lua_setfield(L, -2, name);
}

static void guard_table(lua_State *L)
{
	static const char comparison[] =
		"local f = ... "
		"if f == nil then return function(a, b) return a < b end end "
		"return function(a, b) return f(a, b) end";

	guard(L, "insert", guard_length);
	guard(L, "remove", guard_length);
	guard(L, "concat", guard_length);
	guard(L, "unpack", guard_length);
	guard(L, "move", guard_move);
	lua_getfield(L, -1, "sort");
	luaL_loadbufferx(L, comparison, sizeof(comparison) - 1, "=sort", "t");
	lua_pushcclosure(L, guard_sort, 2);
	lua_setfield(L, -2, "sort");
}

/* ---- bread ---- */

/* Its arguments as print would show them, with tabs between. */
static int bread_log(lua_State *L)
{
	const struct script_code *code = brd_script_state_of(L)->code;
	int n = lua_gettop(L);
	luaL_Buffer b;
	size_t len;
	const char *text;

	luaL_buffinit(L, &b);
	for (int i = 1; i <= n; i++) {
		luaL_tolstring(L, i, NULL);
		luaL_addvalue(&b);
		if (i < n)
			luaL_addchar(&b, ' ');
	}
	luaL_pushresult(&b);
	text = lua_tolstring(L, -1, &len);
	len = brd_utf8_cut((struct bread_str){ text, len }, LOG_TEXT_MAX);
	log_info("script.log", "%s: %.*s", code->name + 1, (int)len, text);
	return 0;
}

static int json_encode(lua_State *L)
{
	struct buf *text = &brd_script_state_of(L)->text;

	luaL_checkany(L, 1);
	brd_buf_fini(text);
	brd_buf_init(text, SCRIPT_VALUE_MAX);
	brd_script_write(L, 1, text);
	lua_pushlstring(L, text->data, text->len);
	return 1;
}

static int json_decode(lua_State *L)
{
	struct arena *a = &brd_script_state_of(L)->scratch;
	struct json_where where = { 0 };
	struct bread_str s;
	struct jval v;

	s.p = luaL_checklstring(L, 1, &s.n);
	if (s.n > SCRIPT_VALUE_MAX)
		return luaL_error(L, "the text is over 8 MiB");
	brd_arena_fini(a);
	if (brd_json_parse(a, s, 0, &v, &where))
		return luaL_error(L, "not JSON: %s at byte %d", where.what, (int)where.at);
	brd_script_push(L, v, a);
	return 1;
}

static int bread_array(lua_State *L)
{
	if (lua_isnoneornil(L, 1))
		lua_newtable(L);
	luaL_checktype(L, -1, LUA_TTABLE);
	if (luaL_getmetafield(L, -1, "__metatable") != LUA_TNIL)
		lua_pop(L, 1); /* it is one already, or nobody may change it */
	else
		brd_script_mark_array(L);
	return 1;
}

static void open_bread(lua_State *L)
{
	static const luaL_Reg json[] = { { "encode", json_encode }, { "decode", json_decode },
		{ NULL, NULL } };
	static const luaL_Reg functions[] = { { "log", bread_log }, { "array", bread_array },
		{ NULL, NULL } };

	luaL_newlib(L, functions);
	luaL_newlib(L, json);
	lua_setfield(L, -2, "json");
	brd_script_push_null(L);
	lua_setfield(L, -2, "null");
	lua_setglobal(L, "bread");
	lua_pushcfunction(L, bread_log);
	lua_setglobal(L, "print");
}

/* ---- all of it ---- */

static void open_libraries(lua_State *L)
{
	static const luaL_Reg libraries[] = {
		{ LUA_GNAME, luaopen_base },
		{ LUA_STRLIBNAME, luaopen_string },
		{ LUA_TABLIBNAME, luaopen_table },
		{ LUA_MATHLIBNAME, luaopen_math },
		{ LUA_UTF8LIBNAME, luaopen_utf8 },
	};

	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
		lua_pop(L, 1);
	}
}

/* Files, code from text, and the collector, by which a script could undo its limits. */
static void take_away(lua_State *L)
{
	static const char *const names[] = { "collectgarbage", "dofile", "load", "loadfile",
		"warn" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		lua_pushnil(L);
		lua_setglobal(L, names[i]);
	}
}

void brd_script_sandbox(lua_State *L)
{
	open_libraries(L);
	take_away(L);
	lua_pushglobaltable(L);
	guard(L, "setmetatable", guard_setmetatable);
	guard(L, "xpcall", guard_xpcall);
	lua_getfield(L, -1, LUA_TABLIBNAME);
	guard_table(L);
	lua_pop(L, 1);
	lua_getfield(L, -1, LUA_STRLIBNAME);
	guard(L, "rep", guard_rep);
	lua_pushnil(L);
	lua_setfield(L, -2, "dump");
	brd_script_patterns(L);
	lua_pop(L, 2);
	open_bread(L);
}
