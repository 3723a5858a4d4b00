# When nothing retires for too long p4sim says which uop waits for what, and ends with status 4: a machine
# whose bus is so slow that a load across two pages takes more clocks than the watchdog waits.
. "$(dirname "$0")/lib.sh"
needs_live
sed -e 's/core_mhz: {value: [0-9]*/core_mhz: {value: 10000/' -e 's/bus_mhz: {value: [0-9]*/bus_mhz: {value: 33/' \
    -e 's/memory_bus_clocks: {value: [0-9]*/memory_bus_clocks: {value: 100/' \
    -e 's/ioq_entries: {value: [0-9]*/ioq_entries: {value: 1/' "$P4SIM_CONFIGS/models/northwood.yaml" >"$work/slow.yaml"
expect 4 "the simulated machine stopped: nothing retired since clock" \
    "$P4SIM" stat -m "$work/slow.yaml" -e instr_retired --asm '
    mov buffer+4094, %eax
    .bss
    .p2align 12
    buffer: .skip 8192
    .text'
for word in "oldest uop [0-9]* is a load of the instruction at 0x8049000" "right path" "uop queue [0-9]" \
    "memory queue [0-9]" "general queue [0-9]" "store buffer [0-9]" "front end mode"; do
    grep -q "$word" "$work/stderr" || fail "no '$word' in: $(cat "$work/stderr")"
done
grep -q "partial" "$work/stderr" || fail "the counts are not said to be partial: $(cat "$work/stderr")"
finish
