/* SPDX-License-Identifier: MIT */
/* Bytes as text: base64 for files inside JSON, hex for hashes. */
#pragma once
#include <stdbool.h>
#include "base/buf.h"

void brd_base64_add(struct buf *b, const void *p, size_t n); /* standard alphabet, padded */
/* false: it is not base64, to the last bit; b then holds a part. */
bool brd_base64_decode(struct buf *b, struct bread_str text);
void brd_hex_add(struct buf *b, const void *p, size_t n); /* lower case */
