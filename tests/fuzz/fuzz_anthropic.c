/* SPDX-License-Identifier: MIT */
#include "fuzz_model.h"
#include "model/anthropic/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct fuzz_parser parser = { brd_anthropic_parser, brd_anthropic_feed,
		brd_anthropic_finish, brd_anthropic_free };

	return fuzz_model(&parser, data, n);
}
