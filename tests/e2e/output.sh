# The table, JSON and CSV: where they go, what they hold, and that they hold the same.
. "$(dirname "$0")/lib.sh"
sample=$SAMPLES/hash_table.p4t
[ -f "$sample" ] || skip "no recording $sample"
events=instr_retired,uops_retired:NBOGUS:t=2,instr_retired:k,snoop:BIT2

# the table goes to standard error and leaves standard output alone
"$P4SIM" stat --no-kernel -e $events --trace "$sample" >"$work/out" 2>"$work/table" || fail "table"
[ ! -s "$work/out" ] || fail "the table run wrote to standard output: $(cat "$work/out")"
grep -q "Counters of model northwood" "$work/table" || fail "no header: $(cat "$work/table")"
grep -q "seconds at 2400 MHz" "$work/table" || fail "no simulated time"
grep -q "<not counted>  instr_retired:k .*CPL 0" "$work/table" || fail "kernel-only row"
grep -q "<not counted>  snoop:BIT2 .*not published" "$work/table" || fail "row of an event that is not modelled"

# data go to standard output; -o FILE takes any of them
"$P4SIM" stat --no-kernel --json -e $events --trace "$sample" >"$work/json" 2>"$work/err" || fail "json"
[ ! -s "$work/err" ] || fail "the JSON run wrote to standard error: $(cat "$work/err")"
grep -q '"schema": "p4sim-stat/1"' "$work/json" || fail "no schema in JSON"
"$P4SIM" stat --no-kernel --csv -e $events --trace "$sample" >"$work/csv" || fail "csv"
head -n 1 "$work/csv" | grep -q '^schema,model,event,count,' || fail "no CSV header"
"$P4SIM" stat --no-kernel --csv -o "$work/file" -e $events --trace "$sample" >"$work/out" 2>&1 || fail "-o"
[ ! -s "$work/out" ] || fail "-o FILE wrote elsewhere too"
cmp -s "$work/file" "$work/csv" || fail "-o FILE and standard output differ"

# three views of one number
number=$(count instr_retired "$work/csv")
[ "$number" -gt 100000 ] || fail "no count in CSV: $(cat "$work/csv")"
grep -q "\"count\": $number," "$work/json" || fail "JSON has another count than CSV: $number"
sed 's/,//g' "$work/table" | grep -q " $number  instr_retired " || fail "the table has another count: $number"
grep -q '"count": null' "$work/json" || fail "a count that does not exist is not null"

# the registers, as the manual encodes them: instr_retired NBOGUSNTAG+NBOGUSTAG, USR and OS
"$P4SIM" stat --registers -e instr_retired,1stL_cache_load_miss_retired --trace "$sample" 2>"$work/regs" || fail "registers"
grep -q 'MSR_CRU_ESCR0 (0x3B8) = 0x0400060C, MSR_IQ_CCCR. (0x36.) = 0x00039000' "$work/regs" ||
    fail "registers of instr_retired: $(cat "$work/regs")"
grep -q 'IA32_PEBS_ENABLE (0x3F1) = 0x01000001, MSR_PEBS_MATRIX_VERT (0x3F2) = 0x00000001' "$work/regs" ||
    fail "registers of replay tagging: $(cat "$work/regs")"

# the machine's own statistics, and the same count from raw registers with the tagging registers by hand
"$P4SIM" stat --stats -e instr_retired --trace "$sample" 2>"$work/stats" || fail "stats"
grep -q "skipped_clocks" "$work/stats" || fail "no statistics"
"$P4SIM" stat --csv -o "$work/raw" --pebs-enable 0x1000001 --pebs-matrix-vert 1 \
    -e 0x0003B000/0x1200020C@0x8000000C --trace "$sample" || fail "raw"
"$P4SIM" stat --csv -o "$work/named" -e 1stL_cache_load_miss_retired --trace "$sample" || fail "named"
same "raw replay tagging against the metric" "$(count 0x0003B000/0x1200020C@0x8000000C "$work/raw")" \
    "$(count 1stL_cache_load_miss_retired "$work/named")"
finish
