# The kernel's side: counted at CPL 0 when asked for, switched off, its size known, the same however a run is fed.
. "$(dirname "$0")/lib.sh"
sample=$SAMPLES/hash_table.p4t
[ -f "$sample" ] || skip "no recording $sample"

# p4sim explain prints the stub; a page fault's routine has so many instructions
"$P4SIM" explain os-model >"$work/stub" || fail "explain os-model"
for routine in SYSTEM_CALL PAGE_FAULT TIMER PMI; do
    grep -q "^  $routine: " "$work/stub" || fail "the stub has no $routine"
done
fault=$(sed -n '/^  PAGE_FAULT: /,/iret$/p' "$work/stub" | grep -c '^    C0')

# kernel instructions are those of the page faults and system calls, no more
"$P4SIM" stat --stats --timer-hz 0 -e instr_retired:u,instr_retired:k --trace "$sample" 2>"$work/table" || fail "stat"
grep -q "with the model's kernel" "$work/table" || fail "the table does not say that the kernel ran"
faults=$(sed -n 's/.*interrupts and \([0-9]*\) page faults.*/\1/p' "$work/table")
[ "${faults:-0}" -gt 10 ] || fail "no page faults: $(cat "$work/table")"
"$P4SIM" stat --csv -o "$work/on" --timer-hz 0 -e instr_retired:u,instr_retired:k --trace "$sample" || fail "csv"
kernel=$(count instr_retired:k "$work/on")
[ "$kernel" -ge $((faults * fault)) ] || fail "$kernel instructions at CPL 0 for $faults faults of $fault"

awk '$2 == "approximate_instructions" && $1 == 0 { good = 1 } END { exit !good }' "$work/table" ||
    fail "an instruction of the stub has no row in the uop table: $(grep approximate "$work/table")"

# switched off it leaves the program's own instructions; each fault had started one twice
"$P4SIM" stat --csv -o "$work/off" --no-kernel -e instr_retired:u --trace "$sample" || fail "off"
same "user instructions" "$(count instr_retired:u "$work/on")" $(($(count instr_retired:u "$work/off") + faults))

# neither :u nor :k is both
"$P4SIM" stat --csv -o "$work/both" --kernel --timer-hz 0 -e instr_retired --trace "$sample" || fail "both"
same "both sides" "$(count instr_retired "$work/both")" $(($(count instr_retired:u "$work/on") + kernel))

# the timer
"$P4SIM" stat --kernel --timer-hz 100000 -e instr_retired --trace "$sample" 2>"$work/timer" || fail "timer"
ticks=$(sed -n "s/.*os-model): \([0-9]*\) interrupts.*/\1/p" "$work/timer")
clocks=$(sed -n 's/^ \([0-9,]*\) clocks and .*/\1/p' "$work/timer" | tr -d ,)
# (one at the very end finds no program to interrupt; a handler takes more than 300 clocks)
same "timer ticks" "$ticks" $(((clocks - 300) / 24000))
finish
