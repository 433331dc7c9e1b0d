/* SPDX-License-Identifier: MIT */
/* From nodes to JSON text.
 *
 * A token of JSON (a key, a scalar, an opening bracket) and its place are written
 * together, so the n-th place is the n-th token's. An alias copies the text and
 * the places of what it names: a fault inside points at where the text stands.
 * After a fault the composer is only good for brd_compose_fini. */
#include "config/compose.h"
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "config/fault.h"
#include "config/scalar.h"

#define CORE_TAG "tag:yaml.org,2002:"

#define fault(c, at, code, ...) brd_yaml_fault((c)->err, (c)->file, at, code, __VA_ARGS__)

void brd_compose_init(struct compose *c, struct arena *a, const char *file, struct bread_err *err)
{
	*c = (struct compose){ .file = file, .arena = a, .err = err };
	brd_buf_init(&c->json, YAML_JSON);
	c->w = brd_jsonw(&c->json);
}

void brd_compose_fini(struct compose *c)
{
	while (c->depth > 0)
		brd_map_fini(&c->frames[--c->depth].keys);
	brd_map_fini(&c->anchors);
	brd_buf_fini(&c->json);
	free(c->places);
}

static struct compose_frame *top(struct compose *c)
{
	return c->depth ? &c->frames[c->depth - 1] : NULL;
}

static bool wants_key(struct compose *c)
{
	return c->depth && top(c)->map && !top(c)->keyed;
}

static void places_reserve(struct compose *c, size_t more)
{
	if (c->place_count + more <= c->place_cap)
		return;
	c->place_cap = 2 * (c->place_count + more);
	c->places = brd_realloc(c->places, c->place_cap * sizeof(*c->places));
}

static void add_place(struct compose *c, struct yaml_place at)
{
	places_reserve(c, 1);
	c->places[c->place_count++] = at;
}

static int check_room(struct compose *c, struct yaml_place at)
{
	if (c->values > YAML_VALUES)
		return fault(c, at, BREAD_E_TOO_LARGE,
			"there are more than %d values here, with what the aliases stand for",
			YAML_VALUES);
	if (c->json.bad)
		return fault(c, at, BREAD_E_TOO_LARGE,
			"there are more than %zu MiB here, with what the aliases and variables "
			"stand for",
			YAML_JSON >> 20);
	return 0;
}

/* A value is complete: its parent may go on. */
static void value_done(struct compose *c, unsigned height)
{
	struct compose_frame *f = top(c);

	if (!f)
		return;
	f->keyed = false;
	if (f->height < height)
		f->height = height;
}

/* An anchor at the value that is written next; later ones of its name replace it. */
static struct compose_anchor *anchor_open(struct compose *c, const char *name)
{
	struct compose_anchor *anchor;

	if (!name)
		return NULL;
	anchor = brd_arena_alloc(c->arena, sizeof(*anchor));
	anchor->from = c->json.len + (c->w.comma ? 1 : 0);
	anchor->place = c->place_count;
	anchor->values = c->values;
	brd_map_put(&c->anchors, brd_arena_copy(c->arena, brd_str(name)), anchor);
	return anchor;
}

static void anchor_close(struct compose *c, struct compose_anchor *anchor, unsigned height)
{
	if (!anchor)
		return;
	anchor->to = c->json.len;
	anchor->places = c->place_count - anchor->place;
	anchor->values = c->values - anchor->values;
	anchor->height = height;
	anchor->done = true;
}

static int add_key(
	struct compose *c, const struct compose_node *n, struct bread_str text, bool plain)
{
	struct bread_str shown = brd_yaml_show(text, c->arena), key;
	struct yaml_place *place, *first;

	if (plain && brd_str_is(text, "<<"))
		return fault(c, n->at, BREAD_E_INVALID,
			"merge keys (<<) are not part of YAML 1.2; write the keys out, or use an "
			"alias for a whole value");
	if (n->anchor)
		return fault(c, n->at, BREAD_E_INVALID,
			"the key %.*s has an anchor; only values may", BRD_ARG(shown));
	if (n->tag && strcmp(n->tag, "!") != 0 && strcmp(n->tag, CORE_TAG "str") != 0)
		return fault(c, n->at, BREAD_E_INVALID,
			"the key %.*s has a tag; keys are texts and need none", BRD_ARG(shown));
	if (plain && text.n == 0)
		return fault(c, n->at, BREAD_E_INVALID, "a key is missing before the colon");
	place = brd_arena_alloc(c->arena, sizeof(*place));
	*place = n->at;
	key = brd_arena_copy(c->arena, text);
	first = brd_map_get(&top(c)->keys, key);
	if (first)
		return fault(c, n->at, BREAD_E_INVALID,
			"the key %.*s is given twice; line %u has it already", BRD_ARG(shown),
			first->line);
	brd_map_put(&top(c)->keys, key, place);
	add_place(c, n->at);
	brd_jw_keys(&c->w, text);
	top(c)->keyed = true;
	return check_room(c, n->at);
}

/* The type that a tag asks for, among those of enum scalar_type. */
static bool tag_fits(const char *tag, enum scalar_type type)
{
	if (strcmp(tag, "null") == 0)
		return type == SCALAR_NULL;
	if (strcmp(tag, "bool") == 0)
		return type == SCALAR_TRUE || type == SCALAR_FALSE;
	return type == SCALAR_NUMBER; /* int and float */
}

static bool number_is_int(struct bread_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '.' || s.p[i] == 'e' || s.p[i] == 'E')
			return false;
	return true;
}

static int unknown_tag(struct compose *c, const struct compose_node *n)
{
	struct bread_str tag = brd_str(n->tag);
	size_t core = strlen(CORE_TAG);
	bool known = brd_str_starts(tag, BRD_STR(CORE_TAG));

	if (known)
		tag = brd_sub(tag, core, tag.n - core);
	tag = brd_yaml_show(tag, c->arena);
	return fault(c, n->at, BREAD_E_INVALID,
		"the tag %.*s is not known; only !!str, !!int, !!float, !!bool, !!null, !!map and "
		"!!seq are",
		BRD_ARG(tag));
}

/* Resolves the tag of a scalar into its short form: NULL for none, "str" for !. */
static int scalar_tag(struct compose *c, const struct compose_node *n, const char **ret)
{
	static const char *const known[] = { "str", "int", "float", "bool", "null" };

	*ret = NULL;
	if (!n->tag)
		return 0;
	if (strcmp(n->tag, "!") == 0) {
		*ret = "str";
		return 0;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(n->tag, CORE_TAG, strlen(CORE_TAG)) == 0 &&
			strcmp(n->tag + strlen(CORE_TAG), known[i]) == 0) {
			*ret = known[i];
			return 0;
		}
	return unknown_tag(c, n);
}

static int write_typed(
	struct compose *c, const struct compose_node *n, struct bread_str text, const char *tag)
{
	const char *why = "";
	enum scalar_type type;
	struct buf num;
	int r = 0;

	brd_buf_init(&num, YAML_JSON);
	type = brd_scalar_type(text, &num, &why);
	if (type == SCALAR_BAD)
		r = fault(c, n->at, BREAD_E_INVALID, "%.*s %s", (int)brd_utf8_cut(text, 48), text.p,
			why);
	else if (tag && (!tag_fits(tag, type) ||
				(strcmp(tag, "int") == 0 && !number_is_int(brd_buf_str(&num)))))
		r = fault(c, n->at, BREAD_E_INVALID, "the tag !!%s does not fit %.*s", tag,
			BRD_ARG(brd_yaml_show(text, c->arena)));
	else if (type == SCALAR_NULL)
		brd_jw_null(&c->w);
	else if (type == SCALAR_TRUE || type == SCALAR_FALSE)
		brd_jw_bool(&c->w, type == SCALAR_TRUE);
	else if (type == SCALAR_NUMBER)
		brd_jw_raw(&c->w, brd_buf_str(&num));
	else
		brd_jw_str(&c->w, text);
	brd_buf_fini(&num);
	return r;
}

static int add_value(
	struct compose *c, const struct compose_node *n, struct bread_str text, bool plain)
{
	struct compose_anchor *anchor;
	const char *tag;
	int r = scalar_tag(c, n, &tag);

	if (r < 0)
		return r;
	anchor = anchor_open(c, n->anchor);
	c->values++;
	add_place(c, n->at);
	if (tag ? strcmp(tag, "str") != 0 : plain)
		r = write_typed(c, n, text, tag);
	else
		brd_jw_str(&c->w, text);
	if (r == 0)
		r = check_room(c, n->at);
	anchor_close(c, anchor, 0);
	value_done(c, 0);
	return r;
}

int brd_compose_scalar(struct compose *c, const struct compose_node *n, struct bread_str text,
	enum scalar_style style)
{
	bool expands = style != STYLE_BLOCK && brd_str_find(text, BRD_STR("${")) >= 0;
	bool plain = style == STYLE_PLAIN;
	struct buf b = { 0 };
	struct bread_err why;
	int r = 0;

	if (expands) {
		brd_buf_init(&b, YAML_JSON);
		r = brd_scalar_expand(text, &b, &why);
		if (r < 0)
			r = fault(c, n->at, why.code, "%s", why.text);
		else if (b.bad)
			r = fault(c, n->at, BREAD_E_TOO_LARGE,
				"this text is over %zu MiB with what its variables stand for",
				YAML_JSON >> 20);
		text = brd_buf_str(&b);
		/* a variable that is empty is an empty text, not a null */
		plain = plain && text.n > 0;
	}
	if (r == 0)
		r = wants_key(c) ? add_key(c, n, text, plain) : add_value(c, n, text, plain);
	brd_buf_fini(&b);
	return r;
}

int brd_compose_begin(struct compose *c, const struct compose_node *n, bool map)
{
	struct compose_anchor *anchor;

	if (wants_key(c))
		return fault(
			c, n->at, BREAD_E_INVALID, "a key must be a text, not a list or a mapping");
	if (n->tag && strcmp(n->tag, "!") != 0 &&
		strcmp(n->tag, map ? CORE_TAG "map" : CORE_TAG "seq") != 0)
		return unknown_tag(c, n);
	if (c->depth == YAML_DEPTH)
		return fault(c, n->at, BREAD_E_TOO_LARGE,
			"lists and mappings nest deeper than %d here", YAML_DEPTH);
	anchor = anchor_open(c, n->anchor);
	c->values++;
	add_place(c, n->at);
	if (map)
		brd_jw_obj(&c->w);
	else
		brd_jw_arr(&c->w);
	c->frames[c->depth++] = (struct compose_frame){ .map = map, .anchor = anchor };
	return check_room(c, n->at);
}

void brd_compose_end(struct compose *c)
{
	struct compose_frame *f = top(c);
	unsigned height = f->height + 1;

	if (f->map)
		brd_jw_end_obj(&c->w);
	else
		brd_jw_end_arr(&c->w);
	anchor_close(c, f->anchor, height);
	brd_map_fini(&f->keys);
	c->depth--;
	value_done(c, height);
}

/* Writes once more what the anchor stands for. */
static void copy_anchored(struct compose *c, const struct compose_anchor *anchor)
{
	size_t len = anchor->to - anchor->from;

	places_reserve(c, anchor->places);
	memcpy(c->places + c->place_count, c->places + anchor->place,
		anchor->places * sizeof(*c->places));
	c->place_count += anchor->places;
	brd_buf_grow(&c->json, len + 2); /* the source must not move while it is read */
	brd_jw_raw(&c->w, (struct bread_str){ c->json.data + anchor->from, len });
}

int brd_compose_alias(struct compose *c, const struct compose_node *n)
{
	struct compose_anchor *anchor = brd_map_get(&c->anchors, brd_str(n->anchor));
	int name_n = (int)brd_utf8_cut(brd_str(n->anchor), 48);
	int r;

	if (wants_key(c))
		return fault(c, n->at, BREAD_E_INVALID, "*%.*s stands for a key; write the key out",
			name_n, n->anchor);
	if (!anchor)
		return fault(c, n->at, BREAD_E_INVALID, "*%.*s has no anchor &%.*s before it",
			name_n, n->anchor, name_n, n->anchor);
	if (!anchor->done)
		return fault(c, n->at, BREAD_E_INVALID, "*%.*s stands inside what &%.*s names",
			name_n, n->anchor, name_n, n->anchor);
	if (c->depth + anchor->height > YAML_DEPTH)
		return fault(c, n->at, BREAD_E_TOO_LARGE,
			"lists and mappings nest deeper than %d with what *%.*s stands for",
			YAML_DEPTH, name_n, n->anchor);
	c->values += anchor->values;
	r = check_room(c, n->at);
	if (r < 0)
		return r;
	copy_anchored(c, anchor);
	value_done(c, anchor->height);
	return check_room(c, n->at);
}
