/* SPDX-License-Identifier: MIT */
/* GET /agents and GET /agents/:id. */
#include "ingress/bread/internal.h"

struct agent_list {
	struct bread_sink *out;
	int any;
};

static void put_format(struct bread_sink *s, const struct bread_agent_info *a)
{
	if (a->custom_format)
		brd_ingress_put(s, "{\"name\":");
	bread_sink_quote(s, a->format);
	if (a->custom_format)
		brd_ingress_put(s, "}");
}

static void put_agent(const struct bread_agent_info *a, void *arg)
{
	struct agent_list *l = arg;
	struct bread_sink *s = l->out;

	brd_ingress_put(s, l->any ? ",{\"id\":" : "{\"id\":");
	l->any = 1;
	bread_sink_quote(s, a->id);
	brd_ingress_put(s, ",\"model\":{\"provider\":");
	bread_sink_quote(s, a->provider);
	brd_ingress_put_text(s, "model", a->model);
	brd_ingress_put_raw(s, "settings", a->settings);
	brd_ingress_put_raw(s, "providerOptions", a->provider_options);
	brd_ingress_put(s, "},\"outputFormat\":");
	put_format(s, a);
	brd_ingress_put(s, "}");
}

static void list(struct bread_request *req, void *arg)
{
	struct agent_list l = { .out = bread_sink_new() };

	brd_ingress_put(l.out, "[");
	bread_agents(bread_request_instance(req), put_agent, &l);
	brd_ingress_put(l.out, "]");
	brd_ingress_reply(req, 200, l.out);
}

static void reply_unknown(struct bread_request *req, struct bread_str id)
{
	struct bread_sink *s = bread_sink_new();
	struct bread_str text =
		bread_request_printf(req, "Agent \"%.*s\" not found", (int)id.n, id.p);

	brd_ingress_put(s, "{\"error\":");
	bread_sink_quote(s, text);
	brd_ingress_put(s, "}");
	brd_ingress_reply(req, 404, s);
}

static void one(struct bread_request *req, void *arg)
{
	struct agent_list l = { .out = bread_sink_new() };
	struct bread_str id = bread_request_param(req, "id");

	if (bread_agent_get(bread_request_instance(req), id, put_agent, &l) == BREAD_OK) {
		brd_ingress_reply(req, 200, l.out);
		return;
	}
	bread_sink_free(l.out);
	reply_unknown(req, id);
}

void brd_ingress_mount_agents(struct ingress *in)
{
	bread_route(&in->in, "GET", "/agents", list, in);
	bread_route(&in->in, "GET", "/agents/:id", one, in);
}
