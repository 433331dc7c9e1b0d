/* SPDX-License-Identifier: MIT */
/* One Lua state in its cage: memory, instructions and time are bounded, and what a script can
 * reach is what sandbox.c gives it.
 *
 * Every call into Lua is a protected one, so that no error of a script, of its memory or of ours
 * leaves this file. A state is used by one thread at a time; which one does not matter. */
#pragma once
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdatomic.h>
#include "base/json.h"
#include "base/list.h"

#define SCRIPT_VALUE_MAX ((size_t)8 * 1024 * 1024) /* of a value that leaves a script, as JSON */
#define SCRIPT_ARGS 2

struct script_limits {
	int64_t memory;       /* bytes of a state */
	int64_t ms;           /* of one call */
	int64_t instructions; /* of one call; 0: as many as there is time for */
};

struct script_code {
	char *name; /* for messages */
	struct bread_str text;
	struct script_limits limits;
};

enum script_kill { KILL_NONE, KILL_CANCELED, KILL_TIME, KILL_INSTRUCTIONS };

/* One call of a function of the script. */
struct script_call {
	/* "tool", "beforeRun": in the table that the script returned. table NULL: its own member,
	 * or the script returned the function itself, or it is a global one. */
	const char *table, *function;
	struct bread_str args[SCRIPT_ARGS]; /* JSON; empty: nil. Borrowed */
	size_t arg_count;
	atomic_int stop; /* set from any thread: it ends soon */

	/* The first argument, an object, gets a function `yield` that calls this with a value as
	 * JSON, on the thread of the call; false: enough. NULL: it gets none. */
	bool (*on_yield)(struct script_call *c, struct bread_str json);

	/* out, freed by brd_script_call_fini */
	bool failed;
	enum script_kill killed; /* why it failed, if it was ended */
	struct buf value;        /* JSON; empty: nothing was given */
	char *error_code;        /* of error{code=, message=, context=}; NULL: it had none */
	char *error_text;        /* of a failed one, never NULL */
	char *error_context;     /* JSON object; NULL: none */
};

struct script_state {
	struct list link; /* in its pool */
	lua_State *L;
	const struct script_code *code;
	size_t used; /* bytes */
	bool bad;    /* not to be used again */

	/* of the call under way */
	struct script_call *call;
	enum script_kill killed;
	int64_t deadline, left;
	struct arena scratch; /* of a value on its way in */
	struct buf text;      /* of one on its way out */
};

/* Makes a state and runs the script in it once; BREAD_E_INVALID with what the script has wrong.
 * stop: as in a call; NULL: there is none. The code is borrowed. */
int brd_script_state_new(struct script_state **ret, const struct script_code *code,
	struct script_call *first, struct bread_err *err);
void brd_script_state_free(struct script_state *s); /* NULL, too */

void brd_script_call_init(struct script_call *c);
void brd_script_call_fini(struct script_call *c);
/* Runs it; the outcome is in c. */
void brd_script_run(struct script_state *s, struct script_call *c);

/* Calls fn with arg as a light userdata and what the script returned behind it, under the limits
 * of a call. BREAD_E_INVALID with the text of the error it raised. */
int brd_script_inspect(struct script_state *s, lua_CFunction fn, void *arg, struct bread_err *err);

/* ---- for the functions that scripts call ---- */

struct script_state *brd_script_state_of(lua_State *L);
/* Counts work that the engine does not see; raises an error when the script must end. */
void brd_script_spend(lua_State *L, int64_t steps);

/* ---- sandbox.c, strings.c, value.c ---- */

/* Fills the globals. Raises. */
void brd_script_sandbox(lua_State *L);
/* string.find, match, gmatch and gsub into the table at the top. Raises. */
void brd_script_patterns(lua_State *L);

/* JSON's values in Lua (docs/hooks.md): an array is a table that is marked as one, null is
 * bread.null, a number that neither an integer nor a float holds exactly keeps its digits. */
void brd_script_values(lua_State *L);     /* once a state, first. Raises */
void brd_script_push_null(lua_State *L);  /* bread.null */
void brd_script_mark_array(lua_State *L); /* the table at the top. Raises */
void brd_script_push(lua_State *L, struct jval v, struct arena *a); /* raises */
/* The value at index as JSON, behind what out has. Raises when it is none, nests over JSON_DEPTH
 * or out is full. */
void brd_script_write(lua_State *L, int index, struct buf *out);
