# p4sim trace: verify, dump and cut agree about what a recording holds; a part is as good as the whole; what stands
# before damage stays readable.
. "$(dirname "$0")/lib.sh"
sample=$SAMPLES/sort.p4t
[ -f "$sample" ] || skip "no recording in $SAMPLES"
instructions=$("$P4SIM" trace info "$sample" | awk '/^instructions/ {print $2}')

"$P4SIM" trace verify "$sample" >"$work/verify" || fail "verify"
grep -q "$instructions instructions, all executed again" "$work/verify" || fail "verify says: $(cat "$work/verify")"

# numberless: the dump without the numbers of the instructions
numberless()
{
    sed 's/^ *[0-9]* //'
}

"$P4SIM" trace dump "$sample" >"$work/all" || fail "dump"
same "lines of the dump" "$(wc -l <"$work/all")" "$instructions"
head -n 1 "$work/all" | grep -q '^ *0  0:0 ' || fail "the dump begins with $(head -n 1 "$work/all")"

# from the middle: at a checkpoint, beside one, at both ends
for from in 1 99999 100000 100001 $((instructions - 1)); do
    "$P4SIM" trace dump --from "$from" --registers --values "$sample" >/dev/null || fail "dump --from $from"
    tail -n +$((from + 1)) "$work/all" >"$work/tail"
    "$P4SIM" trace dump --from "$from" "$sample" | cmp -s - "$work/tail" || fail "dump --from $from differs"
done
expect 3 "it has $instructions instructions" "$P4SIM" trace dump --from $((instructions + 1)) "$sample"

# a part
"$P4SIM" trace cut -o "$work/part" --from 40000 --count 80000 --checkpoint-every 7000 "$sample" 2>"$work/log" ||
    fail "cut: $(cat "$work/log")"
"$P4SIM" trace verify "$work/part" >/dev/null || fail "the part does not verify"
tail -n +40001 "$work/all" | head -n 80000 | numberless >"$work/expected"
"$P4SIM" trace dump "$work/part" | numberless >"$work/got"
cmp -s "$work/expected" "$work/got" || fail "the part is another: $(diff "$work/expected" "$work/got" | head -n 4)"
"$P4SIM" trace cut -o "$work/part2" --from 10000 --count 3000 "$work/part" 2>/dev/null || fail "cut of a cut"
"$P4SIM" trace dump "$work/part2" | numberless >"$work/got"
tail -n +10001 "$work/expected" | head -n 3000 | cmp -s - "$work/got" || fail "the part of the part is another"

# counts from the middle on: of the recording, of the part cut out of it
events=instr_retired:NBOGUSNTAG,uops_retired:NBOGUS,uops_retired:BOGUS,branch_retired:MMTM+MMNM,global_power_events:RUNNING
"$P4SIM" trace cut -o "$work/rest" --from 101234 "$sample" 2>/dev/null || fail "cut of the rest"
"$P4SIM" stat --csv -o "$work/middle" -e "$events" --trace "$sample" --from-instruction 101234 || fail "stat from the middle"
"$P4SIM" stat --csv -o "$work/cut" -e "$events" --trace "$work/rest" || fail "stat of the rest"
cmp -s "$work/middle" "$work/cut" || fail "counts from the middle differ: $(diff "$work/middle" "$work/cut")"
same "instructions from the middle" "$(count instr_retired:NBOGUSNTAG "$work/middle")" $((instructions - 101234))
expect 2 "for recordings" "$P4SIM" stat --from-instruction 5 -- true

# damage: what stands before it
size=$(stat -c %s "$sample")
for cut in 1 700 5000; do
    head -c $((size - cut)) "$sample" >"$work/short"
    expect 3 "$work/short" "$P4SIM" trace verify "$work/short"
    "$P4SIM" trace cut -o "$work/good" "$work/short" 2>"$work/log" || fail "cut of a short file: $(cat "$work/log")"
    grep -q "truncated" "$work/log" || fail "the damage is not told: $(cat "$work/log")"
    "$P4SIM" trace verify "$work/good" >/dev/null || fail "what is good does not verify"
    "$P4SIM" trace dump "$work/good" >"$work/got"
    kept=$(wc -l <"$work/got")
    [ "$kept" -ge 65536 ] || fail "only $kept instructions kept of a file $cut bytes short"
    head -n "$kept" "$work/all" | cmp -s - "$work/got" || fail "what is good is another"
done

expect 2 "expected a number" "$P4SIM" trace dump --from x "$sample"
expect 2 "cut needs -o" "$P4SIM" trace cut "$sample"
finish
