/* SPDX-License-Identifier: MIT */
/* See replay.h. The messages are walked once; after an assistant's turn the tool
 * messages behind it are taken together and laid out in the order of its calls. */
#include "model/replay.h"
#include <ctype.h>
#include "base/map.h"
#include "base/str.h"

struct id_pair {
	struct bread_str ours, theirs;
};

struct replayer {
	const struct bread_model_request *req;
	struct replay *out;
	struct arena *a;
	enum id_rule rule;
	struct map by_ours, by_theirs; /* to struct id_pair in the arena */
};

struct bread_str brd_replay_clean(struct bread_str text, struct arena *a)
{
	char *out;
	size_t n = 0;

	if (brd_utf8_ok(text))
		return text;
	out = brd_arena_alloc(a, text.n * 3 + 1);
	for (size_t i = 0; i < text.n;) {
		size_t bad = 1, len = brd_utf8_char(text.p + i, text.n - i, &bad);

		if (!len && brd_utf8_surrogate(text.p + i, text.n - i)) {
			i += 3;
			continue;
		}
		memcpy(out + n, len ? text.p + i : "\xef\xbf\xbd", len ? len : 3);
		n += len ? len : 3;
		i += len ? len : bad;
	}
	return (struct bread_str){ out, n };
}

/* ---- ids ---- */

static bool fits(struct bread_str id, enum id_rule rule)
{
	size_t max = rule == IDS_64 ? 64 : rule == IDS_40 ? 40 : 9;

	if (rule == IDS_ANY)
		return id.n > 0;
	if (!id.n || id.n > max || (rule == IDS_9 && id.n != 9))
		return false;
	for (size_t i = 0; i < id.n && rule != IDS_40; i++)
		if (!isalnum((unsigned char)id.p[i]) && (rule == IDS_9 || !strchr("_-", id.p[i])))
			return false;
	return true;
}

static struct bread_str nine(struct bread_str id, unsigned salt, struct arena *a)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	uint64_t h = brd_str_hash(id) ^ salt * 0x9e3779b97f4a7c15u;
	char *out = brd_arena_alloc(a, 10);

	for (int i = 0; i < 9; i++, h /= 62)
		out[i] = digits[h % 62];
	return (struct bread_str){ out, 9 };
}

/* The salt-th try at an id that the provider takes. */
static struct bread_str mapped(
	struct bread_str id, enum id_rule rule, unsigned salt, struct arena *a)
{
	size_t max = rule == IDS_40 ? 40 : 64;
	struct bread_str tail = { 0 };
	char *out;

	if (!salt && fits(id, rule))
		return id;
	if (rule == IDS_9)
		return nine(id, salt, a);
	if (salt || !id.n || (rule != IDS_ANY && id.n > max))
		tail = brd_arena_printf(a, "_%08x%u", (unsigned)brd_str_hash(id), salt);
	if (rule != IDS_ANY && id.n > max - tail.n)
		id.n = brd_utf8_cut(id, max - tail.n);
	out = brd_arena_strz(a, brd_arena_printf(a, "%.*s%.*s", BRD_ARG(id), BRD_ARG(tail)));
	for (char *p = out; *p && rule == IDS_64; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_-", *p))
			*p = '_';
	return brd_str(out);
}

static struct bread_str id_of(struct replayer *r, struct bread_str ours)
{
	struct id_pair *id = brd_map_get(&r->by_ours, ours);

	if (id)
		return id->theirs;
	id = brd_arena_alloc(r->a, sizeof(*id));
	id->ours = ours.p ? ours : BRD_STR("");
	for (unsigned salt = 0;; salt++) {
		id->theirs = mapped(ours, r->rule, salt, r->a);
		if (!brd_map_get(&r->by_theirs, id->theirs))
			break;
	}
	brd_map_put(&r->by_ours, id->ours, id);
	brd_map_put(&r->by_theirs, id->theirs, id);
	return id->theirs;
}

/* ---- messages ---- */

static bool blank(struct bread_str s)
{
	return brd_str_trim(s).n == 0;
}

static struct bread_message *add_message(struct replayer *r, enum bread_role role, size_t room)
{
	struct bread_message *m = &r->out->messages[r->out->count++];

	m->role = role;
	m->parts = brd_arena_array(r->a, room, sizeof(*m->parts));
	m->count = 0;
	return m;
}

static bool take_part(struct replayer *r, struct bread_part *to, const struct bread_part *from)
{
	*to = *from;
	to->text = brd_replay_clean(from->text, r->a);
	switch (from->kind) {
	case BREAD_PART_TEXT:
		return !blank(to->text);
	case BREAD_PART_REASONING:
		return !blank(to->text) || to->signature.n;
	case BREAD_PART_CALL:
		to->id = id_of(r, from->id);
		return true;
	case BREAD_PART_FILE:
		return from->text.n > 0;
	default:
		return false; /* results are placed by their calls */
	}
}

static const struct bread_part *find_result(
	const struct bread_model_request *req, size_t from, struct bread_str id)
{
	for (; from < req->message_count && req->messages[from].role == BREAD_ROLE_TOOL; from++)
		for (size_t i = 0; i < req->messages[from].count; i++) {
			const struct bread_part *p = &req->messages[from].parts[i];

			if (p->kind == BREAD_PART_RESULT && brd_str_eq(p->id, id))
				return p;
		}
	return NULL;
}

/* The results of the turn at i, in the order of its calls. */
static void add_results(struct replayer *r, size_t i)
{
	const struct bread_message *turn = &r->req->messages[i];
	struct bread_message *m = add_message(r, BREAD_ROLE_TOOL, turn->count);

	for (size_t c = 0; c < turn->count; c++) {
		const struct bread_part *call = &turn->parts[c], *result;
		struct bread_part *to = &m->parts[m->count];

		if (call->kind != BREAD_PART_CALL)
			continue;
		result = find_result(r->req, i + 1, call->id);
		if (result)
			*to = *result;
		else
			*to = (struct bread_part){ .kind = BREAD_PART_RESULT,
				.text = BRD_STR("No result provided"),
				.failed = 1 };
		to->text = brd_replay_clean(to->text, r->a);
		to->id = id_of(r, call->id);
		to->name = call->name;
		m->count++;
	}
	if (!m->count)
		r->out->count--;
}

static void add_turn(struct replayer *r, size_t i)
{
	const struct bread_message *from = &r->req->messages[i];
	struct bread_message *m = add_message(r, from->role, from->count);

	for (size_t p = 0; p < from->count; p++)
		if (take_part(r, &m->parts[m->count], &from->parts[p]))
			m->count++;
	if (!m->count)
		r->out->count--;
	else if (from->role == BREAD_ROLE_ASSISTANT)
		add_results(r, i);
}

void brd_replay(struct replay *ret, const struct bread_model_request *req, enum id_rule ids,
	struct arena *a)
{
	struct replayer r = { .req = req, .out = ret, .a = a, .rule = ids };

	*ret = (struct replay){ .messages = brd_arena_array(
					a, req->message_count * 2, sizeof(*ret->messages)) };
	for (size_t i = 0; i < req->message_count; i++)
		if (req->messages[i].role != BREAD_ROLE_TOOL)
			add_turn(&r, i);
	brd_map_fini(&r.by_ours);
	brd_map_fini(&r.by_theirs);
}
