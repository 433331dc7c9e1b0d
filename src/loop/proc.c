/* SPDX-License-Identifier: MIT */
/* Child processes.
 *
 * The streams are real pipes and not the socket pairs that libuv would make:
 * programs that open /dev/stdout or /dev/stderr anew fail on sockets. Our ends
 * are close-on-exec from birth, so that children started by other loops at the
 * same time do not inherit them.
 *
 * The op ends when every handle has been closed, so the memory may go in on_end. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "loop/impl.h"
#include "loop/proc.h"

#define STDERR_KEPT ((size_t)8 * 1024)
#define LINGER_MS 200
#define GRACE_MS 500
#define READ_SIZE ((size_t)16 * 1024)

struct proc {
	struct loop *loop;
	struct bread_op *op;
	bool (*on_out)(void *arg, struct bread_str bytes);
	void *arg;
	int64_t grace_ms;

	uv_process_t child;
	uv_pipe_t in, out, err; /* our ends */
	uv_write_t write;
	char *input;     /* until it is written */
	char *chunk;     /* one read */
	struct buf said; /* of stderr, the last bytes */
	struct timer grace, linger;

	struct list among; /* of all that run, in any loop */
	unsigned handles;  /* not yet closed */
	bool has_child;    /* the handle child is initialised */
	bool running;      /* there is a child to kill */
	bool out_eof, err_eof;
	bool canceled;
	bool killed; /* none of its group may stay */
	bool closing;
	int status;
	enum bread_code code;
	struct bread_err failure;
};

/* ---- those that run ---- */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list all = { &all, &all };

static void set_running(struct proc *p, bool running)
{
	pthread_mutex_lock(&all_lock);
	p->running = running;
	if (running)
		brd_list_push(&all, &p->among);
	else
		brd_list_remove(&p->among);
	pthread_mutex_unlock(&all_lock);
}

void brd_proc_kill_all(void)
{
	pthread_mutex_lock(&all_lock);
	brd_list_each(it, &all) {
		kill(-brd_list_of(it, struct proc, among)->child.pid, SIGKILL);
	}
	pthread_mutex_unlock(&all_lock);
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *h)
{
	struct proc *p = h->data;

	if (--p->handles == 0)
		bread_op_end(p->op, p->code, p->code == BREAD_OK ? NULL : &p->failure);
}

static void close_handle(void *h)
{
	if (!uv_is_closing(h))
		uv_close(h, on_closed);
}

static void kill_group(struct proc *p, int sig)
{
	p->killed = true;
	kill(-p->child.pid, sig);
}

static void finish(struct proc *p)
{
	if (p->closing)
		return;
	p->closing = true;
	brd_timer_stop(&p->grace);
	brd_timer_stop(&p->linger);
	if (p->killed)
		kill_group(p, SIGKILL); /* those of the group that outlived the child */
	if (p->has_child)
		close_handle(&p->child);
	close_handle(&p->in);
	close_handle(&p->out);
	close_handle(&p->err);
}

static void on_linger(struct timer *t)
{
	finish(brd_list_of(t, struct proc, linger));
}

static void check_end(struct proc *p)
{
	if (!p->running && p->out_eof && p->err_eof)
		finish(p);
}

static void on_exit_of_child(uv_process_t *child, int64_t status, int sig)
{
	struct proc *p = child->data;

	set_running(p, false);
	p->status = sig ? 128 + sig : (int)status;
	if (p->canceled)
		p->code = BREAD_E_CANCELED;
	brd_timer_stop(&p->grace);
	brd_timer_start(&p->linger, p->loop, LINGER_MS, on_linger);
	check_end(p);
}

/* ---- stopping ---- */

static void on_grace(struct timer *t)
{
	struct proc *p = brd_list_of(t, struct proc, grace);

	if (p->running)
		kill_group(p, SIGKILL);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct proc *p = by;

	if (!p->running)
		return; /* it is ending already */
	p->canceled = true;
	kill_group(p, SIGTERM);
	brd_timer_start(&p->grace, p->loop, p->grace_ms, on_grace);
}

/* ---- the streams ---- */

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
	struct proc *p = h->data;

	*ret = uv_buf_init(p->chunk, READ_SIZE);
}

static void stop_reading(struct proc *p)
{
	p->out_eof = true;
	uv_read_stop((uv_stream_t *)&p->out);
	if (p->running)
		kill_group(p, SIGKILL);
}

static void on_stdout(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
	struct proc *p = s->data;

	if (n > 0 && p->on_out && !p->on_out(p->arg, (struct bread_str){ b->base, (size_t)n }))
		stop_reading(p);
	if (n < 0) {
		p->out_eof = true;
		uv_read_stop(s);
	}
	check_end(p);
}

static void on_stderr(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
	struct proc *p = s->data;

	if (n > 0) {
		brd_buf_addn(&p->said, b->base, (size_t)n);
		if (p->said.len > STDERR_KEPT)
			brd_buf_drop(&p->said, p->said.len - STDERR_KEPT);
	}
	if (n < 0) {
		p->err_eof = true;
		uv_read_stop(s);
	}
	check_end(p);
}

/* A child that reads no input, or has gone, is no error of ours. */
static void on_written(uv_write_t *w, int status)
{
	struct proc *p = w->data;

	close_handle(&p->in);
}

static void write_input(struct proc *p, struct bread_str input)
{
	uv_buf_t b;

	if (!input.n) {
		close_handle(&p->in);
		return;
	}
	p->input = brd_strndup(input);
	p->write.data = p;
	b.base = p->input;
	b.len = input.n;
	if (uv_write(&p->write, (uv_stream_t *)&p->in, &b, 1, on_written))
		close_handle(&p->in);
}

/* ---- the start ---- */

static void init_handle(struct proc *p, uv_pipe_t *h)
{
	uv_pipe_init(&p->loop->uv, h, 0);
	h->data = p;
	p->handles++;
}

/* One pipe: ours goes into the handle, the child's end is returned in *ret. */
static int open_pipe(uv_pipe_t *h, bool child_reads, int *ret)
{
	uv_file fd[2];
	int e = uv_pipe(fd, child_reads ? 0 : UV_NONBLOCK_PIPE, child_reads ? UV_NONBLOCK_PIPE : 0);

	if (e)
		return e;
	e = uv_pipe_open(h, fd[child_reads ? 1 : 0]);
	if (e) {
		close(fd[0]);
		close(fd[1]);
		return e;
	}
	*ret = fd[child_reads ? 0 : 1];
	return 0;
}

static int open_pipes(struct proc *p, int fd[3])
{
	int e = open_pipe(&p->in, true, &fd[0]);

	if (!e)
		e = open_pipe(&p->out, false, &fd[1]);
	if (!e)
		e = open_pipe(&p->err, false, &fd[2]);
	return e;
}

static int spawn(struct proc *p, const struct proc_spec *spec)
{
	int fd[3] = { -1, -1, -1 };
	uv_stdio_container_t io[3];
	uv_process_options_t o = {
		.exit_cb = on_exit_of_child,
		.file = spec->argv[0],
		.args = (char **)spec->argv,
		.env = (char **)spec->env,
		.cwd = spec->cwd,
		.flags = UV_PROCESS_DETACHED, /* its own session and group */
		.stdio_count = 3,
		.stdio = io,
	};
	int e = open_pipes(p, fd);

	for (int i = 0; i < 3; i++) {
		io[i].flags = UV_INHERIT_FD;
		io[i].data.fd = fd[i];
	}
	if (!e) {
		p->child.data = p;
		p->handles++;
		p->has_child = true;
		e = uv_spawn(&p->loop->uv, &p->child, &o);
	}
	for (int i = 0; i < 3; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return e;
}

/* Names what is missing: the folder, if it is that, else the program. */
static void describe(struct proc *p, const struct proc_spec *spec, int e)
{
	struct stat st;
	const char *what = spec->argv[0];

	p->code = BREAD_E_INVALID;
	if (spec->cwd && (stat(spec->cwd, &st) || !S_ISDIR(st.st_mode)))
		brd_fail(&p->failure, p->code, "proc",
			"cannot start '%s' in the folder '%s': there is no such folder; make it or "
			"name another",
			what, spec->cwd);
	else if (e == UV_ENOENT)
		brd_fail(&p->failure, p->code, "proc",
			"the program '%s' was not found; install it or give its full path", what);
	else if (e == UV_EACCES)
		brd_fail(&p->failure, p->code, "proc",
			"the program '%s' may not be executed; make it executable (chmod +x)",
			what);
	else {
		p->code = BREAD_E_BUSY;
		brd_fail(&p->failure, p->code, "proc",
			"the program '%s' could not be started (%s); check the limits of processes "
			"and open files",
			what, uv_strerror(e));
	}
}

struct proc *brd_proc_start(struct loop *l, const struct proc_spec *spec, struct bread_op *op)
{
	struct proc *p = brd_alloc(sizeof(*p));
	int e;

	p->loop = l;
	p->op = op;
	p->on_out = spec->on_out;
	p->arg = spec->arg;
	p->grace_ms = spec->grace_ms ? spec->grace_ms : GRACE_MS;
	p->chunk = brd_alloc(READ_SIZE);
	brd_buf_init(&p->said, STDERR_KEPT + READ_SIZE);
	bread_op_begin(op, on_cancel, p);
	init_handle(p, &p->in);
	init_handle(p, &p->out);
	init_handle(p, &p->err);
	e = spawn(p, spec);
	if (e) {
		describe(p, spec, e);
		finish(p);
		return p;
	}
	set_running(p, true);
	uv_read_start((uv_stream_t *)&p->out, on_alloc, on_stdout);
	uv_read_start((uv_stream_t *)&p->err, on_alloc, on_stderr);
	write_input(p, spec->input);
	return p;
}

/* ---- afterwards ---- */

int brd_proc_status(const struct proc *p)
{
	return p->status;
}

struct bread_str brd_proc_stderr(const struct proc *p)
{
	return brd_buf_str(&p->said);
}

void brd_proc_free(struct proc *p)
{
	if (!p)
		return;
	brd_assert(p->handles == 0);
	brd_buf_fini(&p->said);
	free(p->input);
	free(p->chunk);
	free(p);
}
