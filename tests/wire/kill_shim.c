/* SPDX-License-Identifier: MIT */
/* Preloaded into a server to kill it in the middle of its work: with SIGKILL, at
 * the n-th system call that writes to its database's files.
 *
 *   KILL_FILE  part of the files' paths; without it nothing is done
 *   KILL_AT    which call, from 1; 0: never
 *   KILL_HOW   before (the default), after, or half: that much of a write is done
 *   KILL_COUNT a file that gets the number of calls so far, in text
 *
 * Killing loses nothing that the kernel has taken, so what this shows is the order
 * of writes, not what the disk does when the power goes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static int ours(int fd)
{
	const char *part = getenv("KILL_FILE");
	char link[64], path[4096];
	ssize_t n;

	if (!part)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return 0;
	path[n] = 0;
	return strstr(path, part) != NULL;
}

static void note(long n)
{
	const char *file = getenv("KILL_COUNT");
	char text[32];
	int fd = file ? open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;

	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%20ld", n);
	if (pwrite(fd, text, 20, 0) != 20)
		abort();
	close(fd);
}

/* 1: this is the call; 2: and half of it is done first; 3: all of it. */
static int due(int fd)
{
	const char *at = getenv("KILL_AT"), *how = getenv("KILL_HOW");
	long n;

	if (!ours(fd))
		return 0;
	n = atomic_fetch_add(&calls, 1) + 1;
	note(n);
	if (!at || atol(at) != n)
		return 0;
	return how && !strcmp(how, "half") ? 2 : how && !strcmp(how, "after") ? 3 : 1;
}

static void die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	int d = due(fd);

	if (d == 1)
		die();
	if (d == 2)
		n /= 2;
	ssize_t r = REAL(pwrite64)(fd, p, n, at);
	if (d)
		die();
	return r;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return pwrite64(fd, p, n, at);
}

ssize_t write(int fd, const void *p, size_t n)
{
	int d = due(fd);

	if (d == 1)
		die();
	if (d == 2)
		n /= 2;
	ssize_t r = REAL(write)(fd, p, n);
	if (d)
		die();
	return r;
}

#define WITHOUT_BYTES(name, params, fd, args) \
	int name params \
	{ \
		int d = due(fd); \
		int r; \
\
		if (d == 1 || d == 2) \
			die(); \
		r = REAL(name) args; \
		if (d) \
			die(); \
		return r; \
	}

WITHOUT_BYTES(fdatasync, (int fd), fd, (fd))
WITHOUT_BYTES(fsync, (int fd), fd, (fd))
WITHOUT_BYTES(ftruncate, (int fd, off_t length), fd, (fd, length))
WITHOUT_BYTES(ftruncate64, (int fd, off64_t length), fd, (fd, length))
