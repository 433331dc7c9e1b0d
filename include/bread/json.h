/* SPDX-License-Identifier: MIT */
/* Reading JSON, as much as a protocol needs: a text is parsed once and asked by paths.
 *
 * A path is member names and array places joined by dots ("session.tags.user",
 * "messages.0"); "" is the whole. Of a key that is given twice the last one counts. */
#ifndef BREAD_JSON_H
#define BREAD_JSON_H

#include "bread/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bread_json;

enum bread_json_type {
	BREAD_JSON_NONE, /* not there */
	BREAD_JSON_NULL,
	BREAD_JSON_BOOL,
	BREAD_JSON_NUMBER,
	BREAD_JSON_STRING,
	BREAD_JSON_ARRAY,
	BREAD_JSON_OBJECT,
};

/* A document that is the caller's; one thread at a time. NULL: text is not JSON. text must outlive
 * it. */
BREAD_API struct bread_json *bread_json_new(struct bread_str text);
/* The same, with the reason: *err is BREAD_E_TOO_LARGE by name JSON_TOO_LARGE (it nests too deep)
 * or BREAD_E_INVALID by name JSON_NOT_UTF8 or JSON_SYNTAX, and says at which byte. */
BREAD_API struct bread_json *bread_json_read(struct bread_str text, struct bread_err *err);
BREAD_API void bread_json_free(struct bread_json *j); /* NULL, too */

/* What is at a path. j NULL is a document in which nothing is there. What is given lives as long as
 * j and its text. */
BREAD_API enum bread_json_type bread_json_type(const struct bread_json *j, const char *path);
/* As it came; empty: nothing is there. */
BREAD_API struct bread_str bread_json_raw(const struct bread_json *j, const char *path);
/* Decoded; p NULL: it is no string. */
BREAD_API struct bread_str bread_json_string(struct bread_json *j, const char *path);
/* The key of the first member that is of another type; p NULL: all are of it, or it is no object.
 */
BREAD_API struct bread_str bread_json_other(
	struct bread_json *j, const char *path, enum bread_json_type type);
/* The nearest double; dflt: it is no number. */
BREAD_API double bread_json_number(const struct bread_json *j, const char *path, double dflt);

#ifdef __cplusplus
}
#endif
#endif
