#!/bin/sh
# Unpacks Debian's ssh server into build/sshd for the tests, without installing it, because the installed package would
# start a server that other machines can reach. Does nothing if this machine already has an ssh server.
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
