"""What a plan has to know about a host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hopmeter.manifest import Readiness
from hopmeter.node.contract import LOOPBACK


@dataclass(frozen=True)
class HostFacts:
    """A host on which nodes may run."""

    name: str
    is_here: bool = False
    """Whether it is this machine."""
    address: str = LOOPBACK
    """The address by which the other hosts reach it."""
    ready: Mapping[tuple[str, str], Readiness] = field(default_factory=dict)
    """Its transports, by name and language; empty for this machine."""
    cores: tuple[int, ...] = ()
    network: str = ""
    """An id of its network stack: hosts with the same one reach each other over sockets."""
    files: tuple[str, ...] = ()
    """Ids of its file system and of its folder for sockets: hosts that share one of them share files."""
    clock: str = ""
    """An id of its clock: hosts with the same one have the same time."""

    codecs: tuple[str, ...] = ()
    """The names of its codec libraries for messages of schemas; empty for this machine."""

    def shares_machine(self, other: HostFacts) -> bool:
        """Return whether both reach each other over sockets and files, so that messages need not leave a machine."""
        return self.network == other.network and (self.files == other.files or bool({*self.files} & {*other.files}))
