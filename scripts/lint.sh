#!/usr/bin/env bash
# ./run lint: runs all checks, even if some fail; fails if any of them failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

LINT_PACKAGES=(clang clang-format clang-tidy doxygen shellcheck codespell)
BAD=()

check() {
    local name=$1
    shift
    stage "$name" "build/log/${name// /-}.log" "$@" || BAD+=("$name")
}

# Prints the existing files that match a pattern and are tracked, or untracked and not ignored.
files() {
    git ls-files -z --cached --others --exclude-standard -- "$@" | while IFS= read -r -d '' path; do
        [ ! -f "$path" ] || printf '%s\0' "$path"
    done | sort -zu
}

set_up_lint() {
    set_up
    if has_apt; then
        need_packages "${LINT_PACKAGES[@]}"
    else
        need_programs "${LINT_PACKAGES[@]}" nm git
    fi
}

formatting() {
    files '*.c' '*.h' '*.cpp' '*.hpp' '*.cl' '*.clh' | xargs -0r clang-format --dry-run --Werror
}

# Checks the line length itself, because clang-format does not break strings and macros.
long_lines() {
    files '*.c' '*.h' '*.cpp' '*.hpp' '*.cl' '*.clh' | xargs -0r python3 -c '
import sys
found = [f"{path}:{number}: {len(line)} columns" for path in sys.argv[1:]
         for number, line in enumerate(open(path, encoding="utf-8").read().splitlines(), 1)
         if len(line) > 100]
print("\n".join(found))
sys.exit(bool(found))'
}

analysis() {
    # Those of ./run cluster are compiled with an MPI, by its script.
    local absent=(':!tests/embed/*' ':!*_windows.c' ':!tests/cluster/*'
                  ':!examples/all_reduce.c' ':!examples/mpi_training.c')
    # This example is compiled only if CLBlast is installed.
    grep -q clblast_before build-clang/compile_commands.json || absent+=(':!examples/clblast_before.c')
    files 'src/*.c' 'tools/*.c' 'examples/*.c' 'bench/*.c' 'tests/*.c' "${absent[@]}" |
        xargs -0r -n 4 -P "$(nproc)" clang-tidy --quiet -p build-clang 2>&1 |
        sed -E '/^[0-9]+ warnings? generated\.$/d'
}

shell_scripts() {
    {
        files '*.sh'
        git grep -lzE --untracked '^#!.*\b(ba)?sh\b' -- ':!*.md' ':!*.py' || true
    } | sort -zu | xargs -0r shellcheck --external-sources
}

python_scripts() {
    files '*.py' | xargs -0r python3 -c '
import ast, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as source:
        ast.parse(source.read(), path)'
}

spelling() {
    files . ':!*.csv' ':!*.symbols' | xargs -0r codespell
}

# Checks that exported names and macros of the public headers have the project's prefix.
exported() {
    local names status=0
    names=$(exported_names "$(built_library build-gcc)") || return
    if grep -v '^tenon_' <<< "$names"; then
        echo "exported names without the prefix tenon_"
        status=1
    fi
    if ! diff -u src/tenon.symbols - <<< "$names"; then
        echo "the exported names differ from src/tenon.symbols; run ./run symbols to update it"
        status=1
    fi
    return "$status"
}

macros() {
    local found
    # Exceptions: CL_TARGET_OPENCL_VERSION belongs to OpenCL and gets a default; tenon_…_params(…) and tenon_epilogue(…)
    # initialize the structs of the same names.
    found=$(sed -nE 's/^[[:space:]]*#[[:space:]]*define[[:space:]]+([A-Za-z0-9_]+).*/\1/p' \
        include/tenon/*.h | grep -vE '^(TENON_.*|tenon_[a-z0-9_]*_params|tenon_epilogue|CL_TARGET_OPENCL_VERSION)$' || true)
    [ -z "$found" ] || {
        echo "macros of the public headers without the prefix TENON_:"
        echo "$found"
        return 1
    }
}

compilers() {
    CC=gcc build build-gcc -Dwerror=true || BAD+=(gcc)
    CC=clang build build-clang -Dwerror=true || BAD+=(clang)
}

main() {
    set_up_lint
    check formatting formatting
    check "long lines" long_lines
    check "shell scripts" shell_scripts
    check "python scripts" python_scripts
    check spelling spelling
    check macros macros
    compilers
    check "exported names" exported
    check "reference of the API" reference build-gcc
    check "static analysis" analysis
    [ ${#BAD[@]} -eq 0 ] || die "lint failed: ${BAD[*]}"
    echo "lint: all clean"
}

main "$@"
