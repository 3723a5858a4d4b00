# What cmake --install installs works where it lies: the command finds its models and its pages, and the library
# compiles and links through pkg-config and through its CMake package.
. "$(dirname "$0")/lib.sh"
unset P4SIM_CONFIGS
cmake --install "$BUILD" --prefix "$work/usr" >"$work/log" 2>&1 || fail "install: $(tail -n 5 "$work/log")"
mv "$work/usr" "$work/moved"
"$work/moved/bin/p4sim" stat --list-models >"$work/models" || fail "the moved command finds no models"
grep -q '^northwood' "$work/models" || fail "no northwood among the installed models"
"$work/moved/bin/p4sim" stat --csv -o "$work/csv" -e instr_retired --trace "$SAMPLES/tls.p4t" ||
    fail "the moved command does not replay"
for page in p4sim p4sim-stat p4sim-list p4sim-trace p4sim-validate; do
    [ -s "$work/moved/share/man/man1/$page.1" ] || fail "no manual page $page.1"
done

# the library, from where it was moved to
cat >"$work/use.c" <<'C'
#include <p4pmu.h>
int main(void)
{
    struct p4pmu *pmu = p4pmu_new(&(struct p4pmu_config){.model = 2});
    p4pmu_free(pmu);
    return pmu == 0;
}
C
library=$(find "$work/moved" -name p4pmu.pc | head -n 1)
[ -n "$library" ] || fail "no p4pmu.pc"
flags=$(PKG_CONFIG_PATH=$(dirname "$library") pkg-config --cflags --libs p4pmu) || fail "pkg-config p4pmu"
cc $SANITIZED_FLAGS "$work/use.c" $flags -o "$work/use" 2>"$work/log" && "$work/use" ||
    fail "the library cannot be used through pkg-config: $(cat "$work/log")"
cat >"$work/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.21)
project(use C)
find_package(p4pmu REQUIRED)
add_executable(use use.c)
target_link_libraries(use PRIVATE p4pmu::p4pmu)
C
cmake -G Ninja -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_C_FLAGS="$SANITIZED_FLAGS" >"$work/log" 2>&1 &&
    cmake --build "$work/build" >>"$work/log" 2>&1 && "$work/build/use" ||
    fail "the CMake package cannot be used: $(tail -n 10 "$work/log")"
finish
