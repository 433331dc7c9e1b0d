/* SPDX-License-Identifier: MIT */
/* What the compiling files of the JSON Schema share: the state of one compiling. */
#pragma once
#include "base/schema_impl.h"

enum schema_vocab {
	VOCAB_CORE = 1 << 0,
	VOCAB_APPLICATOR = 1 << 1,
	VOCAB_UNEVALUATED = 1 << 2,
	VOCAB_VALIDATION = 1 << 3,
	VOCAB_META = 1 << 4,
	VOCAB_NONE = 1 << 5, /* known, but without effect here: format, content */
	VOCAB_ALL = 0x3f,
};

struct schema_doc { /* a parsed text */
	struct schema_doc *next;
	struct bread_str uri;
	struct jval root;
};

struct schema_anchor {
	struct schema_node *node;
	bool dynamic;
};

struct schema_pending { /* a reference, to be resolved when all documents are walked */
	struct schema_pending *next;
	struct schema_node *node;
	struct jval ref;
	bool dynamic;
};

struct schema_compiler {
	struct schema *s;
	schema_lookup lookup;
	void *arg;
	struct bread_err *err;
	struct schema_doc *docs;
	size_t bytes;         /* of all texts, against SCHEMA_BYTES */
	struct map resources; /* absolute URI: struct schema_res */
	struct map anchors;   /* number of the resource, and name: struct schema_anchor */
	struct map dynamics;  /* name of a $dynamicAnchor: its number, as a pointer */
	struct map nodes;     /* address of a token: its node */
	struct schema_pending *pending;
	struct arena scratch; /* for one reference at a time */
	size_t passed;        /* against SCHEMA_PASSED */
};

/* What a schema may be: text with all that it refers to; one URI; resources; and
 * members of containers that references pass on their way. Memory is up to some
 * sixty times the text. */
#define SCHEMA_BYTES ((size_t)4 * 1024 * 1024)
#define SCHEMA_URI 2048
#define SCHEMA_RESOURCES 10000
#define SCHEMA_PASSED 50000000

/* All of these return 0 or a code, or NULL, after filling in c->err. */

/* Says that the value at v is wrong; names its place. Returns BREAD_E_INVALID. */
__attribute__((format(printf, 3, 4))) int brd_schema_bad(
	struct schema_compiler *c, struct jval v, const char *fmt, ...);

/* Over a limit: returns BREAD_E_TOO_LARGE. */
int brd_schema_too_large(struct schema_compiler *c, const char *what);

/* The node for the schema at v, which belongs to res; compiled once. */
struct schema_node *brd_schema_node(
	struct schema_compiler *c, struct jval v, struct schema_res *res);

/* Parses and compiles a text as a document that is found at uri. */
struct schema_res *brd_schema_document(
	struct schema_compiler *c, struct bread_str text, struct bread_str uri);

/* Compiles one keyword; unknown ones, and those not in the vocabulary, are nothing.
 * *seen has a bit for each that the node had before: none may be there twice. */
int brd_schema_keyword(struct schema_compiler *c, struct schema_node *n, struct bread_str name,
	struct jval v, uint64_t *seen);

/* Sets vocab and legacy from a $schema (JSON_NONE: the parent's, or the draft's). */
int brd_schema_dialect(struct schema_compiler *c, struct schema_res *res, struct jval dialect,
	const struct schema_res *parent);

/* What an anchor is found by, in the arena. */
struct bread_str brd_schema_anchor_key(
	struct arena *a, const struct schema_res *res, struct bread_str name);

int brd_schema_resolve_all(struct schema_compiler *c);

static inline void *schema_alloc(struct schema_compiler *c, size_t n)
{
	return brd_arena_alloc(&c->s->arena, n);
}

static inline struct bread_str schema_text(struct schema_compiler *c, struct jval v)
{
	return schema_str(v, &c->s->arena);
}
