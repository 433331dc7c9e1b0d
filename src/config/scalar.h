/* SPDX-License-Identifier: MIT */
/* What a scalar of a YAML file means, apart from where it stands.
 *
 * First the environment is put in, then a plain scalar is given its type by the
 * core schema of YAML 1.2: yes and no are texts, 0o17 is 15, 1e5 is a number. */
#pragma once
#include "base/buf.h"

enum scalar_type {
	SCALAR_TEXT,
	SCALAR_NULL,
	SCALAR_TRUE,
	SCALAR_FALSE,
	SCALAR_NUMBER,
	SCALAR_BAD, /* looks like a number that JSON cannot say */
};

/* The type of a plain scalar. SCALAR_NUMBER: its JSON lexeme is appended to num,
 * which is the scalar itself where that is JSON already. SCALAR_BAD: *ret_why is
 * the end of a sentence that begins with the scalar. */
enum scalar_type brd_scalar_type(struct bread_str s, struct buf *num, const char **ret_why);

/* Appends text to out with ${NAME} and ${NAME:-default} replaced from the
 * environment and $${ turned into ${. A default is used when the variable is not
 * set or empty. BREAD_E_INVALID: err->text says which name and what to do; its
 * where is left to the caller. */
int brd_scalar_expand(struct bread_str text, struct buf *out, struct bread_err *err);
