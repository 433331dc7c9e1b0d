/* SPDX-License-Identifier: MIT */
/* Options by table: --name VALUE, --name=VALUE, -n VALUE, switches, and -- before
 * words that begin with a dash. Commands of two words are found before those of one. */
#include <stdio.h>
#include <string.h>
#include "base/buf.h"
#include "cli/cli.h"

const struct cli_option cli_everywhere[] = {
	{ .name = "cwd", .value = "DIR", .doc = "the project's folder (default: the current one)" },
	{ .name = "help", .letter = 'h', .doc = "says what a command takes" },
	{ 0 },
};

static const struct cli_option *find(
	const struct cli_option *o, const char *name, size_t len, char letter)
{
	for (; o && o->name; o++)
		if (letter ? o->letter == letter
			   : strlen(o->name) == len && !strncmp(o->name, name, len))
			return o;
	return NULL;
}

static const struct cli_option *option_of(
	const struct cli_args *a, const char *name, size_t len, char letter)
{
	const struct cli_option *o = find(a->command->options, name, len, letter);

	return o ? o : find(cli_everywhere, name, len, letter);
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

	if (!o || (!o->value && arg[1] != '-' && arg[2])) {
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
	if (a->word_count == a->command->words_max || a->word_count == CLI_COUNT(a->words)) {
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
	const struct cli_command *c;
	char two[128] = "";

	if (argc > 2)
		snprintf(two, sizeof(two), "%s %s", argv[1], argv[2]);
	for (int n = 2; n > 0; n--)
		if ((c = cli_command_named(n == 2 ? two : argv[1]))) {
			*ret_used = n;
			return c;
		}
	return NULL;
}

/* "runs" alone is the begin of several commands: which ones is said. */
static void refuse_command(int argc, char **argv)
{
	struct buf b;

	if (argc < 2) {
		cli_help(stderr, NULL);
		return;
	}
	brd_buf_init(&b, BUF_NO_LIMIT);
	for (const struct cli_command *const *c = cli_commands; *c; c++)
		if (!strncmp((*c)->name, argv[1], strlen(argv[1])) &&
			(*c)->name[strlen(argv[1])] == ' ')
			brd_buf_addf(&b, "%s%s", b.len ? ", " : "", (*c)->name);
	if (b.len)
		fprintf(stderr, "error: '%s' needs a second word: %s\n", argv[1], b.data);
	else
		fprintf(stderr, "error: unknown command '%s'\n", argv[1]);
	brd_buf_fini(&b);
}

bool cli_parse(struct cli_args *a, int argc, char **argv)
{
	int used = 0;
	bool words_only = false;

	a->command = argc > 1 ? command_of(argc, argv, &used) : NULL;
	if (!a->command) {
		refuse_command(argc, argv);
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

bool cli_number(const struct cli_args *a, const char *name, int64_t min, int64_t max, int64_t dflt,
	int64_t *ret)
{
	const char *v = cli_value(a, name);

	*ret = dflt;
	if (!v || (brd_str_int(brd_str(v), ret) && *ret >= min && *ret <= max))
		return true;
	fprintf(stderr, "error: --%s is \"%s\"; a whole number from %lld to %lld is expected\n",
		name, v, (long long)min, (long long)max);
	return false;
}

const struct cli_command *cli_command_named(const char *name)
{
	for (const struct cli_command *const *c = cli_commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

static void list_options(FILE *out, const struct cli_option *o)
{
	for (; o && o->name; o++) {
		char letter[] = "    ", left[64];

		if (o->letter)
			snprintf(letter, sizeof(letter), "-%c, ", o->letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->value ? " " : "",
			o->value ? o->value : "");
		fprintf(out, "  %-30s %s\n", left, o->doc);
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
		fprintf(out, "Usage: bread %s%s%s%s\n\n%s\n", c->name, *c->usage ? " " : "",
			c->usage, c->options ? " [OPTIONS]" : "", c->doc);
		if (c->detail)
			fprintf(out, "%s\n", c->detail);
		fprintf(out, "\nOptions:\n");
		list_options(out, c->options);
	}
	if (!c)
		fprintf(out, "  %-30s %s\n", "-V, --version", "prints the version");
	list_options(out, cli_everywhere);
}
