"""Finds the code that is generated for a message type, for transports that can send messages in their own types."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from hopmeter.manifest import interpreter
from hopmeter.manifest.model import Manifest
from hopmeter.manifest.tables.language_part import Offer
from hopmeter.schemas.library import Library
from hopmeter.schemas.ros2.types import RosType, missing_packages
from hopmeter.system import paths

KIND = "types"
"""The prefix of the directory's name. The directory name of a codec library begins with its codec instead."""
Form = Literal["message", "octets", "call"]
"""How messages are sent: as objects that the transport encodes, as pre-encoded bytes, or as objects in calls."""


def prefixes(offer: Offer) -> list[Path]:
    """Return the directories of the library installation that a transport uses, or an empty list if the user has not
    installed the library."""
    if offer.user is not None:
        return [Path(each) for each in offer.user.location.split(":") if each]
    return [interpreter.folder(offer.environment_name)]


def needs_code(offer: Offer, wanted: RosType, form: Form) -> bool:
    """Return whether a transport needs generated code to send messages of a type in the given form.

    Raises UsageError if the library installation defines a nested type differently.
    """
    missing = missing_packages(wanted, prefixes(offer))
    is_framed = form == "call" or (wanted.is_bounded if form == "octets" else not wanted.has_header)
    return bool(missing) or is_framed or (offer.types is not None and bool(offer.types.library))


def code_of(manifest: Manifest, offer: Offer, wanted: RosType) -> Library:
    """Return the `Library` of a message type's generated code, whether or not the code has been built."""
    digest = blake2b(f"{offer.language} {manifest.reference} {_installation(offer)}".encode(), digest_size=8)
    for name, text in sorted(wanted.texts.items()):
        digest.update(f"\n{name}\n{text}".encode())
    for source in _sources(manifest, offer):
        digest.update(source.read_bytes())
    name = wanted.name.replace("/", ".")
    return Library(paths.codec_folder() / f"{KIND}-{paths.language_word(offer.language)}-{name}-{digest.hexdigest()}")


def _installation(offer: Offer) -> str:
    return offer.user.location if offer.user is not None else f"{offer.environment_name} {offer.pip}"


def _sources(manifest: Manifest, offer: Offer) -> Iterator[Path]:
    """Yield those source files of the transport on which the generated code depends."""
    if offer.types is None:
        return
    yield from sorted((manifest.folder / offer.types.packages).glob("[Ccp]*.[tx]*"))
    if offer.types.library:
        yield from sorted((manifest.folder / offer.types.library).rglob("*.*"))
        yield from sorted((manifest.folder / paths.language_word(offer.language)).glob("*.hpp"))


def framed_package(wanted: RosType) -> str:
    """Return the name of the package that is generated for a message type. The package defines a message and a service
    that each contain the type, and the message also contains a frame header."""
    digest = blake2b(repr(sorted(wanted.texts.items())).encode(), digest_size=4)
    return f"hopmeter_{digest.hexdigest()}"
