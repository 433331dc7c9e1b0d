/* SPDX-License-Identifier: MIT */
/* Hooks in Lua: a file that returns a table of functions by the names of the points, for its own
 * scope directly and for each scope in a table of its name (docs/hooks.md).
 *
 *   return { beforeRun = function(ctx, input) return { input = input } end, tool = { … } }
 *
 * What the table has is read once, when the file is opened, so that points without a function cost
 * nothing. */
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "bread/ext/hook.h"
#include "script/hook.h"
#include "script/pool.h"

struct hook_lua {
	struct bread_hook hook;
	struct script *script;
	uint32_t nested, direct; /* bits of points that have a function, by scope * points */
};

#define BIT(scope, point) (1u << ((scope)*BREAD_HOOK_POINTS + (point)))

_Static_assert(BREAD_HOOK_SCOPES *BREAD_HOOK_POINTS <= 32, "the bits of points fit");

/* ---- reading the table ---- */

/* The points in the table at index, which are those of a scope. Raises. */
static uint32_t read_points(lua_State *L, int index, enum bread_hook_scope scope, bool with_scopes)
{
	uint32_t bits = 0;

	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
		const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
		int point = brd_hook_point_named(scope, key);

		if (with_scopes && brd_hook_scope_named(key) >= 0)
			continue;
		if (point < 0)
			luaL_error(L, "`%s` is no hook of %s; %s are", key,
				brd_hook_scope_name(scope), brd_hook_point_list(scope));
		if (!lua_isfunction(L, -1))
			luaL_error(L, "`%s` must be a function", key);
		bits |= BIT(scope, point);
	}
	return bits;
}

/* Stack: the hook, what the file returned. */
static int read_table(lua_State *L)
{
	struct hook_lua *h = lua_touserdata(L, 1);

	if (!lua_istable(L, 2))
		return luaL_error(L, "a file of hooks returns a table of functions");
	h->direct = read_points(L, 2, h->hook.home, true);
	for (int scope = 0; scope < BREAD_HOOK_SCOPES; scope++) {
		lua_getfield(L, 2, brd_hook_scope_name((enum bread_hook_scope)scope));
		if (lua_istable(L, 3))
			h->nested |= read_points(L, 3, (enum bread_hook_scope)scope, false);
		else if (!lua_isnil(L, 3))
			return luaL_error(L, "`%s` must be a table of functions",
				brd_hook_scope_name((enum bread_hook_scope)scope));
		lua_pop(L, 1);
	}
	return 0;
}

static int lua_hook_open(
	struct bread_hook *hook, struct bread_str options, const char *dir, struct bread_err *err)
{
	struct hook_lua *h = (struct hook_lua *)hook;
	int r = brd_script_open(&h->script, options, dir, err);

	if (!r)
		r = brd_script_look(h->script, read_table, h, err);
	if (r)
		brd_script_close(h->script);
	return r;
}

static void lua_hook_close(struct bread_hook *hook)
{
	brd_script_close(((struct hook_lua *)hook)->script);
}

static int lua_hook_hears(
	struct bread_hook *hook, enum bread_hook_scope scope, enum bread_hook_point point)
{
	struct hook_lua *h = (struct hook_lua *)hook;

	return ((h->nested | h->direct) & BIT(scope, point)) != 0;
}

/* ---- a call ---- */

struct lua_call {
	struct script_job job;
	struct bread_hook_call *call;
	struct buf context, error;
	struct arena arena;
};

/* {"code","message","context"} of what went wrong. */
static void write_error(const struct bread_hook_info *i, struct buf *out)
{
	struct jsonw w = brd_jsonw(out);

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "code", i->error_code);
	brd_jw_kstr(&w, "message", i->error_message);
	brd_jw_kraw(&w, "context", i->error_context);
	brd_jw_end_obj(&w);
}

static bool at_end(enum bread_hook_point p)
{
	return p == BREAD_HOOK_AFTER_RUN || p == BREAD_HOOK_LOOP_ROUND_END ||
	       p == BREAD_HOOK_LOOP_FINISH;
}

/* The context with what else is known in it. */
static void write_context(struct lua_call *lc)
{
	const struct bread_hook_info *i = &lc->call->info;
	struct jsonw w = brd_jsonw(&lc->context);
	struct jval v;

	brd_jw_obj(&w);
	if (!brd_json_parse(&lc->arena, i->context, 0, &v, NULL))
		for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
			brd_jw_keys(&w, brd_json_str(it.key, &lc->arena));
			brd_jw_raw(&w, brd_json_raw(it.value));
		}
	brd_jw_kraw(&w, "input", i->input);
	if (at_end(i->point)) {
		brd_jw_kraw(&w, "output", i->output);
		brd_jw_kint(&w, "durationMs", i->duration_ms);
	} else if (i->point == BREAD_HOOK_ON_ERROR) {
		brd_jw_kraw(&w, "error", brd_buf_str(&lc->error));
	}
	brd_jw_end_obj(&w);
}

static void take_fail(struct lua_call *lc, struct jval v)
{
	struct bread_hook_call *call = lc->call;
	struct jval code = brd_json_get(v, "code");
	struct jval message = brd_json_type(v) == JSON_STRING ? v : brd_json_get(v, "message");

	call->answer = BREAD_HOOK_FAIL;
	if (brd_json_type(code) == JSON_STRING)
		call->error_code_out = brd_strdup(brd_json_strz(code, &lc->arena));
	if (brd_json_type(message) == JSON_STRING)
		call->error_text_out = brd_strdup(brd_json_strz(message, &lc->arena));
}

static void take_value(struct lua_call *lc, enum bread_hook_answer answer, struct jval v)
{
	struct bread_str raw = brd_json_raw(v);

	lc->call->answer = answer;
	lc->call->value = brd_strndup(raw);
	lc->call->value_len = raw.n;
}

/* What the function returned: a table with one of the answers; false: it has something else. */
static bool take_answer(struct lua_call *lc, struct bread_str json)
{
	struct json_iter it;
	struct jval v;

	if (!json.n)
		return true;
	if (brd_json_parse(&lc->arena, json, 0, &v, NULL) || brd_json_type(v) != JSON_OBJECT ||
		brd_json_count(v) > 1)
		return false;
	it = brd_json_each(v);
	if (!brd_json_next(&it))
		return true;
	if (brd_json_is(it.key, "input"))
		take_value(lc, BREAD_HOOK_INPUT, it.value);
	else if (brd_json_is(it.key, "output") || brd_json_is(it.key, "recover"))
		take_value(lc, BREAD_HOOK_OUTPUT, it.value);
	else if (brd_json_is(it.key, "retry") && brd_json_type(it.value) == JSON_BOOL)
		lc->call->answer =
			brd_json_bool(it.value, false) ? BREAD_HOOK_RETRY : BREAD_HOOK_NOTHING;
	else if (brd_json_is(it.key, "fail"))
		take_fail(lc, it.value);
	else
		return false;
	return true;
}

static void lua_call_free(struct lua_call *lc)
{
	brd_script_call_fini(&lc->job.call);
	brd_buf_fini(&lc->context);
	brd_buf_fini(&lc->error);
	brd_arena_fini(&lc->arena);
	free(lc);
}

static void on_finish(struct script_job *job, enum bread_code code)
{
	struct lua_call *lc = brd_list_of(job, struct lua_call, job);
	struct bread_err err = { 0 };

	if (code == BREAD_E_UPSTREAM)
		brd_script_err(job, &err);
	else if (!code && !take_answer(lc, brd_buf_str(&job->call.value)))
		code = brd_fail(&err, BREAD_E_UPSTREAM, "script",
			"a hook returns nothing, or a table with one of input, output, retry, fail "
			"and recover");
	bread_op_end(&lc->call->op, code, &err);
	lua_call_free(lc);
}

static void fill_job(struct lua_call *lc, const struct hook_lua *h)
{
	const struct bread_hook_info *i = &lc->call->info;
	struct script_call *c = &lc->job.call;
	bool direct = i->scope == h->hook.home && h->direct & BIT(i->scope, i->point);

	c->table = direct ? NULL : brd_hook_scope_name(i->scope);
	c->function = brd_hook_point_name(i->point);
	c->args[0] = brd_buf_str(&lc->context);
	c->args[1] = i->point == BREAD_HOOK_ON_ERROR ? brd_buf_str(&lc->error)
		     : at_end(i->point)              ? i->output
						     : i->input;
	c->arg_count = 2;
}

static void lua_hook_start(struct bread_hook *hook, struct bread_hook_call *call)
{
	struct hook_lua *h = (struct hook_lua *)hook;
	struct lua_call *lc = brd_alloc(sizeof(*lc));

	lc->call = call;
	lc->job.op = &call->op;
	lc->job.finish = on_finish;
	brd_buf_init(&lc->context, BUF_NO_LIMIT);
	brd_buf_init(&lc->error, BUF_NO_LIMIT);
	brd_script_call_init(&lc->job.call);
	if (call->info.point == BREAD_HOOK_ON_ERROR)
		write_error(&call->info, &lc->error);
	write_context(lc);
	fill_job(lc, h);
	brd_script_start(h->script, &lc->job);
}

const struct bread_hook_ops bread_hook_lua = {
	.name = "lua",
	.size = sizeof(struct hook_lua),
	.open = lua_hook_open,
	.close = lua_hook_close,
	.hears = lua_hook_hears,
	.start = lua_hook_start,
};
