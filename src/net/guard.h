/* SPDX-License-Identifier: MIT */
/* The outbound guard (contract C27), for every call whose address comes from a file, a
 * model or a peer: http and https only, and no address that is not public unless that
 * was allowed. The address that is looked at is the one that is connected to, also
 * behind a redirect, so a name cannot mean one thing when it is checked and another
 * when it is called. */
#pragma once
#include "net/client.h"
#include "net/url.h"

/* Checks spec->url and arms spec. BREAD_E_INVALID: it is none that may be called. */
int brd_guard(struct http_call_spec *spec, bool allow_private, struct bread_err *err);
