/* SPDX-License-Identifier: MIT */
/* Hosts that speak the System One wire: where each is, and how its key is called.
 *
 * The environment is read when an entry is opened. What is missing is no fault
 * there: an entry that no run uses needs no key. The call says so. */
#include <stdlib.h>
#include "decision/internal.h"

#define PATH "/v1/systemone"
#define CLOUDFLARE "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/run"

static const struct decision_host hosts[] = {
	{ "typesafe", "https://api.typesafe.ai", "TYPESAFE_BASE_URL", PATH, { "TYPESAFE_API_KEY" },
		NULL },
	{ "kev", "http://127.0.0.1:8009", "KEV_BASE_URL", PATH, { "KEV_API_KEY" }, "local" },
	{ "liquid", "https://api.liquid.ai/decisions", NULL, PATH, { "LIQUID_API_KEY" }, NULL },
	{ "decider", "http://127.0.0.1:8000", NULL, PATH, { NULL }, "local" },
	{ "strands", "http://127.0.0.1:8000", NULL, PATH, { NULL }, "local" },
	{ "ollama", "http://localhost:11434", NULL, PATH, { NULL }, "ollama" },
	{ "cloudflare", CLOUDFLARE, NULL, NULL, { "CLOUDFLARE_AUTH_TOKEN", "CLOUDFLARE_API_TOKEN" },
		NULL },
	{ "perplexity", "https://api.perplexity.ai", NULL, "/v1/decisions",
		{ "PERPLEXITY_API_KEY" }, NULL },
};

const struct decision_host *brd_decision_host(struct bread_str name)
{
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		if (brd_str_is(name, hosts[i].name))
			return &hosts[i];
	return NULL;
}

void brd_decision_hosts(struct buf *out)
{
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		brd_buf_addf(out, "%s%s", i ? ", " : "", hosts[i].name);
}

/* An empty variable counts as one that is not set. */
static const char *env(const char *name)
{
	const char *v = name ? getenv(name) : NULL;

	return v && *v ? v : NULL;
}

/* base with its {NAME} replaced; *ret_unset: the one that is not set. */
static struct bread_str filled(const char *base, const char **ret_unset, struct arena *a)
{
	const char *open = strchr(base, '{'), *close = open ? strchr(open, '}') : NULL, *value;
	char *name;

	if (!close)
		return brd_str(base);
	name = brd_arena_strz(a, (struct bread_str){ open + 1, (size_t)(close - open - 1) });
	value = env(name);
	if (!value)
		*ret_unset = name;
	return brd_arena_printf(
		a, "%.*s%s%s", (int)(open - base), base, value ? value : "", close + 1);
}

static struct bread_str base_of(const struct decision_host *h, const struct decision_conf *c,
	const char **ret_unset, struct arena *a)
{
	struct bread_str base;

	if (c->base_url)
		base = brd_str(c->base_url);
	else if (env(h->base_env))
		base = brd_arena_copy(a, brd_str(env(h->base_env)));
	else
		base = filled(h->base_url, ret_unset, a);
	while (base.n && base.p[base.n - 1] == '/')
		base.n--;
	return base;
}

static const char *key_of(
	const struct decision_host *h, const struct decision_conf *c, const char **ret_unset)
{
	const char *key = c->api_key;

	if (key)
		return key;
	if (c->api_key_env) {
		key = env(c->api_key_env);
		if (!key)
			*ret_unset = c->api_key_env;
		return key;
	}
	for (size_t i = 0; !key && i < sizeof(h->key_env) / sizeof(*h->key_env); i++)
		key = env(h->key_env[i]);
	if (!key && !h->key)
		*ret_unset = h->key_env[0];
	return key ? key : h->key;
}

void brd_decision_access(const struct decision_host *h, const struct decision_conf *c,
	struct host_access *ret, struct arena *a)
{
	const char *key;

	*ret = (struct host_access){ .base = { 0 } };
	ret->base = base_of(h, c, &ret->unset, a);
	key = key_of(h, c, &ret->unset);
	ret->key = brd_arena_copy(a, brd_str(key));
}

/* A model's id as a part of a path: what has a meaning in an address is escaped. */
static struct bread_str escaped(struct bread_str id, struct arena *a)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~@/:";
	struct bread_str out;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (size_t i = 0; i < id.n; i++) {
		unsigned char c = (unsigned char)id.p[i];

		if (c && strchr(plain, c))
			brd_buf_addc(&b, (char)c);
		else
			brd_buf_addf(&b, "%%%02X", c);
	}
	out = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return out;
}

struct bread_str brd_decision_url(const struct decision_host *h, struct bread_str base,
	struct bread_str model, struct arena *a)
{
	if (!h->path)
		return brd_arena_printf(a, "%.*s/%s", BRD_ARG(base), escaped(model, a).p);
	/* a base that is the whole address is taken as it is */
	if (brd_str_ends(base, brd_str(h->path)))
		return brd_arena_copy(a, base);
	return brd_arena_printf(a, "%.*s%s", BRD_ARG(base), h->path);
}

struct bread_str brd_decision_model_name(const struct decision_host *h, struct bread_str model)
{
	if (h->path)
		return model;
	if (brd_str_ends(model, BRD_STR("clef-flash")))
		return BRD_STR("clef-flash");
	return brd_str_ends(model, BRD_STR("clef")) ? BRD_STR("clef") : model;
}
