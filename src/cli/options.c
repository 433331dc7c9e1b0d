/* SPDX-License-Identifier: MIT */
/* Options by table: --name VALUE, --name=VALUE, -n VALUE, switches, and -- before
 * words that begin with a dash. Commands of two words are found before those of one. */
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"

static const struct cli_option everywhere[] = {
	{ .name = "cwd", .value = "DIR", .doc = "the project's folder (default: the current one)" },
	{ .name = "help", .letter = 'h', .doc = "says what a command takes" },
};

static const struct cli_option *find(
	const struct cli_option *o, size_t n, const char *name, size_t len, char letter)
{
	for (size_t i = 0; i < n; i++)
		if (letter ? o[i].letter == letter
			   : strlen(o[i].name) == len && !strncmp(o[i].name, name, len))
			return &o[i];
	return NULL;
}

static const struct cli_option *option_of(
	const struct cli_args *a, const char *name, size_t len, char letter)
{
	const struct cli_option *o =
		find(a->command->options, a->command->option_count, name, len, letter);

	return o ? o
		 : find(everywhere, sizeof(everywhere) / sizeof(*everywhere), name, len, letter);
}

static bool give(struct cli_args *a, const struct cli_option *o, const char *value)
{
	if (a->given_count == sizeof(a->given) / sizeof(*a->given)) {
		cli_error("too many options");
		return false;
	}
	a->given[a->given_count].option = o;
	a->given[a->given_count++].value = value;
	return true;
}

/* Takes argv[*i], and the one behind it if the option wants a value. */
static bool take_option(struct cli_args *a, int argc, char **argv, int *i)
{
	const char *arg = argv[*i], *equals = arg[1] == '-' ? strchr(arg, '=') : NULL;
	size_t len = equals ? (size_t)(equals - arg) - 2 : strlen(arg) - 2;
	const struct cli_option *o =
		arg[1] == '-' ? option_of(a, arg + 2, len, 0) : option_of(a, NULL, 0, arg[1]);
	const char *value = equals ? equals + 1 : NULL;

	if (!o) {
		fprintf(stderr, "error: unknown option '%s' (see bread %s --help)\n", arg,
			a->command->name);
		return false;
	}
	if (!o->value) {
		if (value)
			fprintf(stderr, "error: option '--%s' takes no value\n", o->name);
		return !value && give(a, o, "");
	}
	if (arg[1] != '-' && arg[2])
		value = arg + 2;
	if (!value && *i + 1 < argc)
		value = argv[++*i];
	if (!value)
		fprintf(stderr, "error: option '--%s %s' argument missing\n", o->name, o->value);
	return value && give(a, o, value);
}

static bool add_word(struct cli_args *a, const char *word)
{
	if (a->word_count == a->command->words_max) {
		fprintf(stderr, "error: \"%s\" is one argument too many (see bread %s --help)\n",
			word, a->command->name);
		return false;
	}
	a->words[a->word_count++] = word;
	return true;
}

/* The command that argv names; *ret_used words of it. */
static const struct cli_command *command_of(int argc, char **argv, int *ret_used)
{
	char two[128] = "";

	if (argc > 2)
		snprintf(two, sizeof(two), "%s %s", argv[1], argv[2]);
	for (int n = 2; n > 0; n--)
		for (const struct cli_command *const *c = cli_commands; *c; c++)
			if (!strcmp((*c)->name, n == 2 ? two : argv[1])) {
				*ret_used = n;
				return *c;
			}
	return NULL;
}

bool cli_parse(struct cli_args *a, int argc, char **argv)
{
	int used = 0;
	bool words_only = false;

	a->command = argc > 1 ? command_of(argc, argv, &used) : NULL;
	if (!a->command) {
		if (argc > 1)
			fprintf(stderr, "error: unknown command '%s'\n", argv[1]);
		else
			cli_help(stderr, NULL);
		return false;
	}
	for (int i = used + 1; i < argc; i++) {
		if (!words_only && !strcmp(argv[i], "--"))
			words_only = true;
		else if (!words_only && argv[i][0] == '-' && argv[i][1]
				 ? !take_option(a, argc, argv, &i)
				 : !add_word(a, argv[i]))
			return false;
	}
	if (a->word_count < a->command->words_min && !cli_on(a, "help")) {
		fprintf(stderr, "error: missing argument; usage: bread %s %s\n", a->command->name,
			a->command->usage);
		return false;
	}
	return true;
}

size_t cli_values(const struct cli_args *a, const char *name, const char **ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < a->given_count && n < max; i++)
		if (!strcmp(a->given[i].option->name, name))
			ret[n++] = a->given[i].value;
	return n;
}

const char *cli_value(const struct cli_args *a, const char *name)
{
	const char *v = NULL;

	for (size_t i = 0; i < a->given_count; i++)
		if (!strcmp(a->given[i].option->name, name))
			v = a->given[i].value;
	return v;
}

bool cli_on(const struct cli_args *a, const char *name)
{
	return cli_value(a, name) != NULL;
}

static void list_options(FILE *out, const struct cli_option *o, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char left[64];

		snprintf(left, sizeof(left), "%s%c%s--%s%s%s", o[i].letter ? "-" : "",
			o[i].letter ? o[i].letter : ' ', o[i].letter ? ", " : "   ", o[i].name,
			o[i].value ? " " : "", o[i].value ? o[i].value : "");
		fprintf(out, "  %-30s %s\n", left, o[i].doc);
	}
}

static void list_commands(FILE *out)
{
	fprintf(out, "Usage: bread COMMAND [OPTIONS]\n\nRuns AI agents, records every event once, "
		     "and streams it to anyone.\n\nCommands:\n");
	for (const struct cli_command *const *c = cli_commands; *c; c++) {
		char left[64];

		if ((*c)->hidden)
			continue;
		snprintf(left, sizeof(left), "%s %s", (*c)->name, (*c)->usage);
		fprintf(out, "  %-30s %s\n", left, (*c)->doc);
	}
	fprintf(out, "\nOptions:\n");
}

void cli_help(FILE *out, const struct cli_command *c)
{
	if (!c) {
		list_commands(out);
	} else {
		fprintf(out, "Usage: bread %s %s%s\n\n%s\n\nOptions:\n", c->name, c->usage,
			c->option_count ? " [OPTIONS]" : "", c->doc);
		list_options(out, c->options, c->option_count);
	}
	list_options(out, everywhere, sizeof(everywhere) / sizeof(*everywhere));
}
