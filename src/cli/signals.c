/* SPDX-License-Identifier: MIT */
/* Signals as calls on the instance's loop. */
#include <signal.h>
#include <unistd.h>
#include "cli/cli.h"
#include "loop/loop.h"
#include "loop/proc.h"

static void on_signal(uv_signal_t *h, int signum)
{
	struct cli_signals *s = h->data;

	if (s->asked++) {
		brd_proc_kill_all(); /* nobody would hear what tools still have to say */
		_exit(EXIT_CANCELLED);
	}
	s->fn(s->arg);
}

static void on_closed(uv_handle_t *h)
{
	((struct cli_signals *)h->data)->open--;
}

void cli_signals_open(struct cli_signals *s, struct bread *b, void (*fn)(void *arg), void *arg)
{
	static const int numbers[] = { SIGINT, SIGTERM };

	s->fn = fn;
	s->arg = arg;
	s->asked = 0;
	s->open = CLI_COUNT(numbers);
	for (size_t i = 0; i < CLI_COUNT(numbers); i++) {
		uv_signal_init(brd_loop_uv(brd_instance_loop(b, 0)), &s->handles[i]);
		s->handles[i].data = s;
		uv_signal_start(&s->handles[i], on_signal, numbers[i]);
		uv_unref((uv_handle_t *)&s->handles[i]);
	}
}

void cli_signals_close(struct cli_signals *s, struct bread *b)
{
	for (size_t i = 0; i < CLI_COUNT(s->handles); i++)
		uv_close((uv_handle_t *)&s->handles[i], on_closed);
	while (s->open)
		bread_turn(b, 0);
}
