#!/usr/bin/env bash
# ./run coverage: measures the line and branch coverage of src/; fails below the limits.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

LINES=97
BRANCHES=88

main() {
    set_up
    if has_apt; then
        need_packages gcovr
    else
        need_programs gcovr
    fi
    CC=gcc build build-coverage -Db_coverage=true
    find build-coverage -name '*.gcda' -delete
    stage "Running the tests" build-coverage/log/test.log meson test -C build-coverage --no-rebuild --no-suite embed "$@"
    mkdir -p build-coverage/coverage
    gcovr --root . --object-directory build-coverage --filter src/ --print-summary \
        --html-details build-coverage/coverage/index.html --sort-percentage \
        --txt build-coverage/coverage.txt --exclude-unreachable-branches --exclude-throw-branches \
        --fail-under-line "$LINES" --fail-under-branch "$BRANCHES" || {
        echo "coverage is below $LINES % of lines or $BRANCHES % of branches; see build-coverage/coverage.txt for each file"
        exit 1
    }
}

main "$@"
