/* SPDX-License-Identifier: MIT */
#include "run/stage.h"
#include <stdarg.h>
#include <stdlib.h>
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "instance/internal.h"

#define TURNS_MOST 40000

static struct stage *now; /* tools are functions without a place of their own */

/* ---- tools ---- */

static unsigned chance(struct stage *s, unsigned n)
{
	s->dice = s->dice * 1103515245 + 12345;
	return (s->dice >> 16) % n;
}

static void tool_answers(struct stage *s, unsigned i)
{
	struct bread_tool_call *call = s->held[i];
	struct bread_str a = bread_tool_arg(call, "a");
	struct buf out, text;

	s->held[i] = s->held[--s->held_count];
	brd_buf_init(&out, BUF_NO_LIMIT);
	brd_buf_init(&text, BUF_NO_LIMIT);
	brd_buf_addf(&text, "%.*s!", BRD_ARG(a));
	brd_buf_addz(&out, "{\"v\":");
	brd_json_quote(&out, brd_buf_str(&text));
	brd_buf_addc(&out, '}');
	bread_tool_return(call, brd_buf_str(&out));
	brd_buf_fini(&text);
	brd_buf_fini(&out);
}

static void tool(struct bread_tool_call *call, void *arg)
{
	struct stage *s = now;
	struct ran *r = &s->ran[s->ran_count];

	stage_must(s, s->ran_count < RAN_MAX && s->held_count < RAN_MAX);
	s->ran_count++;
	snprintf(r->run_id, sizeof(r->run_id), "%.*s", BRD_ARG(call->run_id));
	snprintf(r->call_id, sizeof(r->call_id), "%.*s", BRD_ARG(call->call_id));
	s->held[s->held_count++] = call;
	if (s->closing)
		tool_answers(s, s->held_count - 1);
}

static bool a_tool_answers(struct stage *s)
{
	if (!s->held_count || (s->keep_tools && !s->closing))
		return false;
	tool_answers(s, chance(s, s->held_count));
	return true;
}

/* ---- life ---- */

static void must(struct stage *s, int code, const struct bread_err *err)
{
	if (code)
		stage_fail(s, "%s: %s: %s", err->where, err->name, err->text);
}

static void define_agent(struct stage *s, struct bread *b, const struct made_agent *a)
{
	static const char *const tools[] = { "add", "gate" };
	static const char *const leaves[] = { "tool_add", "tool_gate" };
	struct bread_err err = { 0 };
	struct agent_def *d;
	struct buf json;

	brd_buf_init(&json, BUF_NO_LIMIT);
	family_agent_json(a, &json);
	must(s, bread_agent(b, a->id, brd_buf_str(&json), NULL, &err), &err);
	brd_buf_fini(&json);
	for (unsigned i = 0; i < 2; i++)
		must(s,
			bread_agent_tool(b, a->id, tools[i], "does", (struct bread_str){ 0 }, tool,
				NULL, &err),
			&err);
	d = brd_registry_agent(b, brd_str(a->id));
	for (unsigned i = 0; i < 2; i++)
		brd_agent_def_tool(d, brd_str(leaves[i]))->idempotent = s->idempotent;
	brd_agent_def_unref(d);
}

static void define(struct stage *s, struct bread *b)
{
	static const char task[] =
		"{\"model\":{\"provider\":\"mock\",\"model\":\"tk\"},"
		"\"instructions\":\"do\",\"outputSchema\":{\"type\":\"object\"}}";
	struct bread_err err = { 0 };
	struct buf json;

	must(s, bread_task(b, "tk", brd_str(task), NULL, &err), &err);
	for (unsigned i = 0; i < s->family.agent_count; i++)
		define_agent(s, b, s->family.agents[i]);
	if (!s->family.pipeline)
		return;
	brd_buf_init(&json, BUF_NO_LIMIT);
	family_steps_json(&s->family.steps, &json);
	must(s, bread_pipeline(b, "p", brd_buf_str(&json), &err), &err);
	brd_buf_fini(&json);
}

struct bread *stage_instance(struct stage *s)
{
	struct bread *b;
	struct bread_err err = { 0 };
	struct buf conf;

	must(s, bread_new(&b, &err), &err);
	must(s, bread_use_store(b, &faulty_ops, BRD_STR(""), BRD_STR("{}"), &err), &err);
	brd_buf_init(&conf, BUF_NO_LIMIT);
	brd_buf_addz(&conf, "{\"transport\":\"stream\",\"limits\":{\"depth\":0},\"providers\":{"
			    "\"mock\":{\"type\":"
			    "\"scripted\",\"models\":");
	family_models(&s->family, &conf);
	brd_buf_addz(&conf, "}},\"decisions\":");
	family_decisions(&s->family, &conf);
	brd_buf_addc(&conf, '}');
	must(s, bread_configure(b, brd_buf_str(&conf), &err), &err);
	brd_buf_fini(&conf);
	define(s, b);
	must(s, bread_start(b, &err), &err);
	return b;
}

static void silence(const struct log_record *r, void *arg)
{
	if (getenv("BREAD_TEST_LOG"))
		fprintf(stderr, "%.*s\n", BRD_ARG(r->text));
}

/* What it is made of, and what is on record of it. */
static void put_rows(struct stage *s, struct buf *out)
{
	struct bread_read tree, crumbs, m;

	stage_all(s, &tree, BREAD_READ_TREE, s->id);
	for (size_t i = 0; i < tree.count; i++) {
		const struct bread_run_row *row = &tree.runs[i];

		brd_buf_addf(out, "run %.*s %.*s %s, wake %d, session %.*s\n", BRD_ARG(row->id),
			BRD_ARG(row->agent_id), brd_run_status_name(row->status), (int)row->wake,
			BRD_ARG(row->session_id));
		m = (struct bread_read){ .kind = BREAD_READ_MESSAGES, .key = row->session_id };
		faulty_read(&s->store, &m);
		for (size_t k = 0; row->session_id.n && k < m.count; k++)
			brd_buf_addf(out, "\t%.*s %.*s\n", BRD_ARG(m.messages[k].role),
				BRD_ARG(m.messages[k].content));
		bread_read_fini(&m);
	}
	brd_buf_addf(out, "answers: %u taken, %u refused, %u under way\n", s->answered, s->refused,
		s->asking);
	stage_questions(s, &m);
	for (size_t i = 0; i < m.count; i++)
		brd_buf_addf(out, "open: %.*s of run %.*s, call %.*s\n",
			BRD_ARG(m.checkpoints[i].id), BRD_ARG(m.checkpoints[i].run_id),
			BRD_ARG(m.checkpoints[i].tool_call_id));
	bread_read_fini(&m);
	stage_all(s, &crumbs, BREAD_READ_TREE_CRUMBS, s->id);
	for (size_t i = 0; i < crumbs.count; i++)
		brd_buf_addf(out, "%.*s\n", BRD_ARG(crumbs.crumbs[i].crumb));
	bread_read_fini(&crumbs);
	bread_read_fini(&tree);
}

void stage_say(const struct stage *s, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "ERROR: %s: ", s->story);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void stage_tell(struct stage *s)
{
	struct buf out;

	if (!getenv("BREAD_TEST_SEED"))
		return;
	brd_buf_init(&out, BUF_NO_LIMIT);
	for (unsigned i = 0; i < s->family.agent_count; i++) {
		brd_buf_addf(&out, "%s ", s->family.agents[i]->id);
		family_agent_json(s->family.agents[i], &out);
		brd_buf_addc(&out, '\n');
	}
	family_models(&s->family, &out);
	brd_buf_addc(&out, '\n');
	if (s->family.pipeline)
		family_steps_json(&s->family.steps, &out);
	brd_buf_addc(&out, '\n');
	put_rows(s, &out);
	fprintf(stderr, "%s\nwanted: %s %.*s\n", out.data,
		s->family.want.fails ? "failure" : "success", BRD_ARG(s->family.want.output));
	brd_buf_fini(&out);
}

void stage_open(struct stage *s, unsigned seed, enum family_kind kind, const char *fmt, ...)
{
	va_list ap;
	int n;

	memset(s, 0, sizeof(*s));
	now = s;
	brd_log_sink(silence, NULL); /* trouble is what these tests are about */
	family_make(&s->family, seed, kind);
	n = snprintf(s->story, sizeof(s->story), "seed %u, kind %d, ", seed, (int)kind);
	va_start(ap, fmt);
	vsnprintf(s->story + n, sizeof(s->story) - (size_t)n, fmt, ap);
	va_end(ap);
	s->dice = seed;
	s->humans = HUMANS_PATIENT;
	brd_clock_freeze(1700000000000);
	faulty_open(&s->store, "memory", "");
}

void stage_close(struct stage *s)
{
	s->closing = true;
	while (a_tool_answers(s))
		;
	brd_clock_thaw();
	for (unsigned i = 0; i < STAGED; i++)
		bread_free(s->b[i]);
	faulty_close(&s->store);
	family_fini(&s->family);
}

static void on_outcome(const struct bread_outcome *o, void *arg)
{
	struct stage *s = arg;

	s->told++;
	s->status = o->status;
	snprintf(s->error, sizeof(s->error), "%.*s", BRD_ARG(o->error_code));
}

void stage_start(struct stage *s)
{
	struct bread_run_request req = {
		.input = BRD_STR(FAMILY_INPUT), .on_end = on_outcome, .arg = s
	};
	struct bread_err err = { 0 };

	if (s->family.pipeline)
		req.pipeline_id = BRD_STR("p");
	else
		req.agent_id = brd_str(s->family.agents[0]->id);
	if (!s->b[0])
		s->b[0] = stage_instance(s);
	must(s, bread_run(s->b[0], &req, s->id, &err), &err);
}

void stage_kill(struct stage *s)
{
	struct bread_rec rec = { .kind = BREAD_REC_OWNER_GONE };
	char owner[UUID_LEN + 1];
	int64_t wall = brd_clock_wall();

	s->deaths++;
	s->store.frozen = true;
	while (a_tool_answers(s))
		;
	snprintf(owner, sizeof(owner), "%s", s->b[0]->owner);
	brd_clock_thaw(); /* an instance that stops waits for what is under way */
	bread_free(s->b[0]);
	brd_clock_freeze(wall);
	s->b[0] = NULL;
	s->asking = 0;
	rec.key = brd_str(owner);
	faulty_commit(&s->store, &rec, 1, NULL, 0);
	faulty_reset(&s->store);
}

void stage_reborn(struct stage *s)
{
	stage_kill(s);
	s->told = 0;
	s->b[0] = stage_instance(s);
}

/* ---- humans ---- */

static void on_claimed(
	struct bread_str root_id, int64_t after, const struct bread_err *err, void *arg)
{
	static const char expected[] =
		"CHECKPOINT_NOT_FOUND CHECKPOINT_CLAIMED STORE_FAILED RUN_BUSY";
	struct stage *s = arg;

	s->asking--;
	if (!err) {
		s->answered++;
	} else if (s->twice && !strcmp(err->name, "CHECKPOINT_NOT_FOUND")) {
		stage_fail(s, "an answer that came second: %s: %s", err->name, err->text);
	} else if (strstr(expected, err->name)) {
		s->refused++;
		s->rest_until = brd_clock_mono() + 100;
	} else {
		stage_fail(s, "an answer: %s: %s", err->name, err->text);
	}
}

void stage_answer(struct stage *s, struct bread *b, const char *checkpoint_id, const char *call_id)
{
	char text[80];
	struct bread_resume_request req = { .checkpoint_id = brd_str(checkpoint_id),
		.on_claimed = on_claimed,
		.on_end = on_outcome,
		.arg = s };

	snprintf(text, sizeof(text), "{\"v\":\"%s\",\"approved\":%s}", call_id,
		call_id[strlen(call_id) - 1] == 'n' ? "false" : "true");
	req.response = brd_str(text);
	s->asking++;
	bread_resume(b, &req);
}

/* Lines of supervisors about the runs that they wait for are not for anybody. */
size_t stage_questions(struct stage *s, struct bread_read *r)
{
	size_t n = 0;

	*r = (struct bread_read){ .kind = BREAD_READ_CHECKPOINTS };
	r->filter.root_id = brd_str(s->id);
	faulty_read(&s->store, r);
	for (size_t i = 0; i < r->count; i++)
		if (!r->checkpoints[i].pending.n)
			r->checkpoints[n++] = r->checkpoints[i];
	r->count = n;
	return n;
}

static struct bread *who_answers(struct stage *s)
{
	if (!s->share)
		return s->b[0];
	do
		s->turn_of = (s->turn_of + 1) % STAGED;
	while (!s->b[s->turn_of]);
	return s->b[s->turn_of];
}

static void answer(struct stage *s, const struct bread_checkpoint_row *c)
{
	char *id = brd_strndup(c->id), *call = brd_strndup(c->tool_call_id);

	for (unsigned i = 0; i < 1u + s->twice; i++)
		stage_answer(s, who_answers(s), id, call);
	free(id);
	free(call);
}

static bool humans_answer(struct stage *s)
{
	struct bread_read r;
	size_t n;

	if (s->asking || brd_clock_mono() < s->rest_until || s->humans == HUMANS_ABSENT ||
		(s->humans != HUMANS_EAGER && !stage_suspended(s)))
		return false;
	n = stage_questions(s, &r);
	if (n && s->humans == HUMANS_AT_ONCE)
		for (size_t i = 0; i < n; i++)
			answer(s, &r.checkpoints[i]);
	else if (n)
		answer(s, &r.checkpoints[chance(s, (unsigned)n)]);
	bread_read_fini(&r);
	return n;
}

/* ---- time ---- */

bool stage_turn(struct stage *s)
{
	bool did = false;

	for (unsigned i = 0; i < STAGED; i++)
		if (s->b[i] && bread_turn(s->b[i], 0))
			did = true;
	if (did)
		return true;
	if (chance(s, 2) ? a_tool_answers(s) || humans_answer(s)
			 : humans_answer(s) || a_tool_answers(s))
		return true;
	brd_clock_turn(5);
	return false;
}

static enum bread_run_status status_of(struct stage *s, bool *ret_known)
{
	struct bread_read r = { .kind = BREAD_READ_RUN, .key = brd_str(s->id) };
	enum bread_run_status status;

	faulty_read(&s->store, &r);
	*ret_known = r.count;
	status = r.count ? r.runs->status : BREAD_RUN_QUEUED;
	bread_read_fini(&r);
	return status;
}

static bool nobody_works(const struct stage *s)
{
	if (s->store.in_flight)
		return false;
	for (unsigned i = 0; i < STAGED; i++)
		if (s->b[i] && (brd_active_count(s->b[i]) || atomic_load(&s->b[i]->cancelling)))
			return false;
	return true;
}

bool stage_suspended(struct stage *s)
{
	bool known;

	return nobody_works(s) && status_of(s, &known) == BREAD_RUN_SUSPENDED;
}

bool stage_ended(struct stage *s)
{
	bool known;

	return nobody_works(s) && brd_run_ended(status_of(s, &known)) && known;
}

void stage_until_ended(struct stage *s)
{
	for (int i = 0; stage_turn(s) || !stage_ended(s); i++)
		if (i > TURNS_MOST)
			stage_fail(s, "it did not end");
}

void stage_until_quiet(struct stage *s)
{
	for (int i = 0; stage_turn(s) || (!stage_ended(s) && !stage_suspended(s)); i++)
		if (i > TURNS_MOST)
			stage_fail(s, "it neither ended nor waits for anybody");
}

/* ---- seeds ---- */

struct seeds seeds_of(unsigned from, unsigned n)
{
	const char *one = getenv("BREAD_TEST_SEED"), *shift = getenv("BREAD_TEST_SHIFT");
	const char *fewer = getenv("BREAD_TEST_FEWER");
	unsigned seed;

	if (one) {
		seed = (unsigned)strtoul(one, NULL, 10);
		return (struct seeds){ seed, seed + 1 };
	}
	if (fewer) /* tools/check: where all is so much slower */
		n = n / (unsigned)strtoul(fewer, NULL, 10) + 1;
	if (shift)
		from += (unsigned)strtoul(shift, NULL, 10);
	print_message("seeds %u to %u\n", from, from + n - 1);
	return (struct seeds){ from, from + n };
}
