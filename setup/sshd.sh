#!/bin/sh
# Unpacks the ssh server of Debian into build/sshd for the tests. It is not installed: the package would start a server
# that others can reach. Does nothing if this machine has one.
set -eu
cd "$(dirname "$0")/.."
if [ -x /usr/sbin/sshd ] || [ -x build/sshd/usr/sbin/sshd ]; then exit 0; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if (cd "$folder" && apt-get -qq download openssh-server 2>/dev/null); then
    mkdir -p build && dpkg-deb -x "$folder"/openssh-server_*.deb build/sshd
else
    printf 'setup: tests of ssh will be skipped: apt cannot download openssh-server\n'
fi
