# SPDX-License-Identifier: MIT
# What the try scripts of the examples share; bash, to be sourced.
#
# A script works on a copy of its folder, starts servers on free ports, says what it does
# before it does it, and ends with 1 when something is not as expected. Servers and the copy
# are gone at its end. BREAD is the program to try, by default the one in build/.
set -u
example=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
examples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BREAD=${BREAD:-$examples/../build/bread}
case $BREAD in */*) BREAD=$(realpath "$BREAD") ;; *) BREAD=$(command -v "$BREAD") ;; esac
work=$(mktemp -d)
server=
out=
status=0
export NO_COLOR=1

bread() { "$BREAD" "$@"; }

step() { printf '\n# %s\n' "$*"; }

fail() {
	printf 'FAILED: %s\n' "$*" >&2
	[ -z "$server" ] || sed 's/^/    server: /' "$work/server.log" >&2
	exit 1
}

# Words as one would type them.
typed() {
	local word
	for word in "$@"; do
		case $word in
		*[!A-Za-z0-9_.:/=@,-]* | '') printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
}

# Runs a command and keeps what it said on both outputs in $out, and its end in $status.
run() {
	printf '$%s\n' "$(typed "$@")"
	out=$("$@" 2>&1)
	status=$?
	printf '%s\n' "$out" | "$examples/crumbs"
}

# The same with what is typed on its standard input.
answer() {
	local lines=$1
	shift
	printf '$%s\n' "$(typed "$@")"
	out=$(printf "$lines" | "$@" 2>&1)
	status=$?
	printf '%s\n' "$out" | sed 's/^/  /'
}

get() { run curl -sN "$url$1"; }
post() { run curl -sN "$url$1" -H 'Content-Type: application/json' -d "$2"; }

# field TYPE PATH: of the last crumb of that type; of the whole answer: field . PATH
field() { printf '%s\n' "$out" | "$examples/crumbs" "$1" "$2"; }

expect() {
	case $out in *"$1"*) ;; *) fail "\"$1\" is not in: ${out:0:1500}" ;; esac
}

expect_not() {
	case $out in *"$1"*) fail "\"$1\" is in: ${out:0:1500}" ;; esac
}

ends_with() { [ "$status" = "$1" ] || fail "it ended with $status instead of $1: $out"; }

# is WHAT WANTED GOT
is() { [ "$2" = "$3" ] || fail "$1: expected \"$2\", got \"$3\""; }

# Serves the copy on a free port, which is in $url then.
serve() {
	printf '$ bread start --port 0 &\n'
	: >"$work/server.log"
	"$BREAD" start --port 0 --cwd "$project" >"$work/server.log" 2>&1 &
	server=$!
	for _ in $(seq 600); do
		url=$(grep -om1 'http://[^ /]*' "$work/server.log") && grep -q 'loaded' "$work/server.log" && break
		kill -0 "$server" 2>/dev/null || fail "the server does not start"
		sleep 0.05
	done
	[ -n "$url" ] || fail "the server says no address"
	printf '  %s\n' "$url"
}

stop_server() {
	printf '$ kill %%1   # the server ends\n'
	kill "$server" && wait "$server" || fail "the server ended with $?"
	server=
}

clean() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM

cp -r "$example" "$work/project"
project=$work/project
rm -f "$project"/bread.db*
