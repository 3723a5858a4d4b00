#!/bin/sh
# Whatever `p4sim list` shows, `p4sim explain` explains; and each finding, with what it means.
# Environment: P4SIM, the command.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for kind in events subevents tags metrics escrs counters registers fields parts models findings errata topics; do
    "$P4SIM" list $kind | grep '^[^ ]' >"$work/$kind" || exit 1
    tr '\n' '\0' <"$work/$kind" | xargs -0 "$P4SIM" explain >"$work/explained" || exit 1
    while read -r name; do
        grep -F -q -- "$name" "$work/explained" || { echo "$name is not explained"; exit 1; }
    done <"$work/$kind"
    echo "$kind: $(wc -l <"$work/$kind")"
done
