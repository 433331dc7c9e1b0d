/* SPDX-License-Identifier: MIT */
/* Matching: an item, then what follows it, and back. The steps are counted, and every some hundred
 * the limits of the script are looked at. */
#include "script/pattern.h"

#define STEPS 1000 /* between two looks */

static const char *match(struct matcher *m, const struct item *it, const char *s);

static void count(struct matcher *m)
{
	if (++m->steps % STEPS == 0)
		brd_script_spend(m->L, STEPS);
}

static bool single(struct matcher *m, const struct item *it, const char *s)
{
	count(m);
	return s < m->end && brd_pattern_has(it->set, (unsigned char)*s);
}

/* As many as there are, then fewer and fewer. */
static const char *match_most(struct matcher *m, const struct item *it, const char *s, size_t least)
{
	size_t n = 0;

	while (single(m, it, s + n))
		n++;
	for (;; n--) {
		const char *end = n >= least ? match(m, it + 1, s + n) : NULL;

		if (end || n <= least)
			return end;
		count(m);
	}
}

/* As few as will do. */
static const char *match_least(struct matcher *m, const struct item *it, const char *s)
{
	for (;; s++) {
		const char *end = match(m, it + 1, s);

		if (end)
			return end;
		if (!single(m, it, s))
			return NULL;
	}
}

static const char *match_set(struct matcher *m, const struct item *it, const char *s)
{
	const char *end;

	switch (it->repeat) {
	case '*':
		return match_most(m, it, s, 0);
	case '+':
		return match_most(m, it, s, 1);
	case '-':
		return match_least(m, it, s);
	case '?':
		end = single(m, it, s) ? match(m, it + 1, s + 1) : NULL;
		return end ? end : match(m, it + 1, s);
	default:
		return single(m, it, s) ? match(m, it + 1, s + 1) : NULL;
	}
}

/* Sets a capture for what follows, and takes it back when that does not match. */
static const char *match_capture(
	struct matcher *m, const struct item *it, const char *s, struct capture now)
{
	struct capture before = m->captures[it->a];
	const char *end;

	m->captures[it->a] = now;
	end = match(m, it + 1, s);
	if (!end)
		m->captures[it->a] = before;
	return end;
}

static const char *match_back(struct matcher *m, const struct item *it, const char *s)
{
	struct capture c = m->captures[it->a];
	size_t n = c.n == CAPTURE_POSITION ? 0 : c.n;

	if (n > 64)
		brd_script_spend(m->L, (int64_t)(n / 64));
	if ((size_t)(m->end - s) < n || memcmp(c.at, s, n))
		return NULL;
	return match(m, it + 1, s + n);
}

static const char *match_balance(struct matcher *m, const struct item *it, const char *s)
{
	size_t depth = 0;

	if (s == m->end || (unsigned char)*s != it->a)
		return NULL;
	for (; s < m->end; s++) {
		count(m);
		if ((unsigned char)*s == it->b && depth) {
			if (--depth == 0)
				return match(m, it + 1, s + 1);
		} else if ((unsigned char)*s == it->a) {
			depth++;
		}
	}
	return NULL;
}

static const char *match_frontier(struct matcher *m, const struct item *it, const char *s)
{
	unsigned char before = s > m->begin ? (unsigned char)s[-1] : 0;
	unsigned char here = s < m->end ? (unsigned char)*s : 0;

	return !brd_pattern_has(it->set, before) && brd_pattern_has(it->set, here)
		       ? match(m, it + 1, s)
		       : NULL;
}

static const char *match(struct matcher *m, const struct item *it, const char *s)
{
	struct capture *c = &m->captures[it->a % CAPTURES_MAX];

	count(m);
	switch (it->kind) {
	case ITEM_SET:
		return match_set(m, it, s);
	case ITEM_OPEN:
		return match_capture(m, it, s, (struct capture){ s, CAPTURE_OPEN });
	case ITEM_POSITION:
		return match_capture(m, it, s, (struct capture){ s, CAPTURE_POSITION });
	case ITEM_CLOSE:
		return match_capture(m, it, s, (struct capture){ c->at, (size_t)(s - c->at) });
	case ITEM_BACK:
		return match_back(m, it, s);
	case ITEM_BALANCE:
		return match_balance(m, it, s);
	case ITEM_FRONTIER:
		return match_frontier(m, it, s);
	case ITEM_TAIL:
		return s == m->end ? match(m, it + 1, s) : NULL;
	case ITEM_DONE:
		return s;
	}
	return NULL;
}

const char *brd_pattern_match(struct matcher *m, const char *s)
{
	return match(m, m->p->items, s);
}

const char *brd_pattern_search(struct matcher *m, const char **s)
{
	for (;; ++*s) {
		const char *end = match(m, m->p->items, *s);

		if (end || m->p->anchored || *s == m->end)
			return end;
	}
}
