/* SPDX-License-Identifier: MIT */
/* Tables of fields: a part says what it can be told, and from the table come
 * the parser, the checks, the environment variables and the reference page.
 *
 * Values are read from a JSON object (a YAML file's, or one that a program made)
 * into a struct. Every fault names the file, line and column where there is one,
 * the key in dots, what was expected and, for an unknown key, the nearest known one. */
#pragma once
#include "config/yaml.h"

enum conf_type {
	CONF_BOOL,  /* bool */
	CONF_INT,   /* int64_t, with min and max */
	CONF_NUM,   /* double, with min and max */
	CONF_STR,   /* char *, in the arena */
	CONF_ID,    /* char *, [A-Za-z0-9._:-]{1,128} */
	CONF_NAME,  /* char *, ^[a-z][a-z0-9_]*$ */
	CONF_ENUM,  /* int: index into words ("a|b|c") */
	CONF_SIZE,  /* int64_t bytes: 65536, "64k", "1MiB" */
	CONF_TIME,  /* int64_t ms: 1500, "500ms", "15s", "1h", "7d" */
	CONF_JSON,  /* struct jval, anything; words: its types ("object", "array|string"); of a list
		     * whose items are objects, sub is their table */
	CONF_STRS,  /* struct conf_strs, a list of strings */
	CONF_GROUP, /* keys below it, by the table sub; offset is the sub-struct's */
};

struct conf_strs {
	char **v;
	size_t n;
};

struct conf_field {
	const char *key; /* the last part: "port" */
	enum conf_type type;
	size_t offset;
	const char *dflt; /* as it would be written; NULL: zero */
	double min, max;  /* both 0: no bounds */
	const char *words;
	bool required;
	const struct conf_field *sub;
	size_t sub_count;
	const char *doc; /* one sentence for the reference */
};

#define CONF_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Reads obj (JSON_NONE: defaults alone) into out. doc may be NULL (no places
 * then); base is the dotted name of obj for messages ("" at the top). Unknown
 * keys are errors unless they begin with "x-". */
int brd_conf_read(const struct conf_field *fields, size_t n, struct jval obj, void *out,
	const struct yaml_doc *doc, const char *base, struct arena *a, struct bread_err *err);

/* The same check, but hears every fault instead of the first; returns how many. */
typedef void conf_heard(const struct bread_err *err, void *arg);
unsigned brd_conf_check(const struct conf_field *fields, size_t n, struct jval obj,
	const struct yaml_doc *doc, const char *base, conf_heard *heard, void *arg);
/* Bytes that hold the struct that the fields describe, and more. */
size_t brd_conf_span(const struct conf_field *fields, size_t n);

/* Overrides from the environment: BREAD_SERVER_PORT for key "server.port". */
int brd_conf_env(const struct conf_field *fields, size_t n, void *out, const char *base,
	struct arena *a, struct bread_err *err);

/* Places a fault of what a document says when all that it has is a key in dots ("hooks",
 * "humanTools.0"): at the value, or the last part of its path that is there. false: none is, and
 * it stays as it was. */
bool brd_conf_place(struct bread_err *err, const struct yaml_doc *doc);

/* A fault at a value: fills err with place, key and text. */
__attribute__((format(printf, 5, 6))) int brd_conf_fault(struct bread_err *err,
	const struct yaml_doc *doc, struct jval at, const char *key, const char *fmt, ...);

/* The reference: one line of Markdown a field; env: with the variables' names. */
void brd_conf_reference(
	const struct conf_field *fields, size_t n, const char *base, bool env, struct buf *out);
