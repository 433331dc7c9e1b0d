/* SPDX-License-Identifier: MIT */
/* The knowledge tools: facts that an agent keeps, and what its prompt says of them.
 * What an agent stores is its own: it finds and forgets no other's. */
#include "base/err.h"
#include "base/clock.h"
#include "run/core_call.h"

#define DRAFT "\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\","

static void stored(struct core_call *c)
{
	bool wanted = brd_json_type(brd_json_get(c->args, "relatesTo")) == JSON_OBJECT;
	struct buf out;
	struct jsonw w;

	brd_buf_init(&out, BUF_NO_LIMIT);
	w = brd_jsonw(&out);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "id", brd_str(c->id));
	brd_jw_kstr(&w, "label", brd_core_arg(c, "label"));
	if (wanted && !c->rec.affected) /* the node that it was to hang on is not there */
		brd_jw_kbool(&w, "related", false);
	brd_jw_end_obj(&w);
	brd_core_return(c, &out);
}

static struct bread_str compact_data(struct core_call *c)
{
	struct jval data = brd_json_get(c->args, "data");
	struct bread_str text;
	struct buf b;

	if (brd_json_type(data) != JSON_OBJECT)
		return BRD_STR("{}");
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_compact(data, &b);
	text = brd_arena_copy(&c->arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return text;
}

static void store(struct run_env *env, const struct agent_def *def, struct bread_tool_call *call)
{
	struct core_call *c = brd_core_begin(env, call);
	struct jval to = brd_json_get(c->args, "relatesTo");
	char edge[UUID_LEN + 1];

	brd_uuid7(c->id);
	brd_uuid7(edge);
	c->rec.kind = BREAD_REC_KNOWLEDGE;
	c->rec.knowledge = (struct bread_knowledge_row){
		.id = brd_str(c->id),
		.agent_id = call->agent_id,
		.session_id = call->session_id,
		.label = brd_core_arg(c, "label"),
		.data = compact_data(c),
		.created_at = brd_clock_wall(),
		.to_id = brd_json_str(brd_json_get(to, "id"), &c->arena),
		.relation = brd_json_str(brd_json_get(to, "relation"), &c->arena),
	};
	if (c->rec.knowledge.to_id.n)
		c->rec.knowledge.edge_id = brd_arena_copy(&c->arena, brd_str(edge));
	brd_core_commit(c, stored);
}

static void found(struct core_call *c)
{
	struct buf out;
	struct jsonw w;

	brd_buf_init(&out, BUF_NO_LIMIT);
	w = brd_jsonw(&out);
	brd_jw_arr(&w);
	for (size_t i = 0; i < c->read.count; i++) {
		const struct bread_knowledge_row *k = &c->read.knowledge[i];

		brd_jw_obj(&w);
		brd_jw_kstr(&w, "id", k->id);
		brd_jw_kstr(&w, "label", k->label);
		brd_jw_kraw(&w, "data", k->data.n ? k->data : BRD_STR("{}"));
		brd_jw_end_obj(&w);
	}
	brd_jw_end_arr(&w);
	brd_core_return(c, &out);
}

static void query(struct run_env *env, const struct agent_def *def, struct bread_tool_call *call)
{
	brd_core_search(brd_core_begin(env, call), BREAD_READ_KNOWLEDGE, 10, found);
}

static void forgot(struct core_call *c)
{
	struct buf out;

	brd_buf_init(&out, BUF_NO_LIMIT);
	brd_buf_addf(&out, "{\"deleted\":%s}", c->rec.affected ? "true" : "false");
	brd_core_return(c, &out);
}

static void forget(struct run_env *env, const struct agent_def *def, struct bread_tool_call *call)
{
	struct core_call *c = brd_core_begin(env, call);

	c->rec.kind = BREAD_REC_KNOWLEDGE_FORGET;
	c->rec.key = brd_core_arg(c, "id");
	c->rec.value = call->agent_id;
	brd_core_commit(c, forgot);
}

const struct core_tool brd_knowledge_tools[] = {
	{ .name = "kg_store",
		.description = "Store a fact or entity in the knowledge graph",
		.schema =
			"{" DRAFT "\"properties\":{\"label\":{\"type\":\"string\",\"description\":"
			"\"Entity or concept label\"},\"data\":{\"description\":\"Additional "
			"properties\",\"type\":\"object\",\"propertyNames\":{\"type\":\"string\"},"
			"\"additionalProperties\":{}},\"relatesTo\":{\"description\":\"Optional "
			"relation to an existing node\",\"type\":\"object\",\"properties\":{\"id\":"
			"{\"type\":\"string\"},\"relation\":{\"type\":\"string\"}},\"required\":["
			"\"id\",\"relation\"],\"additionalProperties\":false}},\"required\":["
			"\"label\"],\"additionalProperties\":false}",
		.start = store },
	{ .name = "kg_query",
		.description = "Search the knowledge graph by label",
		.schema = "{" DRAFT
			  "\"properties\":{\"query\":{\"type\":\"string\",\"description\":\"Search "
			  "term to match against labels\"},\"limit\":{\"type\":\"integer\","
			  "\"minimum\":1,\"maximum\":50}},\"required\":[\"query\"],"
			  "\"additionalProperties\":false}",
		.start = query },
	{ .name = "kg_forget",
		.description = "Remove a node from the knowledge graph by ID",
		.schema =
			"{" DRAFT
			"\"properties\":{\"id\":{\"type\":\"string\",\"description\":\"Node ID to "
			"remove\"}},\"required\":[\"id\"],\"additionalProperties\":false}",
		.start = forget },
	{ 0 },
};

/* ---- the section of the prompt ---- */

static void add_data(struct bread_str data, struct arena *a, struct buf *out)
{
	struct jval v = { 0 };

	if (brd_json_parse(a, data, 0, &v, NULL) || !brd_json_count(v))
		return;
	brd_buf_addz(out, " (");
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		brd_buf_addz(out, it.index ? ", " : "");
		brd_json_str_add(it.key, out);
		brd_buf_addz(out, ": ");
		if (brd_json_type(it.value) == JSON_STRING)
			brd_json_str_add(it.value, out);
		else
			brd_buf_add(out, brd_json_raw(it.value));
	}
	brd_buf_addc(out, ')');
}

/* Bytes of the first n characters. */
static size_t characters(struct bread_str s, size_t n)
{
	size_t at = 0;

	while (at < s.n && n) {
		at++;
		while (at < s.n && (s.p[at] & 0xc0) == 0x80)
			at++;
		n--;
	}
	return at;
}

void brd_knowledge_section(const struct bread_read *r, size_t max_tokens, struct buf *out)
{
	struct arena a = { 0 };
	struct buf all;

	if (!r->count || !max_tokens)
		return;
	brd_buf_init(&all, BUF_NO_LIMIT);
	brd_buf_addz(&all, "## Knowledge Graph Context");
	for (size_t i = 0; i < r->count; i++) {
		brd_buf_addz(&all, "\n- ");
		brd_buf_add(&all, r->knowledge[i].label);
		add_data(r->knowledge[i].data, &a, &all);
	}
	brd_buf_add(
		out, brd_sub(brd_buf_str(&all), 0, characters(brd_buf_str(&all), max_tokens * 4)));
	brd_buf_fini(&all);
	brd_arena_fini(&a);
}
