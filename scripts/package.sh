#!/usr/bin/env bash
# ./run package [bookworm|trixie] [--no-tests]: creates the release tarball, and Debian packages from it.
#
# The tarball contains the files tracked by git at HEAD. It is built and tested alone. The packages are then built in a new
# Debian root, and installed and used in a second root without the build dependencies. The results are in build/package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh
# shellcheck source=scripts/root.sh
. scripts/root.sh

OUT=$PWD/build/package
VERSION=$(sed -n "s/^ *version: '\([0-9.]*\)',$/\1/p" meson.build)
TARBALL=tenon-$VERSION.tar.xz

make_tarball() {
    git diff --quiet HEAD || echo "(the tarball does not contain uncommitted changes)"
    stage "Packing $TARBALL" "$LOG/dist.log" meson dist -C build --no-tests --formats xztar --allow-dirty
    mkdir -p "$OUT"
    cp "build/meson-dist/$TARBALL" "$OUT/"
}

# Runs the quick test set in the unpacked tarball.
test_tarball() {
    local folder
    folder=$(mktemp -d "${TMPDIR:-/tmp}/tenon-dist.XXXXXX")
    tar -C "$folder" -xf "$OUT/$TARBALL"
    (cd "$folder/tenon-$VERSION" && ./run test) || { rm -rf "$folder"; return 1; }
    rm -rf "$folder"
}

# debian_source FOLDER: unpacks the tarball and adds Debian's files and a changelog with one entry.
debian_source() {
    cp "$OUT/$TARBALL" "$1/tenon_$VERSION.orig.tar.xz"
    tar -C "$1" -xf "$OUT/$TARBALL"
    cp -r "$1/tenon-$VERSION/packaging/debian" "$1/tenon-$VERSION/debian"
    cat > "$1/tenon-$VERSION/debian/changelog" << TXT
tenon ($VERSION-1) unstable; urgency=medium

  * Version $VERSION: see CHANGELOG.md.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(git log -1 --format=%aD)
TXT
}

build_packages() {
    stage "Installing the build dependencies" "$LOG/package-tools.log" inside bash -euc '
        export DEBIAN_FRONTEND=noninteractive
        apt-get -q -y install --no-install-recommends build-essential lintian
        cd /root/tenon-*/ && apt-get -q -y build-dep --no-install-recommends .'
    stage "Building packages" "$LOG/package-build.log" inside bash -euc 'cd /root/tenon-*/ && dpkg-buildpackage -us -uc'
    # Suppressed: no Debian bug requests this package, and a Creative Commons license may be given by its URL.
    stage "Running lintian" "$LOG/package-lintian.log" inside bash -euc 'cd /root && lintian --allow-root --info \
        --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs,incomplete-creative-commons-license \
        tenon_*.changes'
    find "$OUT" -name '*.deb' -delete
    cp "$ROOT"/root/*.deb "$ROOT"/root/*.dsc "$ROOT"/root/*.debian.tar.xz "$ROOT"/root/*.orig.tar.xz "$OUT/"
}

# use_packages NAME: installs the dependencies of the test NAME in debian/tests/control, and runs it.
use_packages() {
    local needs
    needs=$(awk -v name="$1" '$1 == "Tests:" { on = $2 == name } on && $1 == "Depends:" { $1 = ""; gsub(",", ""); print }' \
        packaging/debian/tests/control)
    # shellcheck disable=SC2016  # expanded by the inner shell
    inside bash -euc '
        export DEBIAN_FRONTEND=noninteractive
        cd /root
        apt-get -q -y install --no-install-recommends $1
        cd tenon-*/ && "packaging/debian/tests/$2"' use "$needs" "$1"
}

# Makes the packages a local repository in the root, so that apt resolves their mutual dependencies.
offer_packages() {
    mkdir -p "$ROOT/srv/tenon"
    cp "$OUT"/*.deb "$ROOT/srv/tenon/"
    tar -C "$ROOT/root" -xf "$OUT/$TARBALL"
    inside bash -euc 'cd /srv/tenon
        apt-get -q update
        DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends dpkg-dev
        dpkg-scanpackages . > Packages
        echo "deb [trusted=yes] file:/srv/tenon ./" > /etc/apt/sources.list.d/tenon.list
        apt-get -q update'
}

main() {
    local suite=bookworm tested=1 argument name names
    for argument in "$@"; do
        case $argument in
            bookworm | trixie) suite=$argument ;;
            --no-tests) tested=0 ;;
            *) echo "usage: ./run package [bookworm|trixie] [--no-tests]" >&2; exit 2 ;;
        esac
    done
    set_up
    build build
    make_tarball
    [ "$tested" -eq 0 ] || test_tarball
    new_root "$suite"
    debian_source "$ROOT/root"
    build_packages
    clean_up_root
    new_root "$suite"
    stage "Creating a local repository" "$LOG/package-offer.log" offer_packages
    mapfile -t names < <(sed -n 's/^Tests: //p' packaging/debian/tests/control)
    for name in "${names[@]}"; do
        stage "Testing the packages: $name" "$LOG/package-$name.log" use_packages "$name"
        tail -n 3 "$LOG/package-$name.log"
    done
    echo
    ls -s --block-size=1K "$OUT"
    echo "package $suite: tenon $VERSION ok in $SECONDS s"
}

main "$@"
