/* SPDX-License-Identifier: MIT */
/* Health (contract C30): whether the process turns, and whether it should get requests.
 *
 * No question goes to the store: it says whether its last work went well. */
#include "server/internal.h"

static void live(struct bread_request *req, void *arg)
{
	bread_reply_json(req, 200, BRD_STR("{\"status\":\"ok\"}"));
}

static void ready(struct bread_request *req, void *arg)
{
	struct bread_stats st;
	bool up;

	bread_stats(bread_request_instance(req), &st);
	up = st.store_ok && !st.draining;
	bread_reply_json(req, up ? 200 : 503,
		bread_request_printf(req,
			"{\"status\":\"%s\",\"checks\":{\"store\":\"%s\",\"transport\":\"ok\","
			"\"queue\":\"%s\"}}",
			up ? "ok" : "unavailable", st.store_ok ? "ok" : "unavailable",
			st.draining ? "draining" : "ok"));
}

void brd_health_mount(struct bread_server *s)
{
	brd_route_add(s, "GET", "/health/live", live, NULL);
	brd_route_add(s, "GET", "/health/ready", ready, NULL);
	brd_route_add(s, "GET", "/health", ready, NULL);
}
