/* SPDX-License-Identifier: MIT */
/* The life of an instance: made, configured, started, drained, freed. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "instance/internal.h"

int bread_new(struct bread **ret, struct bread_err *err)
{
	struct bread *b = brd_alloc(sizeof(*b));
	int r;

	brd_list_init(&b->agents);
	brd_list_init(&b->providers);
	brd_list_init(&b->formats);
	brd_list_init(&b->plugins);
	brd_list_init(&b->listeners);
	brd_list_init(&b->subscriptions);
	brd_list_init(&b->tasks);
	brd_list_init(&b->task_runs);
	brd_list_init(&b->pipelines);
	pthread_mutex_init(&b->lock, NULL);
	brd_uuid7(b->owner);
	b->env.owner = brd_str(b->owner);
	b->env.counts = &b->counts;
	b->hub = brd_hub_new(0);
	b->env.hub = b->hub;
	brd_registry_env(b);
	r = brd_conf_read(brd_instance_fields, brd_instance_field_count, (struct jval){ 0 },
		&b->conf, NULL, "", &b->arena, err);
	if (r) {
		bread_free(b);
		return r;
	}
	*ret = b;
	return 0;
}

int bread_use_store(struct bread *b, const struct bread_store_ops *ops, struct bread_str url,
	struct bread_str options, struct bread_err *err)
{
	if (b->started)
		return brd_fail(err, BREAD_E_INVALID, "bread",
			"the instance is running; choose its store before bread_start");
	b->store_ops = ops;
	b->store_url = brd_arena_copy(&b->arena, url);
	b->store_options = brd_arena_copy(&b->arena, options);
	return 0;
}

int bread_start(struct bread *b, struct bread_err *err)
{
	int r;

	if (b->started)
		return brd_fail(
			err, BREAD_E_INVALID, "bread", "the instance has been started already");
	r = brd_loops_open(b, err);
	if (!r)
		r = brd_instance_open_parts(b, err);
	if (!r)
		r = brd_owner_open(b, err);
	b->started = !r;
	return r;
}

void brd_instance_alone(struct bread *b)
{
	b->alone = true;
}

int brd_instance_look(struct bread *b, struct bread_err *err)
{
	int r = brd_loops_open(b, err);

	if (!r)
		r = brd_instance_open_store(b, err);
	b->started = !r;
	return r;
}

/* Turns loop 0 here until the condition holds or the time is over; the others have threads. */
static void turn_until(struct bread *b, bool (*done)(struct bread *b), int64_t wait_ms)
{
	int64_t end = brd_clock_mono() + wait_ms;

	while (!done(b)) {
		int64_t left = end - brd_clock_mono();

		if (left <= 0)
			return;
		brd_loop_turn(b->loops[0], (int)(left < 50 ? left : 50));
	}
}

static bool all_gone(struct bread *b)
{
	return brd_active_count(b) == 0 && atomic_load(&b->cancelling) == 0;
}

void bread_stop(struct bread *b, int64_t wait_ms)
{
	if (!b->started || b->stopping)
		return;
	b->stopping = true;
	b->env.draining = true;
	brd_loop_turn(b->loops[0], 0); /* it is this thread's from here on */
	turn_until(b, all_gone, wait_ms);
	b->leaving = true;
	brd_active_each(b, brd_tree_leave);
	brd_tasks_leave(b);
	turn_until(b, all_gone, 5000);
	brd_owner_close(b);
	b->started = false;
}

void bread_free(struct bread *b)
{
	if (!b)
		return;
	bread_stop(b, 0);
	brd_loops_join(b);
	brd_subscriptions_end(b);
	brd_loops_settle(b, 5000);
	brd_owner_free(b);
	brd_loops_close(b);
	brd_instance_close_parts(b);
	brd_decisions_close(b->decisions);
	brd_registry_fini(b);
	brd_compositions_fini(b);
	brd_map_fini(&b->active);
	brd_map_fini(&b->keys);
	brd_map_fini(&b->sessions);
	brd_hub_free(b->hub);
	pthread_mutex_destroy(&b->lock);
	brd_arena_fini(&b->arena);
	free(b);
}

void bread_stats(struct bread *b, struct bread_stats *ret)
{
	struct run_counts *c = &b->counts;
	struct store_stats s = { 0 };

	if (b->store)
		brd_store_stats(b->store, &s);
	*ret = (struct bread_stats){
		.runs_started = c->started,
		.runs_completed = c->completed,
		.runs_failed = c->failed,
		.runs_cancelled = c->cancelled,
		.runs_suspended = c->suspended,
		.crumbs = c->crumbs,
		.tool_calls = c->tool_calls,
		.tool_errors = c->tool_errors,
		.model_calls = c->model_calls,
		.model_errors = c->model_errors,
		.input_tokens = c->input_tokens,
		.output_tokens = c->output_tokens,
		.runs_active = brd_active_count(b),
		.topics = brd_hub_topics(b->hub),
		.store_commits = s.commits,
		.store_reads = s.reads,
		.store_failures = s.failures,
		.store_commit_us = s.commit_us,
		.store_read_us = s.read_us,
		.store_ok = b->store && brd_store_healthy(b->store),
		.draining = b->env.draining,
	};
}

struct hub *brd_instance_hub(const struct bread *b)
{
	return b->hub;
}

struct bread_store *brd_instance_store(const struct bread *b)
{
	return b->store;
}

bool brd_instance_filtered(const struct bread *b, struct bread_str crumb_type)
{
	enum crumb_type t = brd_crumb_type(crumb_type);

	return t < CRUMB_TYPES && b->env.filtered[t];
}
