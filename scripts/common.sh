# shellcheck shell=bash
# Functions shared by ./run and its scripts: set-up, building, timing. Source it from the root of the tree.

BASE_PACKAGES=(build-essential meson ninja-build pkg-config python3 ocl-icd-opencl-dev opencl-headers
    pocl-opencl-icd libcmocka-dev libxxhash-dev libjansson-dev libpopt-dev libpng-dev
    python3-jsonschema)
# Packages that some tests use if they are installed.
# shellcheck disable=SC2034  # used by the scripts that source this file
TEST_PACKAGES=(cmake abigail-tools mandoc python3-cffi python3-numpy python3-yaml python3-matplotlib chromium)
# shellcheck disable=SC2034
CLUSTER_PACKAGES=(openmpi-bin libopenmpi-dev mpich libmpich-dev)
# The programs and pkg-config modules ("module:") that are required on systems without apt.
BASE_NEEDS=(cc meson ninja pkg-config python3 module:OpenCL module:cmocka module:libxxhash
    module:jansson module:popt)

die() {
    echo "run: $*" >&2
    exit 1
}

# stage TEXT LOG COMMAND…: runs COMMAND with its output in LOG and prints one progress line with the seconds; on
# failure prints the end of LOG.
stage() {
    local text=$1 log=$2 start=$SECONDS status=0
    shift 2
    mkdir -p "$(dirname "$log")"
    printf '%s … ' "$text"
    "$@" > "$log" 2>&1 < /dev/null || status=$?
    if [ "$status" -ne 0 ]; then
        echo "failed after $((SECONDS - start)) s; $log:"
        tail -n 60 "$log"
        return "$status"
    fi
    echo "$((SECONDS - start)) s"
}

missing_packages() {
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] ||
            echo "$package"
    done
}

apt_install() {
    local as_root=(env)
    [ "$(id -u)" -eq 0 ] || as_root=(sudo env)
    "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update
    "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends "$@"
}

# Installs those of the named Debian packages that are missing; does not call apt if none is.
need_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo > /dev/null ||
            die "missing packages that cannot be installed without root or sudo: ${missing[*]}"
        sudo -v
    fi
    stage "Installing ${#missing[@]} packages" build/log/apt.log apt_install "${missing[@]}"
    INSTALLED=1
}

# For systems without apt: lists the missing programs and modules, and exits if there are any.
need_programs() {
    local absent=() need
    for need in "$@"; do
        case $need in
            module:*) pkg-config --exists "${need#module:}" 2> /dev/null ;;
            *) command -v "$need" > /dev/null ;;
        esac || absent+=("$need")
    done
    [ ${#absent[@]} -gt 0 ] || return 0
    echo "run: this system has no apt; install these with its package manager:" >&2
    printf '  %s\n' "${absent[@]/#module:/pkg-config module }" >&2
    echo "and an OpenCL driver for a device (PoCL supports every CPU)." >&2
    exit 1
}

has_apt() {
    command -v apt-get > /dev/null && command -v dpkg-query > /dev/null
}

set_up() {
    INSTALLED=0
    if has_apt; then
        need_packages "${BASE_PACKAGES[@]}"
    else
        need_programs "${BASE_NEEDS[@]}"
    fi
}

# build FOLDER [MESON OPTION…]: configures FOLDER if necessary, and builds. If packages were installed, Meson searches
# again for programs, modules and dependencies, but not for headers (see bench in ./run).
build() {
    local folder=$1
    shift
    if [ ! -f "$folder/build.ninja" ]; then
        stage "Configuring $folder" "$folder/log/configure.log" \
            meson setup "$folder" . --buildtype=release "$@" || return
    elif [ "${INSTALLED:-0}" -eq 1 ]; then
        stage "Configuring $folder again" "$folder/log/configure.log" \
            meson setup "$folder" . --reconfigure || return
    fi
    stage "Building $folder" "$folder/log/build.log" ninja -C "$folder"
}

built_library() {
    local library
    library=$(find "$1" -maxdepth 2 -name libtenon.so -print -quit)
    [ -n "$library" ] || die "there is no libtenon.so under $1"
    echo "$library"
}

# reference FOLDER: writes the API reference to FOLDER/reference/html/index.html; fails on a warning, or if a public name
# has no comment.
reference() {
    TENON_BUILD=$1 doxygen docs/Doxyfile &&
        python3 scripts/undocumented.py "$1/reference/xml"
}

# Prints the exported names of a shared library, one per line, sorted bytewise.
exported_names() {
    nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u
}
