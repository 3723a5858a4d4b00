# A recording p4sim is killed over, and one of a program that crashes: what was recorded is valid up to there.
. "$(dirname "$0")/lib.sh"
needs_live

"$P4SIM" trace record -o "$work/killed" -- "$PROGRAMS/hash_table" 100000000 >/dev/null 2>&1 </dev/null &
recorder=$!
for wait in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    sleep 0.3
    [ "$(stat -c %s "$work/killed" 2>/dev/null || echo 0)" -gt 140000 ] && break
done
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
expect 3 "cut short" "$P4SIM" trace verify "$work/killed"
"$P4SIM" trace cut -o "$work/good" "$work/killed" 2>"$work/log" || fail "cut: $(cat "$work/log")"
"$P4SIM" trace verify "$work/good" >"$work/verify" || fail "what was recorded does not verify"
kept=$("$P4SIM" trace info "$work/good" | awk '/^instructions/ {print $2}')
[ "$kept" -ge 65536 ] || fail "only $kept instructions kept"

"$P4SIM" trace record -o "$work/crashed" -- "$PROGRAMS/crash" 100 >/dev/null 2>&1 </dev/null
"$P4SIM" trace verify "$work/crashed" >/dev/null || fail "the recording of a crash does not verify"
"$P4SIM" trace info "$work/crashed" | grep -q '^ended by *signal 11' || fail "its end: $("$P4SIM" trace info "$work/crashed")"

# for hosts without x86 floating point: what that gave is written down
for how in "" --portable; do
    "$P4SIM" trace record $how -o "$work/floats$how" -- "$PROGRAMS/floats" 30 >/dev/null 2>&1 </dev/null || fail "record $how"
    "$P4SIM" trace verify "$work/floats$how" >/dev/null || fail "the recording of floating point $how does not verify"
    "$P4SIM" trace dump "$work/floats$how" >"$work/dump$how"
done
cmp -s "$work/dump" "$work/dump--portable" || fail "the portable recording is another run"
some=$("$P4SIM" trace info "$work/floats" | awk '/^by the host/ {print $NF}')
more=$("$P4SIM" trace info "$work/floats--portable" | awk '/^by the host/ {print $NF}')
[ "$more" -gt $((some + 300)) ] || fail "portable: $more instructions by the host, else $some"

# the disk fills: what fits is valid
(
    trap '' XFSZ
    ulimit -f 200
    "$P4SIM" trace record -o "$work/filled" -- "$PROGRAMS/sort" 2000 >/dev/null 2>"$work/log" </dev/null
    echo $? >"$work/status"
)
if [ "$(stat -c %s "$work/filled")" -ge 102400 ]; then
    same "status of a full disk" "$(cat "$work/status")" 3
    grep -q "$work/filled: writing the recording failed" "$work/log" || fail "a full disk says $(cat "$work/log")"
    "$P4SIM" trace cut -o "$work/good" "$work/filled" 2>/dev/null || fail "cut of a file that filled the disk"
    "$P4SIM" trace verify "$work/good" >/dev/null || fail "what fitted does not verify"
fi
finish
