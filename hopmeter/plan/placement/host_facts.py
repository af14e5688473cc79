"""The facts about a host that the planning of a run needs."""

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
    """Whether the host is this machine."""
    address: str = LOOPBACK
    """The address at which other hosts reach this host."""
    ready: Mapping[tuple[str, str], Readiness] = field(default_factory=dict)
    """The nodes of the host, by transport and language. The mapping is empty for this machine."""
    cores: tuple[int, ...] = ()
    network: str = ""
    """The id of the host's network stack. Hosts with the same id reach each other over sockets."""
    files: tuple[str, ...] = ()
    """The ids of the host's file system and of its socket directory. Hosts with a common id can access the same
    files."""
    clock: str = ""
    """The id of the host's clock. Hosts with the same clock id share one clock."""

    codecs: tuple[str, ...] = ()
    """The names of the host's codec libraries for schema messages. The tuple is empty for this machine."""

    def shares_machine(self, other: HostFacts) -> bool:
        """Return whether both hosts share sockets and files, so that messages between them stay on one machine."""
        return self.network == other.network and (self.files == other.files or bool({*self.files} & {*other.files}))
