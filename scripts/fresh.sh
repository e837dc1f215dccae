#!/usr/bin/env bash
# ./run fresh [bookworm|trixie]: runs ./run demo and ./run test in a new, minimal Debian root, and then one benchmark
# case with every peer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh
# shellcheck source=scripts/root.sh
. scripts/root.sh

# Copies the tracked files of the checkout, including uncommitted changes, into the root.
copy_checkout() {
    mkdir -p "$ROOT/root/tenon"
    git ls-files -z | while IFS= read -r -d '' path; do
        [ ! -e "$path" ] || printf '%s\0' "$path"
    done | tar --null --files-from=- -cf - | tar -C "$ROOT/root/tenon" --no-same-owner -xf -
}

# timed VERB [ARG…]: runs ./run VERB in the root, and sets TOOK to its seconds.
timed() {
    local start=$SECONDS status=0
    echo
    echo "== $SUITE: ./run $*"
    inside env -C /root/tenon ./run "$@" || status=$?
    TOOK=$((SECONDS - start))
    return "$status"
}

# Runs the benchmark in a checkout that was configured without its peers; every peer must be measured.
bench() {
    local results=build-bench/one-case.json
    timed bench --suite gemm-cpu --filter "square 64x64x64" --time 0.01 --json "$results" || return
    inside env -C /root/tenon python3 -c '
import json, sys
results = json.load(open(sys.argv[1], encoding="utf-8"))["results"]
absent = [peer for peer in sys.argv[2:] if not results or any(peer not in result["peers"] for result in results)]
sys.exit("not measured: " + ", ".join(absent) if absent else 0)' "$results" openblas onednn clblast
}

main() {
    case ${1:-bookworm} in
        bookworm | trixie) new_root "${1:-bookworm}" ;;
        *) echo "usage: ./run fresh [bookworm|trixie]" >&2; exit 2 ;;
    esac
    copy_checkout
    local verb report="fresh $SUITE:" failed=0
    for verb in "timed demo" "timed test" bench; do
        if $verb; then
            report+=" ${verb#timed } ok in $TOOK s;"
        else
            report+=" ${verb#timed } FAILED after $TOOK s;"
            failed=1
        fi
    done
    echo
    echo "${report%;}"
    return "$failed"
}

main "$@"
