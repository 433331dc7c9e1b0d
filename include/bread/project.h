/* SPDX-License-Identifier: MIT */
/* A project's folder (bread.yaml and agents/) for programs that embed the library. */
#ifndef BREAD_PROJECT_H
#define BREAD_PROJECT_H

#include "bread/instance.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Configures b from dir/bread.yaml and registers the agents below dir/agents, as
 * `bread start` does. Relative paths in bread.yaml start at dir. Before bread_start.
 * An agent or a tool that cannot be used is logged with its file, line and column, and
 * left out. BREAD_E_NOT_FOUND: there is no bread.yaml; BREAD_E_INVALID: it, or the name
 * of an agent or a tool, is wrong. */
BREAD_API int bread_load(struct bread *b, const char *dir, struct bread_err *err);

#ifdef __cplusplus
}
#endif
#endif
