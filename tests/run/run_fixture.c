/* SPDX-License-Identifier: MIT */
#include "run/run_fixture.h"
#include "base/clock.h"

struct bread *fixture_new(const char *models, const char *extra)
{
	struct bread *b;
	struct bread_err err = { 0 };
	struct buf conf;

	brd_buf_init(&conf, BUF_NO_LIMIT);
	brd_buf_addf(&conf,
		"{\"store\":\"memory\",\"transport\":\"stream\",\"providers\":{\"mock\":{\"type\":"
		"\"scripted\",\"models\":%s}}%s%s}",
		models, extra ? "," : "", extra ? extra : "");
	assert_int_equal(bread_new(&b, &err), 0);
	if (bread_configure(b, brd_buf_str(&conf), &err) || bread_start(b, &err))
		fail_msg("%s: %s", err.where, err.text);
	brd_buf_fini(&conf);
	return b;
}

void fixture_agent(struct bread *b, const char *id, const char *json)
{
	struct bread_err err = { 0 };

	if (bread_agent(b, id, brd_str(json), NULL, &err))
		fail_msg("%s: %s", err.where, err.text);
}

static void seen_init(struct seen *s)
{
	if (s->types.data)
		return;
	memset(s, 0, sizeof(*s));
	brd_buf_init(&s->types, BUF_NO_LIMIT);
	brd_buf_init(&s->json, BUF_NO_LIMIT);
	brd_buf_init(&s->text, BUF_NO_LIMIT);
}

void seen_fini(struct seen *s)
{
	brd_buf_fini(&s->types);
	brd_buf_fini(&s->json);
	brd_buf_fini(&s->text);
	memset(s, 0, sizeof(*s));
}

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	struct seen *s = arg;

	brd_buf_add(&s->types, c->type);
	brd_buf_addc(&s->types, ' ');
	brd_buf_add(&s->json, c->json);
	brd_buf_addc(&s->json, '\n');
	if (c->flags & BREAD_CRUMB_DURABLE) {
		s->gap = s->gap || c->seq <= s->last;
		s->last = c->seq;
	}
}

static void on_stream_end(enum bread_code code, const struct bread_err *err, void *arg)
{
	struct seen *s = arg;

	s->ended = true;
	s->code = code;
}

static void on_outcome(const struct bread_outcome *o, void *arg)
{
	struct seen *s = arg;

	s->told = true;
	s->status = o->status;
	snprintf(s->error, sizeof(s->error), "%.*s", BRD_ARG(o->error_code));
	snprintf(s->output, sizeof(s->output), "%.*s", BRD_ARG(o->output));
}

void fixture_watch(struct bread *b, const char *run_id, int64_t after, struct seen *s)
{
	struct bread_subscriber sub = { .on_crumb = on_crumb, .on_end = on_stream_end, .arg = s };

	seen_init(s);
	assert_non_null(bread_subscribe(b, brd_str(run_id), after, &sub));
}

void fixture_start(struct bread *b, const char *agent, const char *input, const char *session,
	struct seen *s, char id[BREAD_RUN_ID_MAX])
{
	struct bread_run_request req = { .agent_id = brd_str(agent),
		.input = brd_str(input),
		.session_id = brd_str(session),
		.on_end = on_outcome,
		.arg = s };
	struct bread_err err = { 0 };

	seen_init(s);
	if (bread_run(b, &req, id, &err))
		fail_msg("%s: %s", err.name, err.text);
	fixture_watch(b, id, 0, s);
}

void fixture_turn(struct bread *b, int ms)
{
	int64_t end = brd_clock_mono() + ms;

	while (brd_clock_mono() < end)
		bread_turn(b, 5);
}

void fixture_until(struct bread *b, const bool *done)
{
	int64_t end = brd_clock_mono() + 20000;

	while (!*done) {
		if (brd_clock_mono() > end)
			fail_msg("nothing more happened for 20 s");
		bread_turn(b, 20);
	}
}

void fixture_run(struct bread *b, const char *agent, const char *input, struct seen *s)
{
	char id[BREAD_RUN_ID_MAX];

	fixture_start(b, agent, input, NULL, s, id);
	fixture_until(b, &s->ended);
	fixture_until(b, &s->told);
}
