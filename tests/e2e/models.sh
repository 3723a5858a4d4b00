# The models differ where the parts differed, and agree on what a program is.
. "$(dirname "$0")/lib.sh"
sample=$SAMPLES/working_sets.p4t
[ -f "$sample" ] || skip "no recording $sample"
for model in willamette northwood; do
    "$P4SIM" stat --csv -m $model -o "$work/$model" \
        -e instr_retired,uops_retired,BSQ_cache_reference:RD_2ndL_MISS,1stL_cache_load_miss_retired \
        --trace "$sample" || fail "$model"
done
same instructions "$(count instr_retired "$work/willamette")" "$(count instr_retired "$work/northwood")"
same uops "$(count uops_retired "$work/willamette")" "$(count uops_retired "$work/northwood")"
[ "$(count BSQ_cache_reference:RD_2ndL_MISS "$work/willamette")" -gt \
    $(($(count BSQ_cache_reference:RD_2ndL_MISS "$work/northwood") + 3000)) ] ||
    fail "256 KB of L2 do not miss more than 512 KB"
finish
