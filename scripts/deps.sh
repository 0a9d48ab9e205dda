#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install what building and testing need (Debian 12 and relatives). Installs only what is missing: with
# everything there it does nothing and needs no network. Runs as root or with sudo. Quiet when all is well.
set -eu

packages="build-essential gcc g++ meson ninja-build pkg-config binutils file zstd
 libzstd-dev libpng-dev zlib1g-dev libjansson-dev libsmartcols-dev libcmocka-dev uthash-dev libxxhash-dev
 python3 python3-jsonschema libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 faketime"

# Only for tests that are skipped without them: on aarch64 (aarch64_libs.sh fetches the libraries), and that programs on
# musl and of 32 bits do not notice the library.
extra_packages="gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user musl-tools libc6-i386"

# Those of "$@" that are not installed.
not_installed()
{
    for package; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || printf ' %s' "$package"
    done
}
missing=$(not_installed $packages)
extra_missing=$(not_installed $extra_packages)
[ -n "$missing$extra_missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
        [ -n "$missing" ] || exit 0
        echo "deps.sh: missing:$missing; run as root, or install sudo" >&2
        exit 1
    }
    as_root="sudo"
fi
echo "deps.sh: installing$missing$extra_missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The package lists may be absent or out of date: refresh them when the first try fails.
install()
{
    [ $# -gt 0 ] || return 0
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >"$log" 2>&1 || {
        $as_root apt-get update >"$log" 2>&1 &&
            $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >"$log" 2>&1
    }
}
install $missing || {
    cat "$log" >&2
    echo "deps.sh: could not install:$missing" >&2
    exit 1
}
install $extra_missing || echo "deps.sh: could not install:$extra_missing; some tests will be skipped"
