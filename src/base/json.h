/* SPDX-License-Identifier: MIT */
/* JSON as spans: a strict RFC 8259 reader that keeps every byte as it came.
 *
 * Parsing gives a tape of tokens that point into the text; nothing is decoded
 * until somebody asks. Numbers keep their lexeme, strings their escapes, objects
 * their order and their duplicate keys (a lookup finds the last one, as
 * JavaScript does). So what JSON allows passes through unchanged (contract C23):
 * forward brd_json_raw, never a re-rendering.
 *
 * The text and the arena must outlive the handles. A missing value is a handle
 * like any other (JSON_NONE), and every reader takes it, so that
 * brd_json_get(brd_json_get(v, "a"), "b") needs no check in between.
 *
 * Decoded strings are UTF-8; a lone surrogate escape becomes its three-byte form
 * (as in WTF-8), and the writer turns that back into \udxxx. */
#pragma once
#include <stdbool.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum json_type {
	JSON_NONE, /* not there */
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_tok {
	uint32_t at;   /* first byte in the text; of a string, its quote */
	uint32_t len;  /* bytes, quotes and brackets included */
	uint32_t skip; /* tokens of this value, itself included: the next sibling is this far */
	uint32_t count : 27; /* members of an array; pairs of an object */
	uint32_t plain : 1;  /* a string without escapes: its bytes are its value */
	uint32_t type : 4;
};

/* A value: a place on a tape. */
struct jval {
	const struct json_tok *tok; /* NULL: JSON_NONE */
	const char *text;
};

#define JSON_DEPTH 512 /* how deep values may nest unless a caller says otherwise */

struct json_where {
	size_t at;        /* byte of the first fault */
	const char *what; /* "a comma or ] was expected" */
};

/* Parses the whole of text. BREAD_E_INVALID: not JSON (where says what and at
 * which byte; where may be NULL); BREAD_E_TOO_LARGE: deeper than max_depth (0:
 * JSON_DEPTH) or over 1 GiB. A byte-order mark is not JSON. */
int brd_json_parse(struct arena *a, struct bread_str text, unsigned max_depth, struct jval *ret,
	struct json_where *where);

/* true when text is one JSON value; no tape is kept. */
bool brd_json_ok(struct bread_str text, unsigned max_depth);

enum json_type brd_json_type(struct jval v);
struct bread_str brd_json_raw(struct jval v);     /* the value's own bytes; empty if none */
const char *brd_json_type_name(enum json_type t); /* "object", "none" */

struct jval brd_json_get(struct jval obj, const char *key);
struct jval brd_json_gets(struct jval obj, struct bread_str key);
struct jval brd_json_at(struct jval arr, size_t i);
struct jval brd_json_path(struct jval v, const char *dotted); /* "a.b.0.c" */
size_t brd_json_count(struct jval v);                         /* members or pairs; 0 for others */

/* Walks an array or an object: for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) */
struct json_iter {
	struct jval key; /* JSON_NONE in an array */
	struct jval value;
	const struct json_tok *next;
	size_t left;
	size_t index; /* of value, from 0 */
	bool object;
};
struct json_iter brd_json_each(struct jval container);
bool brd_json_next(struct json_iter *it);

/* The decoded string; empty for anything else. Memory is the text's or the arena's. */
struct bread_str brd_json_str(struct jval v, struct arena *a);
/* The same, ending in a NUL (one inside cuts it); NULL if it is no string. */
char *brd_json_strz(struct jval v, struct arena *a);
void brd_json_str_add(struct jval v, struct buf *b); /* the decoded string, appended */
bool brd_json_is(struct jval v, const char *s);      /* a string that equals s */
bool brd_json_iss(struct jval v, struct bread_str s);

bool brd_json_bool(struct jval v, bool dflt);
double brd_json_num(struct jval v, double dflt);
bool brd_json_int(struct jval v, int64_t *ret); /* a whole number that fits; 1.0, too */
int64_t brd_json_int_or(struct jval v, int64_t dflt);

/* Equal as JSON Schema says: numbers by value, objects without order. */
bool brd_json_equal(struct jval a, struct jval b);

/* JSON text without blanks between tokens; lexemes stay as they are. */
void brd_json_compact(struct jval v, struct buf *b);

/* As JavaScript's JSON.stringify(v, null, 2) lays it out; lexemes stay. */
void brd_json_indent(struct jval v, struct buf *b);

/* A stand-alone copy of a value: its text and tape in the arena. */
struct jval brd_json_copy(struct jval v, struct arena *a);
