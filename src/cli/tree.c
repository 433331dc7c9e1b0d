/* SPDX-License-Identifier: MIT */
/* A tree of runs as lines: who, how it ended, how long it took, and its tokens. */
#include <stdio.h>
#include <stdlib.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "store/store.h"

#define NONE SIZE_MAX

struct twig {
	const struct bread_run_row *row;
	size_t parent, first, last, next; /* places in the array; NONE */
};

/* Parents come before what is below them; what has none among them hangs on the first. */
static void hang(struct twig *all, size_t i, const struct twig *parent)
{
	size_t p = parent && parent < &all[i] ? (size_t)(parent - all) : 0;

	all[i].parent = p;
	if (all[p].first == NONE)
		all[p].first = i;
	else
		all[all[p].last].next = i;
	all[p].last = i;
}

/* The place of that run; NONE: it is not among them. */
static size_t plant(
	struct twig *all, const struct bread_run_row *rows, size_t n, struct bread_str id)
{
	struct map by_id = { 0 };
	const struct twig *top;

	for (size_t i = 0; i < n; i++) {
		all[i] = (struct twig){ &rows[i], NONE, NONE, NONE, NONE };
		if (i)
			hang(all, i, brd_map_get(&by_id, rows[i].parent_id));
		brd_map_put(&by_id, rows[i].id, &all[i]);
	}
	top = brd_map_get(&by_id, id);
	brd_map_fini(&by_id);
	return top ? (size_t)(top - all) : NONE;
}

/* ---- lines ---- */

static void add_branches(struct buf *b, const struct twig *all, size_t at, size_t top)
{
	static const char *const marks[2][2] = { { "   ", "│  " }, { "└─ ", "├─ " } };
	const char *mark;
	bool own = true;
	struct buf above;

	if (at == top)
		return;
	/* from the leaf up, each in front of the one before it */
	for (; at != top; at = all[at].parent, own = false) {
		mark = marks[own][all[at].next != NONE];
		brd_buf_init(&above, BUF_NO_LIMIT);
		brd_buf_addz(&above, mark);
		brd_buf_add(&above, brd_buf_str(b));
		brd_buf_clear(b);
		brd_buf_add(b, brd_buf_str(&above));
		brd_buf_fini(&above);
	}
}

static void add_time(struct buf *b, const struct bread_run_row *row)
{
	int64_t ms;

	if (!row->started_at)
		return;
	ms = (row->ended_at ? row->ended_at : brd_clock_wall()) - row->started_at;
	if (ms < 10000)
		brd_buf_addf(b, "  %lld.%02llds", (long long)ms / 1000, (long long)ms % 1000 / 10);
	else
		brd_buf_addf(b, "  %lldm%02llds", (long long)ms / 60000, (long long)ms / 1000 % 60);
}

static void print_twig(const struct twig *all, size_t at, size_t top)
{
	const struct bread_run_row *row = all[at].row;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	add_branches(&b, all, at, top);
	brd_buf_addf(&b, "%.*s%s  %s", BRD_ARG(row->agent_id),
		row->kind == BREAD_RUN_PIPELINE ? " (pipeline)" : "",
		brd_run_status_name(row->status));
	add_time(&b, row);
	if (row->input_tokens || row->output_tokens)
		brd_buf_addf(&b, "  %lld in, %lld out", (long long)row->input_tokens,
			(long long)row->output_tokens);
	brd_buf_addf(&b, "  %.*s", BRD_ARG(row->id));
	puts(b.data);
	brd_buf_fini(&b);
}

static size_t step(const struct twig *all, size_t at, size_t top)
{
	if (all[at].first != NONE)
		return all[at].first;
	for (; at != top; at = all[at].parent)
		if (all[at].next != NONE)
			return all[at].next;
	return NONE;
}

bool cli_tree(const struct bread_run_row *rows, size_t n, struct bread_str id,
	void (*print)(const struct bread_run_row *row))
{
	struct twig *all = brd_array(n ? n : 1, sizeof(*all));
	size_t top = plant(all, rows, n, id);

	for (size_t at = top; at != NONE; at = step(all, at, top)) {
		if (print)
			print(all[at].row);
		else
			print_twig(all, at, top);
	}
	free(all);
	return top != NONE;
}
