/* SPDX-License-Identifier: MIT */
/* The command line: one file a command, each with a table of what it takes.
 *
 * Standard output carries only the result; all else goes to standard error
 * (contract C29). Progress and colour are for terminals alone. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include "base/arena.h"
#include "base/str.h"
#include "project/project.h"

enum cli_exit {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_WAITING = 3, /* for a human */
	EXIT_CANCELLED = 4,
	EXIT_UNREACHABLE = 5, /* the server or the store */
};

struct cli_option {
	const char *name;  /* "port": --port */
	char letter;       /* 'p': -p; 0: none */
	const char *value; /* "PORT"; NULL: a switch */
	const char *doc;
};

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
	const char *name;                 /* "runs list" */
	const char *usage;                /* "[ID]" */
	const char *doc;                  /* one sentence */
	const struct cli_option *options; /* ends with a name NULL; NULL: none */
	size_t words_min, words_max;
	bool hidden;
	const char *detail;             /* more for its help page and the manual; NULL: none */
	int (*run)(struct cli_args *a); /* gives the exit status */
};

extern const struct cli_command *const cli_commands[]; /* NULL-terminated */
extern const struct cli_option cli_everywhere[];       /* what every command takes */
#define CLI_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* options.c: false: said what is wrong on stderr. */
bool cli_parse(struct cli_args *a, int argc, char **argv);
/* The last one given; NULL: none. */
const char *cli_value(const struct cli_args *a, const char *name);
bool cli_on(const struct cli_args *a, const char *name);
size_t cli_values(const struct cli_args *a, const char *name, const char **ret, size_t max);
const struct cli_command *cli_command_named(const char *name); /* NULL: there is none */
/* A whole number from min to max, dflt when it is not given; false: said what is wrong. */
bool cli_number(const struct cli_args *a, const char *name, int64_t min, int64_t max, int64_t dflt,
	int64_t *ret);
void cli_help(FILE *out, const struct cli_command *c); /* NULL: all commands */

/* say.c: "[bread] …" lines */
__attribute__((format(printf, 1, 2))) void cli_say(const char *fmt, ...);   /* standard output */
__attribute__((format(printf, 1, 2))) void cli_error(const char *fmt, ...); /* standard error */
int cli_fail(const struct bread_err *err); /* says it; the exit status that goes with its code */
bool cli_colour(FILE *f);
/* Text from a model or a file: on a terminal without control characters, which could do anything
 * to it. */
void cli_text(FILE *f, struct bread_str text);
/* A line of such text. */
__attribute__((format(printf, 2, 3))) void cli_dim(FILE *f, const char *fmt, ...);
/* text as a JSON string. */
struct bread_str cli_quote(struct bread_str text, struct arena *a);

#define CLI_TIME 32
const char *cli_time(int64_t ms, char text[CLI_TIME]); /* "2026-11-30T16:00:31.271Z" */

/* open.c: goes to --cwd and opens the project there. */
int cli_enter(struct cli_args *a);
/* The project, its instance with all agents, not yet started. 0, or an exit status. */
int cli_load(struct cli_args *a, struct project *p, struct bread **ret);

/* Starts what was loaded, for one command: no run of others is taken up. */
int cli_go(const struct project *p, struct bread *b);
/* As cli_fail, of what bread_start or bread_serve refused: with its place in bread.yaml. */
int cli_fail_start(const struct project *p, struct bread_err *err);
/* Its store alone, beside a server that may be running. */
int cli_look(struct cli_args *a, struct project *p, struct bread **ret);
void cli_close(struct project *p, struct bread *b);

/* signals.c: SIGINT and SIGTERM on the instance's loop. The first calls fn, a second one ends
 * the process at once. */
struct cli_signals {
	uv_signal_t handles[2];
	void (*fn)(void *arg);
	void *arg;
	unsigned asked, open;
};
void cli_signals_open(struct cli_signals *s, struct bread *b, void (*fn)(void *arg), void *arg);
void cli_signals_close(struct cli_signals *s, struct bread *b);

/* serve.c: what dev and start share. on_ready runs when it listens, on_end before it is stopped.
 * url: where it listens; NULL: a Unix socket. */
struct cli_server_hooks {
	void (*on_ready)(struct bread *b, const char *url, void *arg);
	void (*on_end)(void *arg);
	void *arg;
};
int cli_serve(
	struct cli_args *a, struct project *p, struct bread *b, const struct cli_server_hooks *h);
extern const struct cli_option cli_serve_options[];

/* drive.c: turning the instance until something has happened. */
void cli_wait(struct bread *b, const bool *done);
void cli_done(struct bread_op *op); /* an on_end: sets the bool that is op's arg */
enum bread_code cli_ask(struct bread *b, struct bread_read *r); /* r->op.err says why */

struct cli_run {
	struct bread *b;
	char id[BREAD_RUN_ID_MAX];
	/* of this run; NULL: not wanted */
	void (*on_crumb)(const struct bread_crumb *c, void *arg);
	void *arg;

	/* the outcome */
	enum bread_run_status status;
	struct bread_str output, error_code, error_message;

	struct arena arena; /* of the outcome */
	bool ended, cancelling;
	struct bread_op cancel;
	enum bread_run_status was; /* when the cancel came */
};
void cli_run_init(struct cli_run *r, struct bread *b); /* once an instance: it listens */
/* Runs it to its end; a signal cancels it. An exit status. */
int cli_run(struct cli_run *r, struct bread_run_request req);
/* Answers a checkpoint, and goes on to the end of that tree or its next question: r->id is its
 * root then. */
int cli_resume(struct cli_run *r, struct bread_str checkpoint, struct bread_str response);
void cli_run_fini(struct cli_run *r);
/* questions.c: what a tree of runs waits for. run: its root, or the one that asked; empty: all, by
 * q->filter. Then bread_read_fini. */
enum bread_code cli_questions(struct bread *b, struct bread_str run, struct bread_read *q);
bool cli_for_somebody(const struct bread_checkpoint_row *c); /* a person may answer it */
struct jsonw;
void cli_put_question(struct jsonw *w, const struct bread_checkpoint_row *c);

/* form.c: false: the input has ended. agent: who need not be named; NULL: none. */
struct cli_lines;
bool cli_form(struct cli_lines *lines, const struct bread_checkpoint_row *c, const char *agent,
	struct arena *a, struct bread_str *ret);
/* What was typed as an answer: y or n for an approval, JSON, else a text. */
struct bread_str cli_answer(
	const struct bread_checkpoint_row *c, struct bread_str text, struct arena *a);
/* Is it one? Not of an approval: a word that is neither y nor n, which would be a refusal. */
bool cli_answer_is_one(
	const struct bread_checkpoint_row *c, struct bread_str answer, struct arena *a);

/* speech.c: a run whose text, or with --json whose output, goes to standard output. */
struct cli_speech {
	struct cli_run run;
	bool json, trace;
	bool spoke; /* some of its text was printed */
};
void cli_speech_init(struct cli_speech *s, struct cli_args *a, struct bread *b);
/* After cli_run or cli_resume, which gave that status: what is left to say. Stops the instance. */
int cli_speech_end(struct cli_speech *s, int status);
/* The pieces of it, for a run that is somewhere else: some text, the outcome, its questions. */
void cli_speech_text(struct cli_speech *s, struct bread_str delta);
void cli_speech_output(struct cli_speech *s);
void cli_speech_waits(
	const struct cli_speech *s, const struct bread_checkpoint_row *rows, size_t n);
int cli_run_status(const struct cli_run *r); /* the exit status of its outcome */

/* resume_http.c: bread resume with --server. */
int cli_resume_at(struct cli_args *a, const char *server);
/* cmd_resume.c: the answer on the command line, else from a form. 0, or an exit status. */
int cli_take_answer(
	struct cli_args *a, const struct bread_checkpoint_row *c, struct bread_str *ret);

/* What went wrong, on standard error. */
void cli_run_explain(const struct cli_run *r);
/* What an agent takes: plain text as a JSON string, or JSON when its schema wants no string. */
struct bread_str cli_input(
	struct bread *b, const char *agent, struct bread_str text, struct arena *a);
/* Says that there is no such agent and which there are; 0, or an exit status. */
int cli_agent_known(struct bread *b, const char *agent);

/* tree.c: the run and what is below it, the root first among rows; print NULL: as drawn lines.
 * false: it is not among them. */
bool cli_tree(const struct bread_run_row *rows, size_t n, struct bread_str id,
	void (*print)(const struct bread_run_row *row));

/* terminal.c: the transport `stdout`: runs as text on standard output. */
void cli_terminal(struct bread *b, bool trace);
void cli_terminal_lines(void); /* from here on a line for each that speaks */
void cli_terminal_line(void);  /* ends the line: who speaks next is named again */
bool cli_terminal_wanted(const struct project *p, bool *ret_trace); /* by `transport:` */
