/* SPDX-License-Identifier: MIT */
/* A file system for SQLite that fails when it is told to. It becomes the default
 * one, so that a store that is opened later stands on it. */
#pragma once
#include <sqlite3.h>

enum fault { FAULT_NONE, FAULT_FULL, FAULT_WRITE, FAULT_SYNC };

void faulty_vfs_install(void);        /* once */
void faulty_vfs_set(enum fault what); /* any thread */
