/* SPDX-License-Identifier: MIT */
/* Ids: UUID version 7, lower case with hyphens; and what an id from outside may be.
 *
 * Ids of one process sort by the order in which they were made, also within one
 * millisecond (a counter sits behind the stamp). Thread-safe. */
#pragma once
#include <stdbool.h>
#include "bread/types.h"

#define UUID_LEN 36
#define UUID_MAX 132 /* room for any id we take from outside, and a NUL */

void brd_uuid7(char out[UUID_LEN + 1]);

/* [A-Za-z0-9._:-]{1,128}: the only ids we take from outside (contract C25). */
bool brd_id_ok(struct bread_str id);

/* ^[a-z][a-z0-9_]*$, at most 128: names of tools. */
bool brd_name_ok(struct bread_str name);

/* Fills n bytes from the system's random source. */
void brd_random(void *p, size_t n);
