/* SPDX-License-Identifier: MIT */
/* The outbound guard (contract C27): which URLs and addresses we call. */
#pragma once
#include <stdbool.h>
#include "bread/types.h"

/* BREAD_E_INVALID unless it is http or https with a host and no user info. */
int brd_url_check(struct bread_str url, struct bread_err *err);

/* sa is a struct sockaddr: false for loopback, private, link-local, multicast and unspecified addresses. */
bool brd_addr_public(const void *sa);
