# p4sim run: programs that use the monitoring hardware themselves, by instructions and through
# /dev/cpu/N/msr, from 32-bit programs and from 64-bit ones outside the count.
. "$(dirname "$0")/lib.sh"
needs_live
exit7=$PROGRAMS/exit7
escr="3b8 4000204" # MSR_CRU_ESCR0: instr_retired, NBOGUSNTAG, user
cccr="36c 39000"   # MSR_IQ_CCCR0: enabled, compare nothing, this ESCR

# The exact number of instructions, from the program itself.
for rounds in 1 1000 54321; do
    "$P4SIM" run -o "$work/summary" -- "$PROGRAMS/counters" $rounds >"$work/inside" ||
        fail "counters $rounds: $(cat "$work/inside" "$work/summary")"
    grep -q "^$((2 * rounds + 5)) instructions, exact; ESCR 4000204; clocks plausible" "$work/inside" ||
        fail "counters $rounds said: $(cat "$work/inside")"
done
grep -q 'accesses: .* 2 RDPMC, 1 RDMSR, 3 WRMSR' "$work/summary" || fail "summary: $(cat "$work/summary")"

# The measuring library of the documentation: nested measurements, exact to the instruction.
"$P4SIM" run -q -- "$PROGRAMS/p4pm_measure" >"$work/p4pm" || fail "p4pm: $(cat "$work/p4pm")"
# measured NAME COLUMN: of the library's table (2 times, 3 instructions, 4 uops, 6 clocks).
measured()
{
    awk -F , -v name="$1" -v column="$2" '$1 == name { print $column }' "$work/p4pm"
}
added=$(($(measured short 3) - 2 * 1000)) # by the library, the same each time
same "long loops" $((3 * (2 * 5000 + added))) "$(measured long 3)"
[ "$added" -gt 10 ] && [ "$added" -lt 100 ] || fail "the library adds $added instructions"
same "times" "1 1 3" "$(measured all 2) $(measured short 2) $(measured long 2)"
[ "$(measured all 3)" -gt "$(($(measured short 3) + $(measured long 3)))" ] || fail "all is less than its parts"
[ "$(measured long 6)" -ge 15000 ] || fail "p4pm's clocks: $(measured long 6)"

# What is granted, what faults.
"$P4SIM" run -q -- "$PROGRAMS/counters" allowed >"$work/inside"
same "allowed" "$(tr '\n' ';' <"$work/inside")" "rdtsc works;rdpmc works;rdmsr works;wrmsr works;"
"$P4SIM" run -q --strict -- "$PROGRAMS/counters" allowed >"$work/inside"
same "strict" "$(tr '\n' ';' <"$work/inside")" \
    "rdtsc works;rdpmc: SIGSEGV, si_code 128;rdmsr: SIGSEGV, si_code 128;wrmsr: SIGSEGV, si_code 128;"
"$P4SIM" run -q --strict --rdpmc -- "$PROGRAMS/counters" allowed >"$work/inside"
same "strict with CR4.PCE" "$(tr '\n' ';' <"$work/inside")" \
    "rdtsc works;rdpmc works;rdmsr: SIGSEGV, si_code 128;wrmsr: SIGSEGV, si_code 128;"
"$P4SIM" run -- "$PROGRAMS/counters" fault >"$work/inside" 2>"$work/stderr"
grep -q 'refused: 2; the first: RDMSR of MSR 0x12345 at 0x.*no such MSR' "$work/stderr" ||
    fail "the refusal is not explained: $(cat "$work/stderr")"
expect 139 "ended by signal 11" "$P4SIM" run --strict -- "$PROGRAMS/counters" 5

# An instruction the part did not have: its address and what it is.
if [ -x "$PROGRAMS/late" ]; then
    expect 3 "(addsubps xmm1, xmm0) does not exist on this model" "$P4SIM" run -- "$PROGRAMS/late"
    grep -q 'instruction at 0x8049000' "$work/stderr" || fail "no address: $(cat "$work/stderr")"
    expect 5 "exited with status 5" "$P4SIM" run -m prescott -- "$PROGRAMS/late"
fi

# The exit status is the program's; scripts and 64-bit programs may come first.
expect 7 "exited with status 7" "$P4SIM" run -- "$exit7" 5
expect 3 "no such program" "$P4SIM" run -- "$work/nothing"
expect 2 "give both or none" "$P4SIM" run --rdpmc -- "$exit7"
printf '#!/bin/sh\n"%s" 5\nexit 9\n' "$exit7" >"$work/script"
chmod +x "$work/script"
expect 9 "simulated: 1 program image" "$P4SIM" run -- "$work/script"

# From outside: the counter counts the program between the tools, children included, and nothing else.
# simulated: how many instructions the last summary tells.
simulated()
{
    sed -n 's/.*: \([0-9]*\) instructions in.*/\1/p' "$work/summary"
}
cat >"$work/count" <<EOF
"\$MSR" write $escr && "\$MSR" write $cccr || exit 1
"$exit7" 5 2>/dev/null
"\$MSR" read 30c
"\$MSR" read 3b8
EOF
[ -x "$PROGRAMS/msr64" ] || skip "64-bit programs cannot be built here"
MSR=$PROGRAMS/msr64 "$P4SIM" run -o "$work/summary" -- sh "$work/count" >"$work/inside" ||
    fail "msr64: $(cat "$work/summary")"
same "instructions counted from outside" "$(printf '%x\n4000204' "$(simulated)")" "$(cat "$work/inside")"
grep -q '1 program image, 1 thread' "$work/summary" || fail "more was simulated than the program"
grep -q 'natively, outside the count: .*msr64' "$work/summary" || fail "who ran outside is not said"

# The tool simulated too: its own instructions between the write and the read count as well.
MSR=$PROGRAMS/msr "$P4SIM" run -o "$work/summary" -- sh "$work/count" >"$work/inside" ||
    fail "msr: $(cat "$work/summary")"
[ "$((0x$(head -n 1 "$work/inside")))" -lt "$(simulated)" ] || fail "what came before the write was counted"
[ "$((0x$(head -n 1 "$work/inside")))" -gt 40000 ] || fail "too few: $(cat "$work/inside")"

# Recorded and replayed: the same accesses, the same counters at the end.
for first in "$PROGRAMS/counters 500" "sh $work/count"; do
    MSR=$PROGRAMS/msr64 "$P4SIM" run -o "$work/live" --record "$work/run.p4t" -- $first >"$work/inside"
    "$P4SIM" run -o "$work/replayed" --trace "$work/run.p4t" >"$work/stdout" || fail "the replay of $first failed"
    grep -E 'instructions in|accesses|COUNTER' "$work/live" >"$work/live.numbers"
    grep -E 'instructions in|accesses|COUNTER' "$work/replayed" >"$work/replayed.numbers"
    cmp -s "$work/live.numbers" "$work/replayed.numbers" ||
        fail "$first replayed: $(diff "$work/live.numbers" "$work/replayed.numbers")"
    grep -q 'MSR_IQ_COUNTER0 (0x30C, RDPMC 12) = [1-9]' "$work/live" || fail "the counters are not shown"
done

# What the files do.
for tool in msr msr64; do
    "$P4SIM" run -o "$work/summary" -- "$PROGRAMS/$tool" files >"$work/inside"
    same "$tool files" "ok" "$(cat "$work/inside")"
done

# The unmodified tools of Debian.
if command -v rdmsr >/dev/null && command -v wrmsr >/dev/null; then
    "$P4SIM" run -o "$work/summary" -- \
        sh -c "wrmsr 0x3b8 0x4000204; wrmsr 0x36c 0x39000; '$exit7' 5 2>/dev/null; rdmsr -d 0x30c" >"$work/inside" ||
        fail "msr-tools: $(cat "$work/summary")"
    same "instructions counted by msr-tools" "$(simulated)" "$(cat "$work/inside")"
else
    echo "msr-tools is not installed: not tried"
fi
finish
