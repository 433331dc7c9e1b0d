/* SPDX-License-Identifier: MIT */
/* NDJSON and SSE (docs/streaming.md): a prefix and a suffix around a crumb's own text.
 *
 * With ?exact=1 a delta's id says how much of the open windows it ends: SEQ.TEXT or
 * SEQ.TEXT.REASONING, in UTF-16 units since SEQ. NDJSON has it as "id" beside "seq". */
#include <time.h>
#include "ingress/bread/internal.h"

int64_t brd_ingress_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void put_exact_id(struct bread_sink *s, const struct bread_crumb *c)
{
	int text = brd_ingress_is(c->type, "text:delta");
	uint32_t of_text = text ? c->offset : c->offset_other;
	uint32_t of_reasoning = text ? c->offset_other : c->offset;

	bread_sink_int(s, c->seq);
	if (!c->offset)
		return;
	bread_sink_add(s, LIT("."));
	bread_sink_int(s, of_text);
	if (!of_reasoning)
		return;
	bread_sink_add(s, LIT("."));
	bread_sink_int(s, of_reasoning);
}

/* ---- NDJSON ---- */

static void ndjson_open(struct bread_sink *s, struct bread_str run_id, int64_t seq)
{
	bread_sink_add(s, LIT("{\"v\":1,\"type\":\"crumb\",\"runId\":"));
	bread_sink_quote(s, run_id);
	bread_sink_add(s, LIT(",\"seq\":"));
	bread_sink_int(s, seq);
}

static void ndjson_crumb(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	ndjson_open(s, c->run_id, c->seq);
	if (exact) {
		bread_sink_add(s, LIT(",\"id\":\""));
		put_exact_id(s, c);
		bread_sink_add(s, LIT("\""));
	}
	bread_sink_add(s, LIT(",\"crumb\":"));
	bread_sink_add(s, c->json);
	bread_sink_add(s, LIT("}\n"));
}

void brd_ingress_ndjson_failure(struct bread_sink *s, const struct bread_failure *f)
{
	ndjson_open(s, f->run_id, 0);
	bread_sink_add(s, LIT(",\"crumb\":{\"type\":\"agent:error\",\"agentId\":"));
	bread_sink_quote(s, f->agent_id);
	brd_ingress_put_text(s, "runId", f->run_id);
	bread_sink_add(s, LIT(",\"error\":{\"name\":\"BreadError\",\"code\":"));
	bread_sink_quote(s, f->code);
	bread_sink_add(s, LIT(",\"message\":"));
	bread_sink_quote(s, f->message);
	brd_ingress_put_raw(s, "context", f->context);
	bread_sink_add(s, LIT("},\"timestamp\":"));
	bread_sink_int(s, f->timestamp);
	bread_sink_add(s, LIT("}}\n"));
}

void brd_ingress_ndjson_reset(struct bread_sink *s, struct bread_str run_id, int64_t first)
{
	bread_sink_add(s, LIT("{\"v\":1,\"type\":\"reset\",\"runId\":"));
	bread_sink_quote(s, run_id);
	brd_ingress_put_int(s, "seq", first);
	bread_sink_add(s, LIT("}\n"));
}

const struct bread_framing brd_ingress_ndjson = {
	.name = "ndjson",
	.content_type = "application/x-ndjson",
	.headers = NO_PROXY,
	.hello = "",
	.heartbeat = "\n",
	.crumb = ndjson_crumb,
	.failure = brd_ingress_ndjson_failure,
	.reset = brd_ingress_ndjson_reset,
};

/* ---- SSE ---- */

static void sse_crumb(struct bread_sink *s, const struct bread_crumb *c, int exact)
{
	bread_sink_add(s, LIT("id: "));
	if (exact)
		put_exact_id(s, c);
	else
		bread_sink_int(s, c->seq);
	bread_sink_add(s, LIT("\ndata: {\"type\":"));
	bread_sink_quote(s, c->type);
	bread_sink_add(s, LIT(",\"payload\":"));
	bread_sink_add(s, c->public_json);
	bread_sink_add(s, LIT("}\n\n"));
}

void brd_ingress_sse_failure(struct bread_sink *s, const struct bread_failure *f)
{
	bread_sink_add(s, LIT("data: {\"type\":\"error\",\"payload\":{\"code\":"));
	bread_sink_quote(s, f->code);
	bread_sink_add(s, LIT(",\"message\":"));
	bread_sink_quote(s, f->message);
	bread_sink_add(s, LIT("}}\n\n"));
}

void brd_ingress_sse_reset(struct bread_sink *s, struct bread_str run_id, int64_t first)
{
	bread_sink_add(s, LIT("data: {\"type\":\"reset\",\"payload\":{\"runId\":"));
	bread_sink_quote(s, run_id);
	brd_ingress_put_int(s, "seq", first);
	bread_sink_add(s, LIT("}}\n\n"));
}

const struct bread_framing brd_ingress_sse = {
	.name = "sse",
	.content_type = "text/event-stream",
	.headers = NO_PROXY,
	.hello = "retry: 3000\n\n",
	.heartbeat = ": ping\n\n",
	.crumb = sse_crumb,
	.failure = brd_ingress_sse_failure,
	.reset = brd_ingress_sse_reset,
};

/* ---- which of them ---- */

static struct bread_str trim(struct bread_str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s.p++, s.n--;
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

static struct bread_str cut(struct bread_str *rest, char sep)
{
	return trim(brd_ingress_cut(rest, sep));
}

/* Weight of an entry in thousandths: what stands behind q=, else 1. */
static int weight(struct bread_str params)
{
	while (params.n) {
		struct bread_str p = cut(&params, ';');
		int q = 0, scale = 1000;

		if (p.n < 3 || (p.p[0] != 'q' && p.p[0] != 'Q') || p.p[1] != '=')
			continue;
		for (size_t i = 2; i < p.n && scale; i++) {
			if (p.p[i] == '.')
				continue;
			if (p.p[i] < '0' || p.p[i] > '9')
				break;
			q += (p.p[i] - '0') * scale;
			scale /= 10;
		}
		return q > 1000 ? 1000 : q;
	}
	return 1000;
}

const struct bread_framing *brd_ingress_accepted(
	struct bread_str accept, const struct bread_framing *first)
{
	const struct bread_framing *best = first;
	int heaviest = 0;

	while (accept.n) {
		struct bread_str params = cut(&accept, ','), type = cut(&params, ';');
		const struct bread_framing *f =
			brd_ingress_is(type, "text/event-stream")      ? &brd_ingress_sse
			: brd_ingress_is(type, "application/x-ndjson") ? &brd_ingress_ndjson
								       : NULL;
		int w = weight(params);

		if (f && w > heaviest) {
			best = f;
			heaviest = w;
		}
	}
	return best;
}
