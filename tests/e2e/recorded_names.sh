# A recording names the functions that its run executed: report and --region work when the program is gone, and when
# another build stands in its place.
. "$(dirname "$0")/lib.sh"
needs_live

name_count()
{
    "$P4SIM" trace info "$1" | awk '/^function names/ {print $NF}'
}

# functions: which ones the report names, of the samples of the recording
functions()
{
    "$P4SIM" record -q -o "$work/samples" -e instr_retired:NBOGUSNTAG -c 997 --trace "$1" || fail "record of $1"
    "$P4SIM" report --by function --csv "$work/samples"
}

# region: entries of main and instructions in it
region()
{
    "$P4SIM" stat --csv -e instr_retired:NBOGUSNTAG --region function:main --trace "$1" 2>"$work/err" |
        awk -F , '$10 ~ /main/ {print $12, $4}'
}

cp "$PROGRAMS/sort" "$work/program"
"$P4SIM" trace record -o "$work/run" -- "$work/program" 60 >/dev/null || fail "record"
functions "$work/run" >"$work/with"
with=$(region "$work/run")
[ "$(echo "$with" | cut -d ' ' -f 1)" = 1 ] || fail "main is entered once: '$with', $(cat "$work/err")"
names=$(name_count "$work/run")
[ "$names" -gt 20 ] || fail "the recording has $names names"

# gone
mv "$work/program" "$work/elsewhere"
functions "$work/run" >"$work/without"
cmp -s "$work/with" "$work/without" || fail "other functions: $(diff "$work/with" "$work/without" | head -n 6)"
"$P4SIM" report --by function "$work/samples" >"$work/notes" 2>&1
grep -q "named as recorded" "$work/notes" || fail "no word of it: $(cat "$work/notes")"
grep -q main "$work/without" || grep -q sort "$work/without" || fail "no names: $(head "$work/without")"
same "main without the file" "$(region "$work/run")" "$with"

# another build in its place; one without a build id
cp "$PROGRAMS/matrix" "$work/program"
functions "$work/run" >"$work/without"
cmp -s "$work/with" "$work/without" || fail "another build: $(diff "$work/with" "$work/without" | head -n 6)"
same "main with another build" "$(region "$work/run")" "$with"
rm "$work/program"

# a part has the names of what it executes, an uninterrupted copy all
"$P4SIM" trace cut -o "$work/copy" "$work/run" 2>/dev/null || fail "cut"
same "names of a copy" "$(name_count "$work/copy")" "$names"
same "main of a copy" "$(region "$work/copy")" "$with"
"$P4SIM" trace cut -o "$work/part" --from 10 --count 1000 "$work/run" 2>/dev/null || fail "cut of a part"
[ "$(name_count "$work/part")" -lt "$names" ] || fail "a part has the names of the whole"
[ "$(name_count "$work/part")" -gt 0 ] || fail "a part has no names"
"$P4SIM" trace verify "$work/copy" >/dev/null || fail "the copy does not verify"

# who reads with the text alone finds as many
"$INDEPENDENT_READER" "$work/run" >"$work/theirs" || fail "independent reader"
same "names" "$(awk '$1 == "names" {print $2}' "$work/theirs")" "$names"
finish
