/* SPDX-License-Identifier: MIT */
/* The outbound guard (contract C27): which URLs and addresses we call. */
#pragma once
#include <stdbool.h>
#include "bread/types.h"

/* BREAD_E_INVALID unless it is http or https with a host and no user info. BREAD_E_BUSY: libcurl,
 * which reads URLs, cannot be loaded; after a 0 the client can be used. Any thread. */
int brd_url_check(struct bread_str url, struct bread_err *err);

/* sa is a struct sockaddr. false for loopback, private, link-local, multicast and unspecified
 * addresses, and for families other than IPv4 and IPv6. */
bool brd_addr_public(const void *sa);
