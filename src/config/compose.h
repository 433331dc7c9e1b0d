/* SPDX-License-Identifier: MIT */
/* The composer: a document's nodes go in, in their order; JSON text and a place
 * for each of its tokens come out.
 *
 * It refuses what a configuration must not do, whoever reads the file for it:
 * keys given twice, tags it does not know, nesting and numbers of values over
 * the limits, aliases that expand beyond them. */
#pragma once
#include "base/arena.h"
#include "base/jsonw.h"
#include "base/map.h"
#include "config/yaml.h"

#define YAML_DEPTH 64
#define YAML_VALUES 10000
#define YAML_TEXT ((size_t)4 << 20)  /* of a file */
#define YAML_JSON ((size_t)16 << 20) /* of what becomes of it; aliases copy texts */

enum scalar_style {
	STYLE_PLAIN,
	STYLE_QUOTED,
	STYLE_BLOCK, /* after | or >: taken as it stands, ${ too */
};

struct compose_node {
	struct yaml_place at;
	const char *anchor; /* NULL: none. Of an alias, what it names */
	const char *tag;    /* NULL: none */
};

/* What an anchor stands for: a range of the JSON text and of the places. */
struct compose_anchor {
	size_t from, to;
	size_t place, places;
	size_t values;
	unsigned height;
	bool done; /* false while its node is still open */
};

struct compose_frame { /* an open mapping or sequence */
	bool map;
	bool keyed; /* a key was read and its value comes next */
	unsigned height;
	struct map keys; /* to the place where each was given */
	struct compose_anchor *anchor;
};

struct compose {
	const char *file;
	struct arena *arena;
	struct bread_err *err;
	struct buf json;
	struct jsonw w;
	struct yaml_place *places;
	size_t place_count, place_cap;
	size_t values;
	struct map anchors;
	struct compose_frame frames[YAML_DEPTH];
	unsigned depth;
};

void brd_compose_init(struct compose *c, struct arena *a, const char *file, struct bread_err *err);
void brd_compose_fini(struct compose *c);
int brd_compose_scalar(struct compose *c, const struct compose_node *n, struct bread_str text,
	enum scalar_style style);
int brd_compose_begin(struct compose *c, const struct compose_node *n, bool map);
void brd_compose_end(struct compose *c); /* the innermost that is open */
int brd_compose_alias(struct compose *c, const struct compose_node *n);
