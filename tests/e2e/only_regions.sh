# Only regions are simulated: their instructions and uops are those of a whole simulated run, and the
# rest has no counts.
. "$(dirname "$0")/lib.sh"
needs_live
events=instr_retired:NBOGUSNTAG,uops_retired:NBOGUS,branch_retired:MMTM+MMTP+MMNM+MMNP
way=$PROGRAMS/long_way
regions=$PROGRAMS/regions

# parts FILE: event, count, part, entries and own count of each region, without the rest.
parts()
{
    awk -F , '$11 == "region" { print $3, $4, $10, $12, $13 }' "$1"
}

# both REGIONS-AND-PROGRAM...: the regions' numbers are the same with and without the rest.
both()
{
    for only in "" --only-regions; do
        "$P4SIM" stat --csv -o "$work/counts$only" -e $events $only "$@" >"$work/stdout$only" 2>"$work/stderr" ||
            fail "stat $only $*: $(cat "$work/stderr")"
    done
    parts "$work/counts" >"$work/whole"
    parts "$work/counts--only-regions" >"$work/alone"
    [ -s "$work/whole" ] || fail "no regions: $*"
    cmp -s "$work/whole" "$work/alone" || fail "$*: $(diff "$work/whole" "$work/alone")"
    cmp -s "$work/stdout" "$work/stdout--only-regions" || fail "$*: the program's output differs"
}

# Functions: behind a long way, repeated, jumped to, recursive, left by longjmp, a signal handler.
both --region function:work -- "$way" 20000
grep -q '"instr_retired:NBOGUSNTAG" 12012 "function:work" 4 12012' "$work/alone" || fail "work: $(cat "$work/alone")"
same "instructions in all regions" 12012 "$(count instr_retired:NBOGUSNTAG "$work/counts--only-regions" | head -n 1)"
grep -q '"instr_retired:NBOGUSNTAG",,,,1,no,"ran at .* in 5 stretches","rest",rest,,$' \
    "$work/counts--only-regions" ||
    fail "the rest is counted: $(cat "$work/counts--only-regions")"
both --region function:spin --region function:tail --region function:deep --region function:leaves_early \
    --region function:on_signal -- "$regions"

# Markers, all or one of them; addresses; all kinds at once.
both --region marker -- "$regions"
both --region "marker:inner loop" -- "$regions"
both --region marker:piece --region function:work -- "$way" 20000
if command -v nm >/dev/null; then
    from=0x$(nm "$regions" | sed -n 's/ . range_from$//p')
    to=0x$(nm "$regions" | sed -n 's/ . range_to$//p')
    both --region "address:$from-$to" --region function:deep --region marker:outer -- "$regions"
fi

# A function of a shared library.
[ ! -x "$PROGRAMS/hash_table_dynamic" ] || both --region function:printf -- "$PROGRAMS/hash_table_dynamic" 50

# What is printed.
"$P4SIM" stat --only-regions --region function:work -e instr_retired:NBOGUSNTAG -- "$way" 20000 2>"$work/table" >/dev/null
grep -q 'in its regions only' "$work/table" || fail "table: $(cat "$work/table")"
grep -q '<not counted>  instr_retired' "$work/table" || fail "table: $(cat "$work/table")"
"$P4SIM" stat --json --only-regions --region function:work -- "$way" 20000 2>/dev/null >"$work/json"
grep -q '"native_stretches": 5' "$work/json" || fail "JSON: $(cat "$work/json")"

# What lies between the regions runs natively: a way a hundred times as long has not one instruction more in the
# interpreter, while single steps count them all.
# executed STEPS: by the interpreter and in stops of the host's processor
executed()
{
    "$P4SIM" stat --stats --only-regions --region function:work -e instr_retired:NBOGUSNTAG -- "$way" "$1" \
        2>"$work/table" >/dev/null || fail "--stats: $(cat "$work/table")"
    awk '$2 == "interpreted" || $2 == "stepped" { gsub(",", "", $1); sum += $1 } END { print sum + 0 }' "$work/table"
}
short=$(executed 20000)
long=$(executed 2000000)
[ "$short" -ge 12012 ] || fail "fewer than the region has: $short"
"$P4SIM" stat --csv -o "$work/all" -e instr_retired:NBOGUSNTAG -- "$way" 20000 >/dev/null 2>&1
all=$(count instr_retired:NBOGUSNTAG "$work/all")
[ "$all" -gt $((4 * 20000 * 3)) ] || fail "the way has $all instructions"
[ "$short" -lt $((all / 3)) ] || fail "interpreted: $short of $all"
[ $((long - short)) -lt 1000 ] && [ $((short - long)) -lt 1000 ] || fail "the way is not native: $short, $long"

# Mistakes.
expect 2 "needs a --region" "$P4SIM" stat --only-regions -- "$way"
expect 2 "recordings and snippets cannot run natively" \
    "$P4SIM" stat --only-regions --region marker --trace "$work/none"
expect 2 "recordings and snippets cannot run natively" \
    "$P4SIM" stat --only-regions --region marker --asm nop
expect 2 "what runs natively is not recorded" \
    "$P4SIM" stat --only-regions --region marker --record "$work/none" -- "$way"
expect 2 "cannot be had with --per-process" "$P4SIM" stat --only-regions --region marker --per-process -- "$way"
expect 2 "cannot be repeated" "$P4SIM" stat --only-regions --region marker --passes 3 -- "$way"
expect 3 "has a function of this name" "$P4SIM" stat --only-regions --region function:nobody -- "$way" 10
expect 3 "has this marker" "$P4SIM" stat --only-regions --region marker:nobody -- "$way" 10
finish
