"""Hold the namespaces of test hosts, let commands join them, and kill all their processes at the end of the input.

The namespaces are open files of this process, so they disappear with the process, even after SIGKILL. The process reads
JSON lines, of which the first contains the plan, and answers each with one line.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.hosts.tap_wire import Wire, open_tap, run_wire

NEW_TIME, NEW_UTS, NEW_USER, NEW_NET = 0x80, 0x04000000, 0x10000000, 0x40000000
CABLE = "cable"
LIBC = ctypes.CDLL(None, use_errno=True)


def _check(result: int, doing: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def address(host: int) -> str:
    """Return the address of a host; hosts are numbered from 0."""
    return f"10.77.0.{host + 1}"


def _hardware_address(host: int) -> str:
    return f"02:00:0a:4d:00:{host + 1:02x}"


def become_root() -> None:
    """Enter a user namespace in which this user may create networks; does nothing for root."""
    if os.geteuid() == 0:
        return
    user, group = os.geteuid(), os.getegid()
    _check(LIBC.unshare(NEW_USER), "a user namespace")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def new_namespace(name: str) -> tuple[int, int]:
    """Enter new network and UTS namespaces, and return them as open files."""
    _check(LIBC.unshare(NEW_NET | NEW_UTS), "a network namespace")
    socket.sethostname(name)
    Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
    _ip("link", "set", "lo", "up")
    return os.open("/proc/self/ns/net", os.O_RDONLY), os.open("/proc/self/ns/uts", os.O_RDONLY)


def enter(network: int) -> None:
    _check(LIBC.setns(network, NEW_NET), "entering a network namespace")


def _connect_veth(networks: list[int]) -> None:
    """Connect two hosts by a veth pair, or several hosts by a bridge in a separate namespace."""
    if len(networks) == 2:
        enter(networks[0])
        _add_veth(CABLE, networks[1])
        return
    new_namespace("switch")
    _ip("link", "add", "bridge0", "type", "bridge")
    _ip("link", "set", "bridge0", "up")
    for host, network in enumerate(networks):
        _add_veth(f"port{host}", network)
        _ip("link", "set", f"port{host}", "master", "bridge0", "up")


def _add_veth(name: str, network: int) -> None:
    peer = ("type", "veth", "peer", "name", CABLE, "netns", f"/proc/{os.getpid()}/fd/{network}")
    _ip("link", "add", name, *peer)


def configure(host: int, count: int) -> None:
    """Set the addresses and routes of the current namespace. Neighbour entries are static, so that only the programs'
    traffic uses the wire."""
    _ip("link", "set", CABLE, "address", _hardware_address(host))
    _ip("address", "add", f"{address(host)}/24", "dev", CABLE)
    _ip("link", "set", CABLE, "up")
    _ip("route", "add", "224.0.0.0/4", "dev", CABLE)
    for other in set(range(count)) - {host}:
        neighbour = (address(other), "lladdr", _hardware_address(other), "dev", CABLE)
        _ip("neighbour", "add", *neighbour, "nud", "permanent")


def end_processes(networks: list[int]) -> None:
    """Kill all other processes in these namespaces. Killing is repeated, because a process may be starting another
    one."""
    ours = {_namespace(Path(f"/proc/self/fd/{network}")) for network in networks}
    while found := _processes_in(ours) - {os.getpid()}:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _processes_in(networks: Collection[Path | None]) -> set[int]:
    return {int(each.name) for each in Path("/proc").glob("[0-9]*") if _namespace(each / "ns/net") in networks}


def _namespace(file: Path) -> Path | None:
    try:
        return file.readlink()
    except OSError:  # the process has ended, or is another user's
        return None


def build(plan: dict[str, Any]) -> tuple[list[tuple[int, int]], Wire | None]:
    """Create the hosts of a plan and their links."""
    become_root()
    kept = [new_namespace(name) for name in plan["names"]]
    networks, taps = [network for network, _ in kept], []
    if plan["wire"] is None:
        _connect_veth(networks)
    for host, network in enumerate(networks):
        enter(network)
        if plan["wire"] is not None:
            taps.append(open_tap(CABLE))
        configure(host, len(networks))
    return kept, Wire(taps, plan["wire"]) if taps else None


def main() -> None:
    """Create the hosts, report their namespaces, serve until the input ends, and kill all remaining processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # after Ctrl-C, the test ends this process
    try:
        kept, wire = build(json.loads(sys.stdin.readline()))
    except (OSError, subprocess.CalledProcessError) as error:
        print(json.dumps({"why": f"{error} {getattr(error, 'stderr', None) or ''}".strip()}), flush=True)
        return
    print(json.dumps({"hosts": kept}), flush=True)
    try:
        run_wire(wire, sys.stdin.fileno())
    finally:
        end_processes([network for network, _ in kept])


if __name__ == "__main__":
    main()
