#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install what building and testing need (Debian 12 and relatives). Installs only what is missing: with
# everything there it does nothing and needs no network. Runs as root or with sudo. Quiet when all is well.
set -eu

packages="build-essential gcc g++ meson ninja-build pkg-config binutils file zstd
 libzstd-dev libpng-dev zlib1g-dev libjansson-dev libsmartcols-dev libcmocka-dev uthash-dev libxxhash-dev
 python3 python3-jsonschema"

missing=
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "deps.sh: missing:$missing; run as root, or install sudo" >&2; exit 1; }
    as_root="sudo"
fi
echo "deps.sh: installing$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_missing()
{
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >"$log" 2>&1
}
# The package lists may be absent or out of date: refresh them when the first try fails.
install_missing || { $as_root apt-get update >"$log" 2>&1 && install_missing; } || {
    cat "$log" >&2
    echo "deps.sh: could not install:$missing" >&2
    exit 1
}
