# Regions and processes: exact numbers for parts whose length is known, and sums that give the whole.
. "$(dirname "$0")/lib.sh"
needs_live
events=instr_retired:NBOGUSNTAG,uops_retired:NBOGUS,uops_retired:BOGUS,global_power_events:RUNNING,branch_retired:MMTM+MMNM,page_walk_type:DTMISS
regions=$PROGRAMS/regions

# divide FILE OPTIONS...: a CSV result.
divide()
{
    file=$1
    shift
    "$P4SIM" stat --csv -o "$file" -e $events "$@" >"$work/stdout" 2>"$work/stderr" ||
        fail "stat $*: $(cat "$work/stderr")"
}

# part FILE PART: instructions inside it (column: count, own or entries).
part()
{
    awk -F , -v part="\"$2\"" -v column="$3" '
        $3 == "\"instr_retired:NBOGUSNTAG\"" && $10 == part {
            print column == "own" ? $13 : column == "entries" ? $12 : $4
        }' "$1"
}

# is FILE PART ENTRIES COUNT: a region's instructions, with all inside.
is()
{
    same "entries of $2" "$3" "$(part "$1" "$2" entries)"
    same "instructions of $2" "$4" "$(part "$1" "$2" count)"
}

# adds_up FILE KIND...: the own counts of parts of these kinds are the whole, for each event.
adds_up()
{
    awk -F , -v kinds="$2" '
        NR == 1 { next }
        $10 == "" { whole[$3] = $4 }
        index(kinds, $11) && $10 != "" { sum[$3] += $13; parts++ }
        END {
            if (!parts) { print "no parts"; exit 1 }
            for (event in whole)
                if (sum[event] != whole[event]) { print event ": " sum[event] " of " whole[event]; bad = 1 }
            exit bad
        }' "$1" >"$work/sums" || fail "the parts of $1 do not add up: $(cat "$work/sums")"
}

# Functions: called, jumped to, recursive, left by longjmp, run as a signal handler.
divide "$work/functions" --region function:spin --region function:tail --region function:deep \
    --region function:leaves_early --region function:on_signal -- "$regions"
is "$work/functions" function:spin 9 $((3 * (2 * 100 + 2) + 3 * (2 * 50 + 2) + 2 * 30 + 2 + 2 * 10 + 2 + 2 * 20 + 2))
is "$work/functions" function:tail 1 $((1 + 2 * 30 + 2))
same "own instructions of tail" 1 "$(part "$work/functions" function:tail own)"
is "$work/functions" function:deep 5 $((7 * 4 + 4))
same "entries of leaves_early" 1 "$(part "$work/functions" function:leaves_early entries)"
[ "$(part "$work/functions" function:leaves_early own)" -lt 200 ] || fail "leaves_early stays open after longjmp"
same "entries of on_signal" 1 "$(part "$work/functions" function:on_signal entries)"
[ "$(part "$work/functions" function:on_signal own)" -lt 20 ] || fail "on_signal stays open after its return"
adds_up "$work/functions" "rest region"

# Markers: nested, repeated, all of them or one.
divide "$work/markers" --region marker -- "$regions"
is "$work/markers" "marker:inner loop" 3 "$(part "$work/markers" "marker:inner loop" own)"
same "markers" 2 "$(grep -c '"instr_retired.*"marker:' "$work/markers")"
adds_up "$work/markers" "rest region"
divide "$work/both" --region "marker:inner loop" --region function:spin -- "$regions"
same "spin in the marked loop" $((3 * (2 * 50 + 2))) \
    $(($(part "$work/both" "marker:inner loop" count) - $(part "$work/both" "marker:inner loop" own)))
adds_up "$work/both" "rest region"

# Addresses.
if command -v nm >/dev/null; then
    from=0x$(nm "$regions" | sed -n 's/ . range_from$//p')
    to=0x$(nm "$regions" | sed -n 's/ . range_to$//p')
    divide "$work/addresses" --region "address:$from-$to" -- "$regions"
    is "$work/addresses" "address:$from-$to" 2 $((2 * 40 + 2 * 60))
    adds_up "$work/addresses" "rest region"
fi

# A function of a shared library, in a program whose calls go through its table of jumps.
if [ -x "$PROGRAMS/hash_table_dynamic" ]; then
    divide "$work/library" --region function:printf --region function:main -- "$PROGRAMS/hash_table_dynamic" 50
    [ "$(part "$work/library" function:printf entries)" -ge 1 ] || fail "printf of the C library was not met"
    same "entries of main" 1 "$(part "$work/library" function:main entries)"
    adds_up "$work/library" "rest region"
fi

# Processes: fork and wait; their numbers give the whole.
divide "$work/processes" --per-process -- "$PROGRAMS/forks" 5
[ "$(grep -c 'instr_retired.*,process,' "$work/processes")" -gt 1 ] || fail "one process only"
adds_up "$work/processes" process
divide "$work/everything" --per-process --region function:main --region marker -- "$PROGRAMS/forks" 5
adds_up "$work/everything" process
adds_up "$work/everything" "rest region"

# With a kernel below the program: its time belongs to the part in which it was spent.
divide "$work/kernel" --kernel --per-process --region function:main -- "$PROGRAMS/forks" 5
adds_up "$work/kernel" process
adds_up "$work/kernel" "rest region"

# Recorded, the same parts have the same counts.
divide "$work/live" --record "$work/run.p4t" --region function:spin --region marker -- "$regions"
divide "$work/replayed" --region function:spin --region marker --trace "$work/run.p4t"
cmp -s "$work/live" "$work/replayed" || fail "parts differ in the replay: $(diff "$work/live" "$work/replayed")"

# JSON and the table say the same.
"$P4SIM" stat --json -e instr_retired:NBOGUSNTAG --region function:deep -- "$regions" 2>/dev/null |
    grep -q '"entries": 5' || fail "JSON has no entries"
"$P4SIM" stat -e instr_retired:NBOGUSNTAG --region function:deep -- "$regions" 2>"$work/table" >/dev/null
grep -q 'region function:deep: entered 5 times' "$work/table" || fail "table: $(cat "$work/table")"

# Mistakes.
expect 2 "on one logical processor only" \
    "$P4SIM" stat -m gallatin --region marker -- "$regions" --- "$regions"
expect 2 "expected function:NAME, address:FROM-TO" "$P4SIM" stat --region nonsense -- "$regions"
expect 2 "expected function:NAME" "$P4SIM" stat --region address:5-5 -- "$regions"
expect 2 "asked for twice" "$P4SIM" stat --region marker --region marker -- "$regions"
expect 3 "no file that the program mapped has a function of this name" \
    "$P4SIM" stat --region function:nobody -- "$regions"
finish
