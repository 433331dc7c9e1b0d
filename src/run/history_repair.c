/* SPDX-License-Identifier: MIT */
/* Calls without a result in what a session has (contract C12).
 *
 * We leave none behind, but a session may have them from the original, or from a tool beside us,
 * and models refuse such a history. Each gets a result that says so, right behind the call, before
 * a model sees it; a run that has the session for itself writes that down with its own first
 * message, so that it is done once. A result that stands further back is brought to its call, for
 * the model alone. */
#include "base/clock.h"
#include "model/model.h"
#include "run/history.h"
#include "run/tx.h"

static const char no_result[] = "RUN_INTERRUPTED: this call never had a result";

struct pairing {
	struct run *r;
	const struct bread_message_row *const *rows; /* of the messages, by their place */
	bool store;
	struct bread_message *out;
	size_t count, stored;
};

/* A message that is written with the run's next ones. */
struct history_repair {
	struct list link;
	struct bread_message message;
	struct bread_str id;
	int64_t timestamp;
};

static bool same_call(const struct bread_part *call, const struct bread_part *result)
{
	return result->kind == BREAD_PART_RESULT && brd_str_eq(call->id, result->id);
}

static struct bread_part *find(
	struct bread_message *messages, size_t from, size_t to, const struct bread_part *call)
{
	for (size_t i = from; i < to; i++)
		for (size_t k = 0; k < messages[i].count; k++)
			if (same_call(call, &messages[i].parts[k]))
				return &messages[i].parts[k];
	return NULL;
}

/* Behind the results that follow message i. */
static size_t behind_results(const struct run *r, size_t i)
{
	size_t j = i + 1;

	while (j < r->history_count && r->history[j].role == BREAD_ROLE_TOOL)
		j++;
	return j;
}

static bool all_answered(struct run *r, size_t i)
{
	size_t end = behind_results(r, i);

	for (size_t k = 0; k < r->history[i].count; k++) {
		const struct bread_part *p = &r->history[i].parts[k];

		if (p->kind == BREAD_PART_CALL && !find(r->history, i + 1, end, p))
			return false;
	}
	return true;
}

static bool is_paired(struct run *r)
{
	for (size_t i = 0; i < r->history_count; i++)
		if (r->history[i].role == BREAD_ROLE_ASSISTANT && !all_answered(r, i))
			return false;
	return true;
}

/* ---- what is missing behind a message ---- */

static struct bread_part unanswered(const struct bread_part *call)
{
	return (struct bread_part){ .kind = BREAD_PART_RESULT,
		.id = call->id,
		.name = call->name,
		.text = BRD_STR(no_result),
		.failed = true };
}

/* Behind the row: its time, and an id that comes next in order. */
static void keep(struct pairing *p, const struct bread_message_row *row, struct bread_message m)
{
	struct arena *a = &p->r->arena;
	struct history_repair *h;

	if (!p->store)
		return;
	h = brd_arena_alloc(a, sizeof(*h));
	h->message = m;
	h->id = brd_arena_printf(a, "%.*s+", BRD_ARG(row->id));
	h->timestamp = row->timestamp;
	brd_list_push(&p->r->repairs, &h->link);
	p->stored++;
}

static void pair(struct pairing *p, size_t i, size_t end)
{
	struct run *r = p->r;
	const struct bread_message *said = &r->history[i];
	struct bread_message late = { .role = BREAD_ROLE_TOOL }, none = { .role = BREAD_ROLE_TOOL };

	late.parts = brd_arena_array(&r->arena, said->count, sizeof(*late.parts));
	none.parts = brd_arena_array(&r->arena, said->count, sizeof(*none.parts));
	for (size_t k = 0; k < said->count; k++) {
		const struct bread_part *call = &said->parts[k];
		struct bread_part *result;

		if (call->kind != BREAD_PART_CALL || find(r->history, i + 1, end, call))
			continue;
		result = find(r->history, end, r->history_count, call);
		if (!result) {
			none.parts[none.count++] = unanswered(call);
			continue;
		}
		late.parts[late.count++] = *result;
		result->kind = BREAD_PART_TEXT; /* taken: it says nothing where it stands */
		result->text = (struct bread_str){ 0 };
	}
	if (late.count)
		p->out[p->count++] = late;
	if (!none.count)
		return;
	p->out[p->count++] = none;
	keep(p, p->rows[end - 1], none);
}

static bool says_something(const struct bread_message *m)
{
	if (m->role != BREAD_ROLE_TOOL)
		return true;
	for (size_t k = 0; k < m->count; k++)
		if (m->parts[k].kind == BREAD_PART_RESULT)
			return true;
	return false;
}

/* Without the places of results that were brought to their calls. */
static void add(struct pairing *p, struct bread_message *m)
{
	size_t n = 0;

	if (!says_something(m))
		return;
	for (size_t k = 0; m->role == BREAD_ROLE_TOOL && k < m->count; k++)
		if (m->parts[k].kind == BREAD_PART_RESULT)
			m->parts[n++] = m->parts[k];
	if (m->role == BREAD_ROLE_TOOL)
		m->count = n;
	p->out[p->count++] = *m;
}

void brd_history_repair(struct run *r, const struct bread_message_row *const *rows, bool store)
{
	struct pairing p = { .r = r, .rows = rows, .store = store };
	size_t had = r->history_count;

	if (is_paired(r))
		return;
	/* two for each call's message at the most, and room for the run's own input */
	p.out = brd_arena_array(&r->arena, 3 * had + 1, sizeof(*p.out));
	for (size_t i = 0; i < had; i++) {
		size_t end = behind_results(r, i);

		add(&p, &r->history[i]);
		if (r->history[i].role != BREAD_ROLE_ASSISTANT)
			continue;
		for (size_t k = i + 1; k < end; k++)
			add(&p, &r->history[k]);
		pair(&p, i, end);
		i = end - 1;
	}
	r->history = p.out;
	r->history_count = p.count;
	r->history_extra = (int64_t)p.count - (int64_t)(had + p.stored);
}

void brd_history_write_repairs(struct run *r)
{
	for (struct list *l; (l = brd_list_pop(&r->repairs));) {
		struct history_repair *h = brd_list_of(l, struct history_repair, link);
		struct bread_rec *rec = brd_tx_add(r, BREAD_REC_MESSAGE);
		struct buf b;

		brd_buf_init(&b, BUF_NO_LIMIT);
		brd_message_to_stored(&b, &h->message);
		rec->message = (struct bread_message_row){ .id = h->id,
			.session_id = r->base.session_id,
			.role = BRD_STR("tool"),
			.content = brd_tx_copy(r, brd_buf_str(&b)),
			.timestamp = h->timestamp };
		brd_buf_fini(&b);
	}
}
