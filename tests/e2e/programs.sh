# Programs that fork, use threads, receive signals, crash or exit with an error are followed or reported.
. "$(dirname "$0")/lib.sh"
needs_live

# says NAME TEXT: the table of program NAME says TEXT.
says()
{
    "$P4SIM" stat -o "$work/table" -- "$PROGRAMS/$1" 50 >"$work/stdout" 2>"$work/stderr" </dev/null ||
        fail "$1: $(cat "$work/stderr")"
    grep -q -e "$2" "$work/table" || fail "the table of $1 does not say '$2': $(cat "$work/table")"
}

says exit7 "exited with status 7"
says crash "ended by signal 11"
says signals "signals handled"
says threads "5 threads"
says forks "processes"

# standard input reaches the program
[ -x /bin/sh ] && echo "2 + 3" >"$work/input"
"$P4SIM" stat -o /dev/null -- "$PROGRAMS/hash_table" 20 <"$work/input" >"$work/stdout" || fail "with input"
grep -q "20 words" "$work/stdout" || fail "the program's output is lost"
[ "$(wc -l <"$work/stdout")" = 1 ] || fail "standard output has more than the program's own line"
finish
