/* SPDX-License-Identifier: MIT */
/* Rows of the log as frames.
 *
 * A row's JSON goes from the store's memory into the page behind a prefix, unparsed;
 * looked into are only errors, crumbs over the limit of an event, and the one row
 * a client has a part of. A page that is sent in chunks is one chunk: its head has
 * a fixed place in front. */
#include "instance/page.h"
#include <stdio.h>
#include "crumb/crumb.h"
#include "crumb/sink.h"

#define CHUNK_HEAD 8 /* "00abcd\r\n": leading zeros are part of the grammar */

struct writer {
	struct page_spec *spec;
	struct bread_sink sink;
	struct bread_str root_id;
	struct buf scratch, cut;
};

static int64_t number(const struct page_spec *spec, const struct bread_crumb_row *row)
{
	return spec->tree ? row->tree_seq : row->seq;
}

/* The rest of a delta of which units are had. false: all of it is. */
static bool cut_delta(struct bread_str json, int64_t units, struct buf *out)
{
	struct arena a = { 0 };
	struct jval root = { 0 }, delta;
	struct bread_str raw, text;
	size_t at = 0;

	brd_buf_clear(out);
	if (brd_json_parse(&a, json, 0, &root, NULL) == 0) {
		delta = brd_json_get(root, "delta");
		raw = brd_json_raw(delta);
		text = brd_json_str(delta, &a);
		while (at < text.n && units > 0) {
			size_t bad = 1, n = brd_utf8_char(text.p + at, text.n - at, &bad);

			units -= n == 4 ? 2 : 1;
			if (!n)
				n = brd_utf8_surrogate(text.p + at, text.n - at) ? 3 : bad;
			at += n;
		}
		if (at < text.n) {
			brd_buf_addn(out, json.p, (size_t)(raw.p - json.p));
			brd_json_quote(out, brd_sub(text, at, text.n - at));
			brd_buf_addn(out, raw.p + raw.n, (size_t)(json.p + json.n - raw.p - raw.n));
		}
	}
	brd_arena_fini(&a);
	return out->len > 0;
}

/* Leaves out of a row what the client has. false: all of it. */
static bool cut_row(struct writer *w, struct bread_crumb *c)
{
	struct page_spec *spec = w->spec;
	bool text = brd_str_is(c->type, "text:delta");
	int64_t *had = text ? &spec->text : &spec->reasoning, units = *had;

	if (!text && !brd_str_is(c->type, "reasoning:delta")) {
		spec->text = spec->reasoning = 0; /* those windows are closed */
		return true;
	}
	*had = 0;
	if (units == 0)
		return true;
	if (!cut_delta(c->json, units, &w->cut))
		return false;
	c->json = c->public_json = brd_buf_str(&w->cut);
	return true;
}

/* In a tree's log a crumb is told apart by the run it names, and by the tree's number. */
static void place(
	const struct page_spec *spec, const struct bread_crumb_row *row, struct bread_crumb *c)
{
	if (!spec->tree)
		return;
	c->tree_seq = row->tree_seq;
	c->path = row->path;
	if (brd_str_starts(row->type, BRD_STR("pipeline:")))
		c->run_id = brd_crumb_row_names(row->crumb);
}

static void add_row(struct writer *w, const struct bread_crumb_row *row)
{
	const struct page_spec *spec = w->spec;
	size_t max = brd_hub_max_event(brd_instance_hub(spec->bread));
	struct bread_crumb c;

	brd_crumb_row_view(row->run_id, row->type, row->seq, row->crumb, &w->scratch, &c);
	place(spec, row, &c);
	w->spec->terminal = (c.flags & BREAD_CRUMB_TERMINAL) &&
			    (!spec->tree || brd_str_eq(row->run_id, w->root_id));
	if (spec->tree && (c.flags & BREAD_CRUMB_FRAME) && !spec->framing->tree)
		return;
	if (brd_instance_filtered(spec->bread, row->type)) {
		if (!(spec->flags & CURSOR_ALL))
			return;
		c.flags |= BREAD_CRUMB_FILTERED;
	}
	if ((spec->text || spec->reasoning) && !cut_row(w, &c))
		return;
	if (c.json.n > max && !(spec->flags & CURSOR_FULL)) {
		struct bread_str whole = c.public_json;
		struct buf preview;

		brd_buf_init(&preview, BUF_NO_LIMIT);
		brd_crumb_preview(whole, row->run_id, c.seq, max, &preview);
		c.json = c.public_json = brd_buf_str(&preview);
		spec->framing->crumb(&w->sink, &c, (spec->flags & CURSOR_EXACT) != 0);
		brd_buf_fini(&preview);
		return;
	}
	spec->framing->crumb(&w->sink, &c, (spec->flags & CURSOR_EXACT) != 0);
}

static void begin(struct bread_sink *s, unsigned flags, struct buf *out)
{
	s->buf = *out;
	if (flags & CURSOR_CHUNKED)
		brd_buf_addn(&s->buf, "00000000", CHUNK_HEAD);
}

static void end(struct bread_sink *s, unsigned flags, struct buf *out)
{
	char head[CHUNK_HEAD + 9];
	size_t n = s->buf.len - CHUNK_HEAD;

	*out = s->buf;
	if (!(flags & CURSOR_CHUNKED))
		return;
	if (n == 0) {
		brd_buf_clear(out);
	} else if (n < 1 << 24) {
		snprintf(head, sizeof(head), "%06zx\r\n", n);
		memcpy(out->data, head, CHUNK_HEAD);
		brd_buf_addn(out, "\r\n", 2);
	} else { /* one giant crumb with ?full=1 */
		struct buf whole;

		brd_buf_init(&whole, BUF_NO_LIMIT);
		brd_buf_addf(&whole, "%zx\r\n", n);
		brd_buf_addn(&whole, out->data + CHUNK_HEAD, n);
		brd_buf_addn(&whole, "\r\n", 2);
		brd_buf_fini(out);
		*out = whole;
	}
}

void brd_page_rows(struct page_spec *spec, struct bread_str run_id,
	const struct bread_crumb_row *rows, size_t n, struct buf *out)
{
	struct writer w = { .spec = spec, .root_id = run_id };

	brd_buf_init(&w.scratch, BUF_NO_LIMIT);
	brd_buf_init(&w.cut, BUF_NO_LIMIT);
	begin(&w.sink, spec->flags, out);
	if (spec->first && number(spec, &rows[0]) > spec->after + 1 && spec->framing->reset)
		spec->framing->reset(&w.sink, run_id, number(spec, &rows[0]));
	for (size_t i = 0; i < n; i++) {
		add_row(&w, &rows[i]);
		spec->after = number(spec, &rows[i]);
	}
	end(&w.sink, spec->flags, out);
	brd_buf_fini(&w.scratch);
	brd_buf_fini(&w.cut);
}

void brd_page_failure(const struct page_spec *spec, const struct bread_failure *f, struct buf *out)
{
	struct bread_sink sink;

	begin(&sink, spec->flags, out);
	if (spec->framing->failure)
		spec->framing->failure(&sink, f);
	end(&sink, spec->flags, out);
}
