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

/* NULL: text is not JSON. text must outlive it. */
BREAD_API struct bread_json *bread_json_new(struct bread_str text);
BREAD_API void bread_json_free(struct bread_json *j); /* NULL, too */

/* j NULL is a document in which nothing is there. */
BREAD_API enum bread_json_type bread_json_type(const struct bread_json *j, const char *path);
BREAD_API struct bread_str bread_json_raw(const struct bread_json *j, const char *path); /* as it came */
BREAD_API struct bread_str bread_json_string(struct bread_json *j, const char *path);    /* decoded; p NULL: no string */
BREAD_API double bread_json_number(const struct bread_json *j, const char *path, double dflt);

#ifdef __cplusplus
}
#endif
#endif
