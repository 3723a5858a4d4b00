# A program that points IA32_DS_AREA at its own memory: the processor's records are there, as the program,
# the kernel and a replay of its recording see it.
. "$(dirname "$0")/lib.sh"
needs_live
program=$PROGRAMS/own_records
[ -x "$program" ] || skip "own_records could not be built"

run()
{
    "$P4SIM" run -q -- "$program" "$@" >"$work/said" 2>"$work/stderr" || fail "own_records $*: $(cat "$work/stderr")"
}

# ---- PEBS: every 7th of 1600 misses, all on the load, with the registers from before it
run pebs 1000
same "records" "$(sed -n 's/ records, .*//p' "$work/said" | awk '{ print ($1 >= 220 && $1 <= 232) }')" 1
grep -q ' records, 0 not on the load, 0 with a wrong address, 0 with a wrong round$' "$work/said" ||
    fail "PEBS: $(cat "$work/said")"
grep -q '^the kernel sees the same$' "$work/said" || fail "PEBS: $(cat "$work/said")"
run pebs 5 # the buffer is full, and nothing is written behind it
grep -q '^5 records, 0 not on the load' "$work/said" || fail "a full buffer: $(cat "$work/said")"

# ---- branch records
run bts
same "branch records" "$(cat "$work/said")" "99 branches, 0 not of the loop"

# ---- no memory there: the processor shuts down and says where
"$P4SIM" run -q -- "$program" missing >"$work/said" 2>"$work/stderr"
same "status of a missing page" $? 4
grep -q 'a page of the DS area is missing, that of 0x[0-9a-f]* (bit 0 of MSR_MCG_MISC' "$work/stderr" ||
    fail "missing: $(cat "$work/stderr")"
[ ! -s "$work/said" ] || fail "it went on: $(cat "$work/said")"

# ---- a recording has the records as something from outside: its replay takes the same clocks
clocks()
{
    "$P4SIM" stat --csv -o "$work/stat" -e instr_retired:NBOGUSNTAG,global_power_events "$@" >"$work/said" ||
        fail "stat $*"
    counts "$work/stat"
}
for what in pebs bts; do
    live=$(clocks --record "$work/trace.$what" -- "$program" $what)
    same "replay of $what" "$(clocks --trace "$work/trace.$what")" "$live"
    "$P4SIM" trace verify "$work/trace.$what" >"$work/said" || fail "verify: $(cat "$work/said")"
    # on a processor that would not have stored the same, the program sees what it saw
    "$P4SIM" stat -e instr_retired:NBOGUSNTAG -m willamette --trace "$work/trace.$what" >"$work/said" 2>&1 ||
        fail "replay of $what on willamette: $(cat "$work/said")"
done

# ---- the profiler's records and the program's do not mix (a period that does not end before the program's own)
"$P4SIM" record -q -o "$work/samples" -e 1stL_cache_load_miss_retired:u -c 100000 --precise -- "$program" pebs 1000 \
    >"$work/said" || fail "record"
grep -q ' records, 0 not on the load, 0 with a wrong address' "$work/said" || fail "beside record: $(cat "$work/said")"
"$P4SIM" report "$work/samples" | grep -q ': 0 samples, one in 100000 (precise' || fail "the profiler has records"
finish
