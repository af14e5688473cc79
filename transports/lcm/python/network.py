"""The multicast addresses of links, and the network that messages use. ../README.md describes how addresses are
chosen."""

from __future__ import annotations

import socket

from hopmeter.node.contract import LOOPBACK, Setup, network_device

REMEDY = "run `ip link set lo multicast on` and `ip route add 224.0.0.0/4 dev lo` as root, or see `hopmeter doctor`"


def group(name: str) -> tuple[str, int]:
    """Return the multicast group (local scope, 239.255/16) and the port (below the ephemeral ports) for a name."""
    mixed = 2166136261
    for letter in name.encode():
        mixed = (mixed ^ letter) * 16777619 & 0xFFFFFFFF  # FNV-1a
    return f"239.255.{mixed >> 24}.{mixed >> 16 & 255}", 20000 + (mixed & 0xFFFF) % 12000


def facts(setup: Setup) -> dict[str, str]:
    """Return facts about how the messages travel, and about any difference from the settings."""
    asked = setup.settings["recv_buf_size"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kernel:
        kernel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, asked)
        granted = kernel.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2  # the kernel reports twice the size
        kernel.connect(group(setup.run))
        source = kernel.getsockname()[0]
    # The scope of a loopback address may be too narrow for the group; the socket then has no source address.
    is_loopback = source.startswith("127.") or source == "0.0.0.0"
    fallbacks = []
    is_local = setup.advertised == LOOPBACK
    if not is_local and source != setup.advertised:
        remedy = "run `ip route replace 224.0.0.0/4 dev DEVICE` with that device, as root"
        fallbacks.append(
            f"multicast leaves through the device of {source}, not through {network_device(setup)}: {remedy}"
        )
    if is_local and not is_loopback:
        fallbacks.append(f"multicast is looped back through the device of {source}, in small packets: {REMEDY}")
    if granted < asked:
        fallbacks.append(
            f"the kernel grants {granted} of {asked} bytes of receive buffer, so large messages may be lost: "
            f"run sysctl -w net.core.rmem_max={asked}"
        )
    path = "loopback device" if is_loopback else f"device of {source}"
    told = {"path": f"UDP multicast, {path}"}
    return {**told, "fallback": "\n".join(fallbacks)} if fallbacks else told
