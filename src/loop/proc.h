/* SPDX-License-Identifier: MIT */
/* Child processes: no shell, own process group, all three streams piped.
 *
 * on_out gets stdout bytes as they come (return false to stop reading: the child
 * is then killed); stderr is kept (its last 8 KiB). The op ends after the child
 * has exited and stdout is at its end: BREAD_OK, whatever the child's status is
 * (brd_proc_status); BREAD_E_INVALID when there is no such program or folder;
 * BREAD_E_BUSY when the system had no room for it. Cancel: SIGTERM to the group,
 * SIGKILL after grace_ms; the op then ends BREAD_E_CANCELED, after on_out got
 * what the child still said. No grandchild that holds stdout can keep the op
 * open: 200 ms after exit the pipe is closed. */
#pragma once
#include "base/buf.h"
#include "loop/loop.h"

struct proc_spec {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
	const char *const *env;  /* NULL-terminated NAME=value; NULL: ours */
	const char *cwd;         /* NULL: ours */
	struct bread_str input;  /* written to stdin, which is then closed; copied */
	int64_t grace_ms;        /* 0: 500 */
	bool (*on_out)(void *arg, struct bread_str bytes);
	void *arg;
};

struct proc;
/* Copies what it needs from spec. Never fails here: trouble comes through op. */
struct proc *brd_proc_start(struct loop *l, const struct proc_spec *spec, struct bread_op *op);
/* Valid in op's on_end and until brd_proc_free. */
int brd_proc_status(const struct proc *p); /* exit code, or 128 + signal */
struct bread_str brd_proc_stderr(const struct proc *p);
void brd_proc_free(struct proc *p); /* after the op has ended; NULL, too */

/* SIGKILL to the groups of all children, in all loops: for who is about to _exit. */
void brd_proc_kill_all(void);
