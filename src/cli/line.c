/* SPDX-License-Identifier: MIT */
/* See line.h. libedit does the editing; it needs a UTF-8 locale for our prompts. */
#include "cli/line.h"
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"

#define REMEMBERED 500

struct cli_lines {
	EditLine *edit; /* NULL: no terminal */
	History *history;
	const char *prompt;
	char *line;
	size_t room;
};

static char *prompt_of(EditLine *edit)
{
	void *l;

	el_get(edit, EL_CLIENTDATA, &l);
	return (char *)((struct cli_lines *)l)->prompt;
}

static void open_editor(struct cli_lines *l)
{
	HistEvent ev;

	if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
		setlocale(LC_CTYPE, "C.UTF-8");
	l->edit = el_init("bread", stdin, stderr, stderr);
	if (!l->edit)
		return;
	l->history = history_init();
	history(l->history, &ev, H_SETSIZE, REMEMBERED);
	el_set(l->edit, EL_CLIENTDATA, l);
	el_set(l->edit, EL_PROMPT, prompt_of);
	el_set(l->edit, EL_EDITOR, "emacs");
	el_set(l->edit, EL_SIGNAL, 1);
	el_set(l->edit, EL_HIST, history, l->history);
	el_source(l->edit, NULL);
}

struct cli_lines *cli_lines_new(void)
{
	struct cli_lines *l = brd_alloc(sizeof(*l));

	if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
		open_editor(l);
	return l;
}

void cli_lines_free(struct cli_lines *l)
{
	if (l->edit)
		el_end(l->edit);
	if (l->history)
		history_end(l->history);
	free(l->line);
	free(l);
}

static void trim_end(char *line, size_t n)
{
	while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
		line[--n] = 0;
}

static const char *read_edited(struct cli_lines *l)
{
	HistEvent ev;
	int n;
	const char *text = el_gets(l->edit, &n);

	if (!text || n <= 0)
		return NULL;
	free(l->line);
	l->line = brd_strdup(text);
	trim_end(l->line, strlen(l->line));
	if (*l->line)
		history(l->history, &ev, H_ENTER, l->line);
	return l->line;
}

const char *cli_lines_read(struct cli_lines *l, const char *prompt)
{
	ssize_t n;

	fflush(stdout);
	l->prompt = prompt;
	if (l->edit)
		return read_edited(l);
	fputs(prompt, stderr);
	fflush(stderr);
	n = getline(&l->line, &l->room, stdin);
	if (n < 0)
		return NULL;
	trim_end(l->line, (size_t)n);
	return l->line;
}
