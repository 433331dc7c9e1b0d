/* SPDX-License-Identifier: MIT */
/* What an operator reads: levels, a limit for each id, and one sink.
 *
 * Errors are always written, and so are debug and trace, which somebody turned
 * on to see them all. Warnings and infos count against their id: ten in a window
 * of a minute, then none, and after the window one line that says how many were
 * left out (with the first record, of whichever id, that comes then). Ids are
 * kept by their hash in a table of fixed size; one that finds no place in it is
 * not limited.
 *
 * The lock of the sink is held for reading while it runs: it may log, and may be
 * called from several threads at once, but it must not set the sink. */
#include "base/log.h"
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/jsonw.h"
#include "base/str.h"

#define WINDOW_MS 60000
#define WINDOW_RECORDS 10
#define PLACES 512       /* a power of two; several times the ids we have */
#define TEXT_MOST 16384u /* bytes of a record; the rest is cut */
#define ID_MOST 64       /* bytes of an id that the line about the left out shows */

struct window {
	uint64_t hash; /* of the id; 0: a free place */
	int64_t until;
	unsigned records;
	unsigned left_out;
	enum log_level level;
	char id[ID_MOST];
};

static atomic_int level_most = LOG_INFO;
static atomic_bool as_json;

static struct {
	pthread_rwlock_t lock;
	void (*sink)(const struct log_record *r, void *arg);
	void *arg;
} out = { .lock = PTHREAD_RWLOCK_INITIALIZER };

static struct {
	pthread_mutex_t lock;
	int64_t sweep_at; /* when the first window with left-out records ends; 0: none has any */
	struct window windows[PLACES];
} limits = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *const level_names[] = { "error", "warn", "info", "debug", "trace" };

void brd_log_level(enum log_level max)
{
	atomic_store(&level_most, (int)max);
}

bool brd_log_level_named(struct bread_str name, enum log_level *ret)
{
	for (unsigned i = 0; i < sizeof(level_names) / sizeof(*level_names); i++) {
		if (brd_str_ieq(name, brd_str(level_names[i]))) {
			*ret = (enum log_level)i;
			return true;
		}
	}
	return false;
}

void brd_log_json(bool on)
{
	atomic_store(&as_json, on);
}

void brd_log_sink(void (*sink)(const struct log_record *r, void *arg), void *arg)
{
	pthread_rwlock_wrlock(&out.lock);
	out.sink = sink;
	out.arg = arg;
	pthread_rwlock_unlock(&out.lock);
}

bool brd_log_on(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&level_most, memory_order_relaxed);
}

static void add_stamp(struct buf *b, int64_t wall_ms)
{
	time_t secs = (time_t)(wall_ms / 1000);
	struct tm t;
	char text[32];

	gmtime_r(&secs, &t);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &t);
	brd_buf_addf(b, "%s.%03dZ", text, (int)(wall_ms % 1000));
}

/* A record is one line, whatever a peer put into its text. */
static void add_visible(struct buf *b, struct bread_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '\n')
			brd_buf_addz(b, "\\n");
		else if (c < 0x20 || c == 0x7f)
			brd_buf_addf(b, "\\x%02x", c);
		else
			brd_buf_addc(b, s.p[i]);
	}
}

static void add_text_line(struct buf *b, const struct log_record *r)
{
	add_stamp(b, r->wall_ms);
	brd_buf_addf(b, " %-5s %s: ", level_names[r->level], r->id);
	add_visible(b, r->text);
	brd_buf_addc(b, '\n');
}

static void add_json_line(struct buf *b, const struct log_record *r)
{
	struct jsonw w = brd_jsonw(b);

	brd_jw_obj(&w);
	brd_jw_key(&w, "ts");
	brd_buf_addc(b, '"');
	add_stamp(b, r->wall_ms);
	brd_buf_addc(b, '"');
	w.comma = true;
	brd_jw_kstr(&w, "level", brd_str(level_names[r->level]));
	brd_jw_kstr(&w, "id", brd_str(r->id));
	brd_jw_kstr(&w, "msg", r->text);
	brd_jw_end_obj(&w);
	brd_buf_addc(b, '\n');
}

/* One write a line, so that lines of several threads do not mix. */
static void to_stderr(const struct log_record *r)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	if (atomic_load(&as_json))
		add_json_line(&b, r);
	else
		add_text_line(&b, r);
	for (size_t at = 0; at < b.len;) {
		ssize_t n = write(STDERR_FILENO, b.data + at, b.len - at);

		if (n < 0 && errno != EINTR)
			break; /* nobody is left who could be told */
		if (n > 0)
			at += (size_t)n;
	}
	brd_buf_fini(&b);
}

static void emit(const struct log_record *r)
{
	pthread_rwlock_rdlock(&out.lock);
	if (out.sink)
		out.sink(r, out.arg);
	else
		to_stderr(r);
	pthread_rwlock_unlock(&out.lock);
}

/* The id's place, new or old; NULL when the table is full. */
static struct window *window_of(const char *id)
{
	uint64_t hash = brd_str_hash(brd_str(id)) | 1;

	for (size_t n = 0; n < PLACES; n++) {
		struct window *w = &limits.windows[((hash >> 1) + n) % PLACES];

		if (w->hash == hash)
			return w;
		if (w->hash == 0) {
			w->hash = hash;
			snprintf(w->id, sizeof(w->id), "%s", id);
			return w;
		}
	}
	return NULL;
}

/* Counts a record; false: it is one too many. */
static bool admit(enum log_level level, const char *id, int64_t now)
{
	struct window *w = window_of(id);

	if (!w)
		return true;
	if (now >= w->until) {
		w->until = now + WINDOW_MS;
		w->records = 0;
	}
	if (w->records < WINDOW_RECORDS) {
		w->records++;
		return true;
	}
	w->left_out++;
	w->level = level;
	if (limits.sweep_at == 0 || w->until < limits.sweep_at)
		limits.sweep_at = w->until;
	return false;
}

/* Takes one window that has ended with records left out; false: there is none
 * (more), and sweep_at is set for the next time. */
static bool take_ended(int64_t now, struct window *ret)
{
	if (limits.sweep_at == 0 || now < limits.sweep_at)
		return false;
	limits.sweep_at = 0;
	for (size_t i = 0; i < PLACES; i++) {
		struct window *w = &limits.windows[i];

		if (w->left_out == 0)
			continue;
		if (now >= w->until) {
			*ret = *w;
			w->left_out = 0;
			limits.sweep_at = now; /* there may be another */
			return true;
		}
		if (limits.sweep_at == 0 || w->until < limits.sweep_at)
			limits.sweep_at = w->until;
	}
	return false;
}

static void tell_left_out(int64_t now)
{
	struct window ended;
	bool more;

	for (;;) {
		char text[64];

		pthread_mutex_lock(&limits.lock);
		more = take_ended(now, &ended);
		pthread_mutex_unlock(&limits.lock);
		if (!more)
			return;
		snprintf(text, sizeof(text), "%u more within a minute were left out",
			ended.left_out);
		emit(&(struct log_record){
			ended.level, ended.id, brd_str(text), brd_clock_wall() });
	}
}

static bool limited(enum log_level level, const char *id)
{
	int64_t now = brd_clock_mono();
	bool ok;

	tell_left_out(now);
	if (level != LOG_WARN && level != LOG_INFO)
		return false;
	pthread_mutex_lock(&limits.lock);
	ok = admit(level, id, now);
	pthread_mutex_unlock(&limits.lock);
	return !ok;
}

void brd_log(enum log_level level, const char *id, const char *fmt, ...)
{
	char text[1024];
	char *all = text;
	va_list ap;
	int n;

	if (!brd_log_on(level) || limited(level, id))
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(text)) {
		va_start(ap, fmt);
		n = vasprintf(&all, fmt, ap);
		va_end(ap);
	}
	if (n < 0)
		return;
	struct bread_str s = { all, brd_utf8_cut((struct bread_str){ all, (size_t)n }, TEXT_MOST) };
	emit(&(struct log_record){ level, id, s, brd_clock_wall() });
	if (all != text)
		free(all);
}
