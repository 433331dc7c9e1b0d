/* SPDX-License-Identifier: MIT */
/* The compiled form of a JSON Schema; for the files base/schema_*.c only.
 *
 * A schema is a graph of nodes, one for each subschema, all of them in the
 * schema's arena. A node groups its keywords by the type of value that they look
 * at, so that a check touches only what can matter. After compiling nothing here
 * is written again, apart from the count of references; so any thread may check.
 *
 * Values of the schema (enum, const, bounds) point into the tapes of the parsed
 * documents, which live in the same arena. */
#pragma once
#include "base/map.h"
#include "base/schema.h"

/* Bits of schema_node.types beside 1 << enum json_type. */
#define SCHEMA_INTEGER 0x80u
#define SCHEMA_ANY 0xffu

/* A number as its lexeme says it: 0.<digits> times a power of ten. */
struct schema_decimal {
	const char *p; /* the first digit that is not 0; a '.' may stand between digits */
	size_t n;      /* digits up to the last that is not 0; 0: the number is zero */
	int64_t lead;  /* power of ten of the first digit */
	int64_t last;  /* power of ten of the last digit */
	int64_t value; /* when small */
	bool negative;
	bool small; /* an integer of at most 18 digits, written without '.' and 'e' */
};

__extension__ typedef unsigned __int128 schema_u128;

/* What multipleOf divides by: digits times ten to the power of last. */
struct schema_divisor {
	schema_u128 digits;
	int64_t last;
	int64_t value; /* when small; else 0 */
	struct bread_str lexeme;
};
#define SCHEMA_DIVISOR_DIGITS 37 /* ten times that, and a digit, still fits 128 bits */

struct schema_value {
	struct jval v;
	struct bread_str str;      /* of a string */
	struct schema_decimal num; /* of a number */
};

struct schema_values { /* const, or enum */
	struct schema_value *list;
	size_t n;
	struct map *by_str; /* the strings of a long enum, else NULL */
};

struct schema_list {
	struct schema_node **list;
	size_t n;
};

enum { BOUND_MIN, BOUND_MAX, BOUND_ABOVE, BOUND_BELOW, BOUND_COUNT };

struct schema_number {
	struct schema_decimal bound[BOUND_COUNT];
	struct bread_str lexeme[BOUND_COUNT]; /* p NULL: no such bound */
	struct schema_divisor *multiple;
};

struct schema_string {
	uint64_t min, max;
	struct schema_regex *pattern;
};

struct schema_array {
	struct schema_list prefix;
	struct schema_node *items, *contains, *unevaluated;
	uint64_t min, max, min_contains, max_contains;
	bool unique;
};

struct schema_prop {
	struct bread_str name;
	struct schema_node *node; /* NULL: only required */
	unsigned required;        /* its number from 1; 0: may be missing */
};

struct schema_pattern_prop {
	struct schema_regex *pattern;
	struct schema_node *node;
};

struct schema_dependent {
	struct bread_str name;
	struct schema_node *node;   /* dependentSchemas, or NULL */
	struct bread_str *required; /* dependentRequired */
	size_t n_required;
};

struct schema_object {
	struct schema_prop *props; /* of properties and of required together */
	size_t n_props, cap_props;
	struct map *by_name; /* when there are many, else NULL */
	size_t n_required;
	struct schema_pattern_prop *patterns;
	size_t n_patterns;
	struct schema_dependent *dependents;
	size_t n_dependents;
	struct schema_node *additional, *names, *unevaluated;
	uint64_t min, max;
};

struct schema_logic {
	struct schema_node *ref;
	struct schema_node *dynamic; /* where $dynamicRef leads when nobody overrides it */
	unsigned dynamic_name;       /* number of the anchor from 1; 0: it is a plain reference */
	struct schema_list all, any, one;
	struct schema_node *no, *cond, *then, *otherwise;
};

struct schema_node {
	const struct json_tok *tok; /* its place; the key in the compiler's map */
	struct schema_res *res;
	unsigned types;   /* bits that may be */
	bool always;      /* nothing is asked */
	bool never;       /* the schema false */
	bool unevaluated; /* needs to know which members were looked at */
	struct schema_values *constant, *choice;
	struct schema_logic *logic;
	struct schema_number *number;
	struct schema_string *string;
	struct schema_array *array;
	struct schema_object *object;
	struct jval dflt; /* "default" */
};

struct schema_dynamic { /* a $dynamicAnchor */
	struct schema_dynamic *next;
	unsigned name; /* from 1 */
	struct schema_node *node;
};

/* A resource: what an $id, or a document, begins. */
struct schema_res {
	struct bread_str uri; /* absolute where the schema gave a base; no fragment */
	struct jval root;
	struct schema_node *node;
	struct schema_dynamic *dynamics;
	unsigned index;
	unsigned vocab; /* VOCAB_ bits at work */
	bool legacy;    /* an older draft: items as a list, dependencies */
};

struct schema_map { /* maps that are freed with the schema */
	struct schema_map *next;
	struct map map;
};

struct schema {
	unsigned refs; /* atomic */
	struct arena arena;
	struct schema_node *root;
	struct schema_map *maps;
	struct schema_regex *regexes;
	size_t regex_bytes; /* of all of them, compiled */
	size_t n_nodes;
	unsigned n_res, n_dynamic;
	bool has_dynamic; /* some $dynamicRef is really dynamic */
	bool has_default;
};

/* schema_number.c */
struct schema_decimal brd_schema_decimal(struct bread_str lexeme);
int brd_schema_decimal_cmp(const struct schema_decimal *a, const struct schema_decimal *b);
uint64_t brd_schema_decimal_hash(const struct schema_decimal *d);
bool brd_schema_integral(struct bread_str lexeme);
bool brd_schema_divisor(struct bread_str lexeme, struct schema_divisor *ret); /* false: too long */
bool brd_schema_multiple(struct bread_str lexeme, const struct schema_divisor *m);

/* schema_pattern.c */
enum schema_match { SCHEMA_MATCH_NO, SCHEMA_MATCH_YES, SCHEMA_MATCH_GAVE_UP };
struct schema_matcher; /* memory that one check needs for matching */
/* NULL: not a pattern; why says so. Freed with the schema. */
struct schema_regex *brd_schema_regex(
	struct schema *s, struct bread_str pattern, char *why, size_t n_why);
void brd_schema_regex_free(struct schema_regex *all);
struct bread_str brd_schema_regex_text(const struct schema_regex *r);
/* Takes what it cost from *steps. */
enum schema_match brd_schema_match(struct schema_matcher **m, const struct schema_regex *r,
	struct bread_str subject, int64_t *steps);
void brd_schema_matcher_free(struct schema_matcher *m);

/* schema_uri.c: RFC 3986, 5.2 */
struct bread_str brd_schema_uri(struct arena *a, struct bread_str base, struct bread_str ref);
/* Cuts the fragment off *uri and returns it; p NULL when there is no '#'. */
struct bread_str brd_schema_uri_cut(struct bread_str *uri);
struct bread_str brd_schema_uri_decode(struct arena *a, struct bread_str s); /* %41 to A */

/* schema_meta.c: NULL text when it is none of ours */
struct bread_str brd_schema_meta(struct arena *a, struct bread_str uri);

/* The members of a container, straight from the tape. */
static inline struct jval schema_first(struct jval v)
{
	return (struct jval){ v.tok + 1, v.text };
}

static inline struct jval schema_next(struct jval v)
{
	return (struct jval){ v.tok + v.tok->skip, v.text };
}

static inline struct bread_str schema_raw(struct jval v)
{
	return (struct bread_str){ v.text + v.tok->at, v.tok->len };
}

static inline struct bread_str schema_str(struct jval v, struct arena *a)
{
	if (v.tok->plain)
		return (struct bread_str){ v.text + v.tok->at + 1, v.tok->len - 2 };
	return brd_json_str(v, a);
}
