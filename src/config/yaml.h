/* SPDX-License-Identifier: MIT */
/* YAML to the JSON tape, with the line and column of every value.
 *
 * YAML 1.2 core schema for plain scalars (yes and no are strings, 0o17 is 15).
 * Refused, with place and remedy: duplicate keys, unknown tags, a second
 * document, nesting over 64, more than 10,000 values after aliases, bad UTF-8.
 * JSON is YAML, so JSON files come this way too. */
#pragma once
#include "base/json.h"

struct yaml_place {
	uint32_t line, column; /* from 1 */
};

struct yaml_doc {
	const char *file;          /* for messages */
	struct bread_str json;     /* the document as JSON text */
	struct jval root;          /* JSON_NONE for an empty document */
	struct yaml_place *places; /* one a token of the tape */
};

/* text is parsed into the arena; a text that is over a limit gives BREAD_E_TOO_LARGE, one that is
 * wrong BREAD_E_INVALID. Before that, ${NAME} in plain and quoted
 * scalars becomes the environment's value, ${NAME:-text} has a default, $${ is a
 * literal ${; a name that is not set and has no default is an error that says so. */
int brd_yaml_parse(struct yaml_doc *ret, struct arena *a, const char *file, struct bread_str text,
	struct bread_err *err);
/* The same for a file of up to 4 MiB. BREAD_E_NOT_FOUND: there is none. */
int brd_yaml_load(struct yaml_doc *ret, struct arena *a, const char *path, struct bread_err *err);
/* Where v stands; line 0: it is none of d's, or d is NULL. */
struct yaml_place brd_yaml_place(const struct yaml_doc *d, struct jval v);
