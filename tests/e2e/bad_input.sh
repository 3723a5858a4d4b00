# Every kind of bad input has one clear message and its status.
. "$(dirname "$0")/lib.sh"

# usage
expect 2 "usage:" "$P4SIM"
expect 2 "unknown command 'stats'" "$P4SIM" stats
expect 2 "nothing to run" "$P4SIM" stat
expect 2 "has one logical processor" "$P4SIM" stat --asm nop --trace x
expect 2 "more than two" "$P4SIM" stat -m northwood-ht --asm nop --asm nop --asm nop
expect 2 "expected a program" "$P4SIM" stat -m northwood-ht /bin/true ---
expect 2 "has one logical processor" "$P4SIM" stat -e instr_retired:t1 --asm nop
expect 2 "expected none, single, both or any" "$P4SIM" stat -e instr_retired:a=two --asm nop
expect 2 "two programs for one" "$P4SIM" stat -m xeon --logical-processors 1 --asm nop --asm nop
expect 2 "not both" "$P4SIM" stat --asm nop /bin/true
expect 2 "expected a number from 1 to" "$P4SIM" stat --max-instructions 0 --asm nop
expect 2 "empty event" "$P4SIM" stat -e instr_retired,,uops_retired --asm nop
expect 2 "no model named 'nortwood'; there are cedar-mill, cedar-mill-ht, gallatin, northwood" \
    "$P4SIM" stat -m nortwood --asm nop
expect 3 "No such file" "$P4SIM" stat -m ./none.yaml --asm nop

# events
expect 2 "did you mean instr_retired?" "$P4SIM" stat -e instr_retird --asm nop
expect 2 "did you mean NBOGUSNTAG" "$P4SIM" stat -e instr_retired:NBOGUSNTA --asm nop
expect 2 "12, 13, 16 (MSR_CRU_ESCR0) or 14, 15, 17 (MSR_CRU_ESCR1)" \
    "$P4SIM" stat -e instr_retired:c=3 --asm nop
expect 2 "do not fit together into ESCRs MSR_CRU_ESCR0, MSR_CRU_ESCR1" \
    "$P4SIM" stat --passes 1 -e instr_retired,uops_retired:NBOGUS,uops_retired:BOGUS --asm nop
expect 2 "give --passes 3" "$P4SIM" stat \
    -e branch_retired:MMNP,branch_retired:MMNM,branch_retired:MMTP,branch_retired:MMTM,machine_clear:CLEAR \
    --asm nop
expect 2 "IA32_PEBS_ENABLE" "$P4SIM" stat --passes 1 \
    -e 1stL_cache_load_miss_retired,2ndL_cache_load_miss_retired --asm nop

# output that cannot be written
expect 3 "/nowhere/out" "$P4SIM" stat -o /nowhere/out --trace "$SAMPLES/tls.p4t"
expect 3 "No space left" "$P4SIM" stat -o /dev/full --trace "$SAMPLES/tls.p4t"

if ! live; then
    echo "without live programs and snippets: $reason"
    finish
    exit 0
fi

# programs
expect 3 "/nowhere/program" "$P4SIM" stat -- /nowhere/program
expect 3 "p4sim-no-such-command" "$P4SIM" stat -- p4sim-no-such-command
echo "just text" >"$work/text"
chmod +x "$work/text"
expect 3 "$work/text" "$P4SIM" stat -- "$work/text"
grep -q ELF "$work/stderr" || fail "a text file is not refused as 'not an ELF file': $(cat "$work/stderr")"
case $(uname -m) in
x86_64)
    expect 3 "64-bit" "$P4SIM" stat -- "$P4SIM" --version
    ;;
esac
expect 3 "$work" "$P4SIM" stat -- "$work"

# snippets
expect 3 "no such instruction" "$P4SIM" stat --asm 'frobnicate %eax'
expect 3 "/nowhere/x.s" "$P4SIM" stat --snippet /nowhere/x.s
finish
