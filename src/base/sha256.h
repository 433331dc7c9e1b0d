/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4), for names of things by what is in them.
 *
 * Not OpenSSL's: the first digest there sets up its providers, 2 MB of memory that a
 * server without TLS has no other use for. Not for secrets: it is not constant in time. */
#pragma once
#include <stdint.h>
#include "base/buf.h"

#define SHA256_LEN 32

struct sha256 {
	uint32_t h[8];
	uint64_t bytes;
	unsigned char block[64];
};

void brd_sha256_init(struct sha256 *s);
void brd_sha256_add(struct sha256 *s, struct bread_str data);
void brd_sha256_end(struct sha256 *s, unsigned char ret_sum[SHA256_LEN]);
