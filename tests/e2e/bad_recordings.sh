# A recording that is missing, foreign, truncated or damaged is refused with its place; never counted.
. "$(dirname "$0")/lib.sh"
sample=$(find "$SAMPLES" -type f -name '*.p4t*' | sort | head -n 1)
[ -n "$sample" ] || skip "no recording in $SAMPLES"
size=$(stat -c %s "$sample")

expect 3 "/nowhere/run" "$P4SIM" stat --trace /nowhere/run
echo "not a recording" >"$work/foreign"
expect 3 "$work/foreign" "$P4SIM" stat --trace "$work/foreign"
: >"$work/empty"
expect 3 "$work/empty" "$P4SIM" stat --trace "$work/empty"
expect 3 "$work/empty" "$P4SIM" trace info "$work/empty"

head -c $((size / 2)) "$sample" >"$work/cut"
expect 3 "$work/cut" "$P4SIM" stat --trace "$work/cut"
expect 3 "$work/cut" "$P4SIM" trace verify "$work/cut"

# one byte changed at nine places
for tenth in 1 2 3 4 5 6 7 8 9; do
    at=$((size * tenth / 10))
    cp "$sample" "$work/damaged"
    byte=$(od -An -tu1 -j "$at" -N 1 "$sample" | tr -d ' ')
    printf "\\$(printf %03o $((byte ^ 255)))" |
        dd of="$work/damaged" bs=1 seek="$at" conv=notrunc 2>/dev/null
    expect 3 "$work/damaged" "$P4SIM" trace verify "$work/damaged"
    expect 3 "$work/damaged" "$P4SIM" stat --trace "$work/damaged"
done

"$P4SIM" trace verify "$sample" >/dev/null || fail "the undamaged sample does not verify"
finish
