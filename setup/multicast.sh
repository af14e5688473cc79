#!/bin/sh
# Prepares this machine, until it restarts, for tests over UDP multicast: a route if there is none, and receive buffers
# that hold a large message. Needs root; otherwise it prints the commands and changes nothing.
set -eu
bytes=4194304

say() { printf '%s\n' "setup: $*"; }

# Runs the commands as root, or with sudo if that needs no password; otherwise prints them.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@" 2>/dev/null && return; fi
    if command -v sudo >/dev/null 2>&1 && sudo -n "$@" 2>/dev/null; then return; fi
    say "some tests of multicast will fail here; as root: $*"
}

# A default route is enough: a message with a time to live of 0 is looped back and never leaves.
has_route() { ip route get 239.255.0.1 >/dev/null 2>&1; }

if command -v ip >/dev/null 2>&1 && ! has_route; then
    say "multicast goes by the loopback device until this machine restarts"
    as_root ip link set lo multicast on
    as_root ip route add 224.0.0.0/4 dev lo
fi

# In some containers, the limit belongs to the host and is not visible.
limit=$(cat /proc/sys/net/core/rmem_max 2>/dev/null || echo "$bytes")
if [ "$limit" -lt "$bytes" ]; then
    say "receive buffers of up to $bytes bytes are allowed until this machine restarts (they were $limit)"
    as_root sysctl -q -w "net.core.rmem_max=$bytes"
fi
