/* SPDX-License-Identifier: MIT */
/* See permission.h. */
#include "run/permission.h"
#include <stdio.h>
#include "base/err.h"
#include "base/err_context.h"
#include "base/jsonw.h"

#define SELECTOR_SHOWN 128

__attribute__((format(printf, 3, 4))) static int refuse(
	struct bread_err *err, struct bread_str text, const char *fmt, ...)
{
	char why[256];
	struct err_context ctx;
	va_list ap;
	int n = (int)brd_utf8_cut(text, SELECTOR_SHOWN);

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	brd_fail_as(err, BREAD_E_INVALID, "INVALID_PERMISSION", "permissions",
		"invalid permission selector \"%.*s\": %s", n, text.p ? text.p : "", why);
	brd_jw_kstr(brd_err_context(&ctx), "selector", brd_sub(text, 0, (size_t)n));
	brd_err_context_end(&ctx, err);
	return BREAD_E_INVALID;
}

static bool word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* * or a lower-case letter, then letters, digits, _ and *. */
static bool segment_ok(struct bread_str s)
{
	if (!s.n || !(s.p[0] == '*' || (s.p[0] >= 'a' && s.p[0] <= 'z')))
		return false;
	for (size_t i = 1; i < s.n; i++)
		if (!word(s.p[i]) && s.p[i] != '*')
			return false;
	return true;
}

static bool has_sub(struct bread_str scope)
{
	return brd_str_is(scope, "skill") || brd_str_is(scope, "plugin");
}

static bool scope_known(struct bread_str scope)
{
	return brd_str_is(scope, "tool") || brd_str_is(scope, "task") ||
	       brd_str_is(scope, "core") || has_sub(scope);
}

static struct bread_str shown(struct bread_str s)
{
	return brd_sub(s, 0, brd_utf8_cut(s, 64));
}

static int check_segment(
	struct bread_str text, struct bread_str part, const char *which, struct bread_err *err)
{
	if (segment_ok(part))
		return 0;
	part = shown(part);
	return refuse(err, text, "invalid %s segment \"%.*s\"", which, BRD_ARG(part));
}

static int parse_sub(
	struct selector *ret, struct bread_str text, struct bread_str body, struct bread_err *err)
{
	struct bread_str rest = body, shown_scope = ret->scope;
	int r;

	if (brd_str_is(body, "*")) {
		ret->sub = ret->name = body;
		return 0;
	}
	ret->sub = brd_str_split(&rest, '/');
	if (!rest.p)
		return refuse(err, text,
			"scope \"%.*s\" requires a sub-id (e.g. \"%.*s:server/name\"), or "
			"\"%.*s:*\"",
			BRD_ARG(shown_scope), BRD_ARG(shown_scope), BRD_ARG(shown_scope));
	if (memchr(rest.p, '/', rest.n))
		return refuse(err, text, "selectors take at most one \"/\"");
	ret->name = rest;
	r = check_segment(text, ret->sub, "sub", err);
	return r ? r : check_segment(text, ret->name, "name", err);
}

static int parse_plain(
	struct selector *ret, struct bread_str text, struct bread_str body, struct bread_err *err)
{
	if (memchr(body.p, '/', body.n))
		return refuse(err, text, "scope \"%.*s\" does not take a sub-id; use \"%.*s:name\"",
			BRD_ARG(ret->scope), BRD_ARG(ret->scope));
	ret->name = body;
	return check_segment(text, body, "name", err);
}

int brd_selector_parse(struct selector *ret, struct bread_str text, struct bread_err *err)
{
	struct bread_str body = text;

	memset(ret, 0, sizeof(*ret));
	ret->scope = brd_str_split(&body, ':');
	if (!body.p)
		return refuse(err, text,
			"selectors must be scoped (e.g. \"tool:name\"), bare \"*\" is not allowed");
	if (brd_str_is(ret->scope, "human"))
		return refuse(err, text,
			"\"human:\" tools are exempt from permissions and may not appear in a "
			"selector");
	if (!scope_known(ret->scope)) {
		struct bread_str scope = shown(ret->scope);

		return refuse(err, text,
			"unknown scope \"%.*s\" (expected one of: tool, skill, task, plugin, core, "
			"human)",
			BRD_ARG(scope));
	}
	if (!body.n)
		return refuse(err, text, "missing selector body after scope");
	return has_sub(ret->scope) ? parse_sub(ret, text, body, err)
				   : parse_plain(ret, text, body, err);
}

/* Each * takes as little as it can; a fault behind the last one makes that take one more. */
static bool glob(struct bread_str pattern, struct bread_str s)
{
	size_t p = 0, i = 0, star = SIZE_MAX, from = 0;

	while (i < s.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			from = i;
		} else if (p < pattern.n && pattern.p[p] == s.p[i]) {
			p++;
			i++;
		} else if (star != SIZE_MAX && word(s.p[from])) {
			p = star + 1;
			i = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

bool brd_selector_matches(const struct selector *s, struct bread_str id)
{
	struct bread_str name = id, scope = brd_str_split(&name, ':'), sub = { 0 };

	if (!brd_str_eq(scope, s->scope))
		return false;
	if (has_sub(scope)) {
		sub = brd_str_split(&name, '/');
		if (!glob(s->sub, sub))
			return false;
	}
	return glob(s->name, name);
}

static int parse_list(struct selector **ret, size_t *ret_count, const struct conf_strs *texts,
	struct arena *a, struct bread_err *err)
{
	int r = 0;

	*ret = brd_arena_array(a, texts->n + 1, sizeof(**ret));
	for (size_t i = 0; !r && i < texts->n; i++)
		r = brd_selector_parse(&(*ret)[(*ret_count)++], brd_str(texts->v[i]), err);
	return r;
}

int brd_permissions_parse(struct permissions *ret, const struct conf_strs *allow,
	const struct conf_strs *ask, const struct conf_strs *deny, struct arena *a,
	struct bread_err *err)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	r = parse_list(&ret->allow, &ret->allow_count, allow, a, err);
	if (!r)
		r = parse_list(&ret->ask, &ret->ask_count, ask, a, err);
	return r ? r : parse_list(&ret->deny, &ret->deny_count, deny, a, err);
}

static bool any(const struct selector *list, size_t n, struct bread_str id)
{
	for (size_t i = 0; i < n; i++)
		if (brd_selector_matches(&list[i], id))
			return true;
	return false;
}

bool brd_permitted(const struct permissions *p, const char *id, bool *ret_gated)
{
	struct bread_str s = brd_str(id);
	bool asked;

	*ret_gated = false;
	if (!id)
		return true;
	asked = any(p->ask, p->ask_count, s);
	if (any(p->deny, p->deny_count, s))
		return false;
	if (!asked && p->allow_count && !any(p->allow, p->allow_count, s))
		return false;
	*ret_gated = asked;
	return true;
}
