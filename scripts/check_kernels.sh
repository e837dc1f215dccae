#!/usr/bin/env bash
# ./run check-kernels: installs the offline compilers, builds Tenon, and compiles the kernels of every GPU target.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

LLVM_VERSIONS=(22 21 20 19)

# Succeeds if apt knows all the packages.
has_packages() {
    local package
    for package in "$@"; do
        apt-cache show --quiet=2 "$package" > /dev/null 2>&1 || return 1
    done
}

update_lists() {
    if [ "$(id -u)" -eq 0 ]; then apt-get -q update; else sudo -n apt-get -q update; fi
}

# Installs the missing packages unless that would remove others (libclc and Mesa's OpenCL conflict in some releases).
# Unavailable packages are skipped with a message.
try_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2> /dev/null; then
        echo "SKIPPED the installation of ${missing[*]}: needs root, or sudo without a password"
    elif ! has_packages "${missing[@]}"; then
        echo "SKIPPED the installation of ${missing[*]}: not available in this release"
    else
        stage "Installing ${missing[*]}" build/log/offline.log apt_install --no-remove "${missing[@]}" || true
    fi
}

# Prints the packages of the newest LLVM that has libclc; prints nothing if one is already installed.
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

# ptxas of CUDA 13 no longer supports sm_60 and sm_70; that of CUDA 12, a package on PyPI, does.
OLD_PTXAS="nvidia-cuda-nvcc-cu12==12.9.86"

fetch_ptxas() {
    local folder=build/offline/download
    mkdir -p "$folder"
    python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$folder" "$OLD_PTXAS"
    python3 - "$folder" << 'END'
import pathlib, sys, zipfile
wheel, = pathlib.Path(sys.argv[1]).glob("nvidia_cuda_nvcc_cu12-*.whl")
program = pathlib.Path("build/offline/ptxas")
program.write_bytes(zipfile.ZipFile(wheel).read("nvidia/cuda_nvcc/bin/ptxas"))
program.chmod(0o755)
END
    rm -r "$folder"
}

# If it is not available, the nearest target is compiled instead, with a message.
try_ptxas() {
    [ ! -x build/offline/ptxas ] || return 0
    if python3 -m pip --version > /dev/null 2>&1; then
        stage "Fetching $OLD_PTXAS" build/log/offline.log fetch_ptxas || true
    else
        echo "SKIPPED $OLD_PTXAS: pip is not installed"
    fi
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
    try_ptxas
    build build
    exec python3 scripts/check_kernels.py "$@"
}

mkdir -p build/log
main "$@"
