/* SPDX-License-Identifier: MIT */
/* A table with a field of every type, and a group in a group. */
#pragma once
#include "config/conf.h"

struct sample_tls {
	char *cert;
	bool strict;
};

struct sample_server {
	int64_t port;
	int64_t body;
	struct sample_tls tls;
};

struct sample {
	char *id;
	char *name;
	bool on;
	int64_t steps;
	double ratio;
	char *title;
	int mode;
	int64_t timeout;
	struct jval schema, any;
	struct conf_strs tags;
	struct sample_server server;
};

enum { MODE_SLOW, MODE_FAST, MODE_AUTO };

static const struct conf_field sample_tls_fields[] = {
	{ "cert", CONF_STR, offsetof(struct sample_tls, cert), .required = true },
	{ "strict", CONF_BOOL, offsetof(struct sample_tls, strict), .dflt = "true" },
};

static const struct conf_field sample_server_fields[] = {
	{ "port", CONF_INT, offsetof(struct sample_server, port), .dflt = "8080", .max = 65535,
		.doc = "Port to listen on; 0 takes a free one and prints it." },
	{ "maxBodyBytes", CONF_SIZE, offsetof(struct sample_server, body), .dflt = "1MiB",
		.min = 1024, .max = 16 << 20 },
	{ "tls", CONF_GROUP, offsetof(struct sample_server, tls), .sub = sample_tls_fields,
		.sub_count = CONF_COUNT(sample_tls_fields) },
};

static const struct conf_field sample_fields[] = {
	{ "id", CONF_ID, offsetof(struct sample, id) },
	{ "name", CONF_NAME, offsetof(struct sample, name), .dflt = "wheat" },
	{ "on", CONF_BOOL, offsetof(struct sample, on) },
	{ "steps", CONF_INT, offsetof(struct sample, steps), .dflt = "20", .min = 1, .max = 1000 },
	{ "ratio", CONF_NUM, offsetof(struct sample, ratio), .dflt = "0.5", .max = 1 },
	{ "title", CONF_STR, offsetof(struct sample, title), .min = 1, .max = 20 },
	{ "mode", CONF_ENUM, offsetof(struct sample, mode), .dflt = "auto",
		.words = "slow|fast|auto" },
	{ "timeout", CONF_TIME, offsetof(struct sample, timeout), .dflt = "15s", .min = 100,
		.max = 3600000 },
	{ "schema", CONF_JSON, offsetof(struct sample, schema), .words = "object|boolean" },
	{ "any", CONF_JSON, offsetof(struct sample, any), .dflt = "[1]" },
	{ "tags", CONF_STRS, offsetof(struct sample, tags), .dflt = "a, b" },
	{ "server", CONF_GROUP, offsetof(struct sample, server), .sub = sample_server_fields,
		.sub_count = CONF_COUNT(sample_server_fields) },
};

#define SAMPLE sample_fields, CONF_COUNT(sample_fields)
