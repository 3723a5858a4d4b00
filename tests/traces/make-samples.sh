#!/bin/sh
# Records the committed sample traces from the programs under test, each below 300 KB.
# usage: make-samples.sh BUILD-FOLDER    (after building everything there)
set -eu

build=$(cd "${1:?usage: make-samples.sh BUILD-FOLDER}" && pwd)
samples=$(cd "$(dirname "$0")" && pwd)/samples
tool=$build/tests/traces/trace_tool
mkdir -p "$samples"

# The environment and the names of programs lie on the program's stack: the same for everyone.
record() {
    name=$1
    shift
    (cd "$build/programs" && env -i PATH=/usr/bin:/bin "$tool" record-every 100000 "$samples/$name.p4t" "$@" </dev/null >/dev/null 2>&1) || true
    bytes=$(wc -c <"$samples/$name.p4t")
    if [ "$bytes" -ge 300000 ]; then
        echo "$name.p4t has $bytes bytes, expected less than 300000" >&2
        exit 1
    fi
    "$tool" info "$samples/$name.p4t" | awk -v name="$name" '/^bytes/ {b = $2} /^instructions/ {i = $2}
        END {printf "%s.p4t: %d instructions in %d bytes\n", name, i, b}'
}

record hash_table ./hash_table 3000 # as tools/demo runs it
record sort ./sort 250
record pointer_chase ./pointer_chase 4000
record matrix ./matrix 150
record calculator ./calculator 300
record floats ./floats 1500
record crash ./crash 3000
record tls ./tls
record working_sets ./working_sets

# with regions that were asked for
(cd "$build/programs" && env -i PATH=/usr/bin:/bin "$build/p4sim" \
    trace record -o "$samples/markers.p4t" --region "marker:outer region of the program" --region marker:inner \
    --region function:looped -- ./markers)
