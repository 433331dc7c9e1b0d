/* SPDX-License-Identifier: MIT */
/* What a program may want to know of an error, as a JSON object in err->context. */
#pragma once
#include "base/buf.h"
#include "base/jsonw.h"

struct err_context {
	struct buf json;
	struct jsonw w;
};

/* Opens the object; its keys are written into what is returned. */
struct jsonw *brd_err_context(struct err_context *c);
/* Closes it and puts it into *err, if there is one; not if it is longer than that has room for. */
void brd_err_context_end(struct err_context *c, struct bread_err *err);
