# What the end-to-end tests share. Read by each of them; ctest gives in the environment:
#   P4SIM      the command        PROGRAMS   folder of the built programs under test
#   STEPCOUNT  the independent single-step count, MODEL_CPUID what CPUID answers on a model
#   LIVE_POSSIBLE  tells whether live programs can run here
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

# live: whether live 32-bit programs can run here; $reason says why not.
live()
{
    reason=$("$LIVE_POSSIBLE")
    case $? in
    0) return 0 ;;
    77) return 1 ;;
    *)
        echo "FAILED: $LIVE_POSSIBLE does not run"
        exit 1
        ;;
    esac
}

# needs_live: skip where ptrace or 32-bit programs are missing, or the programs could not be built.
needs_live()
{
    live || skip "live 32-bit programs cannot run here: $reason"
    [ -x "$PROGRAMS/exit7" ] || skip "32-bit programs cannot be built here (gcc -m32)"
}

# steps_agree CSV PROGRAM ARGUMENTS...: instr_retired:NBOGUSNTAG of the result is what single steps count,
# with the forms documented to retire twice counted twice. Both runs must write to the same kind of file.
# MODEL, where it is set, is the model that ran it.
steps_agree()
{
    result=$1
    shift
    "$MODEL_CPUID" "${MODEL:-northwood}" >"$work/cpuid" || fail "model_cpuid"
    "$STEPCOUNT" -c "$work/cpuid" "$work/steps" "$@" >"$work/inside" 2>/dev/null </dev/null ||
        fail "stepcount $*"
    same "instructions of $*" "$(count instr_retired:NBOGUSNTAG "$result")" \
        "$(awk '{ n += $2 } END { print n }' "$work/steps")"
}

finish()
{
    [ "$failures" = 0 ] || exit 1
}
