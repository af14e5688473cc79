"""The targets of a build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
