/* SPDX-License-Identifier: MIT */
/* Tools that are programs: the arguments come as one JSON object on standard
 * input, the answer is JSON lines on standard output. Each line is a value on the
 * way, the last one is the result; no line is "no value".
 *
 *   command: ["./add.py", "--fast"]
 *   command: { run: ["./add.py"], env: { LANG: C }, cwd: . }
 *
 * An exit status that is not 0 is a failure. Its text is the "error" of the last
 * line, if that is an object with one ({"error":{"code","message","context"}} or
 * a string), else the last line of standard error. No shell is involved. When the run is
 * cancelled the program gets SIGTERM, half a second later SIGKILL.
 *
 * The environment is ours, plus BREAD_RUN_ID, BREAD_SESSION_ID, BREAD_AGENT_ID,
 * BREAD_TOOL_CALL_ID and TRACEPARENT, and the credentials that the tool declares, whose
 * names are in BREAD_CREDENTIALS. Names that other tools declare are taken out. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/err.h"
#include "base/mem.h"
#include "loop/proc.h"
#include "net/sse.h"
#include "tool/internal.h"

extern char **environ;

struct command {
	struct bread_tool tool;
	struct arena arena;
	const char **argv, **env; /* env: what is added */
	size_t env_count;
	char *cwd;
};

struct command_call {
	struct bread_tool_call *call;
	struct bread_op op; /* of the process */
	struct proc *proc;
	struct line_reader lines;
	struct buf last; /* the newest line */
	struct arena arena;
	const char *fault; /* what is wrong with its output; static */
};

/* ---- configuration ---- */

static int read_argv(struct command *c, struct jval v, struct bread_err *err)
{
	size_t n = brd_json_count(v);
	size_t i = 0;

	if (brd_json_type(v) == JSON_STRING) {
		c->argv = brd_arena_array(&c->arena, 2, sizeof(char *));
		c->argv[0] = brd_json_strz(v, &c->arena);
		return 0;
	}
	if (brd_json_type(v) != JSON_ARRAY || n == 0)
		return brd_fail(err, BREAD_E_INVALID, "tool",
			"command is a list: the program, then its arguments");
	c->argv = brd_arena_array(&c->arena, n + 1, sizeof(char *));
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it); i++) {
		struct bread_str s = brd_json_str(it.value, &c->arena);

		if (brd_json_type(it.value) != JSON_STRING)
			return brd_fail(err, BREAD_E_INVALID, "tool",
				"command[%zu] is not a string; put it in quotes", i);
		if (s.n && memchr(s.p, 0, s.n))
			return brd_fail(err, BREAD_E_INVALID, "tool",
				"command[%zu] has a NUL in it; take it out", i);
		c->argv[i] = brd_json_strz(it.value, &c->arena);
	}
	return 0;
}

static int read_env(struct command *c, struct jval v, struct bread_err *err)
{
	int r = brd_tool_check_strings("command.env", v, err);

	if (r)
		return r;
	c->env = brd_arena_array(&c->arena, brd_json_count(v) + 1, sizeof(char *));
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.key, &c->arena);

		c->env[c->env_count++] = brd_arena_strz(
			&c->arena, brd_arena_printf(&c->arena, "%.*s=%s", BRD_ARG(name),
					   brd_json_strz(it.value, &c->arena)));
	}
	return 0;
}

static int command_open(
	struct bread_tool *t, struct bread_str options, const char *dir, struct bread_err *err)
{
	static const struct tool_key keys[] = { { "run", JSON_NONE }, { "env", JSON_OBJECT },
		{ "cwd", JSON_STRING } };
	struct command *c = (struct command *)t;
	struct jval v, cwd = { 0 };
	int r;

	if (brd_json_parse(&c->arena, brd_arena_copy(&c->arena, options), 0, &v, NULL))
		return brd_fail(err, BREAD_E_INVALID, "tool", "command is not JSON");
	if (brd_json_type(v) == JSON_OBJECT) {
		r = brd_tool_check_keys("command", v, keys, sizeof(keys) / sizeof(*keys), err);
		if (!r)
			r = read_argv(c, brd_json_get(v, "run"), err);
		if (!r)
			r = read_env(c, brd_json_get(v, "env"), err);
		cwd = brd_json_get(v, "cwd");
	} else {
		r = read_argv(c, v, err);
	}
	c->cwd = brd_json_strz(cwd, &c->arena);
	if (c->cwd && c->cwd[0] != '/' && dir)
		c->cwd = brd_arena_strz(
			&c->arena, brd_arena_printf(&c->arena, "%s/%s", dir, c->cwd));
	else if (!c->cwd && dir)
		c->cwd = brd_arena_strz(&c->arena, brd_str(dir));
	if (r)
		brd_arena_fini(&c->arena);
	return r;
}

static void command_close(struct bread_tool *t)
{
	brd_arena_fini(&((struct command *)t)->arena);
}

/* ---- a call ---- */

static void keep(struct command_call *cc, struct bread_str line)
{
	brd_buf_clear(&cc->last);
	brd_buf_add(&cc->last, line);
}

/* {"error":…} and nothing else: not a value on the way, but why the program will fail. */
static bool says_error(struct bread_str line)
{
	struct arena a = { 0 };
	struct jval v = { 0 };
	bool yes = line.p[0] == '{' && !brd_json_parse(&a, line, 0, &v, NULL) &&
		   brd_json_count(v) == 1 && brd_json_type(brd_json_get(v, "error")) != JSON_NONE;

	brd_arena_fini(&a);
	return yes;
}

static void on_line(void *arg, struct bread_str line)
{
	struct command_call *cc = arg;
	struct bread_tool_call *call = cc->call;

	if (cc->fault)
		return;
	cc->fault = brd_tool_result_fault(line);
	keep(cc, line);
	if (!cc->fault && call->on_partial && !call->op.canceled && !says_error(line))
		call->on_partial(call, line);
}

static bool on_out(void *arg, struct bread_str bytes)
{
	struct command_call *cc = arg;

	if (brd_lines_feed(&cc->lines, bytes))
		return true;
	cc->fault = TOOL_RESULT_TOO_LARGE;
	return false;
}

static struct bread_str last_line(struct bread_str text)
{
	struct bread_str line = { 0 };

	text = brd_str_trim(text);
	while (text.p)
		line = brd_str_split(&text, '\n');
	return brd_str_trim(line);
}

/* What a program that failed has to say. */
static void take_failure(struct command_call *cc, int status)
{
	struct bread_tool_call *call = cc->call;
	struct bread_str said = last_line(brd_proc_stderr(cc->proc));
	struct jval v = { 0 };

	if (!brd_json_parse(&cc->arena, brd_buf_str(&cc->last), 0, &v, NULL))
		brd_tool_take_error(call, brd_json_get(v, "error"), &cc->arena);
	if (!call->error_text && said.n)
		call->error_text = brd_strndup(said);
	if (!call->error_text && !call->op.canceled)
		call->error_text = brd_strndup(
			brd_arena_printf(&cc->arena, "the program ended with status %d", status));
}

static void call_end(struct command_call *cc, enum bread_code code, const struct bread_err *err)
{
	struct bread_tool_call *call = cc->call;

	brd_proc_free(cc->proc);
	brd_lines_fini(&cc->lines);
	brd_buf_fini(&cc->last);
	brd_arena_fini(&cc->arena);
	free(cc);
	bread_op_end(&call->op, code, err);
}

static void on_ended(struct bread_op *op)
{
	struct command_call *cc = op->arg;
	int status = brd_proc_status(cc->proc);
	struct bread_err err = op->err;

	brd_lines_finish(&cc->lines);
	if (cc->fault) {
		brd_fail(&err, BREAD_E_UPSTREAM, "tool", "%s", cc->fault);
		cc->call->error_text = brd_strdup(cc->fault);
	} else if (op->code == BREAD_OK && status == 0) {
		if (cc->last.len)
			cc->call->result = brd_buf_take(&cc->last, &cc->call->result_len);
		call_end(cc, BREAD_OK, NULL);
		return;
	} else if (op->code == BREAD_OK || op->code == BREAD_E_CANCELED) {
		take_failure(cc, status);
		brd_fail(
			&err, BREAD_E_UPSTREAM, "tool", "the program ended with status %d", status);
	}
	call_end(cc, op->code == BREAD_E_CANCELED ? BREAD_E_CANCELED : BREAD_E_UPSTREAM, &err);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct command_call *cc = by;

	bread_op_cancel(&cc->op);
}

struct environment {
	const char **v; /* NAME=value */
	size_t n;
	struct arena *a;
};

/* In the place of one of that name: readers take the first one that they find. */
static void set_var(struct environment *e, const char *assignment)
{
	size_t name = strcspn(assignment, "=") + 1, i = 0;

	while (i < e->n && strncmp(e->v[i], assignment, name) != 0)
		i++;
	e->v[i] = assignment;
	if (i == e->n)
		e->n++;
}

static void tell(struct environment *e, const char *name, struct bread_str value)
{
	if (value.n)
		set_var(e, brd_arena_printf(e->a, "%s=%.*s", name, BRD_ARG(value)).p);
}

/* Names that tools declare are for those tools: what is in our environment under one is not passed
 * on as it is. */
static bool is_secret(const char *assignment)
{
	struct bread_str name = { assignment, strcspn(assignment, "=") };

	return brd_credential_declared(name) || brd_str_is(name, "VAULT_TOKEN");
}

static void tell_credentials(struct environment *e, const struct bread_tool_call *call)
{
	struct buf names;

	brd_buf_init(&names, BUF_NO_LIMIT);
	for (size_t i = 0; call->credential_names && call->credential_names[i]; i++) {
		brd_buf_addf(&names, "%s%s", i ? "," : "", call->credential_names[i]);
		tell(e, call->credential_names[i], brd_str(call->credential_values[i]));
	}
	if (names.len)
		tell(e, "BREAD_CREDENTIALS", brd_arena_copy(e->a, brd_buf_str(&names)));
	brd_buf_fini(&names);
}

static const char **environment(struct command_call *cc, const struct command *c)
{
	const struct bread_tool_call *call = cc->call;
	struct environment e = { .a = &cc->arena };
	size_t ours = 0, read = 0;

	while (environ[ours])
		ours++;
	while (call->credential_names && call->credential_names[read])
		read++;
	/* ours, the file's, what it may read and their names, what is told of the call, and a NULL
	 */
	e.v = brd_arena_array(e.a, ours + c->env_count + read + 1 + 5 + 1, sizeof(char *));
	for (size_t i = 0; i < ours; i++)
		if (!is_secret(environ[i]))
			e.v[e.n++] = environ[i];
	for (size_t i = 0; i < c->env_count; i++)
		set_var(&e, c->env[i]);
	tell_credentials(&e, call);
	tell(&e, "BREAD_RUN_ID", call->run_id);
	tell(&e, "BREAD_SESSION_ID", call->session_id);
	tell(&e, "BREAD_AGENT_ID", call->agent_id);
	tell(&e, "BREAD_TOOL_CALL_ID", call->call_id);
	tell(&e, "TRACEPARENT", call->traceparent);
	return e.v;
}

static void command_start(struct bread_tool *t, struct bread_tool_call *call)
{
	struct command *c = (struct command *)t;
	struct command_call *cc = brd_alloc(sizeof(*cc));
	struct proc_spec spec = {
		.argv = c->argv, .cwd = c->cwd, .input = call->args, .on_out = on_out, .arg = cc
	};

	cc->call = call;
	brd_lines_init(&cc->lines, TOOL_RESULT_MAX, on_line, cc);
	brd_buf_init(&cc->last, TOOL_RESULT_MAX);
	spec.env = environment(cc, c);
	bread_op_begin(&call->op, on_cancel, cc);
	bread_op_init(&cc->op, call->loop, on_ended, cc);
	cc->proc = brd_proc_start(call->loop, &spec, &cc->op);
}

const struct bread_tool_ops bread_tool_command = {
	.name = "command",
	.size = sizeof(struct command),
	.open = command_open,
	.close = command_close,
	.start = command_start,
};
