/* SPDX-License-Identifier: MIT */
/* The table of routes: patterns of segments, the first that fits wins.
 *
 * Paths come percent-decoded. A trailing slash is a segment of its own and fits
 * nothing, as the original has it. HEAD finds GET's route. */
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "server/internal.h"

static void parse_pattern(struct route *r)
{
	struct bread_str rest = brd_sub(r->pattern, 1, r->pattern.n - 1);

	while (rest.p) {
		struct segment_pattern *s = &r->segments[r->count];

		brd_assert(r->count < SEGMENTS_MAX);
		s->text = brd_str_split(&rest, '/');
		s->param = s->text.n && s->text.p[0] == ':';
		if (s->param)
			s->text = brd_sub(s->text, 1, s->text.n - 1);
		r->count++;
	}
}

void brd_route_add(struct bread_server *s, const char *method, const char *pattern,
	bread_handler *fn, void *arg)
{
	struct route *r;

	brd_assert(pattern[0] == '/');
	if (s->route_count == s->route_room) {
		s->route_room = s->route_room ? 2 * s->route_room : 32;
		s->routes = brd_realloc(s->routes, s->route_room * sizeof(*r));
	}
	r = &s->routes[s->route_count++];
	*r = (struct route){ .method = brd_arena_copy(&s->arena, brd_str(method)),
		.pattern = brd_arena_copy(&s->arena, brd_str(pattern)),
		.fn = fn,
		.arg = arg };
	parse_pattern(r);
}

static bool fits(const struct route *r, struct bread_str path, struct bread_str params[PARAMS_MAX])
{
	size_t n = 0;

	path = brd_sub(path, 1, path.n - 1);
	for (size_t i = 0; i < r->count; i++) {
		struct bread_str part;

		if (!path.p)
			return false;
		part = brd_str_split(&path, '/');
		if (r->segments[i].param && part.n && n < PARAMS_MAX)
			params[n++] = part;
		else if (r->segments[i].param || !brd_str_eq(part, r->segments[i].text))
			return false;
	}
	return !path.p;
}

const struct route *brd_route_find(const struct bread_server *s, struct bread_str method,
	struct bread_str path, struct bread_str params[PARAMS_MAX])
{
	bool head = brd_str_is(method, "HEAD");

	if (!path.n || path.p[0] != '/')
		return NULL;
	for (size_t i = 0; i < s->route_count; i++) {
		const struct route *r = &s->routes[i];

		if (!brd_str_eq(r->method, method) && !(head && brd_str_is(r->method, "GET")))
			continue;
		if (fits(r, path, params))
			return r;
	}
	return NULL;
}
