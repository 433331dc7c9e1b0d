/* SPDX-License-Identifier: MIT */
/* Watching a project's files on the instance's loop. */
#pragma once
#include "cli/cli.h"

struct watch;

/* changed is called 200 ms after the last of a burst of changes, with the paths
 * that changed, relative to the project. */
struct watch *cli_watch_new(
	struct bread *b, void (*changed)(const char *const *paths, size_t n, void *arg), void *arg);
/* Before the instance is stopped. NULL, too. */
void cli_watch_free(struct watch *w);
