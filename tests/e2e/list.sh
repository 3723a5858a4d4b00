# p4sim list and the help texts.
. "$(dirname "$0")/lib.sh"
"$P4SIM" list >"$work/all" || fail "list"
for name in instr_retired TC_deliver_mode 1stL_cache_load_miss_retired cedar-mill gallatin northwood northwood-ht prescott prescott-64 willamette xeon; do
    grep -q "^$name$" "$work/all" || fail "list does not show $name"
done
"$P4SIM" list mispred >"$work/some" || fail "list mispred"
grep -q '^mispred_branch_retired$' "$work/some" || fail "a word does not find its event"
grep -q '^snoop$' "$work/some" && fail "a word shows what does not contain it"
expect 1 "nothing contains 'xyzzy'" "$P4SIM" list xyzzy
for command in stat list trace; do
    "$P4SIM" $command --help >"$work/help" || fail "$command --help"
    grep -q "usage: p4sim $command" "$work/help" || fail "$command --help does not show usage"
done
"$P4SIM" --version | grep -q '^p4sim [0-9]' || fail "--version"
"$P4SIM" stat --list-models | grep -q '^northwood' || fail "--list-models"
finish
