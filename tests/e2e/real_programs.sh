# Unmodified Debian programs (tools/programs fetch) give their own output and status under p4sim. Where they were not
# fetched, busybox of this machine stands in; without either the test is skipped.
. "$(dirname "$0")/lib.sh"
needs_live
folder=${P4SIM_REAL_PROGRAMS:-$HOME/.cache/p4sim-programs}

if [ -d "$folder/root" ]; then
    P4SIM="$P4SIM" sh "$(dirname "$0")/../../tools/programs" check "$folder" >"$work/rows" 2>"$work/errors" ||
        fail "$(cat "$work/errors")"
    same "programs that give the same" 3 "$(grep -c '| same |' "$work/rows")"
    finish
    exit
fi
busybox=$(command -v busybox) || skip "no programs in $folder (tools/programs fetch $folder) and no busybox here"
[ "$(od -An -tu1 -j4 -N1 "$busybox" | tr -d ' ')" = 1 ] && model=northwood || model=prescott-64
seq 1 300 >"$work/numbers"
for applet in "sort -rn" "sha1sum" "awk {s+=\$1}END{print(s)}"; do
    "$busybox" $applet "$work/numbers" >"$work/outside"
    "$P4SIM" stat -m "$model" -e instr_retired:NBOGUSNTAG -o "$work/table" -- "$busybox" $applet "$work/numbers" \
        >"$work/inside" 2>"$work/log" || fail "busybox $applet: $(cat "$work/log")"
    cmp -s "$work/outside" "$work/inside" || fail "busybox $applet prints something else inside p4sim"
done
finish
