/* SPDX-License-Identifier: MIT */
/* Output formats in Lua: function format(text) gives the value that takes the text's place. */
#include "script/format.h"
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "script/pool.h"

struct format_lua {
	struct script *script;
};

struct lua_call {
	struct script_job job;
	struct format_call *call;
	struct buf text; /* as JSON */
};

static int check_format(lua_State *L)
{
	if (lua_istable(L, 2))
		lua_getfield(L, 2, "format");
	else if (!lua_isfunction(L, 2))
		lua_getglobal(L, "format");
	if (!lua_isfunction(L, -1))
		return luaL_error(L, "an output format needs a function format(text)");
	return 0;
}

int brd_format_lua_open(
	struct format_lua **ret, struct bread_str options, const char *dir, struct bread_err *err)
{
	struct format_lua *f = brd_alloc(sizeof(*f));
	int r = brd_script_open(&f->script, options, dir, err);

	if (!r)
		r = brd_script_look(f->script, check_format, NULL, err);
	if (r)
		brd_format_lua_close(f);
	else
		*ret = f;
	return r;
}

void brd_format_lua_close(struct format_lua *f)
{
	if (!f)
		return;
	brd_script_close(f->script);
	free(f);
}

static void on_finish(struct script_job *job, enum bread_code code)
{
	struct lua_call *lc = brd_list_of(job, struct lua_call, job);
	struct bread_err err;

	brd_script_err(job, &err);
	if (!code && !job->call.value.len)
		code = brd_fail(
			&err, BREAD_E_UPSTREAM, "script", "the custom format gave no value");
	if (!code)
		lc->call->json = brd_buf_take(&job->call.value, &lc->call->json_len);
	bread_op_end(&lc->call->op, code, &err);
	brd_script_call_fini(&job->call);
	brd_buf_fini(&lc->text);
	free(lc);
}

void brd_format_lua_start(struct format_lua *f, struct format_call *call)
{
	struct lua_call *lc = brd_alloc(sizeof(*lc));
	struct script_call *c = &lc->job.call;

	lc->call = call;
	brd_buf_init(&lc->text, BUF_NO_LIMIT);
	brd_json_quote(&lc->text, call->text);
	brd_script_call_init(c);
	c->function = "format";
	c->args[0] = brd_buf_str(&lc->text);
	c->arg_count = 1;
	lc->job.op = &call->op;
	lc->job.finish = on_finish;
	brd_script_start(f->script, &lc->job);
}
