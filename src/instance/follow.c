/* SPDX-License-Identifier: MIT */
/* Following a run: the states of a follower, and what leads from one to the next.
 *
 *   OPENING   is the run known, is the place in its log?        row read
 *   READING   a page of the log is on its way                   page read
 *   PAGE      encoded rows wait to be taken
 *   LIVE      the cursor is asked
 *   PAUSED    a little later again: poll, or a commit that is under way
 *   DONE, FAILED
 *
 * The cursor is opened before the log is read (contract C2), except for a run
 * that had ended. A mark may be ahead of its commit by a moment; then ring and log do
 * not meet yet, and the log is asked again. */
#include "instance/follow.h"
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "crumb/crumb.h"
#include "instance/internal.h"
#include "instance/page.h"

#define FIRST_ROWS 32 /* of the first page: so that the first frame comes at once */
#define POLL_MS 1000
#define MEET_MS 10
#define CHANGE_MS 50 /* a run changes hands */
#define MISSES_MAX 5
/* numbers that a client may know before the store does: a run's two windows, or those of all runs
 * of a tree that are at work */
#define AHEAD 2
#define AHEAD_TREE 1024

enum phase { OPENING, READING, PAGE, LIVE, PAUSED, DONE, FAILED };

/* A question to the store. It outlives a follower that is freed meanwhile. */
struct question {
	struct bread_read read;
	struct follow *follow; /* NULL: nobody waits for the answer */
	char run_id[BREAD_RUN_ID_MAX];
};

struct follow {
	struct bread *bread;
	struct loop *loop;
	struct cursor cursor;
	struct question *question; /* on its way */
	struct timer timer;
	struct buf page;
	size_t page_at;
	int64_t after; /* the log was read up to here */
	int64_t head;  /* of a run that has ended */
	int64_t text, reasoning;
	const struct bread_framing *framing;
	void (*on_ready)(void *arg);
	void *arg;
	enum bread_code code;
	unsigned char phase, flags;
	bool own, until_idle;
	bool tree;            /* the log of the tree, which is the run's own if it is alone */
	bool known;           /* the run exists, the place is good */
	bool ended;           /* the store says so: head is its last number */
	bool unrowed;         /* only its crumbs are there (a log that others wrote) */
	bool asked;           /* a page was read */
	bool said;            /* something was taken */
	bool last;            /* the page is the last thing to be said */
	bool more;            /* the log has more than the page */
	bool hush;            /* its end is a suspension: no terminal crumb is said again */
	bool checking;        /* the row is read to know whether it waits, or was answered */
	bool dormant;         /* it was suspended when we came, and has not gone on since */
	unsigned char misses; /* times that the store had no row of it yet */
	char run_id[];
};

static struct bread_str run_id(const struct follow *f)
{
	return brd_str(f->run_id);
}

static void fail(struct follow *f, enum bread_code code)
{
	f->phase = FAILED;
	f->code = code;
}

/* ---- questions ---- */

static void on_answer(struct bread_op *op);

static void ask(struct follow *f, enum bread_read_kind kind, int64_t after, size_t limit)
{
	struct question *q = brd_alloc(sizeof(*q));

	brd_assert(!f->question);
	memcpy(q->run_id, f->run_id, strlen(f->run_id) + 1);
	q->follow = f;
	q->read.kind = kind;
	q->read.key = brd_str(q->run_id);
	q->read.after = after;
	q->read.limit = limit;
	q->read.max_bytes = PAGE_BYTES;
	bread_op_init(&q->read.op, f->loop, on_answer, q);
	f->question = q;
	brd_store_read(brd_instance_store(f->bread), &q->read);
}

static void ask_row(struct follow *f)
{
	ask(f, BREAD_READ_RUN, 0, 1);
}

static void ask_page(struct follow *f)
{
	f->phase = READING;
	ask(f, f->tree ? BREAD_READ_TREE_CRUMBS : BREAD_READ_CRUMBS, f->after,
		f->asked ? 0 : FIRST_ROWS);
}

static void on_pause_over(struct timer *t);

static void pause_for(struct follow *f, int64_t ms)
{
	f->phase = PAUSED;
	brd_timer_start(&f->timer, f->loop, ms, on_pause_over);
}

/* ---- the ring ---- */

static void on_cursor(struct cursor *c)
{
	struct follow *f = c->arg;

	if (brd_topic_head(c->topic) >= 0)
		f->dormant = false;
	if (!f->known)
		f->known = brd_topic_head(c->topic) >= f->after;
	if (f->phase == PAUSED && f->known && !f->question) {
		brd_timer_stop(&f->timer);
		f->phase = LIVE;
		/* what is had of a window is passed over in the log, or on the way from it */
		if (f->text || f->reasoning)
			ask_page(f);
	}
	if (f->phase == LIVE)
		f->on_ready(f->arg);
}

static void watch(struct follow *f)
{
	struct topic *t;

	if (f->cursor.topic)
		return;
	t = brd_topic_get(brd_instance_hub(f->bread), run_id(f), f->tree);
	brd_cursor_open(&f->cursor, t, f->framing, f->flags, f->loop, on_cursor, f);
	brd_topic_unref(t);
}

static struct page_spec page_spec(const struct follow *f)
{
	return (struct page_spec){
		.bread = f->bread,
		.framing = f->framing,
		.flags = f->flags,
		.tree = f->tree,
	};
}

/* ---- the end ---- */

static void say_failure(struct follow *f, const struct bread_failure *failure)
{
	struct page_spec spec = page_spec(f);

	f->last = true;
	f->phase = PAGE;
	brd_page_failure(&spec, failure, &f->page);
}

/* The run has ended and the log was taken to its end. */
static void finish(struct follow *f)
{
	struct bread_failure failure;

	f->phase = DONE;
	if (f->own && f->cursor.topic && brd_cursor_failure(&f->cursor, &failure)) {
		say_failure(f, &failure);
	} else if (!f->said && !f->own && !f->hush && f->head > 0) {
		f->last = true;
		f->after = f->head - 1;
		ask_page(f);
	}
}

/* Nobody publishes here. One that waits for its end looks at the row: an answer may have come when
 * the run was just put aside, and then it goes on. */
static void idle(struct follow *f)
{
	struct topic *t = f->cursor.topic;
	struct bread_failure failure;

	if (!(f->own || f->until_idle) || !t || !brd_topic_begun(t) || f->dormant) {
		pause_for(f, POLL_MS);
	} else if (f->bread->env.draining || brd_cursor_failure(&f->cursor, &failure)) {
		finish(f);
	} else {
		f->checking = true;
		f->phase = READING;
		ask_row(f);
	}
}

static void on_checked(struct follow *f, const struct bread_read *read)
{
	const struct bread_run_row *row = read->runs;

	f->checking = false;
	if (!read->count || (row->status == BREAD_RUN_SUSPENDED && !row->wake))
		finish(f);
	else
		pause_for(f, CHANGE_MS);
}

/* ---- from the log into the ring ---- */

static enum cursor_state seek(struct follow *f)
{
	enum cursor_state state;

	if (!f->text && !f->reasoning)
		return brd_cursor_seek(&f->cursor, f->after);
	state = brd_cursor_seek_exact(&f->cursor, f->after, f->text, f->reasoning);
	if (state == CURSOR_LIVE)
		f->text = f->reasoning = 0; /* passed over: a later page is whole */
	return state;
}

static void on_state(struct follow *f, enum cursor_state state)
{
	f->phase = LIVE;
	if (state == CURSOR_ENDED) {
		f->head = f->after;
		finish(f);
	} else if (state == CURSOR_IDLE) {
		idle(f);
	} else if (state == CURSOR_BEHIND) {
		pause_for(f, MEET_MS);
	}
}

/* The log has no more at the moment. */
static void on_log_end(struct follow *f)
{
	if (f->last) {
		f->phase = DONE;
	} else if (f->unrowed && !f->known) {
		fail(f, BREAD_E_NOT_FOUND);
	} else if (f->unrowed || (f->ended && f->after >= f->head)) {
		finish(f);
	} else {
		watch(f);
		on_state(f, seek(f));
	}
}

/* ---- answers ---- */

/* A run whose first commit is under way has a topic; a log that others wrote has crumbs. */
static void on_no_row(struct follow *f)
{
	f->unrowed = !f->known && !f->cursor.topic;
	if (f->unrowed)
		ask_page(f);
	else if (++f->misses > MISSES_MAX)
		fail(f, BREAD_E_NOT_FOUND);
	else
		pause_for(f, POLL_MS);
}

static int64_t head_of(const struct follow *f, const struct bread_run_row *row)
{
	return f->tree ? row->tree_head : row->head;
}

/* The highest number that a client may have. */
static int64_t highest(const struct follow *f, const struct bread_run_row *row)
{
	int64_t head = head_of(f, row);

	if (brd_run_ended(row->status))
		return head;
	return head + (f->tree && row->status == BREAD_RUN_RUNNING ? AHEAD_TREE : AHEAD);
}

/* For its own caller only if something was said since: else it is yet to go on. */
static bool suspended_after_all(const struct follow *f, const struct bread_run_row *row)
{
	return row->status == BREAD_RUN_SUSPENDED && !row->wake &&
	       (f->own ? f->after < head_of(f, row) : f->until_idle);
}

static void on_row(struct follow *f, const struct bread_read *read)
{
	const struct bread_run_row *row = read->runs;
	int64_t live, head;

	if (read->count == 0) {
		on_no_row(f);
		return;
	}
	f->tree = f->tree && row->composed;
	live = f->cursor.topic ? brd_topic_head(f->cursor.topic) : -1;
	head = head_of(f, row);
	f->ended = brd_run_ended(row->status);
	f->head = head;
	if (!f->known && f->after > highest(f, row) && f->after > live) {
		fail(f, BREAD_E_INVALID);
		return;
	}
	f->known = true;
	if (!f->ended)
		watch(f);
	if (suspended_after_all(f, row))
		f->ended = f->hush = true;
	if (f->after < head || f->ended || !f->asked)
		ask_page(f);
	else
		on_state(f, seek(f));
}

static void on_page(struct follow *f, const struct bread_read *read)
{
	struct page_spec spec = page_spec(f);

	spec.first = !f->asked && !f->last;
	spec.after = f->after;
	spec.text = f->text;
	spec.reasoning = f->reasoning;
	if (read->count) {
		brd_page_rows(&spec, run_id(f), read->crumbs, read->count, &f->page);
		f->after = spec.after;
		f->text = spec.text;
		f->reasoning = spec.reasoning;
		f->known = true;
		if (spec.terminal) {
			f->ended = true;
			f->head = f->after;
		}
	}
	f->asked = true;
	f->more = read->more;
	f->phase = PAGE;
}

static void on_answer(struct bread_op *op)
{
	struct question *q = op->arg;
	struct follow *f = q->follow;

	if (f) {
		f->question = NULL;
		if (op->code != BREAD_OK && f->known)
			pause_for(f, POLL_MS); /* the store may come back */
		else if (op->code != BREAD_OK)
			fail(f, op->code);
		else if (f->checking)
			on_checked(f, &q->read);
		else if (q->read.kind == BREAD_READ_RUN)
			on_row(f, &q->read);
		else
			on_page(f, &q->read);
	}
	bread_read_fini(&q->read);
	free(q);
	if (f && !f->question)
		f->on_ready(f->arg);
}

static void on_pause_over(struct timer *t)
{
	struct follow *f = brd_list_of(t, struct follow, timer);

	f->phase = READING;
	if (!f->question)
		ask_row(f);
}

/* ---- taking ---- */

static void after_page(struct follow *f)
{
	brd_buf_fini(&f->page);
	f->page_at = 0;
	if (f->more && !f->last)
		ask_page(f);
	else
		on_log_end(f);
}

/* One step towards bytes. false: there is nothing to do but to wait. */
static bool step(struct follow *f, struct iovec *ret)
{
	enum cursor_state state;

	switch (f->phase) {
	case PAGE:
		*ret = (struct iovec){ f->page.data + f->page_at, f->page.len - f->page_at };
		if (ret->iov_len == 0)
			after_page(f);
		return true;
	case LIVE:
		state = brd_cursor_peek(&f->cursor, ret);
		if (ret->iov_len)
			return true;
		f->after = f->cursor.after;
		if (state == CURSOR_BEHIND)
			ask_page(f);
		else
			on_state(f, state);
		return f->phase != LIVE;
	default:
		return false;
	}
}

enum follow_state brd_follow_peek(struct follow *f, struct iovec *ret)
{
	*ret = (struct iovec){ 0 };
	while (ret->iov_len == 0 && step(f, ret))
		;
	if (ret->iov_len)
		return FOLLOW_BYTES;
	return f->phase == DONE ? FOLLOW_END : f->phase == FAILED ? FOLLOW_FAILED : FOLLOW_WAIT;
}

void brd_follow_advance(struct follow *f, size_t n)
{
	f->said = true;
	if (f->phase == PAGE)
		f->page_at += n;
	else
		brd_cursor_advance(&f->cursor, n);
}

/* ---- life ---- */

/* A run that is live here is known without a question. Whether a root is alone, too. */
static void open_live(struct follow *f)
{
	int composed = f->tree ? brd_active_composed(f->bread, run_id(f)) : 0;
	struct topic *t;
	int64_t head;
	bool t_begun;

	if (composed < 0) {
		f->known = f->own;
		ask_row(f);
		return;
	}
	f->tree = composed;
	t = brd_topic_peek(brd_instance_hub(f->bread), run_id(f), f->tree);
	head = t ? brd_topic_head(t) : -1;
	if (t || f->own)
		watch(f);
	t_begun = t && brd_topic_begun(t);
	brd_topic_unref(t);
	f->known = f->own || head >= f->after;
	f->dormant = f->own && t_begun && head < 0;
	if (f->own || head == f->after)
		on_state(f, seek(f));
	else if (f->known)
		ask_page(f);
	else
		ask_row(f);
}

struct follow *brd_follow_new(struct bread *b, struct loop *l, struct bread_str id,
	const struct follow_spec *spec, void (*on_ready)(void *arg), void *arg)
{
	struct follow *f = brd_alloc(sizeof(*f) + id.n + 1);

	brd_assert(id.n < BREAD_RUN_ID_MAX);
	memcpy(f->run_id, id.p, id.n);
	f->bread = b;
	f->loop = l;
	f->framing = spec->framing;
	f->flags = (unsigned char)spec->flags;
	f->after = spec->after;
	f->text = spec->text;
	f->reasoning = spec->reasoning;
	f->own = spec->own;
	f->until_idle = spec->until_idle;
	f->tree = spec->tree;
	f->on_ready = on_ready;
	f->arg = arg;
	brd_buf_init(&f->page, BUF_NO_LIMIT);
	open_live(f);
	return f;
}

void brd_follow_free(struct follow *f)
{
	if (!f)
		return;
	if (f->question)
		f->question->follow = NULL;
	brd_timer_stop(&f->timer);
	brd_cursor_close(&f->cursor);
	brd_buf_fini(&f->page);
	free(f);
}

bool brd_follow_known(const struct follow *f)
{
	return f->known;
}

void brd_follow_error(const struct follow *f, struct bread_err *ret)
{
	switch (f->code) {
	case BREAD_E_NOT_FOUND:
		brd_fail_as(
			ret, f->code, "RUN_NOT_FOUND", "run", "Run not found: \"%s\"", f->run_id);
		break;
	case BREAD_E_INVALID:
		brd_fail_as(ret, f->code, "INVALID_CURSOR", "run",
			"Invalid Last-Event-ID / after: \"%lld\"", (long long)f->after);
		break;
	default:
		brd_fail_as(ret, f->code, "STORE_FAILED", "store",
			"the store gave no answer; try again in a moment");
	}
}
