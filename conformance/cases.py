"""Which cases the suite runs: every adapter that is built here, in every wait it has, and every language pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from hopmeter.manifest import discovery
from hopmeter.manifest.model import Manifest, Tried
from hopmeter.manifest.readiness import readiness_of_all
from hopmeter.system import paths


@dataclass(frozen=True)
class Case:
    """A sender and a receiver of one transport."""

    manifest: Manifest
    sender: str
    receiver: str
    wait: str
    given: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Settings in place of their defaults."""
    placement: str = "process"
    plain: str | None = None
    """The end that has the defaults all the same: `sender` or `receiver`."""
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Regular expressions for what the receiver has to say, by the fact: `path` for the way that the frames took."""
    payload_bytes: int = 60_000
    """The largest that is carried where settings are tried."""

    def settings(self, end: str) -> Mapping[str, Any]:
        """What the `sender` or the `receiver` has in place of the defaults."""
        return {} if end == self.plain else self.given

    @property
    def one_process(self) -> bool:
        """Whether both ends must live in one process."""
        return self.placement == "thread" or "process" not in self.manifest.offers[self.sender].placements

    @property
    def most_bytes(self) -> int:
        """The largest payload that both of its languages carry."""
        return min(self.manifest.offers[language].max_payload_bytes for language in (self.sender, self.receiver))

    @property
    def label(self) -> str:
        """As pytest shows it."""
        ends = {"sender": self.sender, "receiver": self.receiver}
        words = [f"plain-{language}" if end == self.plain else language for end, language in ends.items()]
        languages = ">".join(dict.fromkeys(words))
        given = "".join(f"-{name}={value}" for name, value in self.given.items())
        return f"{self.manifest.name}-{languages}-{self.wait}{given}".replace("c++", "cpp")


EVERY = {path.parent.name: discovery.load(path) for path in paths.manifests()}
"""A wrong manifest is an error here, and none that is left out."""
ANSWERS = readiness_of_all(EVERY.values())
READY = [(EVERY[transport], language) for (transport, language), answer in ANSWERS.items() if answer.ready]
"""Every transport and language whose node runs here."""


def adapters(pattern: str = "pubsub") -> list[Case]:
    """Every adapter in each of its waits."""
    return [
        Case(manifest, language, language, wait)
        for manifest, language in READY
        if pattern in manifest.offers[language].patterns
        for wait in manifest.offers[language].waits
    ]


def pairs(pattern: str = "pubsub") -> list[Case]:
    """Every ordered pair of different languages that can talk; the receiver waits in the first way it has."""
    return [
        Case(manifest, sender, receiver, manifest.offers[receiver].waits[0])
        for manifest, sender in READY
        for other, receiver in READY
        if other is manifest and sender != receiver and manifest.cross_language
        if all(pattern in manifest.offers[language].patterns for language in (sender, receiver))
    ]


def tried(pattern: str = "pubsub") -> list[Case]:
    """Every adapter with the settings that its manifest names to be tried, and the peers that it meets with them."""
    alone = [
        (manifest, language, settings)
        for manifest, language in READY
        if pattern in manifest.offers[language].patterns
        for settings in manifest.tried
        if settings.languages is None or language in settings.languages
    ]
    return [case for each in alone for case in (_with(*each), *_meetings(*each))]


def _meetings(manifest: Manifest, language: str, tried: Tried) -> list[Case]:
    """Both ways with each peer that is built here."""
    peers = [peer for peer in tried.meets if (manifest, peer) in READY]
    waits = {word: offer.waits[0] for word, offer in manifest.offers.items()}
    there = [Case(manifest, language, peer, waits[peer], tried.settings, plain="receiver") for peer in peers]
    back = [Case(manifest, peer, language, waits[language], tried.settings, plain="sender") for peer in peers]
    return there + back


def _with(manifest: Manifest, language: str, tried: Tried) -> Case:
    waits = manifest.offers[language].waits
    wait: str = tried.wait or next((wait for wait in waits if wait != "spin"), waits[0])
    told = {"path": tried.path, **tried.facts}
    asked = (tried.settings, tried.placement)
    return Case(manifest, language, language, wait, *asked, facts=told, payload_bytes=tried.payload_bytes)


def every(cases: list[Case]) -> pytest.MarkDecorator:
    """Runs a test once a case; none at all is a failure of the set-up, not a pass."""
    return _parametrized([(case, _beside(case)) for case in cases])


def chosen(cases: list[Case]) -> pytest.MarkDecorator:
    """Like `every`, but of the pairs of languages only a ring: each language sends once and receives once. `make
    nightly` runs the other pairs."""
    nightly = [pytest.mark.nightly]
    return _parametrized([(case, _beside(case) if is_in_ring(case) else nightly) for case in cases])


def is_in_ring(case: Case) -> bool:
    """Whether the receiver's language comes behind the sender's, in the order of the alphabet, or is the same."""
    languages = sorted(case.manifest.offers)
    return case.receiver in (case.sender, languages[(languages.index(case.sender) + 1) % len(languages)])


def _parametrized(cases: list[tuple[Case, list[pytest.MarkDecorator]]]) -> pytest.MarkDecorator:
    assert READY, "no transport is built: run `make all`"
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.label, marks=marks) for case, marks in cases])


def _beside(case: Case) -> list[pytest.MarkDecorator]:
    """All may run beside others but those that share what a machine has once."""
    daemon = case.manifest.daemon
    return [] if daemon and daemon.single else [pytest.mark.together]
