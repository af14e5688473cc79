"""The targets of a build, and the language to build if one is enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hopmeter.build import system
from hopmeter.errors import UsageError
from hopmeter.manifest import LANGUAGES, Manifest, Offer, every, find_transports
from hopmeter.system import paths
from hopmeter.system.toml_files import one_of


@dataclass(frozen=True)
class Target:
    """One adapter: a transport in one language."""

    manifest: Manifest
    offer: Offer

    @property
    def transport(self) -> str:
        """The transport's name."""
        return self.offer.transport

    @property
    def language(self) -> str:
        """The language's name."""
        return self.offer.language

    @property
    def title(self) -> str:
        """The name of the target in messages."""
        return f"{self.transport} ({self.language})"

    @property
    def file_name(self) -> str:
        """The name of the target in folders and logs of the build."""
        return f"{self.transport}-{paths.language_word(self.language)}"

    @property
    def source(self) -> Path:
        """The folder of the adapter."""
        return self.manifest.folder / paths.language_word(self.language)


def select_targets(transports: Sequence[str] = (), languages: Sequence[str] = ()) -> list[Target]:
    """Return the requested targets, or all targets if the user names none. Raises UsageError for unknown names."""
    for language in languages:
        if language not in LANGUAGES:
            raise UsageError("E-UNKNOWN-LANGUAGE", f"language {one_of(language, LANGUAGES)}")
    manifests = find_transports(transports) if transports else every()
    return [
        Target(manifest, offer)
        for manifest in manifests.values()
        for offer in manifest.offers.values()
        if not languages or offer.language in languages
    ]


def one_language_each(targets: Iterable[Target]) -> list[Target]:
    """Return for each transport the fastest adapter to build: no heavy build, no package that cannot be installed
    here."""
    groups: dict[str, list[Target]] = {}
    for target in targets:
        groups.setdefault(target.transport, []).append(target)
    reachable = system.rights() is not None
    return [min(group, key=lambda target: effort(target, reachable)) for group in groups.values()]


def one_language_for_all(targets: Sequence[Target]) -> list[Target]:
    """Return the adapters of several transports in one language, the fastest to build; without a common language one
    adapter of each."""
    transports, reachable = {target.transport for target in targets}, system.rights() is not None
    groups = [[target for target in targets if target.language == language] for language in LANGUAGES]
    common = [group for group in groups if {target.transport for target in group} == transports]
    if not common:
        return one_language_each(targets)
    return min(common, key=lambda group: max(effort(target, reachable) for target in group))


def effort(target: Target, reachable: bool) -> tuple[bool, bool, int]:
    """Return the sort key: a smaller key builds faster; among equals comes first the language that adds the least
    overhead."""
    blocked = not reachable and bool(system.missing(target.offer.apt))
    return blocked, target.offer.is_heavy, LANGUAGES.index(target.offer.language)
