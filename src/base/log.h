/* SPDX-License-Identifier: MIT */
/* What an operator reads.
 *
 * log_warn("store.slow", "append took %d ms for run %s", ms, id): the first
 * argument is a stable id in dots, for filters, tests and alerts; the second a
 * sentence. error: a person must act. warn. info: a few lines a minute. debug:
 * off. trace: each step of each node. Prompts, arguments and results are never
 * logged below trace, keys never (contract C28). The same id is written at most
 * ten times a minute at warn and info; the count of what was left out follows.
 *
 * One sink for the process: the embedder's function, or lines on standard error,
 * as text or as JSON objects. Thread-safe. */
#pragma once
#include <stdbool.h>
#include "bread/types.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

struct log_record {
	enum log_level level;
	const char *id;
	struct bread_str text;
	int64_t wall_ms;
};

void brd_log_level(enum log_level max); /* what is written; LOG_INFO at first */
bool brd_log_level_named(struct bread_str name, enum log_level *ret); /* false: there is none */
void brd_log_json(bool on); /* lines as JSON objects: ts, level, id, msg */
/* NULL: stderr. sink may be called from several threads at once, and must not set the sink. */
void brd_log_sink(void (*sink)(const struct log_record *r, void *arg), void *arg);
bool brd_log_on(enum log_level level); /* a record of that level would be written */
__attribute__((format(printf, 3, 4))) void brd_log(
	enum log_level level, const char *id, const char *fmt, ...);

#define log_error(id, ...) brd_log(LOG_ERROR, id, __VA_ARGS__)
#define log_warn(id, ...) brd_log(LOG_WARN, id, __VA_ARGS__)
#define log_info(id, ...) brd_log(LOG_INFO, id, __VA_ARGS__)
#define log_debug(id, ...) \
	do { \
		if (brd_log_on(LOG_DEBUG)) \
			brd_log(LOG_DEBUG, id, __VA_ARGS__); \
	} while (0)
#define log_trace(id, ...) \
	do { \
		if (brd_log_on(LOG_TRACE)) \
			brd_log(LOG_TRACE, id, __VA_ARGS__); \
	} while (0)
