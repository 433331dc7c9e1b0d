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
 * "type"); the first one answers requests that accept anything; empty: http-sse. After
 * bread_start and before bread_drive, on that thread. BREAD_E_INVALID names the key or the word;
 * otherwise the address cannot be listened on. *ret is the caller's, until bread_server_close. */
BREAD_API int bread_serve(struct bread_server **ret, struct bread *b, struct bread_str config,
	struct bread_str ingress, struct bread_err *err);
/* Where it listens: the port that was taken when 0 was asked for; the host as configured. */
BREAD_API int bread_server_port(const struct bread_server *s);
BREAD_API const char *bread_server_host(const struct bread_server *s);
/* Listening ends, streams are cut so that viewers come back with their cursors, s is freed. On the
 * driving thread, while the other loops still turn, before bread_stop (contract C20). NULL, too. */
BREAD_API void bread_server_close(struct bread_server *s);
/* Makes an ingress known under ops->name, for all servers of the process: `ingress` can then name
 * it. ops must stay for ever. Any thread, before bread_serve. */
BREAD_API void bread_ingress_register(const struct bread_ingress_ops *ops);

#ifdef __cplusplus
}
#endif
#endif
