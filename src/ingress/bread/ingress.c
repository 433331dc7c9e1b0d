/* SPDX-License-Identifier: MIT */
/* The bread dialect over HTTP, as its table and its routes. It serves NDJSON and SSE
 * at once; the name it was listed under says which of them answers who accepts
 * anything. */
#include "ingress/bread/internal.h"

static int open_ingress(struct bread_ingress *base, struct bread_str word, struct bread_str options,
	struct bread_err *err)
{
	struct ingress *in = (struct ingress *)base;

	in->first = brd_ingress_is(word, "http-chunked") ? &brd_ingress_ndjson : &brd_ingress_sse;
	brd_ingress_mount_agents(in);
	brd_ingress_mount_run(in);
	brd_ingress_mount_resume(in);
	brd_ingress_mount_runs(in);
	brd_ingress_mount_tree(in);
	brd_ingress_mount_tree_stream(in);
	brd_ingress_mount_sessions(in);
	brd_ingress_mount_compositions(in);
	brd_ingress_mount_checkpoints(in);
	return 0;
}

const struct bread_ingress_ops bread_ingress_bread = {
	.name = "bread",
	.size = sizeof(struct ingress),
	.open = open_ingress,
};
