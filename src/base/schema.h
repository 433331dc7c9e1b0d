/* SPDX-License-Identifier: MIT */
/* JSON Schema, draft 2020-12: compiled once, then used by any thread.
 *
 * All assertion and applicator keywords, $ref/$defs/$id/$anchor/$dynamicRef,
 * unevaluated*, with the vocabulary rules; format is an annotation, as the draft
 * has it by default. Patterns are PCRE2 with limits on matching. A $schema of an older
 * draft is understood as far as tools in the wild need it (items as a list,
 * dependencies). A key that an object has twice is checked each time. */
#pragma once
#include "base/json.h"

struct schema;

/* Documents that $ref may name by absolute URI, beside the meta-schemas that
 * are built in. NULL when not found. Called while compiling only. */
typedef struct bread_str (*schema_lookup)(struct bread_str uri, void *arg);

/* Compiles. The text is copied. BREAD_E_INVALID: not a schema; err->text names
 * the keyword and its place (as a JSON pointer). BREAD_E_TOO_LARGE: over 4 MiB with
 * all that it refers to, or over another limit that err->text names. */
int brd_schema_new(struct schema **ret, struct bread_str text, struct bread_err *err);
int brd_schema_new_with(struct schema **ret, struct bread_str text, schema_lookup lookup, void *arg,
	struct bread_err *err);
struct schema *brd_schema_ref(struct schema *s);
void brd_schema_unref(struct schema *s); /* NULL, too */

/* What a failed check says: the first fault, for people. */
struct schema_fault {
	struct bread_str at;      /* JSON pointer into the instance; "" is the whole */
	struct bread_str keyword; /* "required" */
	struct bread_str text;    /* "a number was expected, here is a string" */
};

/* true when v fits. Else the fault's strings are in the arena (ret may be NULL).
 * Bounded: gives up (as a fault) past a number of steps that grows with the input. */
bool brd_schema_check(
	const struct schema *s, struct jval v, struct arena *a, struct schema_fault *ret);

/* A copy of v in which properties (also of members, through $ref and allOf, but not of
 * branches that may not hold) that are missing and have a "default" in the
 * schema are filled in; v itself when there is none to fill. */
struct jval brd_schema_defaults(const struct schema *s, struct jval v, struct arena *a);
