"""The cases of the conformance tests: every built adapter with each of its waits, and every language pair."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    """Settings that replace the transport's defaults."""
    placement: str = "process"
    default_end: str | None = None
    """The side that keeps the default settings, `sender` or `receiver`; None if both sides use the overrides."""
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Regular expressions for the receiver's facts, such as the `path` of the frames."""
    payload_bytes: int = 60_000
    """The largest payload in bytes that tests send with these overrides."""
    file: str = ""
    """A glob pattern of files that the case needs; may contain environment variables."""
    hosts: Mapping[str, Host] = field(default_factory=dict, hash=False)
    """The test hosts of `sender` and `receiver`, if they run on two hosts."""

    def settings(self, end: str) -> Mapping[str, Any]:
        """Return the overrides for the side `sender` or `receiver`; empty if that side uses the defaults."""
        return {} if end == self.default_end else self.overrides

    @property
    def one_process(self) -> bool:
        """Whether sender and receiver must run in one process."""
        return self.placement == "thread" or "process" not in self.manifest.offers[self.sender].placements

    @property
    def max_bytes(self) -> int:
        """The largest payload that both languages of the case support."""
        return min(self.manifest.offers[language].max_payload_bytes for language in (self.sender, self.receiver))

    def limit(self, payload_bytes: int) -> int:
        """Return the given payload size, limited to the largest size that both languages support."""
        return min(payload_bytes, self.max_bytes)

    @property
    def label(self) -> str:
        ends = {"sender": self.sender, "receiver": self.receiver}
        words = [f"plain-{language}" if end == self.default_end else language for end, language in ends.items()]
        languages = ">".join(dict.fromkeys(words))
        overrides = "".join(f"-{name}={value}" for name, value in self.overrides.items())
        return f"{self.manifest.name}-{languages}-{self.wait}{overrides}".replace("c++", "cpp")


MANIFESTS = {path.parent.name: discovery.load(path) for path in paths.manifests()}
"""All manifests; an invalid manifest is an error here, not a reason to skip tests."""
READINESS = readiness_of_all(MANIFESTS.values())
READY = [(MANIFESTS[transport], language) for (transport, language), answer in READINESS.items() if answer.ready]
"""The transports and languages whose nodes can run on this machine."""


INSTALLATIONS: dict[str, Readiness] = {}
"""The readiness of adapters in installations that conformance settings select, by case title."""


def _has_installation(manifest: Manifest, language: str, chosen: ConformanceSettings) -> bool:
    """Return whether the node can run on this machine, including the installation that its settings select."""
    other = manifest.for_settings(chosen.settings)
    if other is manifest or not other.chooses_for(language):
        return (manifest, language) in READY
    title = f"{manifest.name} ({', '.join([language, *other.choice])})"
    if title not in INSTALLATIONS:
        INSTALLATIONS[title] = readiness(other, language)
    return INSTALLATIONS[title].ready


def _has_effect(manifest: Manifest, chosen: ConformanceSettings, pattern: str) -> bool:
    """Return whether each of the chosen settings affects the pattern. A run drops a cell if a setting has no effect."""
    limits = [manifest.settings[name].patterns for name in chosen.settings]
    return all(limit is None or pattern in limit for limit in limits)


FAST = fast_adapters()
"""The transports and languages whose conformance tests `make test` runs."""


def is_fast(case: Case) -> bool:
    """Return whether `make test` runs the case, which requires adapters in FAST and no selected installation."""
    is_other = case.manifest.for_settings(case.overrides) is not case.manifest
    return not is_other and {(case.manifest.name, end) for end in (case.sender, case.receiver)} <= FAST


def adapters(pattern: str = "pubsub") -> list[Case]:
    """Return a case for every adapter and each of its waits."""
    return [
        Case(manifest, language, language, wait)
        for manifest, language in READY
        if pattern in manifest.offers[language].patterns
        for wait in manifest.offers[language].waits
    ]


def language_pairs(pattern: str = "pubsub") -> list[Case]:
    """Return a case, with the receiver's first wait, for every ordered pair of different languages."""
    return [
        Case(manifest, sender, receiver, manifest.offers[receiver].waits[0])
        for manifest, sender in READY
        for other, receiver in READY
        if other is manifest and sender != receiver and manifest.cross_language
        if all(pattern in manifest.offers[language].patterns for language in (sender, receiver))
    ]


def settings_cases(pattern: str = "pubsub") -> list[Case]:
    """Return the cases with the settings that each manifest lists for conformance, including cases with the adapter's
    peers."""
    settings = [
        (manifest, language, chosen)
        for manifest in MANIFESTS.values()
        for language in manifest.offers
        if pattern in manifest.offers[language].patterns
        for chosen in manifest.conformance
        if chosen.languages is None or language in chosen.languages
        if _has_effect(manifest, chosen, pattern)
        if _has_installation(manifest, language, chosen)
    ]
    return [
        case
        for each in settings
        for case in (_settings_case(*each), *_peer_cases(*each), *_mixed_cases(*each, pattern))
    ]


def lossless_cases() -> list[Case]:
    """Return the cases that must lose no frames. Their settings are a manifest's `[lossless]` settings, with each wait,
    or conformance settings that promise no loss."""
    promised = [
        replace(case, overrides=case.manifest.lossless.settings)
        for case in adapters()
        if case.manifest.lossless is not None and not case.one_process
    ]
    return promised + [
        _settings_case(manifest, language, chosen)
        for manifest in MANIFESTS.values()
        for chosen in manifest.conformance
        for language in manifest.offers
        if chosen.lossless
        if chosen.languages is None or language in chosen.languages
        if _has_installation(manifest, language, chosen)
    ]


def _mixed_cases(manifest: Manifest, language: str, chosen: ConformanceSettings, pattern: str) -> list[Case]:
    """Return a list with the case in which an adapter sends to the ring's next language, both with these settings."""
    if not chosen.mixed:
        return []
    pairs = [case for case in language_pairs(pattern) if case.manifest is manifest and case.sender == language]
    return [replace(case, overrides=chosen.settings) for case in pairs if is_in_ring(case)]


def _peer_cases(manifest: Manifest, language: str, chosen: ConformanceSettings) -> list[Case]:
    """Return the cases between an adapter and each of its built peers, in both directions."""
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
    """Run a test once for each case."""
    return _parametrize(cases, nightly=[])


def for_ring(cases: list[Case]) -> pytest.MarkDecorator:
    """Run a test for a ring of language pairs, in which each language sends once and receives once. `make nightly` also
    tests the pairs outside the ring."""
    return _parametrize(cases, nightly=[case for case in cases if not is_in_ring(case)])


def for_first_wait(cases: list[Case]) -> pytest.MarkDecorator:
    """Run a test that does not depend on how receivers wait: for a ring of language pairs, each with the receiver's
    first wait.

    `make nightly` runs the other waits and pairs.
    """
    return _parametrize(cases, nightly=[case for case in cases if not (has_first_wait(case) and is_in_ring(case))])


def for_lossless(cases: list[Case]) -> pytest.MarkDecorator:
    """Run a test that fills queues. For a transport with a broker, whose queues matter most, only `make nightly` tests
    every wait with `[lossless]` settings, and every language with conformance settings."""
    return _parametrize(cases, nightly=[case for case in cases if case.manifest.any_broker and not _fills_first(case)])


def _fills_first(case: Case) -> bool:
    is_promised = case.manifest.lossless is not None and case.overrides == case.manifest.lossless.settings
    return has_first_wait(case) if is_promised else case.receiver == next(iter(case.manifest.offers))


def _parametrize(cases: list[Case], nightly: list[Case]) -> pytest.MarkDecorator:
    assert READY, "no transport is built: run `make all`"
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case.label, marks=_marks(case, case in nightly)) for case in cases]
    )


def _marks(case: Case, is_nightly: bool) -> list[pytest.MarkDecorator]:
    """Return the marks of a case, which skip the case if an optional part of a user-built transport is missing."""
    is_there = not case.file or any(Path("/").glob(os.path.expandvars(case.file).lstrip("/")))
    lacks = [] if is_there else [pytest.mark.skip(reason=f"{case.label}: there is no file {case.file}")]
    return [*([pytest.mark.nightly] if is_nightly else []), *lacks]


def has_first_wait(case: Case) -> bool:
    """Return whether the receiver uses the first wait in its manifest, as all cases of `language_pairs` do."""
    return case.wait == case.manifest.offers[case.receiver].waits[0]


def is_in_ring(case: Case) -> bool:
    """Return whether the receiver's language is the sender's or the next in (circular) alphabetical order."""
    languages = sorted(case.manifest.offers)
    return case.receiver in (case.sender, languages[(languages.index(case.sender) + 1) % len(languages)])
