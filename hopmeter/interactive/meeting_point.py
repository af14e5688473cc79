"""The point at which two commands meet: a name in a directory of one machine, or a TCP address."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from hopmeter.client.errors import ConnectError
from hopmeter.client.rendezvous import Rendezvous
from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.hosts.agent.credentials import Credentials
from hopmeter.hosts.coordinator.hosts_file import HostEntry
from hopmeter.hosts.protocol.agent_address import AgentAddress
from hopmeter.node.contract import LOOPBACK

PAIR, SERVER = "pair", "server"
"""The kinds of meeting points: `publish` with `listen`, and `serve` with `ask`."""
OPENERS = {PAIR: "hopmeter publish", SERVER: "hopmeter serve {name}"}
LONGEST_NAME = 24
"""The maximum length of a name. Names must be short because hosts are named after them."""
SOCKET = "socket"
LOOK_S = 0.2


@dataclass(frozen=True)
class MeetingPoint:
    """The point at which two commands meet, and the credentials that each command must present."""

    kind: str
    name: str
    folder: Path | None = None
    address: AgentAddress | None = None
    """The TCP address, or None if the commands meet in a directory."""
    host: str = ""
    """This machine's address as the user gave it, or an empty string."""
    credentials: Credentials = field(default_factory=Credentials)

    @property
    def opener(self) -> str:
        """Return the command that the user has to start so that something listens at this meeting point."""
        at = f" --meet {self.address}" if self.address else ""
        return OPENERS[self.kind].format(name=self.name) + at

    def __str__(self) -> str:
        return f"at {self.address}" if self.address else f'under the name "{self.name}"'

    def own_address(self) -> str:
        """Return the address at which the other command reaches this machine. Raises UsageError if the address of this
        machine is unknown."""
        return check_own(self.host or self.address.host) if self.address else LOOPBACK

    @contextmanager
    def listen(self) -> Iterator[socket.socket]:
        """Yield a socket that listens at the meeting point until the `with` block ends. Raises UsageError if the
        address is unusable, and ConnectError if the name of the meeting point is in use."""
        if self.address is not None:
            with self.address.listen("--meet") as server:
                yield server
            return
        rendezvous = self._rendezvous()
        try:
            record = rendezvous.claim(self.name, self.kind, 0, {}, ())
        except ConnectError as taken:
            what = f'another `{self.opener}` has the name "{self.name}"'
            raise ConnectError(
                "E-NAME-TAKEN", what, "end that process, or choose another --name or --folder"
            ) from taken
        try:
            address = AgentAddress(path=str(Path(record.directory) / SOCKET))
            with address.listen() as server:
                rendezvous.announce(self.name, self.kind, record, address.path)
                yield server
        finally:
            rendezvous.retract(self.name, self.kind, record)

    def entry(self, within_s: float = LOOK_S) -> HostEntry | None:
        """Return how to reach the command that listens at this meeting point, or None if no command listens in time."""
        if self.address is not None:
            return HostEntry.model_validate({"listens": str(self.address), **self.credentials.files})
        record = self._rendezvous().await_end(self.name, self.kind, within_s)
        return HostEntry.model_validate({"listens": f"unix:{record.address}"}) if record and record.address else None

    def _rendezvous(self) -> Rendezvous:
        rendezvous = Rendezvous(self.folder, "interactive")
        rendezvous.sweep()
        return rendezvous


def meeting_point_at(
    kind: str, name: str, folder: Path | None, meet: str | None, host: str | None, credentials: Credentials
) -> MeetingPoint:
    """Return the meeting point that a command's options describe. Raises UsageError if options conflict."""
    point = MeetingPoint(kind, check_name(name), folder, host=host or "", credentials=credentials)
    if meet is not None:
        address = _address(meet)
        credentials.check(address)
        return replace(point, address=address)
    if host or credentials.files:
        what = "--host, --secret-file, --cert, --key and --ca are only for two machines"
        raise UsageError("E-OPTION-CONFLICT", what, "also give the address: --meet HOST:PORT")
    return point


def check_name(name: str) -> str:
    """Return the name if it is a valid meeting name. Raises UsageError if the name is invalid."""
    if re.fullmatch(f"[a-z0-9_]{{1,{LONGEST_NAME}}}", name):
        return name
    raise UsageError(
        "E-NAME", f'"{name}" is not a valid name', f"use at most {LONGEST_NAME} characters of a-z, 0-9 and _"
    )


def _address(text: str) -> AgentAddress:
    try:
        found = AgentAddress.parse(text)
    except RefusedValueError as cause:
        raise _no_address(text) from cause
    if found.path or not found.port:
        raise _no_address(text)
    return AgentAddress(found.ip or resolve(found.host), found.port)


def _no_address(text: str) -> UsageError:
    remedy = "write an address such as --meet 192.168.1.5:7777, the same on both sides"
    return UsageError("E-MEET-ADDRESS", f"--meet {text} does not have the form HOST:PORT", remedy)


def resolve(host: str) -> str:
    """Return the IP address of a host name. Raises UsageError if this machine cannot resolve the host name."""
    try:
        return socket.gethostbyname(host)
    except (OSError, UnicodeError) as cause:
        raise UsageError(
            "E-HOST-ADDRESS", f"the host name {host} is unknown on this machine", "give its IP address"
        ) from cause


def check_own(host: str) -> str:
    """Return the IP address of a host if it belongs to this machine and is reachable from other machines. Raises
    UsageError if the address does not belong to this machine or is not reachable."""
    address = AgentAddress(host).ip or resolve(host)
    if address in ("0.0.0.0", "::"):
        what = "hopmeter does not know which address of this machine the nodes have to use"
        raise UsageError(
            "E-HOST-NEEDED", what, "add --host ADDRESS, the address at which the other machine reaches this machine"
        )
    try:
        with AgentAddress(address, 0).listen():
            return address
    except UsageError as cause:
        what = f"{host} is not an address of this machine"
        raise UsageError("E-HOST-ADDRESS", what, "`ip address` lists the addresses of this machine") from cause
