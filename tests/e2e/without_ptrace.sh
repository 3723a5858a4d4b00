# Where ptrace is refused, snippets run on the interpreter alone and count what live ones do, recordings
# replay, and a live run says what is missing.
. "$(dirname "$0")/lib.sh"
# the leak sanitizer needs ptrace itself
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
"$WITHOUT_PTRACE" true || skip "ptrace cannot be refused here"

# recordings
"$WITHOUT_PTRACE" "$P4SIM" stat --csv -o "$work/replay" -e instr_retired --trace "$SAMPLES/tls.p4t" ||
    fail "a recording does not replay"
"$P4SIM" stat --csv -o "$work/replay_with" -e instr_retired --trace "$SAMPLES/tls.p4t" || fail "replay"
same "counts of a recording" "$(counts "$work/replay")" "$(counts "$work/replay_with")"

command -v as >/dev/null || skip "no assembler (as) here"

# both SNIPPET [OPTION...]: the counts with and without ptrace are the same.
events=instr_retired:NBOGUSNTAG,uops_retired:NBOGUS,branch_retired,mispred_branch_retired,memory_loads,memory_stores
both()
{
    text=$1
    shift
    "$WITHOUT_PTRACE" "$P4SIM" stat "$@" --json -o "$work/alone" -e $events --asm "$text" || fail "alone: $text"
    grep -q 'the interpreter alone executed the snippet' "$work/alone" || fail "not said how '$text' ran"
    live || return
    "$P4SIM" stat "$@" --json -o "$work/live" -e $events --asm "$text" || fail "live: $text"
    same "counts of '$text'" "$(grep -E '"(count|clocks)":' "$work/alone")" \
        "$(grep -E '"(count|clocks)":' "$work/live")"
}
both 'mov $1000, %ecx; 1: push %ecx; pop %eax; imul $1103515245, %eax; test $64, %eax; jz 2f; call 3f
2: dec %ecx; jnz 1b; jmp 4f
3: add %eax, table(,%ecx,4); ret
4: rdtsc; mov $0, %eax; cpuid; .lcomm table, 8192'
both 'fld1; fldpi; fmulp; fstpl here; movsd here, %xmm0; mulsd %xmm0, %xmm0; mov $here, %edi; mov $64, %ecx
rep stosb; .lcomm here, 64'
both 'mov $100, %r9; 1: push %r9; pop %rax; dec %r9; jnz 1b; lea data(%rip), %rbx; mov (%rbx), %rcx
.data; data: .quad 1' -m prescott-64 --64
both 'nop; mov $1, %ecx; rdpmc; mov 0, %eax'

# one message, and what was counted is kept
expect 3 "0x8049002: int 0x80: the interpreter alone does not execute this" "$WITHOUT_PTRACE" "$P4SIM" stat --csv \
    -o "$work/stopped" -e instr_retired --asm 'nop; nop; int $0x80; nop'
same "instructions before it" "$(count instr_retired "$work/stopped")" 2

# a live run
[ ! -x "$PROGRAMS/exit7" ] || expect 3 "live runs need ptrace, which is not permitted here" "$WITHOUT_PTRACE" "$P4SIM" stat -e instr_retired -- \
    "$PROGRAMS/exit7"
finish
