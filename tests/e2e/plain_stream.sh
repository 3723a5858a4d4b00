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
