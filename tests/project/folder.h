/* SPDX-License-Identifier: MIT */
/* A project in a folder of its own, for one test. */
#pragma once

extern char folder[]; /* "/tmp/bread-load-…" */

#define AGENT "model: {provider: scripted, model: m}\n"

const char *folder_at(const char *rel); /* until the next call */
/* Writes a file, with the folders above it. */
void folder_put(const char *rel, const char *text);

/* Two agents, a and b, with a scripted provider. */
int folder_set_up(void **state);
int folder_tear_down(void **state);
