/* SPDX-License-Identifier: MIT */
/* What the parts of the store's contract share: the implementations, and a world
 * with one of them for each test.
 *
 * A new implementation is a row in the table at the end. */
#pragma once
#include "store/kit.h"

struct impl {
	const char *word;
	bool file;  /* its url is a path in a folder that the test makes */
	bool keeps; /* what was committed outlives close and open */
};

struct world {
	const struct impl *impl;
	struct loop *loop;
	struct bread_store *store;
	char dir[512];
	char url[600];
};

static inline void open_store(struct world *w)
{
	struct bread_err err = { 0 };

	if (brd_store_open(&w->store, brd_str(w->impl->word), brd_str(w->url),
		    (struct bread_str){ 0 }, &err))
		fail_msg("%s", err.text);
}

static inline int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->impl = *state;
	if (w->impl->file) {
		kit_dir(w->dir, sizeof(w->dir));
		snprintf(w->url, sizeof(w->url), "%s/bread.db", w->dir);
	}
	assert_int_equal(brd_loop_new(&w->loop, NULL), 0);
	open_store(w);
	*state = w;
	return 0;
}

static inline int tear_down(void **state)
{
	struct world *w = *state;

	brd_store_close(w->store);
	brd_loop_free(w->loop);
	if (w->impl->file)
		kit_remove(w->dir);
	free(w);
	return 0;
}

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static inline enum bread_code commit1(struct world *w, struct bread_rec rec)
{
	return kit_commit(w->store, w->loop, &rec, 1);
}

static inline enum bread_code commit(struct world *w, struct bread_rec *recs, size_t count)
{
	return kit_commit(w->store, w->loop, recs, count);
}

static inline enum bread_code fenced1(
	struct world *w, const char *fence, int64_t epoch, struct bread_rec rec)
{
	return kit_commit_fenced(w->store, w->loop, fence, epoch, &rec, 1);
}

static inline struct bread_read question(
	struct world *w, enum bread_read_kind kind, const char *key)
{
	struct bread_read r = { .kind = kind, .key = brd_str(key), .filter.status = -1 };

	kit_read(w->store, w->loop, &r);
	return r;
}

static inline size_t count_of(struct world *w, enum bread_read_kind kind, const char *key)
{
	struct bread_read r = question(w, kind, key);
	size_t n = r.count;

	bread_read_fini(&r);
	return n;
}

static inline void given(struct world *w, const char *session, const char *run)
{
	struct bread_rec recs[] = { kit_session(session, 100, NULL),
		kit_run(run, session, BREAD_RUN_RUNNING) };

	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
}

static inline void fill(struct world *w, const char *session, const char *run, const char *message)
{
	struct bread_rec recs[] = { kit_message(message, session, 100, "1"),
		kit_crumb(run, 1, session, BRD_STR("{}")), kit_node(run, "model.0", 1, NULL) };

	given(w, session, run);
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
}

static inline void nothing_is_left_of(
	struct world *w, const char *session, const char *run, size_t expected)
{
	assert_int_equal(count_of(w, BREAD_READ_SESSION, session), expected);
	assert_int_equal(count_of(w, BREAD_READ_MESSAGES, session), expected);
	assert_int_equal(count_of(w, BREAD_READ_RUN, run), expected);
	assert_int_equal(count_of(w, BREAD_READ_CRUMBS, run), expected);
	assert_int_equal(count_of(w, BREAD_READ_NODES, run), expected);
	assert_int_equal(count_of(w, BREAD_READ_ACTIVE, session), expected);
}

#define T(name) \
	{ \
#name, name, set_up, tear_down, NULL \
	}

static const struct impl impls[] = {
	{ "memory", false, false },
	{ "sqlite", true, true },
};

#define MAX_TESTS 64

/* All of them on every implementation; the result of main(). */
static inline int run_contract(const struct CMUnitTest *tests, size_t count)
{
	struct CMUnitTest mine[MAX_TESTS];
	int failed = 0;

	brd_assert(count <= MAX_TESTS);
	for (size_t i = 0; i < COUNT(impls); i++) {
		memcpy(mine, tests, count * sizeof(*tests));
		for (size_t t = 0; t < count; t++)
			mine[t].initial_state = (void *)&impls[i];
		failed += _cmocka_run_group_tests(impls[i].word, mine, count, NULL, NULL);
	}
	return failed ? 1 : 0;
}
