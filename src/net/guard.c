/* SPDX-License-Identifier: MIT */
/* See guard.h. */
#include "net/guard.h"
#include "base/str.h"

static bool only_public(void *arg, const void *sa)
{
	return brd_addr_public(sa);
}

int brd_guard(struct http_call_spec *spec, bool allow_private, struct bread_err *err)
{
	spec->allow_addr = allow_private ? NULL : only_public;
	return brd_url_check(brd_str(spec->url), err);
}
