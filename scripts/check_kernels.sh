#!/usr/bin/env bash
# ./run check-kernels: installs the offline compilers, builds, compiles every GPU's kernels.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

LLVM_VERSIONS=(22 21 20 19)

# Whether apt knows the packages.
has_packages() {
    local package
    for package in "$@"; do
        apt-cache show --quiet=2 "$package" > /dev/null 2>&1 || return 1
    done
}

update_lists() {
    if [ "$(id -u)" -eq 0 ]; then apt-get -q update; else sudo -n apt-get -q update; fi
}

# Installs what is missing of the packages unless that would remove others (libclc and Mesa's OpenCL
# exclude one another in some releases). What is not to be had is skipped, and the check says so.
try_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2> /dev/null; then
        echo "SKIPPED the installation of ${missing[*]}: neither root nor sudo without a password"
    elif ! has_packages "${missing[@]}"; then
        echo "SKIPPED the installation of ${missing[*]}: this release does not have them"
    else
        stage "Installing ${missing[*]}" build/log/offline.log apt_install --no-remove "${missing[@]}" || true
    fi
}

# The newest LLVM that has libclc, of which what is there already goes first.
llvm_packages() {
    local version
    for version in "${LLVM_VERSIONS[@]}"; do
        [ -n "$(missing_packages "clang-$version" "libclc-$version")" ] || return 0
    done
    for version in "${LLVM_VERSIONS[@]}"; do
        if has_packages "clang-$version" "libclc-$version"; then
            echo "clang-$version libclc-$version"
            return
        fi
    done
}

main() {
    local llvm
    set_up
    if has_apt; then
        has_packages spirv-tools || stage "Reading apt's lists" build/log/offline.log update_lists || true
        read -ra llvm <<< "$(llvm_packages)"
        [ ${#llvm[@]} -eq 0 ] || try_packages "${llvm[@]}"
        try_packages spirv-tools
        try_packages intel-opencl-icd
    fi
    build build
    exec python3 scripts/check_kernels.py "$@"
}

mkdir -p build/log
main "$@"
