/* SPDX-License-Identifier: MIT */
/* Runs that nodes start (child.c). */
#pragma once
#include "run/node.h"

struct child_spec {
	struct agent_def *def; /* one of them; a reference of it is taken */
	struct pipeline_def *pipeline;
	struct bread_str id;         /* empty: a new one */
	struct bread_str input;      /* JSON; empty: no value */
	struct bread_str session_id; /* empty: a fresh one */
	struct bread_str path; /* names between its parent's and its own; JSON texts with commas */
	enum visibility show;
};
/* Begins it in this turn's transaction. */
struct run *brd_run_child(struct node *at, const struct child_spec *s);
/* The run of that id that was read from the store, now below at; NULL: it has ended. */
struct run *brd_run_adopt(struct node *at, struct bread_str id, enum visibility show);
/* Why no child may be started there (contract C14): false, and *ret_error says so. */
bool brd_run_may_start(
	struct run *r, struct bread_str agent_id, struct arena *a, struct run_error *ret_error);
/* The agent as it runs from here, for that input; NULL: *ret_error says why not. A reference. */
struct agent_def *brd_child_agent(struct run *r, struct bread_str agent_id, const char *skill,
	struct bread_str input, struct arena *a, struct run_error *ret_error);

/* A node's hold on the run it started. */
struct child {
	struct run *run; /* NULL: none was started, or its end was taken */
	char id[UUID_MAX];
};
enum child_state { CHILD_NONE, CHILD_RUNS, CHILD_PARKED, CHILD_OK, CHILD_FAILED, CHILD_CANCELED };
enum child_state brd_child_state(const struct child *c);
/* {"runId":…} of a journal's line, as brd_child_found reads it. */
void brd_child_journal(const struct child *c, struct jsonw *w);
/* From the journal: the run of the store that goes on below n. */
void brd_child_found(struct node *n, struct child *c, struct jval data, enum visibility show);
