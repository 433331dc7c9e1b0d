/* SPDX-License-Identifier: MIT */
/* Where files go that models make. */
#ifndef BREAD_EXT_BLOB_H
#define BREAD_EXT_BLOB_H
#include "bread/ext/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bread_blob; /* first member of an implementation's struct */

/* One file: put ends op when it is stored whole (BREAD_OK, key and url are set) or not at all
 * (BREAD_E_UPSTREAM: err.text names the file and the remedy). */
struct bread_blob_put {
	struct bread_op op;
	struct bread_str bytes, media_type; /* kept by the caller until the op ends */
	char key[160];                      /* out */
	char url[1024];                     /* out */
};
struct bread_blob_ops {
	const char *name; /* "fs" */
	size_t size;
	/* options: JSON object. May block: before the loops run. The instance is zeroed before. */
	int (*open)(struct bread_blob *b, struct bread_str options, struct bread_err *err);
	void (*close)(struct bread_blob *b); /* no put is running by now */
	/* Any loop; must not block. */
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
