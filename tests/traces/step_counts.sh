#!/bin/sh
# The live source executes exactly as many instructions as the independent single-step counter says.
# usage: step_counts.sh STEPCOUNT TRACE_TOOL PROGRAMS-FOLDER
set -eu

stepcount=$1
tool=$2
cd "$3"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

if ! "$stepcount" "$work/count" ./tls >/dev/null 2>&1; then
    echo "skipped: 32-bit programs cannot be traced here"
    exit 77
fi

# Both write to a file of the same kind: the C library's buffering depends on what its output is.
compare() {
    "$stepcount" "$work/count" "$@" >"$work/output" 2>/dev/null
    "$tool" record "$work/trace" "$@" >"$work/output" 2>/dev/null
    expected=$(awk '/^instructions/ {print $2}' "$work/count")
    counted=$("$tool" info "$work/trace" | awk '/^instructions/ {print $2}')
    if [ "$expected" = "$counted" ]; then
        echo "ok: $*: $counted"
    else
        echo "FAILED: $*: counted $counted, single steps give $expected"
        failed=1
    fi
}

compare ./tls
compare ./hash_table 20
compare ./hash_table_dynamic 1
compare ./strings 1
compare ./floats 64
compare ./signals 3
compare ./self_modifying 9
compare ./crash 9
exit $failed
