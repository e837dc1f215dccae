#!/usr/bin/env bash
# ./run fresh [bookworm|trixie]: the README's two commands in a new Debian root, as a newcomer has it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh
# shellcheck source=scripts/root.sh
. scripts/root.sh

# The checkout as it stands: tracked files, with what is not committed yet.
copy_checkout() {
    mkdir -p "$ROOT/root/tenon"
    git ls-files -z | while IFS= read -r -d '' path; do
        [ ! -e "$path" ] || printf '%s\0' "$path"
    done | tar --null --files-from=- -cf - | tar -C "$ROOT/root/tenon" --no-same-owner -xf -
}

# timed VERB: runs it inside, sets TOOK to its seconds.
timed() {
    local start=$SECONDS status=0
    echo
    echo "== $SUITE: ./run $1"
    inside env -C /root/tenon ./run "$1" || status=$?
    TOOK=$((SECONDS - start))
    return "$status"
}

main() {
    case ${1:-bookworm} in
        bookworm | trixie) new_root "${1:-bookworm}" ;;
        *) echo "usage: ./run fresh [bookworm|trixie]" >&2; exit 2 ;;
    esac
    copy_checkout
    local verb report="fresh $SUITE:" failed=0
    for verb in demo test; do
        if timed "$verb"; then
            report+=" $verb ok in $TOOK s;"
        else
            report+=" $verb FAILED after $TOOK s;"
            failed=1
        fi
    done
    echo
    echo "${report%;}"
    return "$failed"
}

main "$@"
