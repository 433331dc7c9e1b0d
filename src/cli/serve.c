/* SPDX-License-Identifier: MIT */
/* Serving a project: what dev and start share. The first SIGTERM or SIGINT drains
 * (contract C20), a second one ends the process at once. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>
#include "base/jsonw.h"
#include "bread/server.h"
#include "cli/cli.h"

struct serving {
	struct bread *bread;
	uv_signal_t term, interrupt;
	unsigned asked;
};

static void on_signal(uv_signal_t *h, int signum)
{
	struct serving *s = h->data;

	if (s->asked++)
		_exit(EXIT_CANCELLED);
	bread_quit(s->bread);
}

static void watch(struct serving *s, uv_signal_t *h, int signum)
{
	uv_signal_init(brd_loop_uv(brd_instance_loop(s->bread, 0)), h);
	h->data = s;
	uv_signal_start(h, on_signal, signum);
	uv_unref((uv_handle_t *)h);
}

static void list(const struct bread_agent_info *a, void *arg)
{
	struct buf *b = arg;

	brd_buf_addf(b, "%s%.*s", b->len ? ", " : "", BRD_ARG(a->id));
}

static void greet(struct project *p, struct bread *b, const struct bread_server *s)
{
	const char *host = bread_server_host(s);
	struct buf names;

	brd_buf_init(&names, BUF_NO_LIMIT);
	bread_agents(b, list, &names);
	cli_say("Listening on http://%s:%d", host, bread_server_port(s));
	cli_say("%zu agent(s) loaded: %s", p->agent_count, names.data);
	brd_buf_fini(&names);
	if (strcmp(host, "localhost") && strncmp(host, "127.", 4) && strcmp(host, "::1"))
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
	struct jval v = brd_json_get(p->doc.root, "server");
	struct bread_str text;
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		brd_jw_keys(&w, brd_json_str(it.key, &a->arena));
		brd_jw_raw(&w, brd_json_raw(it.value));
	}
	for (size_t i = 0; i < 3; i++) { /* a later key wins */
		const char *value = cli_value(a, over[i].option);

		if (value && over[i].number)
			brd_jw_kint(&w, over[i].key, strtoll(value, NULL, 10));
		else if (value)
			brd_jw_kstr(&w, over[i].key, brd_str(value));
	}
	brd_jw_end_obj(&w);
	text = brd_arena_copy(&a->arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return text;
}

static bool number_ok(struct cli_args *a, const char *option, int64_t max)
{
	const char *v = cli_value(a, option);
	int64_t n;

	if (!v || (brd_str_int(brd_str(v), &n) && n >= 0 && n <= max))
		return true;
	cli_error("--%s is \"%s\"; a whole number from 0 to %lld is expected", option, v,
		(long long)max);
	return false;
}

int cli_serve(struct cli_args *a, struct project *p, struct bread *b, void (*on_ready)(void *arg),
	void *arg)
{
	struct serving s = { .bread = b };
	struct bread_server *server = NULL;
	struct bread_err err = { 0 };

	if (!number_ok(a, "port", 65535) || !number_ok(a, "idle-timeout", 86400))
		return EXIT_USAGE;
	if (bread_start(b, &err) ||
		bread_serve(&server, b, server_part(a, p), brd_project_part(p, "ingress"), &err))
		return cli_fail(&err);
	watch(&s, &s.term, SIGTERM);
	watch(&s, &s.interrupt, SIGINT);
	greet(p, b, server);
	if (on_ready)
		on_ready(arg);
	bread_drive(b);
	bread_server_close(server);
	bread_stop(b, 20000);
	uv_close((uv_handle_t *)&s.term, NULL);
	uv_close((uv_handle_t *)&s.interrupt, NULL);
	return EXIT_DONE;
}
