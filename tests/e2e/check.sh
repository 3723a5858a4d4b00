# The oracle over programs: interpreter and processor agree on every instruction they both know, with all their
# state; where they are made to differ the difference is shown, with both states, and the status is 1.
. "$(dirname "$0")/lib.sh"
needs_live

# agrees AT_LEAST PROGRAM ARGUMENTS...: that many instructions are compared.
agrees()
{
    least=$1
    name=$2
    shift 2
    "$P4SIM" trace check --instructions 25000 -- "$PROGRAMS/$name" "$@" >/dev/null 2>"$work/log" </dev/null ||
        fail "$name: $(cat "$work/log")"
    compared=$(sed -n 's/^check: \([0-9]*\) instructions .* agree$/\1/p' "$work/log")
    [ "${compared:-0}" -ge "$least" ] || fail "$name: compared '$compared', expected at least $least"
}

agrees 24000 floats 30
agrees 24000 strings 30
agrees 10000 signals
agrees 20000 threads 5
agrees 5000 forks
"$P4SIM" trace check --from 60000 --instructions 5000 -- "$PROGRAMS/sort" 100 >/dev/null 2>"$work/log" ||
    fail "--from: $(cat "$work/log")"
grep -q "^check: 5[0-9]* *instructions\|^check: 49[0-9]* instructions" "$work/log" || fail "--from: $(cat "$work/log")"

# A host that has TZCNT executes F3 0F BC otherwise than a Pentium 4.
if grep -q -w bmi1 /proc/cpuinfo; then
    expect 1 "interpreter and processor disagree on registers" "$P4SIM" trace check -- "$PROGRAMS/differs"
    grep -q "^  eax  *7  *7  *20  <" "$work/stderr" || fail "the difference is not shown: $(cat "$work/stderr")"
fi

expect 2 "check needs a program" "$P4SIM" trace check
expect 2 "expected a number of instructions" "$P4SIM" trace check --from some -- "$PROGRAMS/exit7"
expect 3 "before 100000000" "$P4SIM" trace check --from 100000000 -- "$PROGRAMS/exit7"
finish
