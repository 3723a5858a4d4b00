# What the end-to-end tests share. Read by each of them; ctest gives in the environment:
#   P4SIM      the command        PROGRAMS   folder of the built programs under test
#   STEPCOUNT  the independent single-step count
#   SAMPLES    folder of the recordings in the repository
set -u
failures=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

skip()
{
    echo "SKIPPED: $*"
    exit 77
}

fail()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect STATUS TEXT COMMAND...: the command ends with STATUS and says TEXT on standard error.
expect()
{
    want=$1
    text=$2
    shift 2
    "$@" >"$work/stdout" 2>"$work/stderr"
    got=$?
    [ "$got" = "$want" ] || fail "$* ended with status $got, expected $want: $(cat "$work/stderr")"
    grep -F -q -- "$text" "$work/stderr" ||
        fail "$* did not say '$text' but: $(cat "$work/stderr")"
}

# same WHAT A B: two texts are equal.
same()
{
    [ "$2" = "$3" ] || fail "$1: '$2' against '$3'"
}

# count EVENT FILE: its count in a CSV result.
count()
{
    sed -n "s|^[^,]*,[^,]*,\"$1\",\([0-9]*\),.*|\1|p" "$2"
}

# counts FILE: all events and counts of a CSV result.
counts()
{
    cut -d , -f 3,4 "$1"
}

needs_live()
{
    "$P4SIM" stat -o /dev/null -- "$PROGRAMS/$1" >/dev/null 2>"$work/live" && return
    skip "live 32-bit programs cannot run here: $(tail -n 1 "$work/live")"
}

finish()
{
    [ "$failures" = 0 ] || exit 1
}
