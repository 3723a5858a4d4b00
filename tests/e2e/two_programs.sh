# Two recordings on two logical processors, and the threads of one program.
. "$(dirname "$0")/lib.sh"
model=northwood-ht
first=$SAMPLES/hash_table.p4t
second=$SAMPLES/sort.p4t

# each logical processor retires what its recording has
"$P4SIM" stat -m $model --csv -o "$work/a" -e instr_retired:t0,instr_retired:t1,uops_retired \
    --trace "$first" --trace "$second" || fail "two recordings"
"$P4SIM" stat -m northwood --csv -o "$work/b" -e instr_retired,uops_retired --trace "$first" || fail "first"
"$P4SIM" stat -m northwood --csv -o "$work/c" -e instr_retired,uops_retired --trace "$second" || fail "second"
same "instructions of the first" "$(count instr_retired:t0 "$work/a")" "$(count instr_retired "$work/b")"
same "instructions of the second" "$(count instr_retired:t1 "$work/a")" "$(count instr_retired "$work/c")"
same "uops of both" "$(count uops_retired "$work/a")" \
    $(($(count uops_retired "$work/b") + $(count uops_retired "$work/c")))

# the same again gives the same
"$P4SIM" stat -m $model --csv -o "$work/d" -e instr_retired:t0,instr_retired:t1,uops_retired \
    --trace "$first" --trace "$second" || fail "again"
same "a second run" "$(counts "$work/a")" "$(counts "$work/d")"

# data name both programs' ends and both logical processors
"$P4SIM" stat -m $model --json -o "$work/e" -e instr_retired --trace "$first" --trace "$second" || fail "json"
grep -q second_program_end "$work/e" || fail "no end of the second program"
grep -q logical_processors "$work/e" || fail "no statistics of the logical processors"

live || { echo "live programs cannot run here, left out: $reason"; finish; exit 0; }
[ -x "$PROGRAMS/threads" ] || { echo "32-bit programs cannot be built here, left out"; finish; exit 0; }
"$P4SIM" stat -m $model --csv -o "$work/f" -e instr_retired:t0,instr_retired:t1,uops_retired \
    "$PROGRAMS/threads" >"$work/out" || fail "threads"
same "what it prints" "$(cat "$work/out")" "$("$PROGRAMS/threads")"
[ "$(count instr_retired:t1 "$work/f")" -gt 1000 ] || fail "no thread ran on the second logical processor"
grep -q '"uops_retired",,.*cannot be repeated' "$work/f" || fail "a second pass of threads is not refused"
# when the host's kernel wakes a thread is not ours to say: what must repeat is the replay
"$P4SIM" trace record -m $model -o "$work/threads.p4t" -- "$PROGRAMS/threads" >/dev/null || fail "threads recorded"
for file in h i; do
    "$P4SIM" stat -m $model --csv -o "$work/$file" -e instr_retired:t0,instr_retired:t1 --trace "$work/threads.p4t" ||
        fail "threads replayed"
done
same "threads replayed a second time" "$(counts "$work/h")" "$(counts "$work/i")"
"$P4SIM" stat -m $model --csv -o "$work/g" -e instr_retired:t0,instr_retired:t1 \
    "$PROGRAMS/exit7" --- "$PROGRAMS/exit7" || fail "two programs"
same "two equal programs" "$(count instr_retired:t0 "$work/g")" "$(count instr_retired:t1 "$work/g")"
finish
