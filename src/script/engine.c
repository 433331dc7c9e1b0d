/* SPDX-License-Identifier: MIT */
/* A Lua state, its limits, and calls of its functions.
 *
 * A count hook looks at the clock and at the wish to stop. When a script must end, the hook
 * raises an error, and from then on at every instruction: a script that catches errors gets no
 * further than to the next one. Finalizers run without hooks, so sandbox.c allows none. */
#include "script/engine.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"

#define TICK 200 /* instructions between two looks; some of them copy megabytes */

static const char root_key; /* what the script returned, in the registry */

static const char *const kill_words[] = {
	[KILL_CANCELED] = "the call was cancelled",
	[KILL_TIME] = "the script took too long",
	[KILL_INSTRUCTIONS] = "the script ran too many instructions",
};

/* ---- limits ---- */

static void *allocate(void *ud, void *p, size_t old, size_t wanted)
{
	struct script_state *s = ud;
	size_t limit = (size_t)s->code->limits.memory;
	void *q;

	if (!p)
		old = 0; /* it is a type's number then */
	if (!wanted) {
		free(p);
		s->used -= old;
		return NULL;
	}
	if (wanted > old && (s->used > limit || wanted - old > limit - s->used))
		return NULL;
	q = realloc(p, wanted);
	if (q)
		s->used = s->used - old + wanted;
	return q;
}

struct script_state *brd_script_state_of(lua_State *L)
{
	return *(struct script_state **)lua_getextraspace(L);
}

static enum script_kill reason(const struct script_state *s)
{
	if (s->call && atomic_load_explicit(&s->call->stop, memory_order_relaxed))
		return KILL_CANCELED;
	if (s->left < 0)
		return KILL_INSTRUCTIONS;
	return brd_clock_mono() >= s->deadline ? KILL_TIME : KILL_NONE;
}

static void tick(lua_State *L, lua_Debug *ar)
{
	brd_script_spend(L, TICK);
}

void brd_script_spend(lua_State *L, int64_t steps)
{
	struct script_state *s = brd_script_state_of(L);

	s->left -= steps;
	if (!s->killed)
		s->killed = reason(s);
	if (s->killed) {
		lua_sethook(L, tick, LUA_MASKCOUNT, 1);
		luaL_error(L, "%s", kill_words[s->killed]);
	}
}

static void arm(struct script_state *s, struct script_call *c)
{
	const struct script_limits *l = &s->code->limits;

	s->call = c;
	s->killed = KILL_NONE;
	s->deadline = brd_clock_mono() + l->ms;
	s->left = l->instructions ? l->instructions : INT64_MAX;
	lua_sethook(s->L, tick, LUA_MASKCOUNT, TICK);
	lua_settop(s->L, 0);
}

/* After it has ended: what it left behind is given back. */
static void disarm(struct script_state *s)
{
	s->call = NULL;
	lua_sethook(s->L, NULL, 0, 0);
	lua_settop(s->L, 0);
	brd_arena_fini(&s->scratch);
	brd_buf_fini(&s->text);
	if (s->used > (size_t)s->code->limits.memory / 2)
		lua_gc(s->L, LUA_GCCOLLECT);
}

/* ---- what an error says ---- */

struct report {
	struct script_call *c; /* NULL: the text alone is wanted */
	struct buf text;
};

/* The member of the error object as a string of ours; NULL: it is none. */
static char *taken(lua_State *L, const char *key)
{
	char *z = NULL;

	lua_pushstring(L, key);
	lua_rawget(L, 2);
	if (lua_type(L, -1) == LUA_TSTRING)
		z = brd_strdup(lua_tostring(L, -1));
	lua_pop(L, 1);
	return z;
}

static void take_context(lua_State *L, struct script_call *c)
{
	struct buf *text = &brd_script_state_of(L)->text;

	lua_pushliteral(L, "context");
	lua_rawget(L, 2);
	if (lua_istable(L, -1)) {
		brd_buf_fini(text);
		brd_buf_init(text, SCRIPT_VALUE_MAX);
		brd_script_write(L, -1, text);
		if (text->data[0] == '{')
			c->error_context = brd_strndup(brd_buf_str(text));
	}
	lua_pop(L, 1);
}

/* Stack: the report, the error. */
static int read_error(lua_State *L)
{
	struct report *r = lua_touserdata(L, 1);

	if (lua_istable(L, 2)) {
		char *message = taken(L, "message");

		brd_buf_addz(&r->text, message ? message : "");
		free(message);
		if (r->c) {
			r->c->error_code = taken(L, "code");
			take_context(L, r->c);
		}
	} else if (lua_type(L, 2) == LUA_TSTRING || lua_type(L, 2) == LUA_TNUMBER) {
		brd_buf_addz(&r->text, lua_tostring(L, 2));
	}
	return 0;
}

/* The error is at the top. What it says is cut where nobody would read on. */
static void report_error(struct script_state *s, struct report *r)
{
	lua_State *L = s->L;

	brd_buf_init(&r->text, 64 * 1024);
	lua_sethook(L, NULL, 0, 0);
	lua_pushcfunction(L, read_error);
	lua_insert(L, -2);
	lua_pushlightuserdata(L, r);
	lua_insert(L, -2);
	if (lua_pcall(L, 2, 0, 0) && !r->text.len)
		brd_buf_addz(&r->text, "the script failed, and so did telling why");
	if (s->killed) {
		brd_buf_clear(&r->text);
		brd_buf_addz(&r->text, kill_words[s->killed]);
	}
	if (!r->text.len)
		brd_buf_addz(&r->text, "the script failed with an error that has no message");
}

/* Calls fn(arg) in protected mode; false: it raised, and r says what. */
static bool protect(struct script_state *s, lua_CFunction fn, void *arg, struct report *r)
{
	lua_State *L = s->L;
	int status;

	lua_pushcfunction(L, fn);
	lua_pushlightuserdata(L, arg);
	status = lua_pcall(L, 1, 0, 0);
	if (status == LUA_OK)
		return true;
	report_error(s, r);
	/* What ran out of memory or was ended half way may be in any state. */
	s->bad = s->killed || status == LUA_ERRMEM || status == LUA_ERRERR;
	return false;
}

/* ---- making one ---- */

static int boot(lua_State *L)
{
	const struct script_code *code = lua_touserdata(L, 1);

	brd_script_values(L);
	brd_script_sandbox(L);
	if (luaL_loadbufferx(L, code->text.p, code->text.n, code->name, "t"))
		return lua_error(L);
	lua_call(L, 0, 1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &root_key);
	return 0;
}

int brd_script_state_new(struct script_state **ret, const struct script_code *code,
	struct script_call *first, struct bread_err *err)
{
	struct script_state *s = brd_alloc(sizeof(*s));
	struct report r = { 0 };
	bool ok;

	s->code = code;
	s->L = lua_newstate(allocate, s);
	if (!s->L) {
		free(s);
		return brd_fail(err, BREAD_E_INVALID, "script",
			"the memory that it may have is not enough for Lua itself");
	}
	*(struct script_state **)lua_getextraspace(s->L) = s;
	arm(s, first);
	ok = protect(s, boot, (void *)code, &r);
	if (!ok) {
		brd_fail(err, BREAD_E_INVALID, "script", "%.*s", BRD_ARG(brd_buf_str(&r.text)));
		brd_buf_fini(&r.text);
		if (first)
			first->killed = s->killed;
		brd_script_state_free(s);
		return BREAD_E_INVALID;
	}
	disarm(s);
	*ret = s;
	return 0;
}

void brd_script_state_free(struct script_state *s)
{
	if (!s)
		return;
	lua_close(s->L);
	brd_arena_fini(&s->scratch);
	brd_buf_fini(&s->text);
	free(s);
}

struct inspection {
	lua_CFunction fn;
	void *arg;
};

static int inspect(lua_State *L)
{
	const struct inspection *i = lua_touserdata(L, 1);

	lua_pushcfunction(L, i->fn);
	lua_pushlightuserdata(L, i->arg);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &root_key);
	lua_call(L, 2, 0);
	return 0;
}

int brd_script_inspect(struct script_state *s, lua_CFunction fn, void *arg, struct bread_err *err)
{
	struct inspection i = { fn, arg };
	struct report r = { 0 };
	int code = 0;

	arm(s, NULL);
	if (!protect(s, inspect, &i, &r)) {
		code = brd_fail(
			err, BREAD_E_INVALID, "script", "%.*s", BRD_ARG(brd_buf_str(&r.text)));
		brd_buf_fini(&r.text);
	}
	disarm(s);
	return code;
}

/* ---- a call ---- */

void brd_script_call_init(struct script_call *c)
{
	memset(c, 0, sizeof(*c));
	brd_buf_init(&c->value, SCRIPT_VALUE_MAX);
}

void brd_script_call_fini(struct script_call *c)
{
	brd_buf_fini(&c->value);
	free(c->error_code);
	free(c->error_text);
	free(c->error_context);
	c->error_code = c->error_text = c->error_context = NULL;
}

/* Pushes the function that is asked for. */
static void push_function(lua_State *L, const struct script_call *c)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, &root_key);
	if (c->table && lua_istable(L, -1))
		lua_getfield(L, -1, c->table);
	if (lua_istable(L, -1))
		lua_getfield(L, -1, c->function);
	else if (!c->table && !lua_isfunction(L, -1))
		lua_getglobal(L, c->function);
	if (!lua_isfunction(L, -1))
		luaL_error(L, "it has no function `%s`", c->function);
}

static int yield(lua_State *L)
{
	struct script_state *s = brd_script_state_of(L);
	struct script_call *c = s->call;

	luaL_checkany(L, 1);
	brd_buf_fini(&s->text);
	brd_buf_init(&s->text, SCRIPT_VALUE_MAX);
	brd_script_write(L, 1, &s->text);
	if (!c || !c->on_yield(c, brd_buf_str(&s->text)))
		return luaL_error(L, "there are too many values on their way");
	return 0;
}

static void push_arg(lua_State *L, const struct script_call *c, size_t i)
{
	struct script_state *s = brd_script_state_of(L);
	struct jval v;

	brd_arena_fini(&s->scratch);
	if (!c->args[i].n) {
		lua_pushnil(L);
		return;
	}
	if (brd_json_parse(&s->scratch, c->args[i], 0, &v, NULL))
		luaL_error(L, "an argument is no JSON, or nests too deep");
	brd_script_push(L, v, &s->scratch);
}

static int perform(lua_State *L)
{
	struct script_call *c = lua_touserdata(L, 1);

	push_function(L, c);
	for (size_t i = 0; i < c->arg_count; i++)
		push_arg(L, c, i);
	if (c->on_yield && c->arg_count) {
		lua_pushcfunction(L, yield);
		lua_setfield(L, -2, "yield"); /* the context is the last one */
	}
	lua_call(L, (int)c->arg_count, 1);
	if (!lua_isnil(L, -1))
		brd_script_write(L, -1, &c->value);
	return 0;
}

void brd_script_run(struct script_state *s, struct script_call *c)
{
	struct report r = { .c = c };

	arm(s, c);
	if (!protect(s, perform, c, &r)) {
		c->failed = true;
		c->killed = s->killed;
		c->error_text = brd_strndup(brd_buf_str(&r.text));
		brd_buf_fini(&r.text);
	}
	disarm(s);
}
