# shellcheck shell=bash
# Creates a minimal Debian root for ./run fresh and ./run package. Source it after common.sh.
#
# debootstrap creates the root from the host's mirror (or TENON_FRESH_MIRROR and TENON_FRESH_SECURITY_MIRROR). The
# result is cached for a week in ${XDG_CACHE_HOME:-~/.cache}/tenon-fresh.

CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/tenon-fresh
LOG=build/log
SUITE=
ROOT=

# mirror LABEL: prints the first repository with that label in the host's apt configuration.
mirror() {
    apt-get indextargets --format "\$(LABEL)|\$(REPO_URI)" 'Created-By: Packages' |
        awk -F '|' -v label="$1" '$1 == label { print $2; exit }'
}

sources_list() {
    local main=$1 security=$2
    echo "deb $main $SUITE main"
    echo "deb $main $SUITE-updates main"
    [ -z "$security" ] || echo "deb $security $SUITE-security main"
}

# Prints the host's apt settings for proxies, certificates and dates, to be used in the root.
host_apt_conf() {
    apt-config dump | grep -E '^Acquire::(http|https|Check-Valid-Until|Check-Date|Retries)\b' || true
}

bootstrap() {
    local main=$1 proxy
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    [ -z "${proxy:-}" ] || export http_proxy=${http_proxy:-$proxy}
    debootstrap --variant=minbase "$SUITE" "$ROOT" "$main"
}

# Copies the host's network settings into the root; Debian's keys, hosts and certificates are kept.
adopt_network() {
    cp -L /etc/resolv.conf "$ROOT/etc/resolv.conf"
    host_apt_conf > "$ROOT/etc/apt/apt.conf.d/90host"
    if [ -d /usr/local/share/ca-certificates ]; then
        mkdir -p "$ROOT/usr/local/share/ca-certificates"
        cp -rL /usr/local/share/ca-certificates/. "$ROOT/usr/local/share/ca-certificates/"
    fi
}

# inside COMMAND…: runs COMMAND in the root; its mounts and processes end together with it.
inside() {
    # shellcheck disable=SC2016  # expanded by the inner shell
    unshare --mount --pid --fork --kill-child bash -c '
        root=$1
        shift
        mount --make-rprivate /
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        exec chroot "$root" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
    ' inside "$ROOT" "$@"
}

base_system() {
    inside bash -euc 'export DEBIAN_FRONTEND=noninteractive
        apt-get -q update
        apt-get -q -y dist-upgrade
        apt-get -q -y install --no-install-recommends git ca-certificates
        apt-get clean'
}

make_root() {
    local cached=$CACHE/$SUITE.tar main security
    if [ -n "$(find "$cached" -mtime -7 2> /dev/null)" ]; then
        stage "Unpacking a minimal $SUITE" "$LOG/fresh-unpack.log" tar -C "$ROOT" -xf "$cached"
        adopt_network
        return
    fi
    main=${TENON_FRESH_MIRROR:-$(mirror Debian)}
    security=${TENON_FRESH_SECURITY_MIRROR:-$(mirror Debian-Security)}
    [ -n "$main" ] || die "the host's apt sources have no Debian mirror; set TENON_FRESH_MIRROR"
    stage "Bootstrapping $SUITE" "$LOG/fresh-bootstrap.log" bootstrap "$main"
    sources_list "$main" "$security" > "$ROOT/etc/apt/sources.list"
    adopt_network
    stage "Adding git and certificates" "$LOG/fresh-base.log" base_system
    mkdir -p "$CACHE"
    tar -C "$ROOT" --one-file-system -cf "$cached.part" . && mv "$cached.part" "$cached"
}

clean_up_root() {
    [ -z "$ROOT" ] || rm -rf --one-file-system "$ROOT"
}

# new_root SUITE: sets SUITE, and ROOT to a new root that is removed when the script ends.
new_root() {
    SUITE=$1
    [ "$(id -u)" -eq 0 ] || die "only the user root can create a Debian root"
    command -v debootstrap > /dev/null || need_packages debootstrap
    trap clean_up_root EXIT
    trap 'exit 130' INT TERM
    ROOT=$(mktemp -d "${TMPDIR:-/tmp}/tenon-root.XXXXXX")
    chmod 755 "$ROOT"
    make_root
}
