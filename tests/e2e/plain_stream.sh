# p4sim trace convert: the text of valgrind's lackey (plain_stream.lackey, made by
# valgrind --tool=lackey --trace-mem=yes of tests/programs/plain_stream.s) as a plain stream that is counted exactly.
. "$(dirname "$0")/lib.sh"
listing=$(dirname "$0")/plain_stream.lackey
lines=$(grep -c '^I' "$listing")
# Where a program loops at least over two instructions, the same one again is a repetition.
merged=$(awk '/^I/ { if ($2 != last) n++; last = $2 } END { print n }' "$listing")

# retired FILE: instructions p4sim stat counts.
retired()
{
    "$P4SIM" stat -e instr_retired:NBOGUSNTAG --csv -o "$work/csv" --trace "$1" >"$work/log" 2>&1 ||
        fail "stat --trace $1: $(cat "$work/log")"
    count instr_retired:NBOGUSNTAG "$work/csv"
}

# Without the program each line is an instruction nobody knows.
"$P4SIM" trace convert -o "$work/unknown" lackey "$listing" 2>"$work/log" || fail "convert: $(cat "$work/log")"
grep -q "$lines instructions; bytes of $lines unknown" "$work/log" || fail "convert says: $(cat "$work/log")"
"$P4SIM" trace info "$work/unknown" >"$work/info" || fail "info"
grep -q "^instructions *$lines\$" "$work/info" || fail "info says: $(cat "$work/info")"
grep -q "the bytes of $lines are unknown" "$work/info" || fail "info does not tell what is unknown: $(cat "$work/info")"
"$P4SIM" trace verify "$work/unknown" >/dev/null || fail "verify"
same "instructions retired, unknown" "$(retired "$work/unknown")" "$lines"
same "lines dumped" "$("$P4SIM" trace dump --from 100 "$work/unknown" | wc -l)" $((lines - 100))
expect 3 "a plain stream has no state" "$P4SIM" trace cut -o "$work/part" "$work/unknown"

# With it they are the program's own.
if [ -x "$PROGRAMS/plain_stream" ]; then
    "$P4SIM" trace convert -o "$work/known" --elf "$PROGRAMS/plain_stream" lackey "$listing" 2>"$work/log" ||
        fail "convert --elf: $(cat "$work/log")"
    # prefetcht0 is the one access lackey does not show
    grep -q "$merged instructions; bytes of 0 unknown (0.00 %), 1 accesses" "$work/log" ||
        fail "convert --elf says: $(cat "$work/log")"
    same "instructions retired" "$(retired "$work/known")" "$merged"
    "$P4SIM" trace dump "$work/known" >"$work/dump"
    grep -q 'rep movsd.*x5  R.*/4  W.*/4' "$work/dump" || fail "rep movsd: $(grep movsd "$work/dump")"
    grep -q 'rep stosb.*x0$' "$work/dump" || fail "rep stosb of nothing: $(grep stosb "$work/dump")"
    grep -q 'pushal  W.*/32$' "$work/dump" || fail "pusha: $(grep pushal "$work/dump")"
    if live; then
        "$P4SIM" stat -e instr_retired:NBOGUSNTAG --csv -o "$work/csv" -- "$PROGRAMS/plain_stream" >/dev/null 2>&1
        same "instructions retired live" "$(count instr_retired:NBOGUSNTAG "$work/csv")" "$merged"
    fi
fi

# What is no such text is told by its line.
sed '40s/.*/ L nonsense,4/' "$listing" >"$work/bad"
expect 3 "line 40: expected" "$P4SIM" trace convert -o "$work/out" lackey "$work/bad"
grep -q "what stands before it is in $work/out" "$work/stderr" || fail "what is good: $(cat "$work/stderr")"
"$P4SIM" trace verify "$work/out" >/dev/null || fail "what stands before the damage is no good stream"
"$P4SIM" trace info "$work/out" | grep -q 'note .*up to line 40, which is damaged' || fail "info does not tell of the damage"
good=$(head -n 39 "$listing" | grep -c '^I')
same "instructions before the last one" "$(retired "$work/out")" $((good - 1))
cp "$work/unknown" "$work/same"
expect 2 "it is what is read" "$P4SIM" trace cut -o "$work/same" "$work/same"
expect 2 "it is what is read" "$P4SIM" record -o "$work/same" --trace "$work/same"
expect 2 "it is what is read" "$P4SIM" stat -o "$work/same" --trace "$work/same"
expect 2 "it is what is read" "$P4SIM" trace convert -o "$work/bad" lackey "$work/bad"
cmp -s "$work/unknown" "$work/same" || fail "the input was overwritten"

# 64-bit text: by a program's file mapped elsewhere than it says, and by --64 alone.
if command -v as >/dev/null && command -v ld >/dev/null; then
    cat >"$work/wide.s" <<'EOF'
        .globl _start
_start: movq    (%r15), %r8
        addq    %r8, 8(%r15,%r9,2)
        pushq   %r12
        jmp     _start
EOF
    as --64 -o "$work/wide.o" "$work/wide.s" && ld -pie -o "$work/wide" "$work/wide.o" 2>/dev/null || fail "as and ld"
    entry=$(readelf -h "$work/wide" | sed -n 's/.*Entry point address: *0x//p')
    base=7f1234560000
    at=$(printf '%x' $((0x$base + 0x$entry)))
    for i in 1 2 3; do
        printf 'I  %x,3\n L %x,8\n' $((0x$at)) $((0x7ffe00001000 + 16 * i))
        printf 'I  %x,5\n M %x,8\n' $((0x$at + 3)) $((0x7ffe00002000 + 8 * i))
        printf 'I  %x,2\n S %x,8\n' $((0x$at + 8)) $((0x7ffe00003000 - 8 * i))
        printf 'I  %x,2\n' $((0x$at + 10))
    done >"$work/wide.lackey"
    "$P4SIM" trace convert -o "$work/out" --elf "$work/wide@$base" lackey "$work/wide.lackey" 2>"$work/log" ||
        fail "64-bit: $(cat "$work/log")"
    grep -q '12 instructions; bytes of 0 unknown (0.00 %), 0 accesses' "$work/log" || fail "64-bit: $(cat "$work/log")"
    "$P4SIM" trace dump "$work/out" >"$work/dump"
    grep -q "^ *1 .*00$at\|^ *0 .*$at.*mov *r8, qword ptr \[r15\]  R7ffe00001010/8" "$work/dump" || fail "64-bit: $(cat "$work/dump")"
    grep -q 'add *qword ptr \[r15 + r9\*2 + 8\], r8  R7ffe00002018/8  W7ffe00002018/8' "$work/dump" || fail "64-bit: $(cat "$work/dump")"
    "$P4SIM" stat -m prescott-64 -e instr_retired:NBOGUSNTAG --csv -o "$work/csv" --trace "$work/out" 2>"$work/log" ||
        fail "64-bit stat: $(cat "$work/log")"
    same "64-bit instructions" 12 "$(count instr_retired:NBOGUSNTAG "$work/csv")"
    "$P4SIM" trace convert -o "$work/out" --elf "$work/wide" lackey "$work/wide.lackey" 2>"$work/log" || fail "elsewhere"
    grep -q '12 instructions; bytes of 12 unknown' "$work/log" || fail "mapped elsewhere: $(cat "$work/log")"
    "$P4SIM" trace convert -o "$work/out" --64 lackey "$work/wide.lackey" 2>"$work/log" || fail "--64"
    "$P4SIM" trace dump "$work/out" | head -n 1 | grep -q "  0*$at  " || fail "--64: $("$P4SIM" trace dump "$work/out")"
    "$P4SIM" stat -m prescott-64 -e instr_retired:NBOGUSNTAG --csv -o "$work/csv" --trace "$work/out" 2>"$work/log" ||
        fail "stat of --64: $(cat "$work/log")"
    same "unknown 64-bit instructions" 12 "$(count instr_retired:NBOGUSNTAG "$work/csv")"
fi
printf ' L 08049000,4\n' >"$work/bad"
expect 3 "line 1: an access before the first instruction" "$P4SIM" trace convert -o "$work/out" lackey "$work/bad"
printf 'I  08049000,16\n' >"$work/bad"
expect 3 "line 1: expected" "$P4SIM" trace convert -o "$work/out" lackey "$work/bad"
: >"$work/bad"
expect 3 "there is no instruction in it" "$P4SIM" trace convert -o "$work/out" lackey "$work/bad"
expect 3 "expected an ELF program" "$P4SIM" trace convert -o "$work/out" --elf "$listing" lackey "$listing"
expect 3 "No such file" "$P4SIM" trace convert -o "$work/out" lackey "$work/missing"
expect 2 "convert needs the format" "$P4SIM" trace convert -o "$work/out" "$listing"
finish
