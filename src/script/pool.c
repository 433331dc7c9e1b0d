/* SPDX-License-Identifier: MIT */
/* States of a script, and calls that take turns with them.
 *
 * A state is idle, or belongs to one job: while a worker has it, while it is handed from the loop
 * of one job to that of another, and while it is being made (counted, and NULL yet). */
#include "script/pool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/mem.h"
#include "config/conf.h"

#define VALUES_MAX (2 * SCRIPT_VALUE_MAX) /* bytes that wait for the loop */

/* ---- configuration ---- */

struct options {
	char *file, *source;
	int64_t memory, ms, instructions, states;
};

#define AT(member) offsetof(struct options, member)

static const struct conf_field fields[] = {
	{ .key = "file", .type = CONF_STR, .offset = AT(file), .doc = "The file of the script." },
	{ .key = "source", .type = CONF_STR, .offset = AT(source), .doc = "Its text instead." },
	{ .key = "memory",
		.type = CONF_SIZE,
		.offset = AT(memory),
		.dflt = "64MiB",
		.min = 65536,
		.max = 1 << 30,
		.doc = "What it may allocate." },
	{ .key = "time",
		.type = CONF_TIME,
		.offset = AT(ms),
		.dflt = "10s",
		.min = 1,
		.max = 86400000,
		.doc = "Longest time of a call." },
	{ .key = "instructions",
		.type = CONF_INT,
		.offset = AT(instructions),
		.dflt = "1000000000",
		.max = 1e15,
		.doc = "Instructions of Lua of a call; 0: any number." },
	{ .key = "states",
		.type = CONF_INT,
		.offset = AT(states),
		.dflt = "2",
		.min = 1,
		.max = 64,
		.doc = "Calls at the same time." },
};

/* "FILE" is short for {"file": "FILE"}. */
static int read_options(
	struct script *s, struct bread_str options, struct options *ret, struct bread_err *err)
{
	struct arena *a = &s->arena;
	struct jval v;

	if (brd_json_parse(a, brd_arena_copy(a, options), 0, &v, NULL))
		return brd_fail(err, BREAD_E_INVALID, "script", "lua is not JSON");
	if (brd_json_type(v) == JSON_STRING) {
		struct bread_str text =
			brd_arena_printf(a, "{\"file\":%.*s}", BRD_ARG(brd_json_raw(v)));

		brd_json_parse(a, text, 0, &v, NULL);
	}
	if (brd_json_type(v) != JSON_OBJECT)
		return brd_fail(err, BREAD_E_INVALID, "script",
			"lua must be the name of a file, or an object with `file` or `source`");
	return brd_conf_read(fields, CONF_COUNT(fields), v, ret, NULL, "lua", a, err);
}

static int read_fd(struct script *s, int fd, const char *path, struct bread_err *err)
{
	struct stat st;
	char *text;
	ssize_t n;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return brd_fail(err, BREAD_E_INVALID, path, "it is no file");
	if ((size_t)st.st_size > SCRIPT_SOURCE_MAX)
		return brd_fail(err, BREAD_E_TOO_LARGE, path, "the script is over 1 MiB");
	text = brd_arena_alloc(&s->arena, (size_t)st.st_size + 1);
	n = read(fd, text, (size_t)st.st_size);
	if (n < 0)
		return brd_fail(
			err, BREAD_E_INVALID, path, "it cannot be read: %s", brd_errno(errno));
	s->code.text = (struct bread_str){ text, (size_t)n };
	return 0;
}

static int read_source(struct script *s, const char *file, const char *dir, struct bread_err *err)
{
	bool absolute = file[0] == '/' || !dir;
	char *path = brd_arena_strz(&s->arena,
		absolute ? brd_str(file) : brd_arena_printf(&s->arena, "%s/%s", dir, file));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return brd_fail(err, BREAD_E_INVALID, "script", "the script %s cannot be read: %s",
			path, brd_errno(errno));
	r = read_fd(s, fd, path, err);
	close(fd);
	return r;
}

static int configure(
	struct script *s, struct bread_str options, const char *dir, struct bread_err *err)
{
	struct options o = { 0 };
	int r = read_options(s, options, &o, err);

	if (r)
		return r;
	if (!o.file == !o.source)
		return brd_fail(
			err, BREAD_E_INVALID, "script", "lua needs one of `file` and `source`");
	s->code.limits = (struct script_limits){
		.memory = o.memory, .ms = o.ms, .instructions = o.instructions
	};
	s->states_max = o.states;
	/* Lua shows what stands behind the @ as the place of an error. */
	s->code.name = brd_arena_strz(
		&s->arena, brd_arena_printf(&s->arena, "@%s", o.file ? o.file : "source"));
	if (o.file)
		return read_source(s, o.file, dir, err);
	s->code.text = brd_str(o.source);
	return 0;
}

int brd_script_open(
	struct script **ret, struct bread_str options, const char *dir, struct bread_err *err)
{
	struct script *s = brd_alloc(sizeof(*s));
	struct script_state *first;
	int r;

	pthread_mutex_init(&s->lock, NULL);
	brd_list_init(&s->idle);
	brd_list_init(&s->waiting);
	r = configure(s, options, dir, err);
	if (!r)
		r = brd_script_state_new(&first, &s->code, NULL, err);
	if (r) {
		brd_script_close(s);
		return r;
	}
	s->states = 1;
	brd_list_push(&s->idle, &first->link);
	*ret = s;
	return 0;
}

void brd_script_close(struct script *s)
{
	if (!s)
		return;
	for (struct list *l; (l = brd_list_pop(&s->idle));)
		brd_script_state_free(brd_list_of(l, struct script_state, link));
	pthread_mutex_destroy(&s->lock);
	brd_arena_fini(&s->arena);
	free(s);
}

int brd_script_look(struct script *s, lua_CFunction fn, void *arg, struct bread_err *err)
{
	return brd_script_inspect(
		brd_list_of(s->idle.next, struct script_state, link), fn, arg, err);
}

/* ---- values on their way ---- */

struct value {
	struct list link;
	struct bread_str json;
	char bytes[];
};

static void settle(struct script_job *job);

static void deliver(struct script_job *job)
{
	for (;;) {
		struct value *v;
		struct list *l;

		pthread_mutex_lock(&job->lock);
		l = brd_list_pop(&job->values);
		v = l ? brd_list_of(l, struct value, link) : NULL;
		if (v)
			job->values_size -= v->json.n;
		pthread_mutex_unlock(&job->lock);
		if (!v)
			return;
		if (job->on_value && !job->canceled)
			job->on_value(job, v->json);
		free(v);
	}
}

static void on_flush(struct post *p)
{
	struct script_job *job = brd_list_of(p, struct script_job, flush);

	pthread_mutex_lock(&job->lock);
	job->flushing = false;
	pthread_mutex_unlock(&job->lock);
	deliver(job);
	settle(job);
}

/* On the worker. */
static bool on_yield(struct script_call *c, struct bread_str json)
{
	struct script_job *job = brd_list_of(c, struct script_job, call);
	struct value *v;
	bool post;

	pthread_mutex_lock(&job->lock);
	if (job->values_size + json.n > VALUES_MAX) {
		pthread_mutex_unlock(&job->lock);
		return false;
	}
	v = brd_alloc(sizeof(*v) + json.n);
	memcpy(v->bytes, json.p, json.n);
	v->json = (struct bread_str){ v->bytes, json.n };
	brd_list_push(&job->values, &v->link);
	job->values_size += json.n;
	post = !job->flushing;
	job->flushing = true;
	pthread_mutex_unlock(&job->lock);
	if (post)
		brd_loop_post(job->op->loop, &job->flush);
	return true;
}

/* ---- a call ---- */

static void finish(struct script_job *job, enum bread_code code)
{
	pthread_mutex_destroy(&job->lock);
	job->finish(job, code);
}

/* Once the worker is through and no post is on its way: all is told. */
static void settle(struct script_job *job)
{
	bool flushing;

	pthread_mutex_lock(&job->lock);
	flushing = job->flushing;
	pthread_mutex_unlock(&job->lock);
	if (!job->ended || flushing)
		return;
	deliver(job);
	if (job->call.killed == KILL_CANCELED || job->work_op.code == BREAD_E_CANCELED)
		finish(job, BREAD_E_CANCELED);
	else
		finish(job, job->call.failed ? BREAD_E_UPSTREAM : BREAD_OK);
}

static void work_for(struct script_job *job);

static void on_turn(struct post *p)
{
	work_for(brd_list_of(p, struct script_job, turn));
}

/* Gives back what the job had: to the next that waits, or to the idle ones. */
static void release(struct script_job *job)
{
	struct script *s = job->script;
	struct script_state *state = job->state;
	struct script_job *next;
	struct list *l;

	if (state && state->bad) {
		brd_script_state_free(state);
		state = NULL;
	}
	job->state = NULL;
	pthread_mutex_lock(&s->lock);
	l = brd_list_pop(&s->waiting);
	next = l ? brd_list_of(l, struct script_job, link) : NULL;
	if (next)
		next->state = state;
	else if (state)
		brd_list_push_front(&s->idle, &state->link);
	else
		s->states--;
	pthread_mutex_unlock(&s->lock);
	if (next)
		brd_loop_post(next->op->loop, &next->turn);
}

static enum bread_code work(struct work *w, struct bread_err *err)
{
	struct script_job *job = w->arg;

	if (!job->state && brd_script_state_new(&job->state, &job->script->code, &job->call, err)) {
		job->call.failed = true;
		job->call.error_text = brd_strdup(err->text);
		return BREAD_OK;
	}
	brd_script_run(job->state, &job->call);
	return BREAD_OK;
}

static void on_work_end(struct bread_op *op)
{
	struct script_job *job = op->arg;

	release(job);
	job->ended = true;
	settle(job);
}

static void work_for(struct script_job *job)
{
	if (job->canceled) {
		release(job);
		finish(job, BREAD_E_CANCELED);
		return;
	}
	job->working = true;
	job->work.run = work;
	job->work.arg = job;
	bread_op_init(&job->work_op, job->op->loop, on_work_end, job);
	brd_work_start(&job->work, &job->work_op);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct script_job *job = by;
	bool waited;

	job->canceled = true;
	atomic_store(&job->call.stop, 1);
	if (job->working) {
		bread_op_cancel(&job->work_op);
		return;
	}
	pthread_mutex_lock(&job->script->lock);
	waited = brd_list_linked(&job->link);
	brd_list_remove(&job->link);
	pthread_mutex_unlock(&job->script->lock);
	if (waited)
		finish(job, BREAD_E_CANCELED);
}

/* false: it waits for its turn. */
static bool take_state(struct script *s, struct script_job *job)
{
	struct list *l;
	bool taken = true;

	pthread_mutex_lock(&s->lock);
	l = brd_list_pop(&s->idle);
	if (l)
		job->state = brd_list_of(l, struct script_state, link);
	else if (s->states < s->states_max)
		s->states++;
	else {
		brd_list_push(&s->waiting, &job->link);
		taken = false;
	}
	pthread_mutex_unlock(&s->lock);
	return taken;
}

void brd_script_start(struct script *s, struct script_job *job)
{
	job->script = s;
	job->turn.run = on_turn;
	job->flush.run = on_flush;
	brd_list_init(&job->values);
	pthread_mutex_init(&job->lock, NULL);
	if (job->on_value)
		job->call.on_yield = on_yield;
	bread_op_begin(job->op, on_cancel, job);
	if (take_state(s, job))
		work_for(job);
}

void brd_script_here(struct script *s, struct script_call *c)
{
	struct script_state *state = NULL;
	struct bread_err err;
	struct list *l;

	pthread_mutex_lock(&s->lock);
	l = brd_list_pop(&s->idle);
	s->states -= l != NULL;
	pthread_mutex_unlock(&s->lock);
	if (l)
		state = brd_list_of(l, struct script_state, link);
	else if (brd_script_state_new(&state, &s->code, c, &err)) {
		c->failed = true;
		c->error_text = brd_strdup(err.text);
		return;
	}
	brd_script_run(state, c);
	if (state->bad || !l) {
		brd_script_state_free(state);
		return;
	}
	pthread_mutex_lock(&s->lock);
	s->states++;
	brd_list_push_front(&s->idle, &state->link);
	pthread_mutex_unlock(&s->lock);
}

void brd_script_err(const struct script_job *job, struct bread_err *ret)
{
	const struct script_call *c = &job->call;

	memset(ret, 0, sizeof(*ret));
	brd_fail_as(ret, BREAD_E_UPSTREAM, c->error_code ? c->error_code : "", "script", "%s",
		c->error_text ? c->error_text : "");
	if (c->error_context && strlen(c->error_context) < sizeof(ret->context))
		strcpy(ret->context, c->error_context);
}
