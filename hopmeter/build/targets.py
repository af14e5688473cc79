"""What there is to build, and in which language where one will do."""

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
        """How messages name it."""
        return f"{self.transport} ({self.language})"

    @property
    def file_name(self) -> str:
        """How folders and logs of the build name it."""
        return f"{self.transport}-{paths.language_word(self.language)}"

    @property
    def source(self) -> Path:
        """The folder of the adapter."""
        return self.manifest.folder / paths.language_word(self.language)


def select_targets(transports: Sequence[str] = (), languages: Sequence[str] = ()) -> list[Target]:
    """Those asked for; nothing asked is everything. `UsageError` for names that are none."""
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
    """For each transport the adapter that is got soonest: no heavy build, no package that cannot be installed here."""
    groups: dict[str, list[Target]] = {}
    for target in targets:
        groups.setdefault(target.transport, []).append(target)
    reachable = system.rights() is not None
    return [min(group, key=lambda target: effort(target, reachable)) for group in groups.values()]


def effort(target: Target, reachable: bool) -> tuple[bool, bool, int]:
    """Less is sooner; of equals the language that adds the least of its own."""
    blocked = not reachable and bool(system.missing(target.offer.apt))
    return blocked, target.offer.is_heavy, LANGUAGES.index(target.offer.language)
