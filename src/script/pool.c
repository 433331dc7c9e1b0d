/* SPDX-License-Identifier: MIT */
/* Calls of a script, and the threads that take them one after the other.
 *
 * A thread has a state while it lives, and leaves one behind for the next. What a job tells its
 * loop on the way and at its end are posts; it is finished when both have arrived. */
#include "script/pool.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/mem.h"
#include "config/conf.h"

#define REST_S 5 /* how long a thread waits for its next job */
#define STACK_SIZE ((size_t)2 * 1024 * 1024)
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
	s->threads_max = o.states;
	/* Lua shows what stands behind the @ as the place of an error. */
	s->code.name = brd_arena_strz(
		&s->arena, brd_arena_printf(&s->arena, "@%s", o.file ? o.file : "source"));
	if (o.file)
		return read_source(s, o.file, dir, err);
	s->code.text = brd_str(o.source);
	return 0;
}

static struct script *blank(void)
{
	struct script *s = brd_alloc(sizeof(*s));
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, &attr);
	pthread_cond_init(&s->gone, NULL);
	pthread_condattr_destroy(&attr);
	brd_list_init(&s->waiting);
	return s;
}

int brd_script_open(
	struct script **ret, struct bread_str options, const char *dir, struct bread_err *err)
{
	struct script *s = blank();
	int r = configure(s, options, dir, err);

	if (!r)
		r = brd_script_state_new(&s->idle, &s->code, NULL, err);
	if (r)
		brd_script_close(s);
	else
		*ret = s;
	return r;
}

void brd_script_close(struct script *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_cond_broadcast(&s->more);
	while (s->threads)
		pthread_cond_wait(&s->gone, &s->lock);
	pthread_mutex_unlock(&s->lock);
	brd_script_state_free(s->idle);
	pthread_cond_destroy(&s->more);
	pthread_cond_destroy(&s->gone);
	pthread_mutex_destroy(&s->lock);
	brd_arena_fini(&s->arena);
	free(s);
}

int brd_script_look(struct script *s, lua_CFunction fn, void *arg, struct bread_err *err)
{
	return brd_script_inspect(s->idle, fn, arg, err);
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

/* On its thread. */
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

/* ---- threads ---- */

/* A state for a thread, or for a call: the idle one, or a new one. NULL: c says why. */
static struct script_state *take_state(struct script *s, struct script_call *c)
{
	struct script_state *state;
	struct bread_err err;

	pthread_mutex_lock(&s->lock);
	state = s->idle;
	s->idle = NULL;
	pthread_mutex_unlock(&s->lock);
	if (!state && brd_script_state_new(&state, &s->code, c, &err)) {
		c->failed = true;
		c->error_text = brd_strdup(err.text);
		return NULL;
	}
	return state;
}

/* With the lock: one is kept for whoever comes next. NULL, too. */
static void leave_state(struct script *s, struct script_state *state)
{
	if (state && !s->idle && !state->bad)
		s->idle = state;
	else
		brd_script_state_free(state);
}

/* With the lock: the next job, which may be waited for; NULL: no thread is needed any more. */
static struct script_job *next_job(struct script *s)
{
	struct timespec until;
	struct list *l;
	int late = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += REST_S;
	s->resting++;
	while (!(l = brd_list_pop(&s->waiting)) && !s->closing && !late)
		late = pthread_cond_timedwait(&s->more, &s->lock, &until);
	s->resting--;
	s->queued -= l != NULL;
	return l ? brd_list_of(l, struct script_job, link) : NULL;
}

/* On its thread. */
static void do_job(struct script *s, struct script_job *job, struct script_state **state)
{
	if (!*state)
		*state = take_state(s, &job->call);
	if (*state)
		brd_script_run(*state, &job->call);
	if (*state && (*state)->bad) {
		brd_script_state_free(*state);
		*state = NULL;
	}
	brd_loop_post(job->op->loop, &job->done); /* and it is the loop's */
}

static void *serve(void *arg)
{
	struct script *s = arg;
	struct script_state *state = NULL;
	struct script_job *job;

	pthread_mutex_lock(&s->lock);
	while ((job = next_job(s))) {
		pthread_mutex_unlock(&s->lock);
		do_job(s, job, &state);
		pthread_mutex_lock(&s->lock);
	}
	leave_state(s, state);
	s->threads--;
	pthread_cond_broadcast(&s->gone);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* With the lock: a thread more, if one is needed and may be. Signals are for the others. */
static void add_thread(struct script *s)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;

	if (s->queued <= s->resting || s->threads == s->threads_max)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (!pthread_create(&thread, &attr, serve, s))
		s->threads++;
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- a call ---- */

static void finish(struct script_job *job, enum bread_code code)
{
	pthread_mutex_destroy(&job->lock);
	job->finish(job, code);
}

/* Once its thread is through and no post is on its way: all is told. */
static void settle(struct script_job *job)
{
	bool flushing;

	pthread_mutex_lock(&job->lock);
	flushing = job->flushing;
	pthread_mutex_unlock(&job->lock);
	if (!job->ended || flushing)
		return;
	deliver(job);
	if (job->call.killed == KILL_CANCELED)
		finish(job, BREAD_E_CANCELED);
	else
		finish(job, job->call.failed ? BREAD_E_UPSTREAM : BREAD_OK);
}

static void on_done(struct post *p)
{
	struct script_job *job = brd_list_of(p, struct script_job, done);

	job->ended = true;
	settle(job);
}

/* With the lock: true when it still waited, and does no more. */
static bool withdraw(struct script *s, struct script_job *job)
{
	if (!brd_list_linked(&job->link))
		return false;
	brd_list_remove(&job->link);
	s->queued--;
	return true;
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct script_job *job = by;
	struct script *s = job->script;
	bool waited;

	job->canceled = true;
	atomic_store(&job->call.stop, 1);
	pthread_mutex_lock(&s->lock);
	waited = withdraw(s, job);
	pthread_mutex_unlock(&s->lock);
	if (waited)
		finish(job, BREAD_E_CANCELED);
}

void brd_script_start(struct script *s, struct script_job *job)
{
	bool refused;

	job->script = s;
	job->done.run = on_done;
	job->flush.run = on_flush;
	brd_list_init(&job->values);
	pthread_mutex_init(&job->lock, NULL);
	if (job->on_value)
		job->call.on_yield = on_yield;
	bread_op_begin(job->op, on_cancel, job);
	pthread_mutex_lock(&s->lock);
	brd_list_push(&s->waiting, &job->link);
	s->queued++;
	add_thread(s);
	refused = !s->threads && withdraw(s, job);
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
	if (!refused)
		return;
	job->call.failed = true;
	job->call.error_text = brd_strdup("the system has no thread left for a script");
	finish(job, BREAD_E_UPSTREAM);
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
