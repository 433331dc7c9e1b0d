/* SPDX-License-Identifier: MIT */
/* One value of one field: from JSON or from text into its slot, and back into
 * words for people. */
#pragma once
#include "config/conf.h"

#define CONF_BOUNDED(f) ((f)->min != 0 || (f)->max != 0)

struct conf_unit { /* of a size or a time */
	const char *name;
	int64_t factor;
};

enum conf_fit {
	CONF_FITS,
	CONF_MISFIT,   /* another type, out of bounds, not of the form */
	CONF_HAS_NUL,  /* a NUL inside a text, which would cut it */
	CONF_HAS_HALF, /* half of a surrogate pair, which is no UTF-8 */
};

/* Stores v in slot. Of a list's fault *ret_at is the member, otherwise v. */
enum conf_fit brd_conf_take(const struct conf_field *f, struct jval v, void *slot, struct arena *a,
	struct jval *ret_at);

/* The same for a default or an environment variable. Lists are "a,b,c" or JSON. */
enum conf_fit brd_conf_take_text(
	const struct conf_field *f, struct bread_str text, void *slot, struct arena *a);

/* "a whole number from 1 to 1000" */
void brd_conf_expected(const struct conf_field *f, struct buf *out);

/* What stands there instead: "many", 70000, a list. Texts of fields that may hold
 * a secret are described and not shown. */
void brd_conf_shown(const struct conf_field *f, struct jval v, struct buf *out);

/* "16MiB", "1h": the shortest exact form. */
void brd_conf_add_size(int64_t bytes, struct buf *out);
void brd_conf_add_time(int64_t ms, struct buf *out);

/* BREAD_SERVER_MAX_BODY_BYTES for server.maxBodyBytes */
void brd_conf_env_name(const char *key, struct buf *out);

/* base and key with a dot between them, in the arena. */
char *brd_conf_key(const char *base, const char *key, struct arena *a);
