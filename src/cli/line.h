/* SPDX-License-Identifier: MIT */
/* Lines that a person types: edited and remembered on a terminal, plain elsewhere.
 * Prompts go to standard error. */
#pragma once

struct cli_lines;

struct cli_lines *cli_lines_new(void);
void cli_lines_free(struct cli_lines *l);
/* Without its newline; valid until the next call. NULL: the input has ended. */
const char *cli_lines_read(struct cli_lines *l, const char *prompt);
