# (Standard output is a file in every run: a C library looks at what kind of file it is.)
# A live run, the recording made of it, a second live run's recording and the replay give the same counts, to
# the last digit; and the program's own output and status stay as they are without us.
. "$(dirname "$0")/lib.sh"
needs_live

events=instr_retired:NBOGUSNTAG,uops_retired:NBOGUS,uops_retired:BOGUS,branch_retired:MMTM+MMNM
events=$events,global_power_events:RUNNING,1stL_cache_load_miss_retired,BPU_fetch_request,TC_deliver_mode:BI

# compare PROGRAM ARGUMENTS...
compare()
{
    name=$1
    shift
    "$PROGRAMS/$name" "$@" >"$work/alone" 2>/dev/null </dev/null
    status=$?
    "$P4SIM" stat --csv -o "$work/live" -e "$events" -- "$PROGRAMS/$name" "$@" >"$work/inside" 2>"$work/log" </dev/null ||
        fail "live $name: $(cat "$work/log")"
    cmp -s "$work/alone" "$work/inside" || fail "$name prints something else inside p4sim"
    "$P4SIM" stat --csv -o "$work/both" -e "$events" --record "$work/$name.p4t" -- "$PROGRAMS/$name" "$@" \
        >"$work/inside" 2>&1 </dev/null || fail "live $name with --record"
    "$P4SIM" trace record -o "$work/again.p4t" -- "$PROGRAMS/$name" "$@" >"$work/inside" 2>&1 </dev/null ||
        fail "trace record $name"
    "$P4SIM" stat --csv -o "$work/replay" -e "$events" --trace "$work/$name.p4t" || fail "replay $name"
    "$P4SIM" stat --csv -o "$work/replay2" -e "$events" --trace "$work/again.p4t" || fail "replay 2 $name"
    for other in both replay replay2; do
        cmp -s "$work/live" "$work/$other" ||
            fail "$name: live and $other differ: $(diff "$work/live" "$work/$other")"
    done
    "$P4SIM" stat --trace "$work/$name.p4t" -o "$work/table" || fail "table of $name"
    grep -q "exited with status $status" "$work/table" ||
        fail "$name ended with $status, the table says: $(grep exited "$work/table")"
    [ "$(count instr_retired:NBOGUSNTAG "$work/live")" -gt 1000 ] || fail "$name: hardly any instructions"
}

compare exit7 10
compare hash_table 100
compare hash_table_dynamic 5
finish
