"""Defines the transport settings that the conformance suite tests in addition to the defaults."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hopmeter.manifest.tables.allowed_words import Language, Placement, Value, Wait
from hopmeter.manifest.tables.strict import Strict


class ConformanceSettings(Strict):
    """A set of transport settings that the conformance suite tests, and the conditions for these tests."""

    settings: Annotated[dict[str, Value], Field(min_length=1)]
    placement: Placement = "process"
    wait: Wait | None = None
    """The way of waiting to test. The default is the adapter's first wait other than `spin`."""
    languages: list[Language] | None = None
    """The languages to test. By default, all languages of the transport are tested."""
    path: str = ""
    """A regular expression for the receiver's fact `path`. If the fact matches, the settings have taken effect."""
    facts: dict[str, str] = {}
    """Regular expressions for other facts of the receiver, by fact name."""
    payload_bytes: Annotated[int, Field(gt=0)] = 60_000
    """The largest payload in bytes that the test sends with these settings."""
    meets: list[Language] = []
    """The languages of the peers, with default settings, with which the adapter must exchange messages in both
    directions."""
    mixed: bool = False
    """Whether adapters in different languages must also exchange messages if both have these settings."""
    lossless: bool = False
    """Whether all frames must arrive with these settings even if the sender is faster than the receiver."""
    file: str = ""
    """A file pattern, such as `$YARP_ROOT/lib/**/plugin.so`.

    If no file matches, the conformance suite skips these settings, because only a user can build the part of the
    transport that they require.
    """


class Lossless(Strict):
    """How to use a transport so that it loses no messages while senders and receivers are running."""

    settings: dict[str, Value] = {}
    """The settings that differ from the defaults."""
    max_receivers: Annotated[int, Field(gt=0)] | None = None
    """The maximum number of receivers per message without loss, or None if there is no limit."""
