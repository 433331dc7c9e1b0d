/* SPDX-License-Identifier: MIT */
/* What the server, which stands above the instance, needs beside the public
 * interface: its loops, its hub, its store. */
#pragma once
#include "bread/instance.h"
#include "config/conf.h"
#include "loop/loop.h"
#include "store/store.h"
#include "transport/hub.h"

/* What bread.yaml may say; and a check of one, with places in the messages. */
extern const struct conf_field brd_instance_fields[];
extern const size_t brd_instance_field_count;
int brd_instance_check(struct jval v, const struct yaml_doc *doc, struct bread_err *err);

/* Instead of bread_start: says what of the configured parts it would refuse, but for providers,
 * decision hosts and hooks. Leaves no file. */
void brd_instance_try(struct bread *b, void (*heard)(struct bread_err *err, void *arg), void *arg);
/* Before bread_start: runs of dead owners are left to others. For commands, which come and go. */
void brd_instance_alone(struct bread *b);
/* Instead of bread_start: opens the store alone, for those who look in beside a server. Reading,
 * subscribing, cancelling and cleaning up work; nothing can be run. */
int brd_instance_look(struct bread *b, struct bread_err *err);

size_t brd_instance_loops(const struct bread *b);
struct loop *brd_instance_loop(const struct bread *b, size_t i); /* 0: the driver's */
/* One answer of a chat model, outside of any run. Without a schema it is plain text. Any loop; ends
 * ask->op with UNKNOWN_PROVIDER when there is no such provider. */
struct decision_ask;
void brd_instance_ask(struct bread *b, struct decision_ask *ask);
struct hub *brd_instance_hub(const struct bread *b);
struct bread_store *brd_instance_store(const struct bread *b);
bool brd_instance_filtered(const struct bread *b, struct bread_str crumb_type); /* by crumbFilter */
