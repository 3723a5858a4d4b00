# No row that was within its tolerance is outside, and docs/validation.md has the rows and verdicts that
# `p4sim validate` has now. Digits may differ: a change anywhere in the machine moves the last of them.
. "$(dirname "$0")/lib.sh"
"$P4SIM" validate --markdown >"$work/validation.md" 2>"$work/stderr"
status=$?
[ "$status" = 0 ] || fail "p4sim validate ended with status $status: $(grep -h REGRESSION "$work/validation.md"; cat "$work/stderr")"
without_digits()
{
    sed 's/-\{0,1\}[0-9][0-9.]*\(e+[0-9]*\)\{0,1\}//g' "$1"
}
without_digits "$P4SIM_CONFIGS/../docs/validation.md" >"$work/page"
without_digits "$work/validation.md" >"$work/now"
diff "$work/page" "$work/now" >"$work/difference" ||
    fail "docs/validation.md is not current; tools/validation makes it anew: $(head -n 20 "$work/difference")"

# One row, as a table and as JSON, and what is wrong with others.
"$P4SIM" validate -r GT083 >"$work/row" || fail "row GT083"
grep -q "^GT083  A northwood .* within .*; " "$work/row" || fail "no row: $(cat "$work/row")"
"$P4SIM" validate -r GT083 --json >"$work/json" || fail "row GT083 as JSON"
grep -q '"schema": "p4sim-validate"' "$work/json" && grep -q '"verdict": "within"' "$work/json" || fail "JSON: $(cat "$work/json")"
expect 2 "no row of" "$P4SIM" validate -r GT999
expect 3 "Could not open file" "$P4SIM" validate --suite "$work/none.yaml"
cat >"$work/suite.yaml" <<'SUITE'
title: A suite
snippets:
  - {name: one, body: "add eax, 1", copies: 1, loops: 1}
rows:
  - {id: R1, snippet: two, from: 7, to: 7}
SUITE
expect 3 "R1: no snippet is named 'two'" "$P4SIM" validate --suite "$work/suite.yaml"
# A second program needs turns, and a model that has a place for it; records need a period.
wrong_row()
{
    cat >"$work/pair.yaml" <<SUITE
title: A suite
snippets:
  - {name: one, body: "add eax, 1", copies: 10, loops: 10, warm: 4000}
  - {name: whole, text: "mark\nmark"}
rows:
  - {id: R1, snippet: one, from: 7, to: 7, $2}
SUITE
    expect 3 "$1" "$P4SIM" validate --suite "$work/pair.yaml"
}
wrong_row "cannot run beside another; it has no 'body'" "beside: whole"
wrong_row "no snippet is named 'two'" "beside: two"
wrong_row "records need a 'period'" "take: records, count: 1stL_cache_load_miss_retired"
wrong_row "records are those of a 'count'" "take: records, period: 100"
if live; then
    sed -i 's/, take: .*}/, beside: one}/' "$work/pair.yaml"
    "$P4SIM" validate --suite "$work/pair.yaml" >"$work/out" 2>&1
    [ $? = 3 ] || fail "two programs on one logical processor: $(cat "$work/out")"
    grep -q "has one logical processor" "$work/out" || fail "no reason named: $(cat "$work/out")"
fi

if live; then # a row that should be 7 and is not
    sed -i 's/snippet: two/snippet: one, count: "retired_branch_type:CALL"/' "$work/suite.yaml"
    "$P4SIM" validate --suite "$work/suite.yaml" >"$work/out" 2>&1
    [ $? = 1 ] || fail "a regression did not end with status 1: $(cat "$work/out")"
    grep -q REGRESSION "$work/out" || fail "no regression named: $(cat "$work/out")"
fi
finish
