#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetch the libraries for aarch64 that stagetap and its tests are linked with: aarch64_libs.sh FOLDER
# They are unpacked into FOLDER and nothing is installed: apt keeps what it learns of the other architecture in FOLDER
# as well, and checks signatures and hashes as always. With everything there it does nothing and needs no network. Then:
#   meson setup BUILD --cross-file scripts/aarch64.ini --cross-file FOLDER/libs.ini
set -eu

cross_root=/usr/aarch64-linux-gnu # of Debian's cross compilers
packages="libzstd-dev libpng-dev zlib1g-dev libjansson-dev libsmartcols-dev libcmocka-dev"
wait_s=60 # for the whole of a download: a network that does not answer must not hold up a build

fail()
{
    echo "aarch64_libs.sh: $2" >&2
    exit "$1"
}
[ $# = 1 ] && [ -n "$1" ] || fail 2 "usage: scripts/aarch64_libs.sh FOLDER"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
case $folder in
*[!A-Za-z0-9/._+-]*) fail 2 "$folder: letters, digits and / . _ + - only" ;; # it is written into a meson file
esac
[ "$(cat "$folder/done" 2>/dev/null)" != "$packages" ] || exit 0
[ -e "$cross_root/lib/libc.so.6" ] || fail 1 "no cross compiler for aarch64 (scripts/deps.sh)"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail 1 "no apt"

# Only what this script made is removed.
mark=$folder/made-by-aarch64_libs
[ -e "$mark" ] || [ -z "$(ls -A "$folder")" ] || fail 2 "$folder is not empty"
: >"$mark"
work=$folder/apt
rm -rf "$folder/root" "$work"
mkdir -p "$folder/root" "$work/lists/partial" "$work/cache/archives/partial" "$work/packages"
trap 'rm -rf "$work"' EXIT
# The mirrors and keys of this machine, the state of none: no package of it is looked at or changed.
cat >"$work/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "$(id -un)";
Dir::State::lists "$work/lists";
Dir::State::status "/dev/null";
Dir::Cache "$work/cache";
Acquire::Languages "none";
Acquire::Retries "1";
END
with_state()
{
    APT_CONFIG=$work/apt.conf timeout "$wait_s" "$@" 2>>"$work/log"
}

# (Of several sources one that does not answer need not matter.)
fetch()
{
    with_state apt-get update >>"$work/log" || true
    # with the shared libraries behind the links of the -dev packages; libc comes with the compiler
    needed=$(with_state apt-cache depends --important $packages) &&
        needed=$(printf '%s\n' "$needed" | sed -n 's/^  Depends: \([^<]*\)$/\1/p' | grep -v '^libc6' | sort -u) &&
        (cd "$work/packages" && with_state apt-get download $packages $needed >>"$work/log")
}
fetch || {
    tail -n 5 "$work/log" >&2
    fail 1 "could not fetch the libraries for aarch64"
}
for package in "$work"/packages/*.deb; do
    dpkg-deb -x "$package" "$folder/root"
done
# One folder of libraries, links that lead to what is there and not to libraries of this machine, and the compiler's libc
# beside them: a root where the emulator's loader finds all without being told.
[ ! -d "$folder/root/lib" ] || cp -a "$folder/root/lib/." "$folder/root/usr/lib/"
rm -rf "$folder/root/lib"
ln -s usr/lib/aarch64-linux-gnu "$folder/root/lib"
find "$folder/root/usr/lib" -type l -lname '/*' | while read -r link; do
    ln -sf "$(basename "$(readlink "$link")")" "$link"
done
ln -sf "$cross_root"/lib/*.so.[0-9]* "$folder/root/lib/"
cat >"$folder/libs.ini" <<END
[constants]
libs = '$folder/root'
root = libs
END
echo "$packages" >"$folder/done"
