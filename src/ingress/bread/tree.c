/* SPDX-License-Identifier: MIT */
/* A run and all that hangs on it, as one nested object (docs/http-api.md).
 *
 * The rows of the whole tree are read, and what is below the run that was asked for is told.
 * The tree may be deep: it is walked without recursion. */
#include <stdlib.h>
#include <string.h>
#include "ingress/bread/internal.h"

static const char no_run[] = "Run not found";

#define NONE SIZE_MAX

struct branch {
	const struct bread_run_row *row;
	size_t parent, first, last, next; /* places in the array; NONE */
};

static int compare(struct bread_str a, struct bread_str b)
{
	int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int by_id(const void *a, const void *b)
{
	const struct branch *const *x = a, *const *y = b;

	return compare((*x)->row->id, (*y)->row->id);
}

static size_t find(
	const struct branch *all, struct branch *const *sorted, size_t count, struct bread_str id)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = compare(sorted[mid]->row->id, id);

		if (order == 0)
			return (size_t)(sorted[mid] - all);
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NONE;
}

/* A run whose parent is not among them hangs on the first, which is the root. A parent is made
 * before what is below it, so what comes later is none: there are no rings. */
static void hang(struct branch *all, size_t i, size_t parent)
{
	struct branch *on;

	if (parent == NONE || parent >= i)
		parent = 0;
	all[i].parent = parent;
	on = &all[parent];
	if (on->first == NONE)
		on->first = i;
	else
		all[on->last].next = i;
	on->last = i;
}

static struct branch *plant(const struct bread_read *r, struct bread_str id, size_t *ret_top)
{
	struct branch *all = brd_ingress_alloc(r->count * sizeof(*all));
	struct branch **sorted = brd_ingress_alloc(r->count * sizeof(*sorted));

	for (size_t i = 0; i < r->count; i++) {
		all[i] = (struct branch){ &r->runs[i], NONE, NONE, NONE, NONE };
		sorted[i] = &all[i];
	}
	qsort(sorted, r->count, sizeof(*sorted), by_id);
	for (size_t i = 1; i < r->count; i++)
		hang(all, i, find(all, sorted, r->count, r->runs[i].parent_id));
	*ret_top = find(all, sorted, r->count, id);
	free(sorted);
	return all;
}

/* A root's row has none: it is the first name of all those below it. */
static void put_path(struct bread_sink *s, const struct bread_run_row *r)
{
	if (r->path.n) {
		brd_ingress_put_raw(s, "path", r->path);
		return;
	}
	brd_ingress_put(s, ",\"path\":[");
	bread_sink_quote(s, r->agent_id);
	brd_ingress_put(s, "]");
}

static void put_head(struct bread_sink *s, const struct bread_run_row *r)
{
	brd_ingress_put(s, "{\"runId\":");
	bread_sink_quote(s, r->id);
	brd_ingress_put_text(s, "agentId", r->agent_id);
	brd_ingress_put_text(s, "sessionId", r->session_id);
	brd_ingress_put_kind(s, r);
	put_path(s, r);
	brd_ingress_put_text(s, "status", brd_ingress_str(brd_ingress_status(r->status)));
	brd_ingress_put_times(s, r);
	brd_ingress_put_raw(s, "error", r->error);
	brd_ingress_put_usage(s, r);
	brd_ingress_put(s, ",\"children\":[");
}

/* Closes what is done, up to the one that has another beside it. */
static size_t step_up(struct bread_sink *s, const struct branch *all, size_t at, size_t top)
{
	for (;; at = all[at].parent) {
		brd_ingress_put(s, "]}");
		if (at == top)
			return NONE;
		if (all[at].next != NONE) {
			brd_ingress_put(s, ",");
			return all[at].next;
		}
	}
}

static void put_tree(struct bread_sink *s, const struct branch *all, size_t top)
{
	for (size_t at = top; at != NONE;) {
		put_head(s, all[at].row);
		at = all[at].first != NONE ? all[at].first : step_up(s, all, at, top);
	}
}

static void on_tree(struct store_question *q)
{
	struct branch *all;
	struct bread_sink *s;
	size_t top = NONE;

	all = q->read.count ? plant(&q->read, bread_request_param(q->req, "id"), &top) : NULL;
	if (top == NONE) {
		/* gone since, or beyond what one answer holds */
		brd_ingress_reply_text_error(q->req, 404, no_run);
		free(all);
		return;
	}
	s = bread_sink_new();
	put_tree(s, all, top);
	free(all);
	brd_ingress_reply(q->req, 200, s);
}

static void on_run(struct store_question *q)
{
	struct bread_str root, id;

	if (q->read.count == 0) {
		brd_ingress_reply_text_error(q->req, 404, no_run);
		return;
	}
	root = q->read.runs->parent_id.n ? q->read.runs->root_id : q->read.runs->id;
	id = bread_request_printf(q->req, "%.*s", (int)root.n, root.p);
	brd_ingress_ask(brd_ingress_question(q->req, BREAD_READ_TREE, id, on_tree));
}

static void tree(struct bread_request *req, void *arg)
{
	brd_ingress_ask_id(req, BREAD_READ_RUN, no_run, on_run);
}

void brd_ingress_mount_tree(struct ingress *in)
{
	bread_route(&in->in, "GET", "/runs/:id/tree", tree, in);
}
