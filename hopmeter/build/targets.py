"""Selects what to build: the adapters, and the installed libraries for which they are built."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.manifest import LANGUAGES, Manifest, Offer, every, find_transports
from hopmeter.manifest.tables.allowed_words import Value
from hopmeter.system import paths
from hopmeter.system.toml_files import one_of


@dataclass(frozen=True)
class Target:
    """One adapter, which implements one transport in one language."""

    manifest: Manifest
    offer: Offer

    @property
    def transport(self) -> str:
        """The transport's name."""
        return self.offer.transport

    @property
    def language(self) -> str:
        """The programming language's name."""
        return self.offer.language

    @property
    def title(self) -> str:
        """The target's name in messages to the user."""
        return f"{self.transport} ({', '.join([self.language, *self.manifest.choice])})"

    @property
    def file_name(self) -> str:
        """The target's name in build directories and logs."""
        chosen = self.offer.environment_name if self.manifest.choice else self.transport
        return f"{chosen}-{paths.language_word(self.language)}"

    @property
    def source(self) -> Path:
        """The directory of the adapter's source code."""
        return self.manifest.folder / paths.language_word(self.language)


def select_targets(
    transports: Sequence[str] = (), languages: Sequence[str] = (), settings: Sequence[str] = ()
) -> list[Target]:
    """Return the requested targets, or all targets if the user named none. Raises UsageError for an unknown name.

    If `settings` (`NAME=A,B`) are given, only targets for the library installations that these settings name are
    returned.
    """
    for language in languages:
        if language not in LANGUAGES:
            raise UsageError("E-UNKNOWN-LANGUAGE", f"language {one_of(language, LANGUAGES)}")
    manifests = list((find_transports(transports) if transports else every()).values())
    given = _parse(settings)
    if settings:
        manifests = [chosen for manifest in manifests for chosen in choices(manifest, given)]
    found = [
        Target(manifest, offer)
        for manifest in manifests
        for offer in manifest.offers.values()
        if not languages or offer.language in languages
        if not settings or (manifest.languages[offer.language].installations and manifest.choosing & set(given))
    ]
    if settings and not found:
        named = ", ".join(settings)
        raise UsageError(
            "E-OPTION-VALUE",
            f"--set {named} selects no installation here",
            "see the settings with `hopmeter transports NAME`",
        )
    return found


def _parse(settings: Sequence[str]) -> dict[str, list[str]]:
    """Parse settings of the form `NAME=A,B`, and return the values by name."""
    found = {}
    for text in settings:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise UsageError(
                "E-OPTION-VALUE", f"--set {text} is not NAME=VALUE", "for example --set distribution=jazzy"
            )
        found[name] = values.split(",")
    return found


def choices(manifest: Manifest, given: Mapping[str, Sequence[Value]]) -> list[Manifest]:
    """Return one manifest for each installation of the transport's library that the setting values name. Settings that
    do not choose between installations are ignored."""
    known = {name: [_value(manifest, name, each) for each in values] for name, values in given.items()}
    combinations = (dict(zip(known, values, strict=True)) for values in itertools.product(*known.values()))
    return list({each.reference: each for each in map(manifest.for_installation, combinations)}.values())


def _value(manifest: Manifest, name: str, given: Value) -> Value:
    if name not in manifest.settings:
        raise UsageError("E-UNKNOWN-SETTING", f"{manifest.name}: {one_of(name, manifest.settings)}")
    try:
        return manifest.settings[name].parse(given) if isinstance(given, str) else given
    except RefusedValueError as wrong:
        raise UsageError("E-SETTING-VALUE", f"{manifest.name}: {name}: {wrong.what}") from wrong
