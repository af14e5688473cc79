"""Load adapters in a user's program, where several adapters share the process with the user's modules."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hopmeter.client.errors import ConnectError, in_words
from hopmeter.errors import RefusedValueError, UsageError
from hopmeter.manifest.discovery import every, find_transports
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.manifest.tables.setting import OFF, SECURITY, Setting
from hopmeter.node.contract import LOOPBACK, AdapterError
from hopmeter.node.loading import transport_class
from hopmeter.system.toml_files import one_of


@dataclass(frozen=True)
class Setup:
    """The setup object that an adapter receives. hopmeter.node.contract describes each field."""

    run: str
    directory: str
    broker: str
    settings: dict[str, Any]
    largest_frame_bytes: int
    bind: str = LOOPBACK
    advertised: str = LOOPBACK


@dataclass(frozen=True)
class Link:
    """The description of one hop that an adapter receives. hopmeter.node.contract describes each field."""

    name: str
    frame_bytes: int
    wait: str
    address: str = ""
    receivers: int = 1
    payload: str = "bytes"
    width: int = 0
    height: int = 0
    message_type: str = ""
    message_code: str = ""
    message_object: str = ""


def manifest_of(transport: str) -> tuple[Manifest, Offer]:
    """Return a transport's manifest, and the section of the manifest about the Python adapter. Raises UsageError for an
    unknown transport, and ConnectError for a transport without a usable Python adapter."""
    manifest = find_transports([transport])[transport]
    offer = manifest.offers.get("python")
    if offer is None:
        raise ConnectError(
            "E-NO-ADAPTER", f"{manifest.title} has no adapter for Python", "choose one of `hopmeter transports`"
        )
    if offer.user is not None and (problem := offer.user.problem(manifest.title)):
        raise ConnectError("E-NOT-INSTALLED", *problem)
    return manifest, offer


def checked_settings(manifest: Manifest, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given settings, converted to the types in the manifest. Raises UsageError if a setting or
    value is unknown, or if a setting needs keys."""
    if given.get(SECURITY, OFF) != OFF:
        what = f"{manifest.title} with {SECURITY}={given[SECURITY]} needs keys, which connect does not create"
        raise UsageError("E-NO-KEYS", what, f"leave {SECURITY} off; `hopmeter run` measures it")
    return {name: _check_setting(manifest, name, value) for name, value in given.items()}


def check_environment(manifest: Manifest, settings: Mapping[str, Any]) -> None:
    """Raise UsageError if this program lacks an environment variable that a setting needs. A transport's library reads
    its environment variables only when the library is loaded."""
    lacking = {
        name: text for name, text in manifest.for_settings(settings).variables.items() if os.environ.get(name) != text
    }
    if lacking:
        words = " ".join(f"{name}={shlex.quote(text)}" for name, text in lacking.items())
        raise UsageError(
            "E-ENVIRONMENT",
            f"{manifest.title} reads these settings from the environment, which this program does not have",
            f"start the program with {words}",
        )


def away(manifest: Manifest, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given settings, plus the settings that the transport needs to reach another machine. Raises
    ConnectError if the transport cannot reach another machine."""
    settings = {**manifest.network_settings(given), **given}
    if why := manifest.why_local(settings):
        others = [name for name, other in every().items() if other.network is not None and "python" in other.offers]
        raise ConnectError("E-ONE-MACHINE", why, f"these do: {', '.join(others)}")
    return settings


def _check_setting(manifest: Manifest, name: str, value: Any) -> Any:
    known: dict[str, Setting] = manifest.settings
    if name not in known:
        raise UsageError(
            "E-UNKNOWN-SETTING",
            f"setting {one_of(name, known)}" if known else f"{manifest.title} has no setting {name}",
        )
    try:
        return known[name].check(value)
    except RefusedValueError as wrong:
        raise UsageError("E-SETTING-VALUE", f"{manifest.name}: {name}: {wrong.what}") from wrong


def adapter(manifest: Manifest, offer: Offer) -> type[Any]:
    """Return the adapter's class. Raises ConnectError with a remedy if a package of the adapter is not installed."""
    with in_words(f"{manifest.title} cannot be used"):
        try:
            return transport_class(manifest.folder / "python")
        except AdapterError as failed:
            if isinstance(failed.__cause__, ImportError) and (offer.environment or offer.interpreter):
                raise AdapterError(str(failed), _elsewhere(offer)) from failed
            raise


def _elsewhere(offer: Offer) -> str:
    if offer.interpreter == "system":
        return f"`apt install {' '.join(offer.apt)}`, then run your program and hopmeter with the system's Python"
    packages = " ".join(f"'{package.partition(';')[0]}'" for package in offer.pip)
    return f"`pip install {packages}` in an environment with hopmeter but no other transport: their packages conflict"
