# The counts depend on program, arguments, environment and configuration, and on nothing else of the host: not on
# the folder, the limits, the processor, its load, randomised addresses, or where a recording can be entered.
. "$(dirname "$0")/lib.sh"
needs_live

events=instr_retired:NBOGUSNTAG,uops_retired:BOGUS,memory_cancel:64K_CONF,global_power_events:RUNNING,page_walk_type:DTMISS

# run NAME COMMAND...: `p4sim stat` under COMMAND, with the same environment each time.
run()
{
    result=$work/$1
    shift
    env -i P4SIM_CONFIGS="$P4SIM_CONFIGS" PATH="$PATH" \
        "$@" "$P4SIM" stat --csv -o "$result" -e "$events" -- "$PROGRAMS/hash_table" 60 \
        >/dev/null 2>"$work/log" </dev/null || fail "$*: $(cat "$work/log")"
}

run first env
(cd / && run folder env)
run load nice -n 15
others="folder load"
if command -v prlimit >/dev/null; then
    run limits prlimit --stack=1048576
    others="$others limits"
fi
if command -v setarch >/dev/null && setarch -R true 2>/dev/null; then
    run fixed setarch -R
    others="$others fixed"
fi
if command -v taskset >/dev/null && taskset -c 0 true 2>/dev/null; then
    run processor taskset -c 0
    others="$others processor"
fi
for every in 1000 100000; do
    env -i P4SIM_CONFIGS="$P4SIM_CONFIGS" PATH="$PATH" \
        "$P4SIM" trace record --checkpoint-every $every -o "$work/$every.p4t" -- "$PROGRAMS/hash_table" 60 \
        >/dev/null 2>"$work/log" </dev/null || fail "trace record: $(cat "$work/log")"
    "$P4SIM" stat --csv -o "$work/replay$every" -e "$events" --trace "$work/$every.p4t" || fail "replay $every"
    others="$others replay$every"
done
for other in $others; do
    same "counts of the runs 'first' and '$other'" "$(counts "$work/first")" "$(counts "$work/$other")"
done
[ "$(count instr_retired:NBOGUSNTAG "$work/first")" -gt 1000 ] || fail "hardly any instructions"
finish
