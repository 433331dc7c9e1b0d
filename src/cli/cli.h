/* SPDX-License-Identifier: MIT */
/* The command line: one file a command, each with a table of what it takes.
 *
 * Standard output carries only the result; all else goes to standard error
 * (contract C29). Progress and colour are for terminals alone. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include "base/arena.h"
#include "base/str.h"
#include "project/project.h"

enum cli_exit {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_WAITING = 3,  /* for a human */
	EXIT_CANCELLED = 4,
	EXIT_UNREACHABLE = 5, /* the server or the store */
};

struct cli_option {
	const char *name;  /* "port": --port */
	char letter;       /* 'p': -p; 0: none */
	const char *value; /* "PORT"; NULL: a switch */
	const char *doc;
	bool many; /* may be given more than once */
};

#define CLI_VALUES 16

struct cli_args {
	const struct cli_command *command;
	struct arena arena;
	const char *words[32]; /* what is no option */
	size_t word_count;
	struct {
		const struct cli_option *option;
		const char *value;
	} given[64];
	size_t given_count;
};

struct cli_command {
	const char *name;  /* "runs list" */
	const char *usage; /* "[ID]" */
	const char *doc;   /* one sentence */
	const struct cli_option *options;
	size_t option_count;
	size_t words_min, words_max;
	bool hidden;
	int (*run)(struct cli_args *a); /* gives the exit status */
};

extern const struct cli_command *const cli_commands[]; /* NULL-terminated */

/* options.c: false: said what is wrong on stderr. */
bool cli_parse(struct cli_args *a, int argc, char **argv);
const char *cli_value(const struct cli_args *a, const char *name); /* the last one given; NULL: none */
bool cli_on(const struct cli_args *a, const char *name);
size_t cli_values(const struct cli_args *a, const char *name, const char **ret, size_t max);
void cli_help(FILE *out, const struct cli_command *c); /* NULL: all commands */

/* say.c: "[bread] …" lines */
__attribute__((format(printf, 1, 2))) void cli_say(const char *fmt, ...);   /* standard output */
__attribute__((format(printf, 1, 2))) void cli_error(const char *fmt, ...); /* standard error */
int cli_fail(const struct bread_err *err); /* says it; the exit status that goes with its code */
bool cli_colour(FILE *f);

/* open.c: goes to --cwd and opens the project there. */
int cli_enter(struct cli_args *a);
/* The project, its instance with all agents, not yet started. 0, or an exit status. */
int cli_load(struct cli_args *a, struct project *p, struct bread **ret);

/* serve.c: what dev and start share. */
int cli_serve(struct cli_args *a, struct project *p, struct bread *b, void (*on_ready)(void *arg), void *arg);
