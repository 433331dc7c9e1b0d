/* SPDX-License-Identifier: MIT */
/* bread sessions: a look into the store, beside a server that may be running. */
#include "base/clock.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "model/model.h"

#define PAGE 500
#define DAY_MS ((int64_t)86400 * 1000)
#define TAGS_MAX 16

struct tag {
	struct bread_str key, value;
};

/* The --tag options; false: said what is wrong with one. */
static bool take_tags(struct cli_args *a, struct tag *ret, size_t *ret_n)
{
	const char *given[TAGS_MAX];

	*ret_n = cli_values(a, "tag", given, TAGS_MAX);
	for (size_t i = 0; i < *ret_n; i++) {
		struct bread_str rest = brd_str(given[i]);

		ret[i].key = brd_str_split(&rest, '=');
		ret[i].value = rest;
		if (!rest.p || !ret[i].key.n) {
			cli_error("--tag must be in key=value format");
			return false;
		}
	}
	return true;
}

static bool tagged(struct jval tags, const struct tag *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!brd_json_iss(brd_json_gets(tags, want[i].key), want[i].value))
			return false;
	return true;
}

static void add_row(
	struct buf *b, const struct bread_session_row *s, struct jval tags, struct arena *a)
{
	char time[CLI_TIME];

	brd_buf_addf(b, "  %.*s  updated=%s", BRD_ARG(s->id), cli_time(s->updated_at, time));
	for (struct json_iter it = brd_json_each(tags); brd_json_next(&it);)
		brd_buf_addf(b, "%s%.*s=%.*s", it.index ? "," : "  ",
			BRD_ARG(brd_json_str(it.key, a)), BRD_ARG(brd_json_str(it.value, a)));
	brd_buf_addc(b, '\n');
}

static void add_json(struct buf *b, const struct bread_session_row *s)
{
	struct jsonw w = brd_jsonw(b);

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "id", s->id);
	if (s->agent_id.n)
		brd_jw_kstr(&w, "agentId", s->agent_id);
	brd_jw_kraw(&w, "tags", s->tags);
	brd_jw_kint(&w, "createdAt", s->created_at);
	brd_jw_kint(&w, "updatedAt", s->updated_at);
	brd_jw_end_obj(&w);
	brd_buf_addc(b, '\n');
}

struct session_list {
	struct tag tags[TAGS_MAX];
	size_t tag_count, found;
	bool json;
	struct buf out;
};

static void add_page(struct session_list *l, const struct bread_read *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct bread_session_row *s = &r->sessions[i];
		struct arena a = { 0 };
		struct jval tags = { 0 };

		brd_json_parse(&a, s->tags, 0, &tags, NULL);
		if (tagged(tags, l->tags, l->tag_count)) {
			l->found++;
			if (l->json)
				add_json(&l->out, s);
			else
				add_row(&l->out, s, tags, &a);
		}
		brd_arena_fini(&a);
	}
}

static int list_all(struct session_list *l, struct bread *b)
{
	int64_t at = 0;
	bool more = true;
	int r = 0;

	while (!r && more) {
		struct bread_read q = { .kind = BREAD_READ_SESSIONS, .after = at, .limit = PAGE };

		if (l->tag_count) {
			q.filter.tag_key = l->tags[0].key;
			q.filter.tag_value = l->tags[0].value;
		}
		if (cli_ask(b, &q))
			r = cli_fail(&q.op.err);
		else
			add_page(l, &q);
		at += (int64_t)q.count;
		more = q.more && q.count;
		bread_read_fini(&q);
	}
	return r;
}

static int run_list(struct cli_args *a)
{
	struct session_list l = { .json = cli_on(a, "json") };
	struct project p;
	struct bread *b;
	int r;

	if (!take_tags(a, l.tags, &l.tag_count))
		return EXIT_USAGE;
	r = cli_look(a, &p, &b);
	if (r)
		return r;
	brd_buf_init(&l.out, BUF_NO_LIMIT);
	r = list_all(&l, b);
	if (!r && l.json)
		fwrite(l.out.data, 1, l.out.len, stdout);
	else if (!r && !l.found)
		cli_say("No sessions found");
	else if (!r)
		printf("\nSessions (%zu):\n\n%s", l.found, l.out.data);
	brd_buf_fini(&l.out);
	cli_close(&p, b);
	return r;
}

/* ---- show ---- */

static void show_parts(const struct bread_message *m)
{
	static const char *const roles[] = { "user", "assistant", "tool" };

	for (size_t i = 0; i < m->count; i++) {
		const struct bread_part *part = &m->parts[i];

		printf("%s ▸ ", roles[m->role]);
		if (part->kind == BREAD_PART_CALL)
			printf("↳ %.*s(%.*s)", BRD_ARG(part->name), BRD_ARG(part->json));
		else if (part->kind == BREAD_PART_FILE)
			printf("file (%.*s)", BRD_ARG(part->media_type));
		else
			cli_text(stdout, part->json.n ? part->json : part->text);
		putchar('\n');
	}
}

static void show_message(const struct bread_message_row *row, bool json)
{
	struct arena a = { 0 };
	struct bread_message m;
	struct jval v;
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "id", row->id);
	brd_jw_kstr(&w, "role", row->role);
	brd_jw_kraw(&w, "content", row->content);
	brd_jw_kint(&w, "timestamp", row->timestamp);
	brd_jw_end_obj(&w);
	if (json)
		puts(b.data);
	else if (!brd_json_parse(&a, row->content, 0, &v, NULL) &&
		 !brd_message_from_stored(&m, row->role, v, &a, NULL))
		show_parts(&m);
	brd_buf_fini(&b);
	brd_arena_fini(&a);
}

static int show_messages(struct bread *b, const char *id, bool json)
{
	int64_t at = 0;
	bool more = true;
	int r = 0;

	while (!r && more) {
		struct bread_read q = {
			.kind = BREAD_READ_MESSAGES, .key = brd_str(id), .after = at, .limit = PAGE
		};

		if (cli_ask(b, &q))
			r = cli_fail(&q.op.err);
		for (size_t i = 0; !r && i < q.count; i++)
			show_message(&q.messages[i], json);
		at += (int64_t)q.count;
		more = q.more && q.count;
		bread_read_fini(&q);
	}
	return r;
}

static int session_known(struct bread *b, const char *id)
{
	struct bread_read q = { .kind = BREAD_READ_SESSION, .key = brd_str(id) };
	int r = cli_ask(b, &q) ? cli_fail(&q.op.err) : 0;

	if (!r && !q.count) {
		cli_error("Session not found: %s", id);
		r = EXIT_FAILED;
	}
	bread_read_fini(&q);
	return r;
}

static int run_show(struct cli_args *a)
{
	struct project p;
	struct bread *b;
	int r = cli_look(a, &p, &b);

	if (r)
		return r;
	r = session_known(b, a->words[0]);
	if (!r)
		r = show_messages(b, a->words[0], cli_on(a, "json"));
	cli_close(&p, b);
	return r;
}

/* ---- cleanup ---- */

static int clean(struct bread *b, int64_t before, struct bread_str tags)
{
	struct bread_op op = { 0 };
	int64_t deleted = 0;
	bool done = false;

	bread_op_init(&op, bread_here(b), cli_done, &done);
	bread_session_cleanup(b, before, tags, &deleted, &op);
	cli_wait(b, &done);
	if (op.code != BREAD_OK)
		return cli_fail(&op.err);
	cli_say("Deleted %lld session(s)", (long long)deleted);
	return 0;
}

static struct bread_str tags_json(const struct tag *tags, size_t n, struct arena *a)
{
	struct bread_str json = { 0 };
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	for (size_t i = 0; i < n; i++) {
		brd_jw_keys(&w, tags[i].key);
		brd_jw_str(&w, tags[i].value);
	}
	brd_jw_end_obj(&w);
	if (n)
		json = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return json;
}

static int run_cleanup(struct cli_args *a)
{
	struct tag tags[TAGS_MAX];
	size_t n;
	int64_t days;
	struct project p;
	struct bread *b;
	int r;

	if (!take_tags(a, tags, &n) || !cli_number(a, "older-than", 0, 100000, -1, &days))
		return EXIT_USAGE;
	if (days < 0) {
		cli_error("Without --older-than nothing is deleted");
		cli_say("Deleted 0 session(s)");
		return EXIT_DONE;
	}
	r = cli_look(a, &p, &b);
	if (r)
		return r;
	r = clean(b, brd_clock_wall() - days * DAY_MS, tags_json(tags, n, &a->arena));
	cli_close(&p, b);
	return r;
}

#define TAG_OPTION(does) \
	{ \
		.name = "tag", .value = "KEY=VALUE", .doc = does \
	}

static const struct cli_option list_options[] = {
	TAG_OPTION("only those with that tag"),
	{ .name = "json", .doc = "one JSON object a line" },
	{ 0 },
};

static const struct cli_option show_options[] = {
	{ .name = "json", .doc = "one JSON object a line" },
	{ 0 },
};

static const struct cli_option cleanup_options[] = {
	{ .name = "older-than", .value = "DAYS", .doc = "those that were not used for so long" },
	TAG_OPTION("only those with that tag"),
	{ 0 },
};

const struct cli_command cli_sessions_list = {
	.name = "sessions list",
	.usage = "",
	.doc = "Lists sessions.",
	.options = list_options,
	.run = run_list,
};

const struct cli_command cli_sessions_show = {
	.name = "sessions show",
	.usage = "ID",
	.doc = "Shows a session's messages.",
	.options = show_options,
	.words_min = 1,
	.words_max = 1,
	.run = run_show,
};

const struct cli_command cli_sessions_cleanup = {
	.name = "sessions cleanup",
	.usage = "",
	.doc = "Deletes old sessions with their runs.",
	.options = cleanup_options,
	.run = run_cleanup,
};
