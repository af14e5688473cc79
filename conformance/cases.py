"""The cases of the suite: every adapter that is built here, with every wait it offers, and every language pair."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conformance.fast import fast_adapters
from hopmeter.manifest import discovery
from hopmeter.manifest.model import ConformanceSettings, Manifest
from hopmeter.manifest.readiness import Readiness, readiness, readiness_of_all
from hopmeter.system import paths
from tests.hosts.network import Host


@dataclass(frozen=True)
class Case:
    """A sender and a receiver of one transport."""

    manifest: Manifest
    sender: str
    receiver: str
    wait: str
    overrides: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Settings that replace the defaults."""
    placement: str = "process"
    default_end: str | None = None
    """The side that keeps the default settings: `sender` or `receiver`."""
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Regular expressions for the facts that the receiver reports, such as the `path` of the frames."""
    payload_bytes: int = 60_000
    """The largest payload of the tests that use these overrides."""
    file: str = ""
    """A pattern of files without which the case cannot run; the pattern may contain environment variables."""
    hosts: Mapping[str, Host] = field(default_factory=dict, hash=False)
    """The test hosts of `sender` and `receiver`, if these run on two."""

    def settings(self, end: str) -> Mapping[str, Any]:
        """The settings that differ from the defaults at the `sender` or the `receiver`."""
        return {} if end == self.default_end else self.overrides

    @property
    def one_process(self) -> bool:
        """Whether sender and receiver must run in one process."""
        return self.placement == "thread" or "process" not in self.manifest.offers[self.sender].placements

    @property
    def max_bytes(self) -> int:
        """The largest payload that both languages of the case carry."""
        return min(self.manifest.offers[language].max_payload_bytes for language in (self.sender, self.receiver))

    @property
    def label(self) -> str:
        """The name of the case within the name of a test."""
        ends = {"sender": self.sender, "receiver": self.receiver}
        words = [f"plain-{language}" if end == self.default_end else language for end, language in ends.items()]
        languages = ">".join(dict.fromkeys(words))
        overrides = "".join(f"-{name}={value}" for name, value in self.overrides.items())
        return f"{self.manifest.name}-{languages}-{self.wait}{overrides}".replace("c++", "cpp")


MANIFESTS = {path.parent.name: discovery.load(path) for path in paths.manifests()}
"""An invalid manifest is an error here; it is not skipped."""
READINESS = readiness_of_all(MANIFESTS.values())
READY = [(MANIFESTS[transport], language) for (transport, language), answer in READINESS.items() if answer.ready]
"""Every transport and language whose node runs here."""


INSTALLATIONS: dict[str, Readiness] = {}
"""The adapters in the installations that settings for conformance choose, by their titles."""


def _has_installation(manifest: Manifest, language: str, chosen: ConformanceSettings) -> bool:
    """Whether the node runs, in the environment that settings choose if they choose one: its installation is built, and
    the parts of the library are installed that only the user can install."""
    other = manifest.for_settings(chosen.settings)
    if other is manifest or not other.chooses_for(language):
        return (manifest, language) in READY
    title = f"{manifest.name} ({', '.join([language, *other.choice])})"
    if title not in INSTALLATIONS:
        INSTALLATIONS[title] = readiness(other, language)
    return INSTALLATIONS[title].ready


FAST = fast_adapters()
"""Every transport and language that `make test` builds."""


def is_fast(case: Case) -> bool:
    """Return whether `make test` builds both ends of a case; installations that settings choose are not among them."""
    is_other = case.manifest.for_settings(case.overrides) is not case.manifest
    return not is_other and {(case.manifest.name, end) for end in (case.sender, case.receiver)} <= FAST


def adapters(pattern: str = "pubsub") -> list[Case]:
    """Every adapter with each wait that it offers."""
    return [
        Case(manifest, language, language, wait)
        for manifest, language in READY
        if pattern in manifest.offers[language].patterns
        for wait in manifest.offers[language].waits
    ]


def language_pairs(pattern: str = "pubsub") -> list[Case]:
    """Every ordered pair of different languages that can communicate, with the first wait that the receiver offers."""
    return [
        Case(manifest, sender, receiver, manifest.offers[receiver].waits[0])
        for manifest, sender in READY
        for other, receiver in READY
        if other is manifest and sender != receiver and manifest.cross_language
        if all(pattern in manifest.offers[language].patterns for language in (sender, receiver))
    ]


def settings_cases(pattern: str = "pubsub") -> list[Case]:
    """Every adapter with the settings that its manifest lists for conformance, and with its peers."""
    settings = [
        (manifest, language, chosen)
        for manifest in MANIFESTS.values()
        for language in manifest.offers
        if pattern in manifest.offers[language].patterns
        for chosen in manifest.conformance
        if chosen.languages is None or language in chosen.languages
        if _has_installation(manifest, language, chosen)
    ]
    return [case for each in settings for case in (_settings_case(*each), *_peer_cases(*each))]


def _peer_cases(manifest: Manifest, language: str, chosen: ConformanceSettings) -> list[Case]:
    """Both directions between an adapter and each of its peers that is built here."""
    peers = [peer for peer in chosen.meets if (manifest, peer) in READY]
    waits = {word: offer.waits[0] for word, offer in manifest.offers.items()}
    there = [Case(manifest, language, peer, waits[peer], chosen.settings, default_end="receiver") for peer in peers]
    back = [Case(manifest, peer, language, waits[language], chosen.settings, default_end="sender") for peer in peers]
    return there + back


def _settings_case(manifest: Manifest, language: str, chosen: ConformanceSettings) -> Case:
    waits = manifest.offers[language].waits
    wait: str = chosen.wait or next((wait for wait in waits if wait != "spin"), waits[0])
    facts = {"path": chosen.path, **chosen.facts}
    conditions = (wait, chosen.settings, chosen.placement)
    limits = {"payload_bytes": chosen.payload_bytes, "file": chosen.file}
    return Case(manifest, language, language, *conditions, facts=facts, **limits)


def for_each(cases: list[Case]) -> pytest.MarkDecorator:
    """Runs a test once for each case."""
    return _parametrize(cases, nightly=[])


def for_ring(cases: list[Case]) -> pytest.MarkDecorator:
    """Like `for_each`, but only a ring of the language pairs runs, in which each language sends once and receives once.
    `make nightly` runs the other pairs."""
    return _parametrize(cases, nightly=[case for case in cases if not is_in_ring(case)])


def _parametrize(cases: list[Case], nightly: list[Case]) -> pytest.MarkDecorator:
    assert READY, "no transport is built: run `make all`"
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case.label, marks=_marks(case, case in nightly)) for case in cases]
    )


def _marks(case: Case, is_nightly: bool) -> list[pytest.MarkDecorator]:
    """The marks of a case. A transport that users build themselves may lack an optional part: its cases are skipped."""
    is_there = not case.file or any(Path("/").glob(os.path.expandvars(case.file).lstrip("/")))
    lacks = [] if is_there else [pytest.mark.skip(reason=f"{case.label}: there is no file {case.file}")]
    return [*([pytest.mark.nightly] if is_nightly else []), *lacks]


def is_in_ring(case: Case) -> bool:
    """Whether the receiver's language is the sender's language, or the next one in the alphabet."""
    languages = sorted(case.manifest.offers)
    return case.receiver in (case.sender, languages[(languages.index(case.sender) + 1) % len(languages)])
