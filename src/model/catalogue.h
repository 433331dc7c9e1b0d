/* SPDX-License-Identifier: MIT */
/* From an entry under `providers:` to a table of functions and its options. */
#pragma once
#include "model/model.h"

#define PROVIDER_ENTRY_MAX ((size_t)16 * 1024 * 1024) /* options' limit */

/* options gets the entry's keys without "type", and "server", "baseUrl" and "apiKey" filled in
 * from the catalogue and the environment. */
int brd_catalogue_resolve(const struct bread_model_ops **ret, struct buf *options,
	struct bread_str name, struct jval entry, struct bread_err *err);
