# Ctrl-C in mid-run: counts so far are printed, marked as partial, with status 130; a recording is complete
# up to there. The same for SIGTERM with 143, and while the program waits for input.
. "$(dirname "$0")/lib.sh"
needs_live

# Start a command in a process group of its own and send SIGNAL to p4sim after a second.
interrupt()
{
    signal=$1
    shift
    "$@" >"$work/stdout" 2>"$work/stderr" &
    pid=$!
    sleep 1
    kill -"$signal" $pid
    wait $pid
    got=$?
}

# A shell starts background jobs with SIGINT ignored; env gives it back.
p4sim="env --default-signal=INT $P4SIM"
env --default-signal=INT true 2>/dev/null || skip "env cannot reset signals here"

interrupt INT $p4sim stat --csv -o "$work/csv" -e instr_retired --record "$work/run.p4t" -- \
    "$PROGRAMS/hash_table" 1000000
same "status after SIGINT" "$got" 130
grep -q ',yes,' "$work/csv" || fail "the counts are not marked as partial: $(cat "$work/csv")"
[ "$(count instr_retired "$work/csv")" -gt 0 ] || fail "no counts so far"
"$P4SIM" trace verify "$work/run.p4t" >/dev/null || fail "the recording of an interrupted run does not verify"

interrupt INT $p4sim stat -e instr_retired -- "$PROGRAMS/hash_table" 1000000
same "status after SIGINT" "$got" 130
grep -q 'PARTIAL' "$work/stderr" || fail "the table is not marked: $(cat "$work/stderr")"

interrupt TERM "$P4SIM" stat -e instr_retired -- "$PROGRAMS/hash_table" 1000000
same "status after SIGTERM" "$got" 143

interrupt INT $p4sim trace record -o "$work/rec.p4t" -- "$PROGRAMS/hash_table" 1000000
same "status of record after SIGINT" "$got" 130
"$P4SIM" trace verify "$work/rec.p4t" >/dev/null || fail "the interrupted recording does not verify"

# a program that waits for input it never gets
mkfifo "$work/silent"
sleep 60 >"$work/silent" &
sleeper=$!
"$P4SIM" stat --csv -o "$work/waiting" -e instr_retired -- "$PROGRAMS/waits" <"$work/silent" 2>/dev/null &
pid=$!
sleep 2
kill -TERM $pid
wait $pid
same "status while the program waits" "$?" 143
[ "$(count instr_retired "$work/waiting")" -gt 0 ] || fail "no counts of a waiting program"
kill $sleeper

# two passes: the events of the pass that was not run are not counted, never 0
interrupt INT $p4sim stat --csv -o "$work/two" \
    -e instr_retired,uops_retired:NBOGUS,uops_retired:BOGUS -- "$PROGRAMS/hash_table" 1000000
same "status after SIGINT" "$got" 130
grep -q '"uops_retired:BOGUS",,.*its pass was not run' "$work/two" ||
    fail "the second pass is not reported as not run: $(cat "$work/two")"

for process in /proc/[0-9]*/cmdline; do
    case $(tr '\0' ' ' <"$process" 2>/dev/null) in
    "$PROGRAMS/hash_table 1000000 ") fail "the program still runs: $process" ;;
    esac
done
finish
