# Unmodified 32-bit programs that others built: busybox-static for i386 from Debian, fetched with lists of
# our own so that the system's architectures stay as they are; and the C library, which is a program too.
# instr_retired is what single steps count.
. "$(dirname "$0")/lib.sh"
needs_live
[ -x "${STEPCOUNT:-}" ] || skip "no independent step count here"
tried=0

# check PROGRAM ARGUMENTS...: run it, compare output and the number of instructions.
check()
{
    tried=$((tried + 1))
    "$@" >"$work/alone" 2>&1 </dev/null
    "$P4SIM" stat --csv -o "$work/csv" \
        -e instr_retired:NBOGUSNTAG,uops_retired:NBOGUS,uops_retired:BOGUS,branch_retired:MMTM+MMNM,global_power_events:RUNNING \
        -- "$@" >"$work/inside" 2>"$work/stderr" </dev/null || fail "$*: $(cat "$work/stderr")"
    cmp -s "$work/alone" "$work/inside" || fail "$* prints something else inside p4sim"
    steps_agree "$work/csv" "$@"
}

fetch_busybox()
{
    apt="$work/apt"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/state"
    : >"$apt/status"
    options="-o APT::Architecture=i386 -o APT::Architectures=i386 -o Dir::State=$apt/state
        -o Dir::State::lists=$apt/lists -o Dir::State::status=$apt/status -o Dir::Cache=$apt/cache
        -o Acquire::http::Timeout=20 -o Acquire::Retries=0 -o APT::Sandbox::User=root"
    # one index that cannot be had does not matter when the package's can
    (
        cd "$work" || exit 1
        timeout 120 apt-get $options update
        timeout 120 apt-get $options download busybox-static
    ) >"$work/apt.log" 2>&1 && dpkg-deb -x "$work"/busybox-static_*.deb "$work/busybox"
}

if [ -x /lib32/libc.so.6 ]; then
    check /lib32/libc.so.6
fi
if command -v apt-get >/dev/null && fetch_busybox; then
    busybox=$work/busybox/bin/busybox
    check "$busybox" echo "counted on a Pentium 4"
    echo "some words to sort" | tr ' ' '\n' >"$work/words"
    check "$busybox" sort "$work/words"
    check "$busybox" sha256sum "$work/words"
else
    echo "busybox-static:i386 could not be fetched: $(tail -n 1 "$work/apt.log" 2>/dev/null)"
fi
[ "$tried" -gt 0 ] || skip "no foreign 32-bit program here"
finish
