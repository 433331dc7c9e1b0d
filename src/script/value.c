/* SPDX-License-Identifier: MIT */
/* JSON's values as Lua's and back.
 *
 * What goes in and comes out unchanged is equal to what it was, as JSON Schema compares: big
 * integers, empty arrays and objects, null, any string. Objects come out with their keys in the
 * order of their bytes, since a table has none.
 *
 * The metatables are hidden from scripts: one that could add a finalizer to them would have code
 * that runs without limits. */
#include <math.h>
#include <stdlib.h>
#include "base/jsonw.h"
#include "script/engine.h"

#define EXACT "bread.exact"

static const char null_value, array_key;

/* A number with more in it than a float has. */
struct exact {
	double near;
	size_t n;
	char digits[];
};

void brd_script_push_null(lua_State *L)
{
	lua_pushlightuserdata(L, (void *)&null_value);
}

void brd_script_mark_array(lua_State *L)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, &array_key);
	lua_setmetatable(L, -2);
}

/* ---- exact numbers ---- */

static double nearest(lua_State *L, int index)
{
	const struct exact *e = luaL_testudata(L, index, EXACT);

	return e ? e->near : luaL_checknumber(L, index);
}

static int exact_arith(lua_State *L)
{
	double a = nearest(L, 1), b = nearest(L, 2); /* of the unary minus, both are the one */

	lua_settop(L, 0);
	lua_pushnumber(L, a);
	if ((int)lua_tointeger(L, lua_upvalueindex(1)) != LUA_OPUNM)
		lua_pushnumber(L, b);
	lua_arith(L, (int)lua_tointeger(L, lua_upvalueindex(1)));
	return 1;
}

static int exact_less(lua_State *L)
{
	lua_pushboolean(L, nearest(L, 1) < nearest(L, 2));
	return 1;
}

static int exact_less_equal(lua_State *L)
{
	lua_pushboolean(L, nearest(L, 1) <= nearest(L, 2));
	return 1;
}

static int exact_equal(lua_State *L)
{
	const struct exact *a = luaL_testudata(L, 1, EXACT), *b = luaL_testudata(L, 2, EXACT);

	lua_pushboolean(L, a && b && a->n == b->n && !memcmp(a->digits, b->digits, a->n));
	return 1;
}

static int exact_tostring(lua_State *L)
{
	const struct exact *e = luaL_checkudata(L, 1, EXACT);

	lua_pushlstring(L, e->digits, e->n);
	return 1;
}

static void add_arith(lua_State *L)
{
	static const struct {
		const char *name;
		int op;
	} events[] = {
		{ "__add", LUA_OPADD },
		{ "__sub", LUA_OPSUB },
		{ "__mul", LUA_OPMUL },
		{ "__div", LUA_OPDIV },
		{ "__mod", LUA_OPMOD },
		{ "__pow", LUA_OPPOW },
		{ "__idiv", LUA_OPIDIV },
		{ "__unm", LUA_OPUNM },
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		lua_pushinteger(L, events[i].op);
		lua_pushcclosure(L, exact_arith, 1);
		lua_setfield(L, -2, events[i].name);
	}
}

static void hide(lua_State *L)
{
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
}

void brd_script_values(lua_State *L)
{
	static const luaL_Reg events[] = {
		{ "__eq", exact_equal },
		{ "__lt", exact_less },
		{ "__le", exact_less_equal },
		{ "__tostring", exact_tostring },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, EXACT);
	luaL_setfuncs(L, events, 0);
	add_arith(L);
	hide(L);
	lua_pop(L, 1);
	lua_newtable(L);
	hide(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &array_key);
}

/* ---- in ---- */

static bool is_integer(struct bread_str digits)
{
	for (size_t i = 0; i < digits.n; i++)
		if (digits.p[i] == '.' || (digits.p[i] | 0x20) == 'e')
			return false;
	return digits.n != 2 || memcmp(digits.p, "-0", 2) != 0;
}

/* Does the float, written again, mean the same? */
static bool float_holds(struct jval v, double d, struct arena *a)
{
	struct bread_str digits = brd_json_raw(v);
	struct jval again;
	struct buf b;
	bool same;

	if (!isfinite(d))
		return false;
	if (digits.n <= 16 && !memchr(digits.p, 'e', digits.n) && !memchr(digits.p, 'E', digits.n))
		return true; /* 15 digits always do */
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_num_add(&b, d);
	same = !brd_json_parse(a, brd_buf_str(&b), 0, &again, NULL) && brd_json_equal(v, again);
	brd_buf_fini(&b);
	return same;
}

static void push_exact(lua_State *L, double near, struct bread_str digits)
{
	struct exact *e = lua_newuserdatauv(L, sizeof(*e) + digits.n, 0);

	e->near = near;
	e->n = digits.n;
	memcpy(e->digits, digits.p, digits.n);
	luaL_setmetatable(L, EXACT);
}

static void push_number(lua_State *L, struct jval v, struct arena *a)
{
	struct bread_str digits = brd_json_raw(v);
	double d;
	int64_t i;

	if (is_integer(digits) && brd_json_int(v, &i)) {
		lua_pushinteger(L, i);
		return;
	}
	d = brd_json_num(v, 0);
	if (float_holds(v, d, a))
		lua_pushnumber(L, d);
	else
		push_exact(L, d, digits);
}

static void push_string(lua_State *L, struct jval v, struct arena *a)
{
	struct bread_str s = brd_json_str(v, a);

	lua_pushlstring(L, s.n ? s.p : "", s.n);
}

static void push_container(lua_State *L, struct jval v, struct arena *a)
{
	bool object = brd_json_type(v) == JSON_OBJECT;
	int n = (int)brd_json_count(v); /* of 27 bits */

	luaL_checkstack(L, 4, "values nest too deep");
	lua_createtable(L, object ? 0 : n, object ? n : 0);
	if (!object)
		brd_script_mark_array(L);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		if (object)
			push_string(L, it.key, a);
		brd_script_push(L, it.value, a);
		if (object)
			lua_rawset(L, -3);
		else
			lua_rawseti(L, -2, (lua_Integer)it.index + 1);
	}
}

void brd_script_push(lua_State *L, struct jval v, struct arena *a)
{
	switch (brd_json_type(v)) {
	case JSON_NONE:
		lua_pushnil(L);
		break;
	case JSON_NULL:
		brd_script_push_null(L);
		break;
	case JSON_BOOL:
		lua_pushboolean(L, brd_json_bool(v, false));
		break;
	case JSON_NUMBER:
		push_number(L, v, a);
		break;
	case JSON_STRING:
		push_string(L, v, a);
		break;
	case JSON_ARRAY:
	case JSON_OBJECT:
		push_container(L, v, a);
		break;
	}
}

/* ---- out ---- */

static void write_value(lua_State *L, int index, struct jsonw *w, unsigned deeper);

static bool marked_array(lua_State *L, int index)
{
	bool yes;

	if (!lua_getmetatable(L, index))
		return false;
	lua_rawgetp(L, LUA_REGISTRYINDEX, &array_key);
	yes = lua_rawequal(L, -1, -2);
	lua_pop(L, 2);
	return yes;
}

/* Its keys are 1 to n and nothing else, or an error is raised. */
static void check_array(lua_State *L, int index, size_t n)
{
	size_t seen = 0;

	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
		seen++;
		if (!lua_isinteger(L, -2))
			luaL_error(L, "a list has a key that is no place in it");
	}
	if (seen != n)
		luaL_error(L, "a list has holes; bread.null fills them");
}

static void write_array(lua_State *L, int index, struct jsonw *w, unsigned deeper)
{
	size_t n = lua_rawlen(L, index);

	check_array(L, index, n);
	brd_jw_arr(w);
	for (size_t i = 1; i <= n; i++) {
		lua_rawgeti(L, index, (lua_Integer)i);
		write_value(L, lua_gettop(L), w, deeper);
		lua_pop(L, 1);
	}
	brd_jw_end_arr(w);
}

static int by_bytes(const void *a, const void *b)
{
	return brd_str_cmp(*(const struct bread_str *)a, *(const struct bread_str *)b);
}

static size_t count_keys(lua_State *L, int index)
{
	size_t n = 0;

	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "a table has keys that are no strings, and is no list");
		n++;
	}
	return n;
}

/* Its keys in order, in memory of Lua's, which is pushed. */
static struct bread_str *sorted_keys(lua_State *L, int index, size_t n)
{
	struct bread_str *keys = lua_newuserdatauv(L, n * sizeof(*keys), 0);
	size_t i = 0;

	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1), i++)
		keys[i].p = lua_tolstring(L, -2, &keys[i].n);
	if (n)
		qsort(keys, n, sizeof(*keys), by_bytes);
	return keys;
}

static void write_object(lua_State *L, int index, struct jsonw *w, unsigned deeper)
{
	size_t n = count_keys(L, index);
	struct bread_str *keys = sorted_keys(L, index, n);

	brd_jw_obj(w);
	for (size_t i = 0; i < n; i++) {
		lua_pushlstring(L, keys[i].p, keys[i].n);
		brd_jw_keys(w, keys[i]);
		lua_rawget(L, index);
		write_value(L, lua_gettop(L), w, deeper);
		lua_pop(L, 1);
	}
	brd_jw_end_obj(w);
	lua_pop(L, 1);
}

static void write_number(lua_State *L, int index, struct jsonw *w)
{
	if (lua_isinteger(L, index))
		brd_jw_int(w, lua_tointeger(L, index));
	else if (isfinite(lua_tonumber(L, index)))
		brd_jw_num(w, lua_tonumber(L, index));
	else
		luaL_error(L, "JSON has no number that is infinite or none");
}

static void write_userdata(lua_State *L, int index, struct jsonw *w)
{
	const struct exact *e = luaL_testudata(L, index, EXACT);

	if (lua_touserdata(L, index) == &null_value)
		brd_jw_null(w);
	else if (e)
		brd_jw_raw(w, (struct bread_str){ e->digits, e->n });
	else
		luaL_error(L, "a userdata is no value of JSON");
}

static void write_table(lua_State *L, int index, struct jsonw *w, unsigned deeper)
{
	if (!deeper)
		luaL_error(L, "values nest too deep, or a table is inside itself");
	luaL_checkstack(L, 6, "values nest too deep");
	if (marked_array(L, index) || lua_rawlen(L, index))
		write_array(L, index, w, deeper - 1);
	else
		write_object(L, index, w, deeper - 1);
}

static void write_string(lua_State *L, int index, struct jsonw *w)
{
	struct bread_str s;

	s.p = lua_tolstring(L, index, &s.n);
	brd_jw_str(w, s);
}

static void write_value(lua_State *L, int index, struct jsonw *w, unsigned deeper)
{
	switch (lua_type(L, index)) {
	case LUA_TNIL:
		brd_jw_null(w);
		break;
	case LUA_TBOOLEAN:
		brd_jw_bool(w, lua_toboolean(L, index));
		break;
	case LUA_TNUMBER:
		write_number(L, index, w);
		break;
	case LUA_TSTRING:
		write_string(L, index, w);
		break;
	case LUA_TTABLE:
		write_table(L, index, w, deeper);
		break;
	case LUA_TUSERDATA:
	case LUA_TLIGHTUSERDATA:
		write_userdata(L, index, w);
		break;
	default:
		luaL_error(L, "a %s is no value of JSON", luaL_typename(L, index));
	}
	if (w->b->bad)
		luaL_error(L, "the value is over %d bytes", (int)w->b->limit);
}

void brd_script_write(lua_State *L, int index, struct buf *out)
{
	struct jsonw w = brd_jsonw(out);

	write_value(L, lua_absindex(L, index), &w, JSON_DEPTH);
}
