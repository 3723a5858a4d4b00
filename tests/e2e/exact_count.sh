# instr_retired is the number of instructions the program executed, as an independent single-step count gives
# it, for static and dynamic programs: a repeated string instruction is one, a form documented to retire twice
# is two.
. "$(dirname "$0")/lib.sh"
needs_live
[ -x "${STEPCOUNT:-}" ] || skip "no independent step count here"

check()
{
    "$P4SIM" stat --csv -o "$work/csv" -e instr_retired:NBOGUSNTAG -- "$@" >"$work/inside" 2>"$work/stderr" </dev/null ||
        fail "$*: $(cat "$work/stderr")"
    steps_agree "$work/csv" "$@"
}

check "$PROGRAMS/exit7" 10
check "$PROGRAMS/hash_table" 100
check "$PROGRAMS/hash_table_dynamic" 5
check "$PROGRAMS/strings" 3
check "$PROGRAMS/floats" 20
check "$PROGRAMS/self_modifying" 5
finish
