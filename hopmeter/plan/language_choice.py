"""Choose the language for cells with `language = "one"`. Plans and `hopmeter build` use this module, so that both
choose the same language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hopmeter.manifest import LANGUAGES, Manifest, Readiness
from hopmeter.manifest.tables.language_part import LONG_BUILD_S, LONGEST_BUILD_S, Offer
from hopmeter.model import units
from hopmeter.model.cell_parts import waits_of
from hopmeter.plan.payloads.message_objects import object_languages

INTERPRETED = ("python",)
"""The interpreted languages, which have slower nodes."""
IsTrue = Callable[[Manifest, str], bool]
Effort = tuple[int, ...]


def preferred_language(
    manifests: Sequence[Manifest], axes: Mapping[str, Any], ready: Mapping[tuple[str, str], Readiness]
) -> str:
    """Return the language in which a plan measures the given transports. Languages for which a node has already been
    built are preferred."""

    def is_ready(manifest: Manifest, language: str) -> bool:
        state = ready.get((manifest.name, language))
        return bool(state and state.ready)

    return choose_language(manifests, axes, is_ready, is_ready)


def choose_language(
    manifests: Sequence[Manifest], axes: Mapping[str, Any], is_available: IsTrue, is_ready: IsTrue
) -> str:
    """Return the language that suits all given transports best.

    The criteria are, in this order: support for the cell, an available node, a build of at most two minutes, and
    compiled code. The last criteria are a build of at most one minute, the transport's usual language, and the position
    in `LANGUAGES`. If a node has already been built, its build time counts as 0.
    """

    def effort(manifest: Manifest, language: str) -> Effort:
        if (offer := manifest.offers.get(language)) is None:
            return (1,) * 7
        build_s = build_seconds(offer)
        if build_s > LONG_BUILD_S and is_ready(manifest, language):
            build_s = 0.0
        return (
            not is_offered(offer, axes),
            not is_available(manifest, language),
            build_s > LONGEST_BUILD_S,
            is_interpreted(language),
            build_s > LONG_BUILD_S,
            manifest.usual_language not in (None, language),
            LANGUAGES.index(offer.language),
        )

    def most(language: str) -> Effort:
        return tuple(map(max, zip(*(effort(each, language) for each in manifests), strict=True)))

    return min(manifests[0].offers, key=most)


def compiled_offer(manifest: Manifest, axes: Mapping[str, Any]) -> Offer | None:
    """Return the transport's best compiled language that supports the given conditions, or None if there is none."""
    offers = [offer for offer in manifest.offers.values() if not is_interpreted(offer.language)]
    known = [offer for offer in offers if offer.is_installed and is_offered(offer, axes)]
    return min(known, key=lambda offer: build_seconds(offer) > LONG_BUILD_S, default=None)


def is_interpreted(language: str) -> bool:
    """Return whether a value such as `rust>python` includes an interpreted language."""
    return any(each in language for each in INTERPRETED)


def build_seconds(offer: Offer) -> float:
    """Return how many seconds the first build takes, or 0 if the manifest does not state it."""
    return offer.build_cost.seconds if offer.build_cost else 0.0


def is_offered(offer: Offer, axes: Mapping[str, Any]) -> bool:
    """Return whether a transport supports the given combination of conditions in one language."""
    if axes["codec"] != "none" and offer.language not in object_languages(axes["codec"], axes["payload"]):
        return False
    if axes["codec"] == "none" and units.payload_bytes(axes["payload"]) > offer.max_payload_bytes:
        return False
    placements = (*offer.placements, "apart")
    waits = waits_of(axes["wait"])
    return (
        axes["pattern"] in offer.patterns and axes["placement"] in placements and set(waits) <= set(offer.asked_waits)
    )
