# shellcheck shell=bash
# What ./run and its helpers share: set-up, building, timing. Sourced from the root of the tree.

BASE_PACKAGES=(build-essential meson ninja-build pkg-config python3 ocl-icd-opencl-dev opencl-headers
    pocl-opencl-icd libcmocka-dev libxxhash-dev libjansson-dev libpng-dev
    python3-jsonschema)
# What tests use where it is there.
# shellcheck disable=SC2034  # of those who source this
TEST_PACKAGES=(cmake abigail-tools mandoc python3-cffi python3-numpy python3-yaml)
# What stands for them where there is no apt; "module:" marks what pkg-config must know.
BASE_NEEDS=(cc meson ninja pkg-config python3 module:OpenCL module:cmocka module:libxxhash
    module:jansson)

die() {
    echo "run: $*" >&2
    exit 1
}

# stage TEXT LOG COMMAND…: one progress line with its seconds; the output goes to LOG, shown on failure.
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

# Installs the named Debian packages that are missing; leaves apt alone when none is.
need_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo > /dev/null ||
            die "these packages are missing, and there is neither root nor sudo to install them: ${missing[*]}"
        sudo -v
    fi
    stage "Installing ${#missing[@]} packages" build/log/apt.log apt_install "${missing[@]}"
    INSTALLED=1
}

# Where there is no apt: says what is absent, and stops if anything is.
need_programs() {
    local absent=() need
    for need in "$@"; do
        case $need in
            module:*) pkg-config --exists "${need#module:}" 2> /dev/null ;;
            *) command -v "$need" > /dev/null ;;
        esac || absent+=("$need")
    done
    [ ${#absent[@]} -gt 0 ] || return 0
    echo "run: this system has no apt; please install with its own package manager:" >&2
    printf '  %s\n' "${absent[@]/#module:/pkg-config module }" >&2
    echo "and an OpenCL driver for a device (PoCL serves every CPU)." >&2
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

# build FOLDER [MESON OPTION…]: configures where that is not done, builds. Where packages were installed,
# Meson looks again for programs, modules and dependencies, but not for headers (see bench in ./run).
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

# reference FOLDER: the reference of the API, as FOLDER/reference/html/index.html; fails on a warning,
# and where a public name has no comment.
reference() {
    TENON_BUILD=$1 doxygen docs/Doxyfile &&
        python3 scripts/undocumented.py "$1/reference/xml"
}

# The names a shared library exports, one a line, sorted bytewise.
exported_names() {
    nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u
}
