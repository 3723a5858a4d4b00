# A profile by samples against an independent one: callgrind's hottest function is ours.
. "$(dirname "$0")/lib.sh"
needs_live
command -v callgrind_annotate >/dev/null || skip "valgrind is not installed"
P4SIM=$P4SIM "$(dirname "$0")/../../tools/callgrind_agrees" 500 "$PROGRAMS/hash_table" >"$work/out" 2>"$work/err"
case $? in
0) ;;
3) skip "callgrind cannot run here: $(tail -n 1 "$work/err")" ;;
*) fail "the hottest functions differ: $(cat "$work/out")" ;;
esac

# An unmodified 64-bit program of the system, in windows: its hottest function is in the C library, whose debugging
# information (which valgrind needs, too) gives lines.
if command -v iconv >/dev/null && [ -d /usr/lib/debug/.build-id ]; then
    yes 'Zürich – the quick brown fox jumps over the lazy dog, 25 € a day' | head -n 1000 >"$work/text"
    windows="-m prescott-64 --every 1009 --for 200"
    RECORD=$windows P4SIM=$P4SIM "$(dirname "$0")/../../tools/callgrind_agrees" 53 \
        iconv -f UTF-8 -t UCS-4LE "$work/text" >"$work/out" 2>"$work/err"
    case $? in
    0)
        "$P4SIM" record -q -o "$work/samples" -e instr_retired:u -c 53 $windows -- \
            iconv -f UTF-8 -t UCS-4LE "$work/text" >"$work/converted"
        iconv -f UTF-8 -t UCS-4LE "$work/text" | cmp -s - "$work/converted" || fail "iconv converts something else"
        "$P4SIM" report --by line --limit 3 "$work/samples" | grep -q ' loop.c:[0-9]*  (__gconv_transform_utf8_internal)' ||
            fail "no lines: $("$P4SIM" report --by line --limit 3 "$work/samples")"
        ;;
    3) echo "iconv was left out: $(tail -n 1 "$work/err")" ;;
    *) fail "the hottest functions of iconv differ: $(cat "$work/out")" ;;
    esac
fi
finish
