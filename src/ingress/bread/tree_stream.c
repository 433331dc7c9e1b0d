/* SPDX-License-Identifier: MIT */
/* The stream of a whole tree of runs (docs/streaming.md): each crumb with the path of its
 * run, under its number in the tree's log.
 *
 * Any run of the tree will do: its row says which root it belongs to. A run that is alone is a
 * tree of one, whose numbers are its own. Offsets inside of windows are counted for one run, so
 * exact streams are for runs alone. */
#include <string.h>
#include "ingress/bread/internal.h"

/* A run that is alone knows no path; its agent's name is the second thing in its crumbs. */
static void put_path(struct bread_sink *s, const struct bread_crumb *c)
{
	static const char head[] = "{\"type\":\"", key[] = "\",\"agentId\":\"";
	size_t at = sizeof(head) - 1 + c->type.n;
	const char *from, *to;

	bread_sink_add(s, LIT(",\"path\":"));
	if (c->path.n) {
		bread_sink_add(s, c->path);
		return;
	}
	bread_sink_add(s, LIT("["));
	if (c->json.n > at + sizeof(key) && memcmp(c->json.p + at, key, sizeof(key) - 1) == 0) {
		from = c->json.p + at + sizeof(key) - 1;
		to = memchr(from, '"', (size_t)(c->json.p + c->json.n - from));
		if (to)
			bread_sink_quote(s, (struct bread_str){ from, (size_t)(to - from) });
	}
	bread_sink_add(s, LIT("]"));
}

static int64_t number(const struct bread_crumb *c)
{
	return c->tree_seq ? c->tree_seq : c->seq;
}

static void ndjson_crumb(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	bread_sink_add(s, LIT("{\"v\":1,\"type\":\"crumb\",\"runId\":"));
	bread_sink_quote(s, c->run_id);
	brd_ingress_put_int(s, "seq", number(c));
	put_path(s, c);
	brd_ingress_put_raw(s, "crumb", c->json);
	bread_sink_add(s, LIT("}\n"));
}

static void sse_crumb(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	bread_sink_add(s, LIT("id: "));
	bread_sink_int(s, number(c));
	bread_sink_add(s, LIT("\ndata: {\"type\":"));
	bread_sink_quote(s, c->type);
	put_path(s, c);
	brd_ingress_put_raw(s, "payload", c->public_json);
	bread_sink_add(s, LIT("}\n\n"));
}

static const struct bread_framing ndjson = {
	.name = "ndjson-tree",
	.content_type = "application/x-ndjson",
	.headers = NO_PROXY,
	.hello = "",
	.heartbeat = "\n",
	.crumb = ndjson_crumb,
	.failure = brd_ingress_ndjson_failure,
	.reset = brd_ingress_ndjson_reset,
	.tree = 1,
};

static const struct bread_framing sse = {
	.name = "sse-tree",
	.content_type = "text/event-stream",
	.headers = NO_PROXY,
	.hello = "retry: 3000\n\n",
	.heartbeat = ": ping\n\n",
	.crumb = sse_crumb,
	.failure = brd_ingress_sse_failure,
	.reset = brd_ingress_sse_reset,
	.tree = 1,
};

/* A run without a row may still have a log, as the original writes them. */
static void on_run(struct store_question *q)
{
	const struct bread_run_row *row = q->read.count ? q->read.runs : NULL;
	struct bread_stream_spec spec = *(const struct bread_stream_spec *)q->arg;

	if (row && row->parent_id.n && row->root_id.n)
		spec.run_id = row->root_id;
	bread_reply_stream(q->req, &spec);
}

static void stream(struct bread_request *req, void *arg)
{
	struct bread_stream_spec *spec = bread_request_alloc(req, sizeof(*spec));
	const struct bread_framing *wire = brd_ingress_framing(req, arg);
	struct store_question *q;

	*spec = (struct bread_stream_spec){
		.framing = wire == &brd_ingress_sse ? &sse : &ndjson,
		.run_id = bread_request_param(req, "id"),
		.full = brd_ingress_asked(req, "full"),
		.tree = 1,
	};
	if (brd_ingress_asked(req, "exact")) {
		brd_ingress_reply_invalid(req, "INVALID_CURSOR",
			LIT("exact=1 is for the stream of one run: /runs/ID/stream?exact=1"));
		return;
	}
	if (!brd_ingress_cursor(req, spec))
		return;
	if (!bread_id_ok(spec->run_id)) {
		bread_reply_stream(req, spec); /* it says that there is none */
		return;
	}
	q = brd_ingress_question(req, BREAD_READ_RUN, spec->run_id, on_run);
	q->arg = spec;
	brd_ingress_ask(q);
}

void brd_ingress_mount_tree_stream(struct ingress *in)
{
	bread_route(&in->in, "GET", "/runs/:id/tree/stream", stream, in);
}
