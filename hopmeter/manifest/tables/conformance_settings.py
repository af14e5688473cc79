"""The settings of a transport that the conformance suite tests in addition to the defaults."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hopmeter.manifest.tables.allowed_words import Language, Placement, Value, Wait
from hopmeter.manifest.tables.strict import Strict


class ConformanceSettings(Strict):
    """Settings with which the conformance suite also tests a transport, and the conditions of this test."""

    settings: Annotated[dict[str, Value], Field(min_length=1)]
    placement: Placement = "process"
    wait: Wait | None = None
    """The wait to test; by default, the first wait that is not `spin`."""
    languages: list[Language] | None = None
    """The languages to test; all by default."""
    path: str = ""
    """A regular expression for the receiver's fact `path`; a match shows that the settings take effect."""
    facts: dict[str, str] = {}
    """Regular expressions for other facts of the receiver, by fact name."""
    payload_bytes: Annotated[int, Field(gt=0)] = 60_000
    """The largest payload that the test sends with these settings, in bytes."""
    meets: list[Language] = []
    """The languages of peers with default settings with which the adapter must also exchange messages, in both
    directions."""
    file: str = ""
    """A file pattern, such as `$YARP_ROOT/lib/**/plugin.so`. If no file matches, the conformance suite skips these
    settings by name: they need a part of the transport that only its users can build."""


class Lossless(Strict):
    """How to use a transport so that no message is lost while senders and receivers run."""

    settings: dict[str, Value] = {}
    """The settings that differ from the defaults."""
    max_receivers: Annotated[int, Field(gt=0)] | None = None
    """The largest number of receivers per message with which no message is lost; None if there is no limit."""
