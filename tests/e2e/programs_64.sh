# Unmodified 64-bit programs of the system on a Pentium 4 with EM64T: they run to their normal end, print
# what they print outside, and the short ones are seen to execute as many instructions as single steps
# count. Without EM64T they are refused with a word on who runs them.
. "$(dirname "$0")/lib.sh"
needs_live
[ -x "${STEPCOUNT:-}" ] || skip "no independent step count here"
MODEL=prescott-64
tried=0
export LC_ALL=C PERL_HASH_SEED=0

# check PROGRAM ARGUMENTS...: compare output, status and number of instructions; what is not there, or no
# 64-bit program, is left out.
check()
{
    program=$(command -v "$1") || return 0
    [ "$(od -An -tx1 -j4 -N1 "$program" | tr -d ' ')" = 02 ] || return 0
    tried=$((tried + 1))
    "$@" >"$work/alone" 2>&1 </dev/null
    status=$?
    "$P4SIM" stat -m $MODEL --csv -o "$work/csv" -e instr_retired:NBOGUSNTAG,uops_retired:NBOGUS \
        -- "$@" >"$work/inside" 2>"$work/stderr" </dev/null
    inside=$?
    cmp -s "$work/alone" "$work/inside" || fail "$* prints something else inside p4sim"
    same "status of $*" "$status" "$inside"
}

# check_steps PROGRAM ARGUMENTS...: the number of instructions as well.
check_steps()
{
    before=$tried
    check "$@"
    [ "$tried" = "$before" ] || steps_agree "$work/csv" "$@"
}

i=0
while [ $i -lt 60 ]; do
    echo "line $((i * 7919 % 61)) of some text to be sorted, packed and searched"
    i=$((i + 1))
done >"$work/text"

check ls -l "$work/text"
check sort -n -k 2 "$work/text"
check gzip -c -n "$work/text"
check sed -n 's/line \([0-9]*\) of.*/\1/p' "$work/text"
check grep -c '[13579] of' "$work/text"
check dash -c 'n=0; while [ $n -lt 20 ]; do n=$((n + 1)); done; echo $n'
check perl -e 'my %count; $count{$_ % 7} += $_ for 1 .. 200; print join(" ", map { $count{$_} } sort keys %count), "\n"'
check sha256sum "$work/text"
check_steps true
check "$PROGRAMS/threads_64" 100
check "$PROGRAMS/signals_64" 20 # says so when a handler's return changes a register
[ "$tried" -gt 4 ] || skip "fewer than five 64-bit programs here"

# a shell that starts others: each is followed, whatever its kind
if [ -x "$PROGRAMS/exit7" ]; then
    "$P4SIM" stat -m $MODEL -o "$work/table" -- dash -c "$PROGRAMS/exit7; echo \$?" >"$work/inside" 2>"$work/stderr" ||
        fail "a 32-bit program from a 64-bit shell: $(cat "$work/stderr")"
    same "status of a 32-bit program under a 64-bit shell" 7 "$(cat "$work/inside")"
    grep -q "outside the count" "$work/table" && fail "a program ran outside the count: $(cat "$work/table")"
fi

# a recording of a 64-bit program replays on that model, not on one without 64-bit mode
"$P4SIM" trace record -m $MODEL -o "$work/run.p4t" -- "$(command -v true)" 2>"$work/stderr" ||
    fail "recording: $(cat "$work/stderr")"
"$P4SIM" stat -m $MODEL --csv -o "$work/live" -e instr_retired,uops_retired -- "$(command -v true)" ||
    fail "live"
"$P4SIM" stat -m $MODEL --csv -o "$work/replayed" -e instr_retired,uops_retired --trace "$work/run.p4t" ||
    fail "replay"
same "live and replayed" "$(counts "$work/live")" "$(counts "$work/replayed")"
expect 3 "64-bit instruction" "$P4SIM" stat -m prescott --trace "$work/run.p4t"

# snippets
"$P4SIM" stat -m $MODEL --csv -o "$work/csv" -e instr_retired --64 --asm '
    mov $1000, %r12d
1:  lea 1(%rax,%r12,8), %r9
    movq %r9, %xmm12
    dec %r12
    jnz 1b' || fail "a 64-bit snippet"
same "instructions of the snippet" 4001 "$(count instr_retired "$work/csv")"
expect 2 "has no EM64T" "$P4SIM" stat -m northwood --64 --asm nop
expect 3 "choose one with EM64T (-m prescott-64" "$P4SIM" stat -m northwood -- "$(command -v true)"
finish
