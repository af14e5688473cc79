"""Tests whether this machine receives its own UDP multicast messages, as LCM and DDS require."""

from __future__ import annotations

import secrets
import socket
import struct
from contextlib import closing

LOOPBACK = "lo"
NONE = "none"
PATIENCE_S = 0.2
IP_PKTINFO = 8
"""The number of this Linux socket option, which older versions of the socket module do not define."""


def multicast() -> str:
    """Return the network device through which multicast messages come back, or `none`."""
    group = f"239.255.{secrets.randbelow(256)}.{secrets.randbelow(256)}"
    try:
        with closing(_member(group)) as member, closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
            # a TTL of 0 keeps the multicast message on this machine
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
            sender.sendto(b"hopmeter", member.getsockname())
            _, ancillary, _, _ = member.recvmsg(64, 256)
    except OSError:
        return NONE
    return _device(ancillary)


def _member(group: str) -> socket.socket:
    """Return a socket that has joined the multicast group on the system's default network device, as middlewares do."""
    member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        member.settimeout(PATIENCE_S)
        member.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + bytes(4))
        member.bind((group, 0))
    except OSError:
        member.close()
        raise
    return member


def _device(ancillary: list[tuple[int, int, bytes]]) -> str:
    """Return the network device through which a message arrived, as the kernel reports it, or `none`."""
    for level, kind, told in ancillary:
        if (level, kind) == (socket.IPPROTO_IP, IP_PKTINFO):
            (index,) = struct.unpack_from("=i", told)
            return socket.if_indextoname(index)
    return NONE
