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
finish
