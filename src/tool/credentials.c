/* SPDX-License-Identifier: MIT */
/* See credentials.h. The environment answers at once, files on a worker, a vault over
 * HTTP; each is a table of one kind. */
#include "tool/credentials.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/err_context.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "tool/credentials_impl.h"

static const struct credentials_kind *const kinds[] = { &brd_credentials_env, &brd_credentials_file,
	&brd_credentials_vault };

static void refuse(struct bread_err *err, const char *code, const char *kind, const char *value,
	const char *form)
{
	struct err_context ctx;
	struct jsonw *w;

	brd_fail_as(err, BREAD_E_INVALID, code, "credentials", "%s \"%.60s\" must match %s", kind,
		value, form);
	w = brd_err_context(&ctx);
	brd_jw_kstr(w, "kind", brd_str(kind));
	brd_jw_kstr(w, "value", brd_str(value));
	brd_err_context_end(&ctx, err);
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool matches(const char *s, const char *first, const char *rest)
{
	if (!letter(*s) && (!*s || !strchr(first, *s)))
		return false;
	for (s++; *s; s++)
		if (!letter(*s) && !(*s >= '0' && *s <= '9') && !strchr(rest, *s))
			return false;
	return true;
}

int brd_credential_check(const char *name, struct bread_err *err)
{
	if (strlen(name) <= 128 && matches(name, "_", "_.-"))
		return 0;
	refuse(err, "INVALID_CREDENTIAL_NAME", "credential name", name,
		"/^[A-Za-z_][A-Za-z0-9_.-]*$/");
	return BREAD_E_INVALID;
}

int brd_vault_word(const char *code, const char *kind, const char *value, struct bread_err *err)
{
	if (strlen(value) <= 128 && matches(value, "", "_-"))
		return 0;
	refuse(err, code, kind, value, "/^[A-Za-z][A-Za-z0-9_-]*$/");
	return BREAD_E_INVALID;
}

static const struct credentials_kind *kind_of(struct bread_str word)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (brd_str_is(word, kinds[i]->name))
			return kinds[i];
	return NULL;
}

int brd_credentials_open(
	struct credentials **ret, struct jval v, const char *dir, struct bread_err *err)
{
	struct jval word = brd_json_type(v) == JSON_OBJECT ? brd_json_get(v, "type") : v;
	struct credentials *c = brd_alloc(sizeof(*c));
	int r;

	atomic_init(&c->refs, 1);
	c->kind = brd_json_type(v) == JSON_NONE ? &brd_credentials_env
						: kind_of(brd_json_str(word, &c->arena));
	if (c->kind)
		r = c->kind->open(c, brd_json_copy(v, &c->arena), dir, err);
	else
		r = brd_fail(err, BREAD_E_INVALID, "credentials",
			"credentials come from env, file or vault: `credentials: env`, or a map "
			"with "
			"a `type`");
	if (r)
		brd_credentials_unref(c);
	else
		*ret = c;
	return r;
}

struct credentials *brd_credentials_ref(struct credentials *c)
{
	atomic_fetch_add(&c->refs, 1);
	return c;
}

void brd_credentials_unref(struct credentials *c)
{
	if (!c || atomic_fetch_sub(&c->refs, 1) > 1)
		return;
	brd_arena_fini(&c->arena);
	free(c);
}

void brd_credentials_ask(struct credentials *from, struct credential_ask *a)
{
	a->count = 0;
	while (a->names[a->count])
		a->count++;
	a->values = brd_array(a->count + 1, sizeof(char *));
	if (from)
		from->kind->ask(from, a);
	else
		brd_credentials_env.ask(NULL, a);
}

void brd_credential_ask_fini(struct credential_ask *a)
{
	for (size_t i = 0; a->values && i < a->count; i++)
		if (a->values[i]) {
			explicit_bzero(a->values[i], strlen(a->values[i]));
			free(a->values[i]);
		}
	free(a->values);
	free(a->priv);
	a->values = NULL;
	a->priv = NULL;
	a->count = 0;
}

int brd_credentials_path(struct credentials *c, struct jval v, const char *key, const char *dir,
	char **ret, struct bread_err *err)
{
	char *path = brd_json_strz(brd_json_get(v, key), &c->arena);

	if (!path || !*path)
		return brd_fail(err, BREAD_E_INVALID, "credentials",
			"credentials.%s is missing, or no text", key);
	*ret = path[0] == '/' || !dir
		       ? path
		       : brd_arena_strz(&c->arena, brd_arena_printf(&c->arena, "%s/%s", dir, path));
	return 0;
}

/* ---- the environment ---- */

static int env_open(struct credentials *c, struct jval v, const char *dir, struct bread_err *err)
{
	struct jval prefix = brd_json_get(v, "prefix");

	c->prefix = brd_json_strz(prefix, &c->arena);
	if (brd_json_type(prefix) != JSON_NONE && !c->prefix)
		return brd_fail(
			err, BREAD_E_INVALID, "credentials", "credentials.prefix is no text");
	return 0;
}

static void env_ask(struct credentials *c, struct credential_ask *a)
{
	struct arena arena = { 0 };

	bread_op_begin(&a->op, NULL, NULL);
	for (size_t i = 0; i < a->count; i++) {
		const char *name = a->names[i], *value;

		if (c && c->prefix)
			name = brd_arena_printf(&arena, "%s%s", c->prefix, name).p;
		value = getenv(name);
		a->values[i] = value ? brd_strdup(value) : NULL;
	}
	brd_arena_fini(&arena);
	bread_op_end(&a->op, BREAD_OK, NULL);
}

const struct credentials_kind brd_credentials_env = { "env", env_open, env_ask };
