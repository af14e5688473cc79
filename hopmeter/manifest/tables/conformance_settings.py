"""The settings of a transport that the conformance suite tests, beside the defaults."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hopmeter.manifest.tables.allowed_words import Language, Placement, Value, Wait
from hopmeter.manifest.tables.strict import Strict


class ConformanceSettings(Strict):
    """Settings with which the conformance suite also tests a transport, and the conditions of that test."""

    settings: Annotated[dict[str, Value], Field(min_length=1)]
    placement: Placement = "process"
    wait: Wait | None = None
    """The default is the first wait that does not spin."""
    languages: list[Language] | None = None
    """The default is all patterns."""
    path: str = ""
    """A regular expression for the fact `path` of the receiver; a match proves that the setting takes effect."""
    facts: dict[str, str] = {}
    """Regular expressions for other facts of the receiver, by the names of the facts."""
    payload_bytes: Annotated[int, Field(gt=0)] = 60_000
    """The largest payload that these settings carry."""
    meets: list[Language] = []
    """Peers with default settings with which the adapter must also exchange messages, in both directions."""
    file: str = ""
    """A pattern of files, such as `$YARP_ROOT/lib/**/plugin.so`; if there is none, the conformance suite skips these
    settings by name, because a part of the transport is not installed that only its users can build."""


class Lossless(Strict):
    """How to use a transport so that it loses no message while senders and receivers run."""

    settings: dict[str, Value] = {}
    """The settings that this needs beyond the defaults."""
    max_receivers: Annotated[int, Field(gt=0)] | None = None
    """The most receivers of a message for which they apply."""
