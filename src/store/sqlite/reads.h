/* SPDX-License-Identifier: MIT */
/* What the files of reads share. Each function adds the row on which the statement stands. */
#pragma once
#include "store/answer.h"
#include "store/sqlite/impl.h"
#include "store/sqlite/read_sql.h"

void brd_sq_run_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_crumb_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_line_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_node_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_session_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_message_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_checkpoint_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_owner_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_loop_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_round_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_task_run_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_knowledge_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_document_row(struct answer *a, sqlite3_stmt *s);
void brd_sq_key_row(struct answer *a, sqlite3_stmt *s);
