/* SPDX-License-Identifier: MIT */
/* Where tools' secrets come from: the environment, files, a vault.
 *
 *   credentials: env
 *   credentials: { type: env, prefix: SECRET_ }
 *   credentials: { type: file, path: secrets }          # a folder, or a YAML or JSON file
 *   credentials: { type: vault, address: https://vault.example, token: ${VAULT_TOKEN} }
 *
 * A tool gets the names that it declares and no others; they are asked for before it
 * starts. What is not there is no failure: the tool finds nothing under that name.
 * Values are wiped when the call has ended, and written nowhere (contract C28). */
#pragma once
#include "base/json.h"
#include "bread/ext/tool.h"

struct credentials; /* a source; any loop may ask it */

/* v: as above; JSON_NONE: the environment. dir: where relative paths start. INVALID_VAULT_MOUNT. */
int brd_credentials_open(
	struct credentials **ret, struct jval v, const char *dir, struct bread_err *err);
struct credentials *brd_credentials_ref(struct credentials *c);
void brd_credentials_unref(struct credentials *c); /* NULL, too */

/* A question for some names. */
struct credential_ask {
	struct bread_op op; /* made by bread_op_init for loop */
	struct loop *loop;
	const char *const *names; /* NULL-terminated; unchanged until op ends */
	char **values;            /* out: one a name; NULL: there is none */
	size_t count;
	void *priv; /* the source's; freed by fini */
};
/* from NULL: the environment. BREAD_E_UPSTREAM: the source cannot be reached;
 * INVALID_CREDENTIAL_NAME: a name that it cannot have. */
void brd_credentials_ask(struct credentials *from, struct credential_ask *a);
void brd_credential_ask_fini(struct credential_ask *a); /* wipes; after its end */

/* What a name may be: letters, digits, _ . -, a letter or _ first; INVALID_CREDENTIAL_NAME. */
int brd_credential_check(const char *name, struct bread_err *err);
