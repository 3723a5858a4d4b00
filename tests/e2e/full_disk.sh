# A full disk while recording ends the run with a clear message and status 3.
. "$(dirname "$0")/lib.sh"
[ -w /dev/full ] || skip "no /dev/full here"
needs_live
expect 3 "No space left" "$P4SIM" stat --record /dev/full -- "$PROGRAMS/hash_table" 200
expect 3 "No space left" "$P4SIM" trace record -o /dev/full -- "$PROGRAMS/hash_table" 200
expect 3 "/nowhere/x" "$P4SIM" stat --record /nowhere/x -- "$PROGRAMS/exit7"
expect 3 "No space left" "$P4SIM" stat -o /dev/full -- "$PROGRAMS/exit7"
expect 3 "No space left" sh -c '"$0" stat --json --asm nop >/dev/full' "$P4SIM"
finish
