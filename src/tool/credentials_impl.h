/* SPDX-License-Identifier: MIT */
/* What the sources of credentials share. */
#pragma once
#include <stdatomic.h>
#include "tool/credentials.h"

struct credentials_kind {
	const char *name;
	int (*open)(struct credentials *c, struct jval v, const char *dir, struct bread_err *err);
	/* Begins a->op, fills a->values with texts of malloc's, ends it. */
	void (*ask)(struct credentials *c, struct credential_ask *a);
};
extern const struct credentials_kind brd_credentials_env, brd_credentials_file,
	brd_credentials_vault;

struct credentials {
	atomic_int refs;
	struct arena arena;
	const struct credentials_kind *kind;
	char *prefix;                          /* env */
	char *path;                            /* file */
	char *address, *mount, *token, *space; /* vault; space NULL: none */
};

#define CREDENTIAL_MAX ((size_t)64 * 1024) /* of one value */

/* A path under key, from dir on. */
int brd_credentials_path(struct credentials *c, struct jval v, const char *key, const char *dir,
	char **ret, struct bread_err *err);
/* A word of a vault's path: ^[A-Za-z][A-Za-z0-9_-]*$. */
int brd_vault_word(const char *code, const char *kind, const char *value, struct bread_err *err);
