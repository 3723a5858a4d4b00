#!/bin/sh
# The printed form: each golden/NAME.txt has a command on its first line, its standard output, and its
# exit status on the last. UPDATE=1 writes the files again; look at the difference before you keep it.
# Environment: P4SIM, the command.
set -u
cd "$(dirname "$0")" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
count=0
p4sim()
{
    "$P4SIM" "$@"
}
for golden in golden/*.txt; do
    command=$(sed -n '1s/^\$ //p' "$golden")
    {
        echo "\$ $command"
        eval "$command" 2>&1
        echo "[status $?]"
    } >"$work/now"
    count=$((count + 1))
    if [ "${UPDATE:-0}" = 1 ]; then
        cp "$work/now" "$golden"
    elif ! cmp -s "$golden" "$work/now"; then
        diff -u "$golden" "$work/now"
        failures=$((failures + 1))
    fi
done
[ "$count" -ge 20 ] || failures=$((failures + 1))
echo "$count commands, $failures failures"
[ "$failures" = 0 ]
