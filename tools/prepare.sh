# Read by tools/demo, tools/check, tools/bench and .ci/run; not a command of its own.
# Installs what tools/packages.txt names and this machine lacks, then configures and builds.

# The packages of packages.txt; with "ci" also those that only continuous integration needs.
packages()
{
    sed -e 's/#.*//' -e '/^[[:space:]]*$/d' tools/packages.txt |
        if [ "${1:-}" = ci ]; then sed 's/^ci: *//'; else grep -v '^ci:'; fi |
        if [ "$(dpkg --print-architecture)" = amd64 ]; then cat; else grep -v '^gcc-multilib$'; fi
}

missing_packages()
{
    for package in $(packages "$@"); do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=none
        [ "$state" = installed ] || echo "$package"
    done
}

# install_missing [ci]
install_missing()
{
    if ! command -v dpkg-query >/dev/null 2>&1; then
        echo "No dpkg here: the packages of tools/packages.txt (Debian's names) must be installed already."
        return 0
    fi
    missing=$(missing_packages "$@" | tr '\n' ' ')
    [ -n "$missing" ] || return 0
    as_root=
    if [ "$(id -u)" != 0 ]; then
        as_root=sudo
        if ! command -v sudo >/dev/null 2>&1; then
            echo "These packages are missing and only root can install them: $missing" >&2
            return 1
        fi
    fi
    echo "Installing: $missing"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}

# build PRESET: configure and build it in build/PRESET; silent unless something fails.
build()
{
    mkdir -p build
    if ! { cmake --preset "$1" && cmake --build --preset "$1"; } >"build/$1.log" 2>&1; then
        tail -n 60 "build/$1.log" >&2
        echo "The build failed; all of its output is in build/$1.log" >&2
        return 1
    fi
}
