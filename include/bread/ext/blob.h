/* SPDX-License-Identifier: MIT */
/* Where files go that models make (bread-runtime.md 23). */
#ifndef BREAD_EXT_BLOB_H
#define BREAD_EXT_BLOB_H
#include "bread/ext/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bread_blob;
struct bread_blob_put {
	struct bread_op op;
	struct bread_str bytes, media_type; /* kept by the caller until the op ends */
	char key[160];  /* out */
	char url[1024]; /* out */
};
struct bread_blob_ops {
	const char *name; /* "fs" */
	size_t size;
	int (*open)(struct bread_blob *b, struct bread_str options, struct bread_err *err); /* JSON object */
	void (*close)(struct bread_blob *b);
	void (*put)(struct bread_blob *b, struct bread_blob_put *put);
};
struct bread_blob {
	const struct bread_blob_ops *ops;
};
/* Files in a folder; options {"dir": path, "url": prefix of the addresses (default: file URLs),
 * "keys": "uuid" or "count" (blob-1, blob-2 …; for tests and demos)}. */
BREAD_API extern const struct bread_blob_ops bread_blob_fs;

#ifdef __cplusplus
}
#endif
#endif
