/* SPDX-License-Identifier: MIT */
/* One JSON line per call, as the recordings of the TypeScript server have it. */
#pragma once
#include "base/buf.h"
#include "bread/ext/model.h"

void brd_record_line(struct buf *out, const struct bread_model_request *req, struct bread_str model,
	int64_t call);
