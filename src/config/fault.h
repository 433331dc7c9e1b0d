/* SPDX-License-Identifier: MIT */
/* Faults in files: where is "agents/a/agent.yaml:3:9", text a sentence that may
 * begin with a key in dots. */
#pragma once
#include <stdarg.h>
#include "config/yaml.h"

__attribute__((format(printf, 5, 6))) int brd_yaml_fault(struct bread_err *err, const char *file,
	struct yaml_place at, enum bread_code code, const char *fmt, ...);

/* The same with a key in front of the text; an empty one is left out. */
__attribute__((format(printf, 6, 0))) int brd_yaml_vfault(struct bread_err *err, const char *file,
	struct yaml_place at, const char *key, enum bread_code code, const char *fmt, va_list ap);

/* A text from a file as it may stand in a message: JSON's escapes, cut. */
struct bread_str brd_yaml_show(struct bread_str s, struct arena *a);
