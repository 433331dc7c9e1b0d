/* SPDX-License-Identifier: MIT */
/* Tools in Lua: function run(args, context) gives the result.
 *
 *   lua: ./add.lua
 *   lua: { source: "function run(a) return a.x + a.y end", time: 1s }
 *
 * error{ code =, message =, context = } is a failure in the tool's own words; context.yield(value)
 * is a value on the way. docs/tools.md has all. */
#include <stdlib.h>
#include <string.h>
#include "base/jsonw.h"
#include "base/mem.h"
#include "bread/ext/tool.h"
#include "script/pool.h"

struct tool_lua {
	struct bread_tool tool;
	struct script *script;
};

struct lua_call {
	struct script_job job;
	struct bread_tool_call *call;
	struct buf context;
};

/* Stack: nothing of ours, what the script returned. */
static int check_run(lua_State *L)
{
	if (lua_istable(L, 2))
		lua_getfield(L, 2, "run");
	else if (!lua_isfunction(L, 2))
		lua_getglobal(L, "run");
	if (!lua_isfunction(L, -1))
		return luaL_error(L, "a tool needs a function run(args, context)");
	return 0;
}

static int lua_tool_open(
	struct bread_tool *tool, struct bread_str options, const char *dir, struct bread_err *err)
{
	struct tool_lua *t = (struct tool_lua *)tool;
	int r = brd_script_open(&t->script, options, dir, err);

	if (!r)
		r = brd_script_look(t->script, check_run, NULL, err);
	if (r)
		brd_script_close(t->script);
	return r;
}

static void lua_tool_close(struct bread_tool *tool)
{
	brd_script_close(((struct tool_lua *)tool)->script);
}

static void write_credentials(const struct bread_tool_call *call, struct jsonw *w)
{
	brd_jw_key(w, "credentials");
	brd_jw_obj(w);
	for (size_t i = 0; call->credential_names[i]; i++) {
		if (!call->credential_values[i])
			continue;
		brd_jw_keys(w, brd_str(call->credential_names[i]));
		brd_jw_strz(w, call->credential_values[i]);
	}
	brd_jw_end_obj(w);
}

static void write_context(const struct bread_tool_call *call, struct buf *out)
{
	struct jsonw w = brd_jsonw(out);

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "agentId", call->agent_id);
	brd_jw_kstr(&w, "runId", call->run_id);
	brd_jw_kstr(&w, "sessionId", call->session_id);
	brd_jw_kstr(&w, "toolName", call->tool_name);
	brd_jw_kstr(&w, "toolCallId", call->call_id);
	if (call->credential_names)
		write_credentials(call, &w);
	brd_jw_end_obj(&w);
}

static void on_value(struct script_job *job, struct bread_str json)
{
	struct lua_call *lc = brd_list_of(job, struct lua_call, job);

	if (lc->call->on_partial)
		lc->call->on_partial(lc->call, json);
}

static void take_outcome(struct bread_tool_call *call, struct script_call *c)
{
	if (c->value.len && !c->failed)
		call->result = brd_buf_take(&c->value, &call->result_len);
	call->error_code = c->error_code;
	call->error_text = c->error_text;
	call->error_context = c->error_context;
	c->error_code = c->error_text = c->error_context = NULL;
}

static void on_finish(struct script_job *job, enum bread_code code)
{
	struct lua_call *lc = brd_list_of(job, struct lua_call, job);
	struct bread_err err;

	brd_script_err(job, &err);
	if (code != BREAD_E_CANCELED)
		take_outcome(lc->call, &job->call);
	bread_op_end(&lc->call->op, code, &err);
	brd_script_call_fini(&job->call);
	if (lc->context.cap)
		explicit_bzero(lc->context.data, lc->context.cap); /* credentials */
	brd_buf_fini(&lc->context);
	free(lc);
}

static void lua_tool_start(struct bread_tool *tool, struct bread_tool_call *call)
{
	struct lua_call *lc = brd_alloc(sizeof(*lc));
	struct script_call *c = &lc->job.call;

	lc->call = call;
	brd_buf_init(&lc->context, BUF_NO_LIMIT);
	write_context(call, &lc->context);
	brd_script_call_init(c);
	c->function = "run";
	c->args[0] = call->args;
	c->args[1] = brd_buf_str(&lc->context);
	c->arg_count = 2;
	lc->job.op = &call->op;
	lc->job.finish = on_finish;
	lc->job.on_value = on_value;
	brd_script_start(((struct tool_lua *)tool)->script, &lc->job);
}

const struct bread_tool_ops bread_tool_lua = {
	.name = "lua",
	.size = sizeof(struct tool_lua),
	.open = lua_tool_open,
	.close = lua_tool_close,
	.start = lua_tool_start,
};
