/* SPDX-License-Identifier: MIT */
/* Making canonical events: what every family of providers needs on its way from
 * its own stream to ours.
 *
 * A family opens blocks, adds to them and ends them, in any interleaving; here
 * they get their indexes (0, 1, 2 … in the order in which they become visible),
 * text is made whole UTF-8 (half a character or half a surrogate pair waits for
 * its other half), calls wait for their id and name, START is held back until
 * something follows it, and there is one terminal event, last. After it, and
 * after a limit was passed, calls do nothing; so a parser need not look. */
#pragma once
#include <stdbool.h>
#include "base/buf.h"
#include "base/json.h"
#include "bread/ext/model.h"

#define MSTREAM_TEXT_MAX ((size_t)64 * 1024 * 1024) /* of all blocks together */
#define MSTREAM_BLOCKS_MAX 4096

struct fault { /* why a call failed */
	enum bread_model_fault kind;
	bool retryable;
	bool finished; /* the provider itself ended: blocks are ended first */
	int status;
	int64_t retry_after_ms; /* -1: not said */
	struct bread_str text;
};

struct mblock;

struct mstream {
	void (*emit)(void *arg, const struct bread_event *ev);
	void *arg;
	struct mblock *blocks;
	size_t count, cap;
	unsigned next_index;
	size_t text_len;
	struct bread_usage usage;
	double log_likely; /* of the text so far */
	bool likely_known;
	struct buf response_id, response_model;
	bool started; /* START was emitted */
	bool touched; /* so was something that follows it: no silent retry any more */
	bool ended;
	bool has_calls;
	uint64_t alive; /* counts what the provider said, pings aside: for the watchdog */
};

void brd_mstream_init(
	struct mstream *s, void (*emit)(void *arg, const struct bread_event *ev), void *arg);
void brd_mstream_fini(struct mstream *s);
void brd_mstream_reset(struct mstream *s); /* as new: for another attempt */

/* kind: BREAD_PART_TEXT, _REASONING or _CALL. Returns a handle; -1: ended, or too many blocks. */
int brd_mstream_open(struct mstream *s, enum bread_part_kind kind);
void brd_mstream_add(struct mstream *s, int block, struct bread_str text);
/* For providers that name no blocks: *block, -1 at first, is opened by its first text. */
void brd_mstream_add_to(
	struct mstream *s, int *block, enum bread_part_kind kind, struct bread_str text);
/* id, name: empty while they are not known. */
void brd_mstream_call(struct mstream *s, int block, struct bread_str id, struct bread_str name);
/* The log-probabilities of pieces of text: a list of objects with a "logprob". */
void brd_mstream_likely(struct mstream *s, struct jval tokens);
/* more is appended to its signature. */
void brd_mstream_sign(struct mstream *s, int block, struct bread_str more);
void brd_mstream_redact(struct mstream *s, int block, struct bread_str payload);
void brd_mstream_end(struct mstream *s, int block); /* -1, an ended one: nothing */
void brd_mstream_file(struct mstream *s, struct bread_str media_type, struct bread_str base64);

/* A call at once, without a delta: the model did not stream it. */
void brd_mstream_call_whole(
	struct mstream *s, struct bread_str id, struct bread_str name, struct bread_str args);

struct bread_str brd_mstream_call_id(const struct mstream *s, int block); /* empty: not known */

/* Ends open blocks, then the stream. STOP becomes TOOL_USE when there were calls. */
void brd_mstream_done(struct mstream *s, enum bread_stop reason);
/* The same, but open calls are withdrawn instead of ended. */
void brd_mstream_done_without_calls(struct mstream *s, enum bread_stop reason);
void brd_mstream_fail(struct mstream *s, const struct fault *f);
