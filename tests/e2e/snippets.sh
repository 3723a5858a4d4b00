# Counts of short snippets are what one can work out by hand.
# (A nop at the end: where the last instruction leads is outside the snippet.)
. "$(dirname "$0")/lib.sh"
command -v as >/dev/null || skip "no assembler (as) here"

"$P4SIM" stat --csv -o "$work/a" -e instr_retired,branch_retired,branch_retired:MMTP+MMTM \
    --asm 'mov $1000, %ecx; 1: dec %ecx; jnz 1b; nop' || fail "the snippet did not run"
same instructions "$(count instr_retired "$work/a")" 2002
same branches "$(count branch_retired "$work/a")" 1000
same "taken branches" "$(count branch_retired:MMTP+MMTM "$work/a")" 999

# both privilege halves: without a kernel all is user code, and a kernel-only count is refused as a number
"$P4SIM" stat --no-kernel --csv -o "$work/b" -e instr_retired:u,instr_retired:k --asm 'nop; nop; nop' || fail "b"
same "user instructions" "$(count instr_retired:u "$work/b")" 3
grep -q '"instr_retired:k",,.*CPL 0' "$work/b" || fail "instr_retired:k is not reported as not counted"

# stores and loads by front-end tagging
"$P4SIM" stat --csv -o "$work/c" -e memory_stores,memory_loads \
    --asm 'mov $100, %ecx; 1: push %eax; pop %eax; dec %ecx; jnz 1b' || fail "c"
same "store uops" "$(count memory_stores "$work/c")" 100
same "load uops" "$(count memory_loads "$work/c")" 100

# the raw form counts what the named form counts
"$P4SIM" stat --csv -o "$work/d" -e uops_retired:NBOGUS,0x00039000/0x0200020C@0x80000010 \
    --asm 'mov $100, %ecx; 1: dec %ecx; jnz 1b; nop' || fail "d"
same "raw against named" "$(count uops_retired:NBOGUS "$work/d")" \
    "$(count 0x00039000/0x0200020C@0x80000010 "$work/d")"

# a threshold of 15 complemented counts every clock
"$P4SIM" stat --json -o "$work/e" -e uops_retired:NBOGUS:t=15:cmpl \
    --asm 'mov $100, %ecx; 1: dec %ecx; jnz 1b; nop' || fail "e"
clocks=$(sed -n 's/.*"clocks": \([0-9]*\).*/\1/p' "$work/e")
grep -q "\"count\": $clocks," "$work/e" || fail "the clock recipe does not count all $clocks clocks"

# the same snippet takes the same clocks whatever is counted
"$P4SIM" stat --json -o "$work/f" -e instr_retired \
    --asm 'mov $100, %ecx; 1: dec %ecx; jnz 1b; nop' || fail "f"
same "clocks with other counters" "$clocks" "$(sed -n 's/.*"clocks": \([0-9]*\).*/\1/p' "$work/f")"

# two passes give what one pass each gives
events=instr_retired:NBOGUSNTAG,uops_retired:NBOGUS,uops_retired:BOGUS
"$P4SIM" stat --csv -o "$work/g" -e $events --asm 'mov $500, %ecx; 1: dec %ecx; jnz 1b; nop' || fail "g"
"$P4SIM" stat --csv -o "$work/h" --passes 1 -e uops_retired:BOGUS \
    --asm 'mov $500, %ecx; 1: dec %ecx; jnz 1b; nop' || fail "h"
same "bogus uops in a second pass" "$(count uops_retired:BOGUS "$work/g")" \
    "$(count uops_retired:BOGUS "$work/h")"

# stopping after N instructions is marked
"$P4SIM" stat --csv -o "$work/i" -e instr_retired --max-instructions 100 \
    --asm 'mov $1000, %ecx; 1: dec %ecx; jnz 1b; nop' || fail "i"
same "limited run" "$(count instr_retired "$work/i")" 100
grep -q ',yes,' "$work/i" || fail "a run cut short is not marked as partial"
finish
