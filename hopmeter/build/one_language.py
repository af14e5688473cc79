"""Selects the adapters to build for `--language one`: the adapters in the language that the plan would choose."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hopmeter.build import system
from hopmeter.build.targets import Target
from hopmeter.manifest import Manifest
from hopmeter.manifest.readiness import readiness
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.plan.language_choice import choose_language, is_interpreted, is_offered

AXES = ("pattern", "placement", "wait", "payload", "codec")
"""The axes for which a transport's capabilities may differ between languages."""


def one_language_each(targets: Sequence[Target], axes: Mapping[str, Sequence[Any]]) -> Iterator[Target]:
    """For each transport and each combination of axis values that the transport offers, yield the adapter to build."""
    manifests = {target.transport: target.manifest for target in targets}
    for manifest in manifests.values():
        for values in itertools.product(*(axes[name] for name in AXES)):
            chosen = dict(zip(AXES, values, strict=True))
            target = _target(manifest, _choose([manifest], chosen))
            if is_offered(target.offer, chosen):
                yield target


def one_language_for_all(targets: Sequence[Target], axes: Mapping[str, Any]) -> Iterator[Target]:
    """Yield the adapters of several transports in a common language.

    If the transports have no common language, the language is chosen for each transport separately.
    """
    manifests = list({target.transport: target.manifest for target in targets}.values())
    language = _choose(manifests, axes) if manifests else ""
    if all(language in manifest.offers for manifest in manifests):
        yield from (_target(manifest, language) for manifest in manifests)
    else:
        yield from (_target(manifest, _choose([manifest], axes)) for manifest in manifests)


def _choose(manifests: Sequence[Manifest], axes: Mapping[str, Any]) -> str:
    return choose_language(manifests, axes, _is_available, _is_ready)


def _target(manifest: Manifest, language: str) -> Target:
    return Target(manifest, manifest.offers[language])


def _is_available(manifest: Manifest, language: str) -> bool:
    """Return whether a transport's adapter in a language is ready or can be built on this machine."""
    offer = manifest.offers[language]
    is_blocked = system.rights() is None and bool(system.missing(offer.apt))
    return (not _is_replaced(manifest, offer) and not is_blocked) or _is_ready(manifest, language)


def _is_replaced(manifest: Manifest, offer: Offer) -> bool:
    """Return whether an adapter in another compiled language is built instead, because this adapter's library is
    missing and only the user can install it. An adapter in Python never replaces another adapter, because latencies in
    Python are not comparable."""
    others = (each for each in manifest.offers.values() if not is_interpreted(each.language))
    return not offer.is_installed and any(each.is_installed for each in others)


def _is_ready(manifest: Manifest, language: str) -> bool:
    return readiness(manifest, language).ready
