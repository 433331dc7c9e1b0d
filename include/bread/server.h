/* SPDX-License-Identifier: MIT */
/* Serving an instance over HTTP. */
#ifndef BREAD_SERVER_H
#define BREAD_SERVER_H

#include "bread/instance.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bread_server;
struct bread_ingress_ops;

/* config: the `server:` part of bread.yaml as a JSON object (host, port, maxBodyBytes,
 * heartbeat, stall, maxEventBytes, idleTimeout, tls …), empty: defaults.
 * ingress: JSON list of what to mount ("http-chunked", "http-sse", or objects with a
 * "type"); the first one answers requests that accept anything. After bread_start. */
BREAD_API int bread_serve(struct bread_server **ret, struct bread *b, struct bread_str config,
        struct bread_str ingress, struct bread_err *err);
BREAD_API int bread_server_port(const struct bread_server *s);
BREAD_API const char *bread_server_host(const struct bread_server *s);
/* Viewers are told to come back, listening ends. Before bread_stop. */
BREAD_API void bread_server_close(struct bread_server *s);
/* An ingress of the embedder's own, beside those of `ingress`. Before bread_serve. */
BREAD_API void bread_ingress_register(const struct bread_ingress_ops *ops);

#ifdef __cplusplus
}
#endif
#endif
