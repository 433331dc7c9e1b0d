/* SPDX-License-Identifier: MIT */
/* Reads YAML: libyaml's events go to the composer, its faults are put into words.
 *
 * libyaml knows neither types nor duplicate keys nor limits; those are the
 * composer's. It places faults in the encoding at 1:1, so the bytes are checked
 * here first. What is valid JSON does not pass through libyaml, which refuses
 * some of it (pairs of surrogate escapes, long keys), but through the same
 * composer. */
#include "config/yaml.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>
#include "base/err.h"
#include "base/mem.h"
#include "config/compose.h"
#include "config/fault.h"

#define MARK(m) ((struct yaml_place){ (uint32_t)(m).line + 1, (uint32_t)(m).column + 1 })

/* The place of a byte, counted as libyaml does: columns are characters. */
static struct yaml_place place_of(struct bread_str text, size_t at)
{
	struct yaml_place p = { 1, 1 };

	for (size_t i = 0; i < at && i < text.n; i++) {
		char c = text.p[i];

		if (c == '\n' || (c == '\r' && !(i + 1 < text.n && text.p[i + 1] == '\n')))
			p = (struct yaml_place){ p.line + 1, 1 };
		else if (c != '\r' && (c & 0xc0) != 0x80)
			p.column++;
	}
	return p;
}

/* The first byte that is no UTF-8; text.n when all are. */
static size_t utf8_fault(struct bread_str text)
{
	size_t at = 0;

	while (at < text.n) {
		unsigned char c = (unsigned char)text.p[at];
		size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

		if (len > text.n - at || !brd_utf8_ok(brd_sub(text, at, len)))
			return at;
		at += len;
	}
	return at;
}

static const char *remedy(const char *problem)
{
	static const struct {
		const char *problem, *remedy;
	} table[] = {
		{ "found character that cannot start any token",
			"; a tab cannot indent, and a text that begins with @, ` or % needs "
			"quotes" },
		{ "mapping values are not allowed in this context",
			"; a text with a colon and a blank inside needs quotes, or this line is "
			"indented wrongly" },
		{ "could not find expected ':'", "; a key ends in a colon and a blank" },
		{ "did not find expected key", "; is this line indented like those above it?" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(problem, table[i].problem) == 0)
			return table[i].remedy;
	return "";
}

static int parser_fault(struct compose *c, const yaml_parser_t *p, struct bread_str text)
{
	const char *problem = p->problem ? p->problem : "not YAML";
	struct yaml_place at = MARK(p->problem_mark);

	if (p->error == YAML_READER_ERROR)
		return brd_yaml_fault(c->err, c->file, place_of(text, p->problem_offset),
			BREAD_E_INVALID, "%s; use an escape (\"\\x%02X\") in double quotes",
			problem, (unsigned)p->problem_value & 0xff);
	if (!p->context || p->context_mark.line == p->problem_mark.line)
		return brd_yaml_fault(
			c->err, c->file, at, BREAD_E_INVALID, "%s%s", problem, remedy(problem));
	return brd_yaml_fault(c->err, c->file, at, BREAD_E_INVALID,
		"%s %s that begins on line %zu%s", problem, p->context, p->context_mark.line + 1,
		remedy(problem));
}

static enum scalar_style style_of(yaml_scalar_style_t style)
{
	if (style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE)
		return STYLE_BLOCK;
	return style == YAML_PLAIN_SCALAR_STYLE ? STYLE_PLAIN : STYLE_QUOTED;
}

static int on_scalar(struct compose *c, const yaml_event_t *e)
{
	struct compose_node n = { MARK(e->start_mark), (const char *)e->data.scalar.anchor,
		(const char *)e->data.scalar.tag };
	struct bread_str text = { (const char *)e->data.scalar.value, e->data.scalar.length };
	enum scalar_style style = style_of(e->data.scalar.style);
	bool nothing = text.n == 0 && style == STYLE_PLAIN && !n.anchor && !n.tag;

	/* "---" and nothing else is an empty document, not a null */
	return c->depth == 0 && nothing ? 0 : brd_compose_scalar(c, &n, text, style);
}

static int on_event(struct compose *c, const yaml_event_t *e, bool *had_document)
{
	struct compose_node n = { .at = MARK(e->start_mark) };

	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (*had_document)
			return brd_yaml_fault(c->err, c->file, n.at, BREAD_E_INVALID,
				"a second document begins here; a file holds one");
		*had_document = true;
		return 0;
	case YAML_ALIAS_EVENT:
		n.anchor = (const char *)e->data.alias.anchor;
		return brd_compose_alias(c, &n);
	case YAML_SCALAR_EVENT:
		return on_scalar(c, e);
	case YAML_SEQUENCE_START_EVENT:
		n.anchor = (const char *)e->data.sequence_start.anchor;
		n.tag = (const char *)e->data.sequence_start.tag;
		return brd_compose_begin(c, &n, false);
	case YAML_MAPPING_START_EVENT:
		n.anchor = (const char *)e->data.mapping_start.anchor;
		n.tag = (const char *)e->data.mapping_start.tag;
		return brd_compose_begin(c, &n, true);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		brd_compose_end(c);
		return 0;
	default:
		return 0;
	}
}

static int compose_yaml(struct compose *c, struct bread_str text)
{
	yaml_parser_t p;
	bool had_document = false, end = false;
	int r = 0;

	if (!yaml_parser_initialize(&p))
		return brd_yaml_fault(c->err, c->file, (struct yaml_place){ 0 }, BREAD_E_TOO_LARGE,
			"there is no memory to read it");
	yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&p, (const unsigned char *)text.p, text.n);
	while (r == 0 && !end) {
		yaml_event_t e;

		if (!yaml_parser_parse(&p, &e)) {
			r = parser_fault(c, &p, text);
			break;
		}
		r = on_event(c, &e, &had_document);
		end = e.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&e);
	}
	yaml_parser_delete(&p);
	return r;
}

/* Walks a text from front to back and knows the place of each byte on the way. */
struct walk {
	struct compose *c;
	struct bread_str text;
	size_t at;
	struct yaml_place place;
};

static struct yaml_place walk_to(struct walk *w, size_t at)
{
	struct yaml_place p = place_of(brd_sub(w->text, w->at, w->text.n - w->at), at - w->at);

	w->place.column = p.line == 1 ? w->place.column + p.column - 1 : p.column;
	w->place.line += p.line - 1;
	w->at = at;
	return w->place;
}

/* Depth is bounded: the tape was parsed with YAML_DEPTH. */
static int compose_json_value(struct walk *w, struct jval v)
{
	struct compose_node n = { .at = walk_to(w, v.tok->at) };
	enum json_type type = brd_json_type(v);
	struct json_iter it;
	int r;

	if (type == JSON_STRING)
		return brd_compose_scalar(w->c, &n, brd_json_str(v, w->c->arena), STYLE_QUOTED);
	if (type != JSON_ARRAY && type != JSON_OBJECT)
		return brd_compose_scalar(w->c, &n, brd_json_raw(v), STYLE_PLAIN);
	r = brd_compose_begin(w->c, &n, type == JSON_OBJECT);
	for (it = brd_json_each(v); r == 0 && brd_json_next(&it);) {
		if (type == JSON_OBJECT)
			r = compose_json_value(w, it.key);
		if (r == 0)
			r = compose_json_value(w, it.value);
	}
	if (r == 0)
		brd_compose_end(w->c);
	return r;
}

static bool looks_like_json(struct bread_str text)
{
	text = brd_str_trim(text);
	return text.n > 0 && (text.p[0] == '{' || text.p[0] == '[');
}

/* Into the document: the text, its tape, and the places beside it. */
static void finish(struct yaml_doc *ret, struct compose *c)
{
	if (c->place_count == 0)
		return;
	ret->json = brd_arena_copy(c->arena, brd_buf_str(&c->json));
	brd_assert(brd_json_parse(c->arena, ret->json, YAML_DEPTH + 1, &ret->root, NULL) == 0);
	brd_assert(ret->root.tok->skip == c->place_count);
	ret->places = brd_arena_array(c->arena, c->place_count, sizeof(*ret->places));
	memcpy(ret->places, c->places, c->place_count * sizeof(*ret->places));
}

static int check_text(const char *file, struct bread_str text, struct bread_err *err)
{
	size_t bad;

	if (text.n > YAML_TEXT)
		return brd_yaml_fault(err, file, (struct yaml_place){ 0 }, BREAD_E_TOO_LARGE,
			"the file is over %zu MiB", YAML_TEXT >> 20);
	bad = utf8_fault(text);
	if (bad < text.n)
		return brd_yaml_fault(err, file, place_of(text, bad), BREAD_E_INVALID,
			"the byte 0x%02X is not UTF-8; save the file as UTF-8",
			(unsigned char)text.p[bad]);
	return 0;
}

int brd_yaml_parse(struct yaml_doc *ret, struct arena *a, const char *file, struct bread_str text,
	struct bread_err *err)
{
	struct compose *c;
	struct jval json;
	int r;

	*ret = (struct yaml_doc){ .file = brd_arena_strz(a, brd_str(file)) };
	if (brd_str_starts(text, BRD_STR("\xef\xbb\xbf")))
		text = brd_sub(text, 3, text.n - 3);
	r = check_text(file, text, err);
	if (r < 0)
		return r;
	c = brd_alloc(sizeof(*c));
	brd_compose_init(c, a, ret->file, err);
	if (looks_like_json(text) && brd_json_parse(a, text, YAML_DEPTH, &json, NULL) == 0)
		r = compose_json_value(&(struct walk){ c, text, 0, { 1, 1 } }, json);
	else
		r = compose_yaml(c, text);
	if (r == 0)
		finish(ret, c);
	brd_compose_fini(c);
	free(c);
	return r;
}

/* Reads what is there, up to one byte over the limit. */
static int read_all(int fd, struct buf *b)
{
	char chunk[16384];
	ssize_t n;

	while (b->len <= YAML_TEXT) {
		n = read(fd, chunk, sizeof(chunk));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			brd_buf_addn(b, chunk, (size_t)n);
	}
	return 0;
}

int brd_yaml_load(struct yaml_doc *ret, struct arena *a, const char *path, struct bread_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct buf b;
	int r;

	*ret = (struct yaml_doc){ 0 };
	if (fd < 0)
		return brd_yaml_fault(err, path, (struct yaml_place){ 0 },
			errno == ENOENT ? BREAD_E_NOT_FOUND : BREAD_E_INVALID, "cannot be read: %s",
			brd_errno(errno));
	brd_buf_init(&b, BUF_NO_LIMIT);
	r = read_all(fd, &b);
	close(fd);
	if (r < 0)
		r = brd_yaml_fault(err, path, (struct yaml_place){ 0 }, BREAD_E_INVALID,
			"cannot be read: %s", brd_errno(-r));
	else
		r = brd_yaml_parse(ret, a, path, brd_arena_copy(a, brd_buf_str(&b)), err);
	brd_buf_fini(&b);
	return r;
}

struct yaml_place brd_yaml_place(const struct yaml_doc *d, struct jval v)
{
	if (!d || !v.tok || !d->root.tok || v.tok < d->root.tok ||
		v.tok >= d->root.tok + d->root.tok->skip)
		return (struct yaml_place){ 0 };
	return d->places[v.tok - d->root.tok];
}
