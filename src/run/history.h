/* SPDX-License-Identifier: MIT */
/* The session's messages: what a run finds there, and what it adds. */
#pragma once
#include "run/run.h"

struct model_node;
struct tool_node;

/* Content of the user message for an input: a string as it is, else its JSON text as a string. */
void brd_history_input(struct buf *out, struct bread_str input);
int brd_history_load(struct run *r, const struct bread_read *messages, struct bread_err *err);
/* history_repair.c: pairs each call with a result, for the model; store: for the session, too, with
 * the messages that brd_history_write_repairs adds to this turn's transaction. rows: where the
 * messages are from. */
void brd_history_repair(struct run *r, const struct bread_message_row *const *rows, bool store);
void brd_history_write_repairs(struct run *r);
void brd_history_own_input(struct run *r); /* appends this run's user message */
/* The conversation is known; else it is being read, and n is woken when it is. */
bool brd_history_ready(struct node *n);
/* A result that came after its turn was stored: a message of its own. */
void brd_history_late(struct run *r, const struct tool_node *t);
void brd_history_request(struct run *r, const struct model_node *m, struct bread_model_request *req,
	struct arena *a);
/* Stores this run's turns that are not in the session yet; when it has ended, what they said is
 * forgotten. */
enum history_mode {
	HISTORY_ENDED,
	HISTORY_CANCELLED, /* what was said so far, and an error for each missing result */
	HISTORY_SUSPENDED, /* results that are missing come later */
};
void brd_history_store(struct run *r, enum history_mode mode);
/* A hook answered instead of a model: JSON, stored as a text. */
void brd_history_answer(struct run *r, struct bread_str json);
void brd_history_journal(struct run *r); /* so that a later owner knows what the session has */
