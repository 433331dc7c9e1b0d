/* SPDX-License-Identifier: MIT */
/* Serving a project: what dev and start share. The first SIGTERM or SIGINT drains
 * (contract C20), a second one ends the process at once. */
#include <malloc.h>
#include <stdlib.h>
#include "base/jsonw.h"
#include "bread/server.h"
#include "cli/cli.h"

#define DRAIN_MS 20000

const struct cli_option cli_serve_options[] = {
	{ .name = "port",
		.letter = 'p',
		.value = "PORT",
		.doc = "port to listen on (default 3000; 0 takes a free one)" },
	{ .name = "host",
		.letter = 'H',
		.value = "HOST",
		.doc = "address to listen on (default localhost)" },
	{ .name = "idle-timeout",
		.value = "SECONDS",
		.doc = "closes kept-alive connections that are idle for so long" },
	{ 0 },
};

static void quit(void *arg)
{
	bread_quit(arg);
}

static void list(const struct bread_agent_info *a, void *arg)
{
	struct buf *b = arg;

	brd_buf_addf(b, "%s%.*s", b->len ? ", " : "", BRD_ARG(a->id));
}

/* Where it listens, for people to click on; NULL: a Unix socket. */
static const char *url_of(const struct project *p, const struct bread_server *s, struct arena *a)
{
	bool tls = brd_json_type(brd_json_path(p->config, "server.tls.cert")) == JSON_STRING;
	const char *scheme = tls ? "https" : "http", *host = bread_server_host(s);
	int port = bread_server_port(s);

	if (!strncmp(host, "unix:", 5))
		return NULL;
	if (strchr(host, ':')) /* IPv6 */
		return brd_arena_printf(a, "%s://[%s]:%d", scheme, host, port).p;
	return brd_arena_printf(a, "%s://%s:%d", scheme, host, port).p;
}

static void greet(struct project *p, struct bread *b, const struct bread_server *s, const char *url)
{
	const char *host = bread_server_host(s);
	struct buf names;

	brd_buf_init(&names, BUF_NO_LIMIT);
	bread_agents(b, list, &names);
	cli_say("Listening on %s", url ? url : host);
	cli_say("%zu agent(s) loaded: %s", p->agent_count, names.data);
	brd_buf_fini(&names);
	if (url && strcmp(host, "localhost") && strncmp(host, "127.", 4) && strcmp(host, "::1"))
		cli_error("warning: listening on %s without authentication; anyone who reaches it "
			  "can run agents",
			host);
}

/* `server:` with what the command line says instead. */
static struct bread_str server_part(struct cli_args *a, const struct project *p)
{
	static const struct {
		const char *option, *key;
		bool number;
	} over[] = { { "port", "port", true }, { "host", "host", false },
		{ "idle-timeout", "idleTimeout", true } };
	struct jval v = brd_json_get(p->config, "server");
	struct buf b;
	struct jsonw w;

	w = brd_jw_begin(&b);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		brd_jw_keys(&w, brd_json_str(it.key, &a->arena));
		brd_jw_raw(&w, brd_json_raw(it.value));
	}
	for (size_t i = 0; i < CLI_COUNT(over); i++) { /* a later key wins */
		const char *value = cli_value(a, over[i].option);

		if (value && over[i].number)
			brd_jw_kint(&w, over[i].key, strtoll(value, NULL, 10));
		else if (value)
			brd_jw_kstr(&w, over[i].key, brd_str(value));
	}
	return brd_jw_finish(&w, &a->arena);
}

/* A sink alone lets nobody in. */
static bool ingress_wanted(const struct project *p)
{
	bool trace;

	if (brd_project_part(p, "ingress").n || !cli_terminal_wanted(p, &trace))
		return true;
	cli_error("No ingress is configured, so nothing can be served. Set `ingress` in bread.yaml "
		  "— e.g. `ingress: [http-chunked]` (or `[http-sse]` for browsers and "
		  "EventSource).");
	return false;
}

static int drive(
	struct bread *b, struct bread_server *s, const char *url, const struct cli_server_hooks *h)
{
	struct cli_signals signals;

	cli_signals_open(&signals, b, quit, b);
	if (h && h->on_ready)
		h->on_ready(b, url, h->arg);
	bread_drive(b);
	if (h && h->on_end)
		h->on_end(h->arg);
	bread_server_close(s);
	bread_stop(b, DRAIN_MS);
	cli_signals_close(&signals, b);
	return EXIT_DONE;
}

/* glibc raises the size from which it maps a buffer, and so gives it back when it is freed,
 * to the largest one seen: after one long answer a server would keep tens of megabytes. */
static void give_memory_back(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 256 * 1024);
	mallopt(M_TRIM_THRESHOLD, 256 * 1024);
#endif
}

int cli_serve(
	struct cli_args *a, struct project *p, struct bread *b, const struct cli_server_hooks *h)
{
	struct bread_server *server = NULL;
	struct bread_err err = { 0 };
	const char *url;
	int64_t ignored;
	bool trace;

	if (!cli_number(a, "port", 0, 65535, 0, &ignored) ||
		!cli_number(a, "idle-timeout", 0, 255, 0, &ignored))
		return EXIT_USAGE;
	if (!ingress_wanted(p))
		return EXIT_FAILED;
	give_memory_back();
	if (cli_terminal_wanted(p, &trace))
		cli_terminal(b, trace);
	if (bread_start(b, &err) ||
		bread_serve(&server, b, server_part(a, p), brd_project_part(p, "ingress"), &err))
		return cli_fail_start(p, &err);
	url = url_of(p, server, &a->arena);
	greet(p, b, server, url);
	return drive(b, server, url, h);
}
