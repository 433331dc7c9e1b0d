/* SPDX-License-Identifier: MIT */
#include "fuzz_model.h"
#include "model/ollama/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct fuzz_parser parser = { brd_ollama_parser, brd_ollama_feed,
		brd_ollama_finish, brd_ollama_free };

	return fuzz_model(&parser, data, n);
}
