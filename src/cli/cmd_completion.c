/* SPDX-License-Identifier: MIT */
/* bread completion: scripts for shells, made from the tables of commands. */
#include <ctype.h>
#include <string.h>
#include "cli/cli.h"

/* "sessions" of "sessions list": each once; false: a command of one word, or seen before. */
static bool group_of(size_t i, char *ret, size_t size)
{
	const char *name = cli_commands[i]->name, *blank = strchr(name, ' ');
	size_t len = blank ? (size_t)(blank - name) + 1 : 0;

	if (!blank || (i && !strncmp(cli_commands[i - 1]->name, name, len)))
		return false;
	snprintf(ret, size, "%.*s", (int)len - 1, name);
	return true;
}

static bool is_single(const struct cli_command *c)
{
	return !c->hidden && !strchr(c->name, ' ');
}

static void put_first_words(FILE *out)
{
	char group[64];

	for (size_t i = 0; cli_commands[i]; i++)
		if (is_single(cli_commands[i]))
			fprintf(out, "%s ", cli_commands[i]->name);
		else if (group_of(i, group, sizeof(group)))
			fprintf(out, "%s ", group);
}

static void put_option_words(FILE *out, const struct cli_option *o)
{
	for (; o && o->name; o++) {
		fprintf(out, "--%s ", o->name);
		if (o->letter)
			fprintf(out, "-%c ", o->letter);
	}
}

/* ---- bash: by the first words on the line ---- */

static void bash(FILE *out)
{
	char group[64];

	fputs("_bread() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\n", out);
	fputs("\tcase \"${COMP_WORDS[1]} ${COMP_WORDS[2]} \" in\n", out);
	for (size_t i = 0; cli_commands[i]; i++) {
		const struct cli_command *c = cli_commands[i];

		if (c->hidden)
			continue;
		fprintf(out, "\t\"%s \"*) words=\"", c->name);
		put_option_words(out, c->options);
		put_option_words(out, cli_everywhere);
		fputs("\" ;;\n", out);
	}
	fputs("\tesac\n\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\twords=\"", out);
	put_first_words(out);
	fputs("--help --version\"\n", out);
	fputs("\telif [ \"$COMP_CWORD\" = 2 ]; then\n\t\tcase ${COMP_WORDS[1]} in\n", out);
	for (size_t i = 0; cli_commands[i]; i++)
		if (group_of(i, group, sizeof(group))) {
			fprintf(out, "\t\t%s) words=\"", group);
			for (size_t j = i; cli_commands[j]; j++)
				if (!strncmp(cli_commands[j]->name, group, strlen(group)) &&
					cli_commands[j]->name[strlen(group)] == ' ')
					fprintf(out, "%s ",
						cli_commands[j]->name + strlen(group) + 1);
			fputs("\" ;;\n", out);
		}
	fputs("\t\tesac\n\tfi\n", out);
	fputs("\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n", out);
	fputs("\t[ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n",
		out);
	fputs("}\ncomplete -F _bread bread\n", out);
}

/* Text in '…' of a shell. */
static void quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(*text, out);
	fputc('\'', out);
}

/* ---- zsh ---- */

static void zsh_option(FILE *out, const struct cli_option *o)
{
	char text[256];

	for (; o && o->name; o++) {
		snprintf(text, sizeof(text), "--%s[%s]%s%s", o->name, o->doc, o->value ? ":" : "",
			o->value ? o->value : "");
		fputs(" \\\n\t\t\t", out);
		quoted(out, text);
		if (!o->letter)
			continue;
		snprintf(text, sizeof(text), "-%c[%s]%s%s", o->letter, o->doc, o->value ? ":" : "",
			o->value ? o->value : "");
		fputs(" \\\n\t\t\t", out);
		quoted(out, text);
	}
}

static void zsh(FILE *out)
{
	fputs("#compdef bread\n_bread() {\n\tlocal -a commands=(\n", out);
	for (size_t i = 0; cli_commands[i]; i++) {
		char text[256], name[64];
		const struct cli_command *c = cli_commands[i];

		snprintf(name, sizeof(name), "%s", c->name);
		if (strchr(name, ' '))
			*strchr(name, ' ') = 0;
		snprintf(text, sizeof(text), "%s:%s", name, c->doc);
		if (c->hidden)
			continue;
		fputs("\t\t", out);
		quoted(out, text);
		fputc('\n', out);
	}
	fputs("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n"
	      "\tfi\n\tcase \"$words[2] $words[3] \" in\n",
		out);
	for (size_t i = 0; cli_commands[i]; i++)
		if (!cli_commands[i]->hidden) {
			fprintf(out, "\t\"%s \"*)\n\t\t_arguments", cli_commands[i]->name);
			zsh_option(out, cli_commands[i]->options);
			zsh_option(out, cli_everywhere);
			fputs(" \\\n\t\t\t'*:argument:_files'\n\t\t;;\n", out);
		}
	fputs("\tesac\n}\ncompdef _bread bread\n", out);
}

/* ---- fish ---- */

static void fish_option(FILE *out, const char *condition, const struct cli_option *o)
{
	for (; o && o->name; o++) {
		fprintf(out, "complete -c bread%s -l %s", condition, o->name);
		if (o->letter)
			fprintf(out, " -s %c", o->letter);
		if (o->value)
			fputs(" -x", out);
		fputs(" -d ", out);
		quoted(out, o->doc);
		fputc('\n', out);
	}
}

static void fish(FILE *out)
{
	for (size_t i = 0; cli_commands[i]; i++) {
		const struct cli_command *c = cli_commands[i];
		const char *blank = strchr(c->name, ' ');
		int first = blank ? (int)(blank - c->name) : (int)strlen(c->name);
		char condition[128];

		if (c->hidden)
			continue;
		fprintf(out, "complete -c bread -n __fish_use_subcommand -a '%.*s' -d ", first,
			c->name);
		quoted(out, blank ? "" : c->doc);
		fputc('\n', out);
		if (blank) {
			fprintf(out,
				"complete -c bread -n '__fish_seen_subcommand_from %.*s' -a '%s' "
				"-d ",
				first, c->name, blank + 1);
			quoted(out, c->doc);
			fputc('\n', out);
		}
		snprintf(condition, sizeof(condition), " -n '__fish_seen_subcommand_from %s'",
			blank ? blank + 1 : c->name);
		fish_option(out, condition, c->options);
	}
	fish_option(out, "", cli_everywhere);
}

static int run(struct cli_args *a)
{
	static const struct {
		const char *shell;
		void (*write)(FILE *out);
	} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

	for (size_t i = 0; i < CLI_COUNT(shells); i++)
		if (!strcmp(shells[i].shell, a->words[0])) {
			shells[i].write(stdout);
			return EXIT_DONE;
		}
	fprintf(stderr, "error: there are scripts for bash, zsh and fish, not for %s\n",
		a->words[0]);
	return EXIT_USAGE;
}

const struct cli_command cli_completion = {
	.name = "completion",
	.usage = "bash|zsh|fish",
	.doc = "Prints a completion script for a shell.",
	.detail = "For bash: source <(bread completion bash)",
	.words_min = 1,
	.words_max = 1,
	.run = run,
};
