"""The transports, hosts and cores that a plan may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hopmeter.manifest import Manifest, Readiness
from hopmeter.manifest.readiness import readiness
from hopmeter.plan.placement.cores import Machine
from hopmeter.plan.placement.host_facts import HostFacts


@dataclass(frozen=True)
class Capabilities:
    """The transports, nodes, cores and hosts that a plan may use."""

    manifests: Mapping[str, Manifest]
    ready: Mapping[tuple[str, str], Readiness]
    machine: Machine
    carrier: Callable[[Manifest, str], Readiness] = lambda manifest, codec: readiness(manifest, "python", codec)
    """A function that returns the Python node that carries a codec's objects, given a transport and the codec."""
    may_keep_awake: bool = False
    """Whether this user may keep idle cores awake."""
    hosts: Mapping[str, HostFacts] = field(default_factory=dict)
    """The hosts of `--hosts` or `--cluster`, in the given order. If there are no hosts, all nodes run on this
    machine."""
    highest_priority: int = 99
    """The highest SCHED_FIFO priority that this user may give to a process, or 0 if no priority is allowed."""
    describe: Callable[[Manifest, str], Readiness] = readiness
    """A function that returns the node of a manifest in a language, in the environment that the settings choose."""
    _chosen: dict[tuple[str, str], Readiness] = field(default_factory=dict, compare=False)
    """A cache of nodes in environments that settings choose, by manifest key and language."""

    def node(self, transport: str, language: str, settings: Mapping[str, Any]) -> Readiness | None:
        """Return the node of a transport in one language with the given settings, or None if the transport has no node
        in that language."""
        known = self.manifests.get(transport)
        chosen = known.for_settings(settings) if known else None
        if chosen is None or chosen is known or not chosen.chooses_for(language):
            return self.ready.get((transport, language))
        key = (chosen.key, language)
        if key not in self._chosen:
            self._chosen[key] = self.describe(chosen, language)
        return self._chosen[key]
