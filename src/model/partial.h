/* SPDX-License-Identifier: MIT */
/* Arguments of a tool call, complete or cut. What is made of cut ones is a best guess
 * for people to see, never to be run. */
#pragma once
#include <stdbool.h>
#include "base/buf.h"

/* out gets one compact JSON object. true: raw was complete JSON (blank counts as {}, a value that
 * is no object becomes {}); false: out is the best guess. */
bool brd_args_finish(struct bread_str raw, struct buf *out);

/* Escapes raw control characters inside strings and doubles backslashes that
 * begin no escape; what models and careless servers get wrong most often. out is made here, and is
 * the caller's to free. */
void brd_json_repair(struct bread_str text, struct buf *out);
