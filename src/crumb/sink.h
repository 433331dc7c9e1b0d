/* SPDX-License-Identifier: MIT */
/* What a framing writes into: a buf with a public name. */
#pragma once
#include "base/buf.h"
#include "bread/crumb.h"

struct bread_sink {
	struct buf buf;
};
