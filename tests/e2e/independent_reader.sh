# A reader written from docs/trace-format.md alone finds in each sample what p4sim finds, and refuses damage.
. "$(dirname "$0")/lib.sh"

for sample in "$SAMPLES"/*.p4t; do
    "$INDEPENDENT_READER" "$sample" >"$work/theirs" 2>"$work/log" || fail "$sample: $(cat "$work/log")"
    "$P4SIM" trace info "$sample" >"$work/ours"
    for pair in "instructions instructions" "checkpoints checkpoints" "natives by"; do
        theirs=$(awk -v key="${pair% *}" '$1 == key {print $NF}' "$work/theirs")
        ours=$(awk -v key="${pair#* }" '$1 == key {print $NF; exit}' "$work/ours")
        [ "${pair#* }" != by ] || ours=$(awk '/^by the host/ {print $NF}' "$work/ours")
        same "$sample: $pair" "$theirs" "$ours"
    done
    line=$("$P4SIM" trace dump --count 1 "$sample")
    address=$(echo "$line" | awk '{print $3}')
    bytes=$(echo "$line" | awk '{print $4}')
    grep -q "^first 0*${address#"${address%%[!0]*}"} " "$work/theirs" || fail "$sample begins elsewhere: $(grep first "$work/theirs")"
    case $(awk '/^first/ {print $3 $4 $5 $6}' "$work/theirs") in
    "$bytes"*) ;;
    *) [ "${#bytes}" -gt 8 ] || fail "$sample begins with other bytes: $(grep first "$work/theirs"), $bytes" ;;
    esac
done

sample=$SAMPLES/sort.p4t
size=$(stat -c %s "$sample")
for at in 20 400 70000 $((size - 30)) $((size - 14)); do
    cp "$sample" "$work/damaged"
    byte=$(od -An -tu1 -j "$at" -N 1 "$sample" | tr -d ' ')
    printf "\\$(printf %03o $((byte ^ 255)))" | dd of="$work/damaged" bs=1 seek="$at" conv=notrunc 2>/dev/null
    "$INDEPENDENT_READER" "$work/damaged" >/dev/null 2>&1 && fail "damage at $at is not seen"
done
finish
