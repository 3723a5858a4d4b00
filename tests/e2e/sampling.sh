# Sampling as people use it: the published comparison of interrupt-based and precise sampling on a program
# with one load that misses, data addresses, files, refusals, exports, exact counts.
. "$(dirname "$0")/lib.sh"
needs_live
program=$PROGRAMS/l1_miss
event=1stL_cache_load_miss_retired:u
period=53 # no multiple of 2: the eight addresses come up in turn

# record NAME OPTIONS...: samples of the program in $work/NAME.
record()
{
    name=$1
    shift
    "$P4SIM" record -o "$work/$name" -e $event -c $period "$@" -- "$program" 2>"$work/$name.err" ||
        fail "record $*: $(cat "$work/$name.err")"
}

# report NAME OPTIONS...: as CSV without the head.
report()
{
    name=$1
    shift
    "$P4SIM" report --csv --limit 0 "$@" "$work/$name" | tail -n +2 || fail "report $*"
}

# samples NAME: how many. happened NAME: the event's exact count.
samples()
{
    report "$1" --by event | awk -F , '{ n += $NF } END { print n + 0 }'
}
happened()
{
    sed -n 's/.*it happened \([0-9]*\) times.*/\1/p' "$work/$1.err"
}

# within_a_period NAME: samples times the period is the event's count within one period.
within_a_period()
{
    n=$(samples "$1")
    all=$(happened "$1")
    [ $((all - n * period)) -ge 0 ] && [ $((all - n * period)) -lt $period ] ||
        fail "$1: $n samples of $period, and the event happened $all times"
}

# ---- precise: every sample on the load; by interrupt: none
record precise --precise
record imprecise --registers
for name in precise imprecise; do
    [ "$(samples $name)" -gt 700 ] || fail "$name: few samples: $(samples $name)"
    within_a_period $name
done
same "precise samples elsewhere" "$(report precise --by instruction | grep -vc 'missing+.*mov eax, dword ptr \[eax\]')" 0
same "interrupt samples on the load" "$(report imprecise --by function | grep -c '"missing ')" 0
same "interrupt samples of user code, by function" "$(report imprecise --by function | cut -d '"' -f 2)" "after  (l1_miss)"
same "precise skid" "$(report precise --by skid | cut -d , -f 3)" '"+0"'

# the skid of the interrupt: behind the load, never before it, and explained: the interrupt comes with the
# count after the overflow, so the last miss of a run waits for the next run
report imprecise --by skid | cut -d '"' -f 2 | tr -d + | sort -n >"$work/skids"
[ "$(head -n 1 "$work/skids")" -gt 10 ] || fail "skids begin at $(head -n 1 "$work/skids")"
[ "$(tail -n 1 "$work/skids")" -gt 400 ] || fail "no skid over a whole run: $(tail -n 1 "$work/skids")"

"$P4SIM" report --by skid "$work/imprecise" | grep 'are not shown' && fail "interrupt samples of unknown skid"

# by what really caused them, the interrupt samples are on the load too
same "truth" "$(report imprecise --by function --truth | cut -d '"' -f 2 | cut -d ' ' -f 1)" missing

# ---- exact counts beside them
"$P4SIM" annotate --csv "$work/imprecise" missing | grep ',"mov eax, dword ptr \[eax\]",' >"$work/load"
exact=$(sed 's/.*,\([0-9]*\)$/\1/' "$work/load") # 8 a run, but for a few lines the interrupts move
[ "$exact" -gt 39900 ] && [ "$exact" -le 40000 ] || fail "exact count of the load: $exact"
grep -q 'l1_miss.s' "$work/load" || fail "no source file: $(cat "$work/load")"
"$P4SIM" stat --csv -o "$work/stat" -e $event -- "$program" || fail "stat"
[ "$(count $event "$work/stat")" -ge 39990 ] || fail "stat counts $(count $event "$work/stat")"

# ---- data addresses: eight, 8 KB apart, in near-equal shares, one cache set
report precise --by address --sort order >"$work/addresses"
same "addresses" "$(wc -l <"$work/addresses" | tr -d ' ')" 8
awk -F , -v all="$(samples precise)" '
    NR > 1 && $4 - last != 8192 { print "address " $3 " is not 8 KB from the one before"; bad = 1 }
    { last = $4; if ($5 < 0.88 * all / 8 || $5 > 1.12 * all / 8) { print $3 " has " $5 " of " all; bad = 1 } }
    END { exit bad }' "$work/addresses" || fail "data addresses"
same "sets" "$(report precise --by set | wc -l | tr -d ' ')" 1
low=$(head -n 1 "$work/addresses" | cut -d '"' -f 2)
report precise --range first="$low"-$((low + 8192)) >"$work/ranges"
same "first range" "$(grep -c '"first ' "$work/ranges")" 1
report precise --by variable | grep -q '"table ' || fail "no variable: $(report precise --by variable)"

# ---- the edges: each event a sample, a period longer than the run, a limit
"$P4SIM" record -q -o "$work/each" -e instr_retired:u -c 1 --max 100 -- "$program" || fail "period 1"
same "samples of --max 100" "$(samples each)" 100
"$P4SIM" record -q -o "$work/none" -e $event -c 1000000 -- "$program" || fail "long period"
same "samples of a long period" "$(samples none)" 0

# ---- windows: a tenth of the run is simulated, and all of it executed
"$P4SIM" record -o "$work/windows" -e instr_retired:u -c 500 --every 1009 --for 101 -- "$PROGRAMS/sort" 2000 \
    >"$work/out" 2>"$work/err" || fail "windows: $(cat "$work/err")"
grep -q '2000 records sorted twice, 0 differences' "$work/out" || fail "the program in windows: $(cat "$work/out")"
"$P4SIM" stat --csv -o "$work/stat" -e instr_retired:u -- "$PROGRAMS/sort" 2000 >"$work/out" || fail "stat sort"
awk -v whole="$(count instr_retired:u "$work/stat")" '
    / simulated: / { bad = $4 > whole || $4 < 0.99 * whole || $2 != int($4 / 1009) * 101 + ($4 % 1009 < 101 ? $4 % 1009 : 101) }
    END { exit bad }' "$work/err" || fail "windows: $(grep simulated "$work/err")"
"$P4SIM" report "$work/windows" >"$work/out" || fail "report of windows"
grep -q '# in windows: .* the whole run has about 9\.9' "$work/out" || fail "windows are not told: $(head -4 "$work/out")"
"$P4SIM" annotate "$work/windows" | grep -q '^in windows: ' || fail "annotate does not tell of windows"
# the same windows of its recording
"$P4SIM" trace record -o "$work/sort.p4t" -- "$PROGRAMS/sort" 2000 >"$work/out" 2>"$work/err" || fail "trace record"
"$P4SIM" record -q -o "$work/replayed_windows" -e instr_retired:u -c 500 --every 1009 --for 101 \
    --trace "$work/sort.p4t" || fail "windows of a recording"
same "windows of a recording" "$(report replayed_windows --by instruction)" "$(report windows --by instruction)"
expect 2 "--every and --for go together" "$P4SIM" record --every 100 -- "$program"
expect 2 "is more than --every" "$P4SIM" record --every 100 --for 101 -- "$program"

# ---- a full buffer loses records and says so; the interrupt before it is full loses none
"$P4SIM" record -o "$work/slack" -e $event -c $period --precise --buffer 64 --threshold 32 -- "$program" \
    2>"$work/err" || fail "threshold"
grep -q "were lost" "$work/err" && fail "records lost with slack: $(cat "$work/err")"

# ---- two events at once
"$P4SIM" record -q -o "$work/two" -e $event,branch_retired:MMTP:u -c $period,500 --precise -- "$program" ||
    fail "two events"
same "events" "$(report two --by event | wc -l | tr -d ' ')" 2
"$P4SIM" report -e 0 --compare-event 1 "$work/two" | grep -q 'first   second  change' || fail "comparison"

# each event's samples stand for its own period
"$P4SIM" report --by event "$work/two" |
    awk -v period=$period '$NF ~ /^1stL/ { bad += $3 != $2 * period } $NF ~ /^branch/ { bad += $3 != $2 * 500 }
        END { exit bad || NR < 4 }' || fail "events by event: $("$P4SIM" report --by event "$work/two")"

# ---- branch records: each run of the program takes the same branches; the filters came with model 3
"$P4SIM" record -o "$work/branches" -m prescott -e instr_retired:u -c 5000 --branches=user -- "$program" \
    2>"$work/err" || fail "branches: $(cat "$work/err")"
same "branches of user code" "$("$P4SIM" report -e branches --by object --csv "$work/branches" | tail -n +2 | cut -d , -f 3)" \
    '"l1_miss"'
"$P4SIM" stat --csv -o "$work/stat" -m prescott -e branch_retired:MMTP+MMTM:u -- "$program" || fail "stat branches"
same "branch records" "$(sed -n 's/^ *\([0-9]*\) branch records.*/\1/p' "$work/err")" \
    "$(count branch_retired:MMTP+MMTM:u "$work/stat")"
expect 2 "came with model 3" "$P4SIM" record --branches=user -- "$program"
expect 2 "expected all, user or kernel" "$P4SIM" record --branches=mine -- "$program"

# ---- the model's kernel has names
"$P4SIM" record -q -o "$work/kernel" --kernel -e instr_retired:k -c 31 -- "$PROGRAMS/exit7" 5 >"$work/out"
"$P4SIM" report "$work/kernel" | grep -q 'SYSTEM_CALL.*(\[kernel\])' || fail "kernel: $("$P4SIM" report "$work/kernel")"

# ---- refusals
expect 2 "PEBS records front_end_event, execution_event and replay_event alone" \
    "$P4SIM" record -e instr_retired --precise -- "$program"
expect 2 "1stL_cache_load_miss_retired" "$P4SIM" record -e branch_retired --precise -- "$program"
expect 2 "PEBS works with counter 16" "$P4SIM" record -e $event:c=12 --precise -- "$program"
expect 2 "one tagging mechanism" "$P4SIM" record -e $event,memory_loads --precise -- "$program"
expect 2 "nobody walks the stack" "$P4SIM" record -e $event --precise --call-chain -- "$program"
expect 2 "beyond the buffer" "$P4SIM" record -e $event --precise --buffer 8 --threshold 9 -- "$program"
expect 2 "expected a number from 1" "$P4SIM" record -e $event -c 0 -- "$program"
expect 2 "periods for" "$P4SIM" record -e $event -c 1,2 -- "$program"
expect 2 "one program is sampled" "$P4SIM" record -m northwood-ht -e $event -- "$program" --- "$program"
expect 2 "nothing to run" "$P4SIM" record -e $event
expect 3 "No such file" "$P4SIM" report "$work/nothing"
expect 3 "not a file of samples" "$P4SIM" report "$program"
expect 2 "no event 'cycles'" "$P4SIM" report -e cycles "$work/precise"
expect 3 "no function 'nobody'" "$P4SIM" annotate "$work/precise" nobody
expect 2 "--range is for --by range" "$P4SIM" report --by line --range a=0x1000-0x2000 "$work/precise"
expect 2 "needs a --range" "$P4SIM" report --by range "$work/precise"

# ---- a file cut short is read up to there; a damaged one is not
head -c $(($(wc -c <"$work/precise") - 100)) "$work/precise" >"$work/cut"
"$P4SIM" report "$work/cut" >"$work/out" || fail "a cut file"
grep -q "the run is not complete: the file ends" "$work/out" || fail "a cut file is not told: $(cat "$work/out")"

# ---- exports
"$P4SIM" report --export collapsed "$work/precise" >"$work/out" || fail "collapsed"
same "collapsed stacks" "$(cat "$work/out")" "l1_miss;missing $(samples precise)"
"$P4SIM" report --export perf-script "$work/precise" >"$work/out" || fail "perf-script"
same "perf script samples" "$(grep -c "^l1_miss 1/1 \[000\] [0-9.]*: *$period $event:\$" "$work/out")" "$(samples precise)"
"$P4SIM" report --export firefox -o "$work/out" "$work/precise" || fail "firefox"
grep -q '"presymbolicated":true' "$work/out" || fail "no Gecko profile"

"$P4SIM" record -q -o "$work/lbr" -e instr_retired:u -c 997 --last-branches -- "$program" || fail "last branches"
"$P4SIM" report --export perf-script "$work/lbr" >"$work/out" || fail "perf-script with last branches"
same "samples with four last branches" "$(grep -c '^\( 0x[0-9a-f]*/0x[0-9a-f]*/-/-/-/0\)\{4\}$' "$work/out")" \
    "$(grep -c '^l1_miss 1/1' "$work/out")"

# ---- call chains
if [ -x "$PROGRAMS/call_chain" ]; then
    "$P4SIM" record -q -o "$work/chain" -e instr_retired:u -c 97 --call-chain -- "$PROGRAMS/call_chain" ||
        fail "chains"
    "$P4SIM" report --export collapsed "$work/chain" | grep -q 'main;outer;middle;inner ' ||
        fail "no chain main;outer;middle;inner: $("$P4SIM" report --export collapsed "$work/chain" | head -n 5)"
fi

# ---- a recording gives the samples of the run it was made of
"$P4SIM" trace record -o "$work/trace" -- "$program" 2>"$work/err" || fail "trace record: $(cat "$work/err")"
"$P4SIM" record -q -o "$work/replayed" -e $event -c $period --precise --trace "$work/trace" || fail "replay"
same "samples of the recording" "$(report replayed --by instruction)" "$(report precise --by instruction)"
same "addresses of the recording" "$(report replayed --by address)" "$(report precise --by address)"

# ---- pictures
if command -v gnuplot >/dev/null; then
    "$P4SIM" report --by skid --compare "$work/precise" --plot "$work/skid.png" "$work/imprecise" || fail "plot"
    head -c 4 "$work/skid.png" | grep -q PNG || fail "no PNG"
    "$P4SIM" report --by page --plot "$work/pages.svg" "$work/precise" || fail "plot pages"
    grep -q '<svg' "$work/pages.svg" || fail "no SVG"
    "$P4SIM" report --by time --plot "$work/time.png" "$work/precise" || fail "plot time"
    "$P4SIM" report --by function --plot "$work/functions.png" "$work/imprecise" || fail "plot functions"
fi
expect 2 "expected a name in .png or .svg" "$P4SIM" report --plot "$work/x.jpg" "$work/precise"
finish
