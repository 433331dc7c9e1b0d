/* SPDX-License-Identifier: MIT */
#include "run/faults.h"
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "instance/internal.h"

#define MODEL "\"model\":{\"provider\":\"mock\",\"model\":\"m1\"}"
#define WHEN(n, steps) "{\"match\":{\"count\":" #n "},\"stream\":[" steps "]}"
#define CALL(id, a) \
	"{\"tool_call\":{\"id\":\"" id "\",\"name\":\"tool_add\",\"args\":{\"a\":" #a ",\"b\":1}}" \
	"}"
#define ASK(id) "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"human_ask\",\"args\":{\"q\":\"?\"}}}"
#define HUMAN "\"humanTools\":[{\"name\":\"ask\",\"schema\":{\"type\":\"object\"}}]"

const struct scenario scenarios[] = {
	{ .name = "text",
		.agent = "{" MODEL "}",
		.models = "{\"m1\":{\"when\":[" WHEN(
			1, "{\"text\":\"Hello, \"},{\"text\":\"world\"}") "]}}",
		.output = "\"Hello, world\"" },
	{ .name = "tools",
		.agent = "{" MODEL "}",
		.models = "{\"m1\":{\"when\":[" WHEN(
			1, "{\"text\":\"so \"}," CALL("c1", 1) "," CALL("c2", 2) "," CALL(
				   "c3", 3)) "," WHEN(3, CALL("c4", 4)) "," WHEN(5,
			"{\"text\":\"done\"}") "]}}",
		.output = "\"so done\"",
		.tools = 4 },
	{ .name = "reasoning",
		.agent = "{" MODEL "}",
		.models = "{\"m1\":{\"when\":[" WHEN(1,
			"{\"reasoning\":\"hm\",\"signature\":\"s1\"},{\"text\":\"a\"}," CALL("c1",
				1)) "," WHEN(3, "{\"reasoning\":\"ah\"},{\"text\":\"b\"}") "]}}",
		.output = "\"ab\"",
		.tools = 1 },
	{ .name = "structured",
		.agent = "{" MODEL
			 ",\"output\":{\"format\":\"json\"},\"outputSchema\":{\"type\":\"object\","
			 "\"required\":[\"name\"]}}",
		.models = "{\"m1\":{\"when\":[{\"match\":{\"count\":1},\"generate\":{\"name\":"
			  "\"Ada\"}}]}}",
		.output = "{\"name\":\"Ada\"}" },
	{ .name = "file",
		.agent = "{" MODEL "}",
		.models = "{\"m1\":{\"when\":[" WHEN(1,
			"{\"text\":\"see "
			"\"},{\"file\":{\"media_type\":\"text/plain\",\"base64\":\"aGk=\"}},"
			"{\"text\":\"there\"}") "]}}",
		.output = "\"see there\"",
		.workers = true },
	{ .name = "question",
		.agent = "{" MODEL "," HUMAN "}",
		.models = "{\"m1\":{\"when\":[" WHEN(
			1, "{\"text\":\"Hm. \"}," CALL("c1", 1) "," ASK("h1")) "," WHEN(3,
			"{\"text\":\"went\"}") "]}}",
		.output = "\"went\"",
		.questions = 1,
		.tools = 1 },
	{ .name = "questions",
		.agent = "{" MODEL "," HUMAN "}",
		.models = "{\"m1\":{\"when\":[" WHEN(1, ASK("h1") "," ASK("h2")) "," WHEN(
			3, CALL("c1", 1)) "," WHEN(5, "{\"text\":\"both\"}") "]}}",
		.output = "\"both\"",
		.questions = 2,
		.tools = 1 },
	{ .name = "retry",
		.agent = "{" MODEL
			 ",\"errorHandling\":{\"retry\":{\"attempts\":3,\"backoffMs\":1}}}",
		.models =
			"{\"m1\":{\"when\":[{\"match\":{\"call\":0},\"stream\":[{\"text\":\"par\"},"
			"{\"error\":\"cut off\"}]}," WHEN(1, "{\"text\":\"whole\"}") "]}}",
		.output = "\"whole\"" },
};
const size_t scenario_count = sizeof(scenarios) / sizeof(*scenarios);

/* ---- the tool ---- */

static struct play *now; /* tools are functions without a place of their own */

static void answer(struct bread_tool_call *call)
{
	struct bread_str a = bread_tool_arg(call, "a");
	char sum[32];
	int64_t x = 0;

	brd_str_int(a, &x);
	snprintf(sum, sizeof(sum), "%lld", (long long)x + 1);
	bread_tool_return(call, brd_str(sum));
}

static void add(struct bread_tool_call *call, void *arg)
{
	struct play *p = now;

	assert_true(p->ran_count < CALLS_MAX);
	snprintf(p->ran[p->ran_count++], sizeof(p->ran[0]), "%.*s", BRD_ARG(call->call_id));
	if (p->hold)
		p->held[p->held_count++] = call;
	else
		answer(call);
}

void play_answer_held(struct play *p, unsigned i)
{
	answer(p->held[i]);
	p->held[i] = NULL;
}

static void answer_all(struct play *p)
{
	for (unsigned i = 0; i < p->held_count; i++)
		if (p->held[i])
			play_answer_held(p, i);
	p->held_count = 0;
}

/* ---- life ---- */

struct bread *play_instance(struct play *p)
{
	struct bread *b;
	struct bread_err err = { 0 };
	struct agent_def *d;
	char conf[4096];

	snprintf(conf, sizeof(conf),
		"{\"transport\":\"stream\",\"blobStore\":{\"type\":\"fs\",\"dir\":\"%s\"},"
		"\"providers\":{\"mock\":{\"type\":\"scripted\",\"models\":%s}}}",
		p->blobs, p->sc->models);
	assert_int_equal(bread_new(&b, &err), 0);
	bread_use_store(b, &faulty_ops, BRD_STR(""), BRD_STR("{}"), &err);
	if (bread_configure(b, brd_str(conf), &err))
		fail_msg("%s: %s", err.where, err.text);
	fixture_agent(b, "a", p->sc->agent);
	assert_int_equal(bread_agent_tool(b, "a", "add", "adds",
				 BRD_STR("{\"type\":\"object\",\"required\":[\"a\",\"b\"]}"), add,
				 NULL, &err),
		0);
	d = brd_registry_agent(b, BRD_STR("a"));
	brd_agent_def_tool(d, BRD_STR("tool_add"))->idempotent = p->idempotent;
	brd_agent_def_unref(d);
	if (bread_start(b, &err))
		fail_msg("%s: %s", err.where, err.text);
	return b;
}

static void silence(const struct log_record *r, void *arg)
{
}

void play_open(struct play *p, const struct scenario *sc)
{
	memset(p, 0, sizeof(*p));
	brd_log_sink(silence, NULL); /* trouble is what these tests are about */
	now = p;
	p->sc = sc;
	snprintf(p->blobs, sizeof(p->blobs), "/tmp/bread-faults-XXXXXX");
	assert_non_null(mkdtemp(p->blobs));
	faulty_open(&p->store, "memory", "");
}

static void remove_blobs(struct play *p)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", p->blobs);
	assert_int_equal(system(command), 0);
}

void play_close(struct play *p)
{
	answer_all(p);
	bread_free(p->b);
	faulty_close(&p->store);
	remove_blobs(p);
	seen_fini(&p->seen);
}

static void on_outcome(const struct bread_outcome *o, void *arg)
{
	struct play *p = arg;

	p->told++;
	p->status = o->status;
	snprintf(p->error, sizeof(p->error), "%.*s", BRD_ARG(o->error_code));
	snprintf(p->output, sizeof(p->output), "%.*s", BRD_ARG(o->output));
}

void play_start(struct play *p)
{
	struct bread_run_request req = { .agent_id = BRD_STR("a"),
		.input = BRD_STR("\"go\""),
		.session_id = BRD_STR("conv"),
		.on_end = on_outcome,
		.arg = p };
	struct bread_err err = { 0 };

	if (!p->b)
		p->b = play_instance(p);
	if (bread_run(p->b, &req, p->id, &err))
		fail_msg("%s: %s", err.name, err.text);
	fixture_watch(p->b, p->id, 0, &p->seen);
}

/* ---- humans ---- */

static void on_claimed(
	struct bread_str run_id, int64_t after, const struct bread_err *err, void *arg)
{
	struct play *p = arg;
	static const char expected[] =
		"CHECKPOINT_NOT_FOUND CHECKPOINT_CLAIMED STORE_FAILED RUN_BUSY";

	if (!err)
		p->answered++;
	else if (!strstr(expected, err->name))
		fail_msg("%s: %s", err->name, err->text);
}

/* One question at a time, the newest first. */
static void answer_human(struct play *p)
{
	struct bread_read r = { .kind = BREAD_READ_CHECKPOINTS, .key = brd_str(p->id) };
	struct bread_read row = { 0 };
	char id[64];

	if (!p->sc->questions || play_row(p, &row).status != BREAD_RUN_SUSPENDED) {
		bread_read_fini(&row);
		return;
	}
	bread_read_fini(&row);
	if (brd_active_count(p->b))
		return;
	faulty_read(&p->store, &r);
	if (r.count) {
		struct bread_resume_request req = { .response = BRD_STR("{\"x\":1}"),
			.on_claimed = on_claimed,
			.on_end = on_outcome,
			.arg = p };

		snprintf(id, sizeof(id), "%.*s", BRD_ARG(r.checkpoints[r.count - 1].id));
		req.checkpoint_id = brd_str(id);
		bread_resume(p->b, &req);
	}
	bread_read_fini(&r);
}

/* ---- time ---- */

void play_turn(struct play *p)
{
	bool did = bread_turn(p->b, brd_clock_frozen() && !p->sc->workers ? 0 : 1);

	if (!did && brd_clock_frozen())
		brd_clock_turn(5);
	answer_human(p);
}

#define TURNS_MAX 20000

void play_until_told(struct play *p)
{
	for (int i = 0; !p->told || p->status == BREAD_RUN_SUSPENDED; i++) {
		if (i > TURNS_MAX)
			fail_msg("%s: nobody was told the end", p->sc->name);
		play_turn(p);
	}
}

void play_until_ended(struct play *p)
{
	for (int i = 0;; i++) {
		struct bread_read r = { 0 };
		struct bread_run_row row = play_row(p, &r);
		bool ended = r.count && brd_run_ended(row.status);

		bread_read_fini(&r);
		if (ended && !brd_active_count(p->b))
			return;
		if (i > TURNS_MAX)
			fail_msg("%s: the run did not end", p->sc->name);
		play_turn(p);
	}
}

void play_kill(struct play *p)
{
	struct bread_rec rec = { .kind = BREAD_REC_OWNER_GONE };
	char owner[UUID_LEN + 1];

	p->store.frozen = true;
	answer_all(p);
	snprintf(owner, sizeof(owner), "%s", p->b->owner);
	bread_free(p->b);
	p->b = NULL;
	rec.key = brd_str(owner);
	faulty_commit(&p->store, &rec, 1, NULL, 0);
	faulty_reset(&p->store);
}

/* ---- what must hold ---- */

struct bread_run_row play_row(struct play *p, struct bread_read *r)
{
	*r = (struct bread_read){ .kind = BREAD_READ_RUN, .key = brd_str(p->id) };
	faulty_read(&p->store, r);
	return r->count ? r->runs[0] : (struct bread_run_row){ 0 };
}

static void read_all(
	struct play *p, struct bread_read *r, enum bread_read_kind kind, const char *key)
{
	*r = (struct bread_read){
		.kind = kind, .key = brd_str(key), .limit = 100000, .max_bytes = 64 << 20
	};
	faulty_read(&p->store, r);
}

static bool is_terminal(struct bread_str type)
{
	return brd_str_is(type, "agent:run:end") || brd_str_is(type, "agent:error");
}

void check_log(struct play *p)
{
	struct bread_read r;

	read_all(p, &r, BREAD_READ_CRUMBS, p->id);
	assert_true(r.count > 0);
	for (size_t i = 0; i < r.count; i++) {
		assert_int_equal(r.crumbs[i].seq, i + 1);
		assert_int_equal(is_terminal(r.crumbs[i].type), i + 1 == r.count);
		assert_int_equal(brd_str_is(r.crumbs[i].type, "agent:run:start"), i == 0);
	}
	bread_read_fini(&r);
}

struct pairing {
	char calls[CALLS_MAX][32];
	bool answered[CALLS_MAX];
	unsigned count;
};

static void pair_part(struct pairing *pr, struct jval part, struct arena *a)
{
	struct bread_str id = brd_json_str(brd_json_get(part, "toolCallId"), a);
	unsigned i = 0;

	if (brd_json_is(brd_json_get(part, "type"), "tool-call")) {
		assert_true(pr->count < CALLS_MAX);
		snprintf(pr->calls[pr->count++], sizeof(pr->calls[0]), "%.*s", BRD_ARG(id));
	} else if (brd_json_is(brd_json_get(part, "type"), "tool-result")) {
		while (i < pr->count && !brd_str_is(id, pr->calls[i]))
			i++;
		assert_true(i < pr->count); /* a result of a call that was made before */
		assert_false(pr->answered[i]);
		pr->answered[i] = true;
	}
}

void check_messages(struct play *p)
{
	struct bread_read r;
	struct pairing pr = { 0 };

	read_all(p, &r, BREAD_READ_MESSAGES, "conv");
	for (size_t i = 0; i < r.count; i++) {
		struct arena a = { 0 };
		struct jval v;

		assert_int_equal(brd_json_parse(&a, r.messages[i].content, 0, &v, NULL), 0);
		if (i == 0)
			assert_str(r.messages[i].role, "user");
		if (brd_json_type(v) == JSON_ARRAY)
			for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
				pair_part(&pr, it.value, &a);
		brd_arena_fini(&a);
	}
	for (unsigned i = 0; i < pr.count; i++)
		if (!pr.answered[i])
			fail_msg("%s: call %s has no result in the session", p->sc->name,
				pr.calls[i]);
	bread_read_fini(&r);
}

static unsigned times_ran(const struct play *p, const char *id)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->ran_count; i++)
		n += !strcmp(p->ran[i], id);
	return n;
}

unsigned play_interrupted(struct play *p)
{
	struct bread_read r;
	unsigned n = 0;

	read_all(p, &r, BREAD_READ_CRUMBS, p->id);
	for (size_t i = 0; i < r.count; i++)
		n += brd_str_find(r.crumbs[i].crumb, BRD_STR("TOOL_INTERRUPTED")) >= 0;
	bread_read_fini(&r);
	return n;
}

void check_tools(struct play *p, bool crashed)
{
	for (unsigned i = 0; i < p->ran_count; i++) {
		unsigned n = times_ran(p, p->ran[i]);

		if (n != 1 && !(crashed && p->idempotent && n == 2))
			fail_msg("%s: call %s ran %u times", p->sc->name, p->ran[i], n);
	}
}

void check_viewer(struct play *p)
{
	struct bread_read r;
	struct bread_str lines = brd_buf_str(&p->seen.json);

	read_all(p, &r, BREAD_READ_CRUMBS, p->id);
	assert_false(p->seen.gap);
	while (lines.n) {
		struct bread_str line = brd_str_split(&lines, '\n');
		struct arena a = { 0 };
		struct jval v;
		bool found = brd_str_find(line, BRD_STR(":delta\"")) >= 0 &&
			     brd_str_find(line, BRD_STR("tool:input")) < 0;

		assert_int_equal(brd_json_parse(&a, line, 0, &v, NULL), 0);
		for (size_t i = 0; i < r.count && !found; i++)
			found = brd_str_eq(r.crumbs[i].crumb, line);
		if (!found)
			fail_msg("%s: was seen and is not in the log: %.*s", p->sc->name,
				BRD_ARG(line));
		brd_arena_fini(&a);
	}
	bread_read_fini(&r);
}

void check_ended(struct play *p)
{
	struct bread_read r = { 0 };
	struct bread_run_row row = play_row(p, &r);

	assert_int_equal(r.count, 1);
	assert_true(brd_run_ended(row.status));
	if (row.status == BREAD_RUN_COMPLETED && p->sc->output)
		assert_str(row.output, p->sc->output);
	bread_read_fini(&r);
	check_log(p);
	check_messages(p);
	check_viewer(p);
	read_all(p, &r, BREAD_READ_CHECKPOINTS, p->id);
	assert_int_equal(r.count, 0);
	bread_read_fini(&r);
	read_all(p, &r, BREAD_READ_UNFINISHED, "");
	assert_int_equal(r.count, 0);
	bread_read_fini(&r);
}
