/* SPDX-License-Identifier: MIT */
#include "fuzz_model.h"
#include "model/openai/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct fuzz_parser parser = { brd_chat_parser, brd_chat_feed, brd_chat_finish,
		brd_chat_free };

	return fuzz_model(&parser, data, n);
}
