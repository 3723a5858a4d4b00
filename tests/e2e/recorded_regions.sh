# A recording keeps the regions that were asked for, and the names of the markers it executed: who replays it gets
# the counts of the live run without asking again.
. "$(dirname "$0")/lib.sh"
event=instr_retired:NBOGUSNTAG
outer="marker:outer region of the program"
# per turn: the loops (2 * 100 and 2 * 10, each with its return, its call and the move before that), one nop, and the
# jumps of the inner marker, which belong to what is around it
looped=$((3 * (2 * 100 + 1 + 2 * 10 + 1)))
all=$((looped + 3 * (2 + 2 + 1 + 2)))
inner=$((3 * (2 * 10 + 1 + 2)))

# part FILE NAME COLUMN: of a region's row (12 entries, 4 count)
part()
{
    awk -F , -v name="\"$2\"" -v column="$3" -v event="\"$event\"" '$10 == name && $3 == event { print $column }' "$1"
}

# regions_are FILE: the counts that the program's text gives
regions_are()
{
    same "$1: outer" "3 $all" "$(part "$1" "$outer" 12) $(part "$1" "$outer" 4)"
    same "$1: inner" "3 $inner" "$(part "$1" marker:inner 12) $(part "$1" marker:inner 4)"
    same "$1: looped" "6 $looped" "$(part "$1" function:looped 12) $(part "$1" function:looped 4)"
}

sample=$SAMPLES/markers.p4t
"$P4SIM" trace info "$sample" >"$work/info" || fail "info"
grep -q '^region  *function:looped$' "$work/info" || fail "no region: $(cat "$work/info")"
grep -q '^marker executed outer region of the program$' "$work/info" || fail "no marker: $(cat "$work/info")"
"$P4SIM" stat --csv -e $event -o "$work/sample" --trace "$sample" || fail "stat of the sample"
regions_are "$work/sample"
"$P4SIM" stat --csv -e $event -o "$work/whole" --no-regions --trace "$sample" || fail "--no-regions"
grep -q region "$work/whole" && fail "--no-regions has regions: $(cat "$work/whole")"
"$P4SIM" stat --csv -e $event -o "$work/other" --region marker:inner --trace "$sample" || fail "--region"
same "a region of the command line stands alone" "$inner " "$(part "$work/other" marker:inner 4) $(part "$work/other" function:looped 4)"
"$P4SIM" trace dump "$sample" | grep -q 'begins marker:outer region of the program' || fail "dump does not name the marker"

# A part has what was asked for, and its own markers.
"$P4SIM" trace cut -o "$work/part" --count 100 "$sample" 2>/dev/null || fail "cut"
"$P4SIM" trace info "$work/part" >"$work/info"
grep -q '^region  *function:looped$' "$work/info" || fail "the part forgot its regions: $(cat "$work/info")"
grep -q '^marker executed inner' "$work/info" && fail "the part has a marker it did not execute: $(cat "$work/info")"
"$P4SIM" trace verify "$work/part" >/dev/null || fail "the part does not verify"
"$P4SIM" stat --csv -e $event -o "$work/counts" --trace "$work/part" || fail "stat of the part"
same "looped in the part" "1 95" "$(part "$work/counts" function:looped 12) $(part "$work/counts" function:looped 4)"

# One that was cut short has what was asked for; damage in it is found.
size=$(stat -c %s "$sample")
head -c $((size - 40)) "$sample" >"$work/short"
"$P4SIM" trace info "$work/short" >"$work/info" 2>/dev/null && fail "info of half a file says nothing"
grep -q '^region  *function:looped$' "$work/info" || fail "half a file forgot its regions: $(cat "$work/info")"
grep -q '^complete *no' "$work/info" || fail "half a file is complete: $(cat "$work/info")"
at=$(grep -abo REGN "$sample" | head -n 1 | cut -d : -f 1)
cp "$sample" "$work/damaged"
printf '\377' | dd of="$work/damaged" bs=1 seek=$((at + 52)) conv=notrunc 2>/dev/null
expect 3 "offset $at" "$P4SIM" trace verify "$work/damaged"

needs_live
[ -x "$PROGRAMS/markers" ] || skip "the program could not be built"
cp "$PROGRAMS/markers" "$work/program"
set -- --region "$outer" --region marker:inner --region function:looped
"$P4SIM" stat --csv -e $event,global_power_events:RUNNING -o "$work/live" "$@" --record "$work/run" -- "$work/program" ||
    fail "live"
"$P4SIM" trace record -o "$work/run2" "$@" -- "$work/program" 2>/dev/null || fail "record"
rm "$work/program"
for run in run run2; do
    "$P4SIM" stat --csv -e $event,global_power_events:RUNNING -o "$work/$run.csv" --trace "$work/$run" || fail "replay"
    cmp -s "$work/live" "$work/$run.csv" || fail "$run: $(diff "$work/live" "$work/$run.csv")"
    "$INDEPENDENT_READER" "$work/$run" >"$work/theirs" || fail "independent reader"
    same "regions" 5 "$(awk '$1 == "regions" { print $2 }' "$work/theirs")"
done
regions_are "$work/live"

expect 2 "expected function:NAME" "$P4SIM" trace record -o "$work/none" --region nonsense -- "$PROGRAMS/exit7"
finish
