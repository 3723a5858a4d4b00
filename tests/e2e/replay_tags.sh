# Every cause of the memory order buffer's replays is a tag, too: IA32_PEBS_ENABLE bits 24 and 9 and the sub-event in
# an ESCR tag the loads that met it, each once, and replay_event counts them.
. "$(dirname "$0")/lib.sh"

# tagged RECORDING SUB-EVENT: how many retired loads of it the tag marks.
tagged()
{
    "$P4SIM" stat --csv -o "$work/csv" --pebs-enable 0x1000200 --pebs-matrix-vert 1 \
        -e replay_event:NBOGUS,MOB_load_replay:"$2" --trace "$RECORDINGS"/"$1"-*.p4t || fail "$1 $2"
    count replay_event:NBOGUS "$work/csv"
}

for case in late_address:NO_STA:NO_STD late_data:NO_STD:PARTIAL_DATA four_bytes:PARTIAL_DATA:NO_STA \
    byte_of_word:UNALGN_ADDR:NO_STD; do
    name=${case%%:*}
    cause=${case#*:}
    other=${cause#*:}
    cause=${cause%:*}
    n=$(tagged "$name" "$cause")
    { [ "$n" -ge 20 ] && [ "$n" -le 40 ]; } || fail "$name: $n of 40 loads have the tag of $cause"
    same "$name: loads with the tag of $other" 0 "$(tagged "$name" "$other")"
done
finish
