"""Defines CodecError, the only error that codecs raise."""

from __future__ import annotations

import json

from hopmeter.errors import HopmeterError
from hopmeter.messages import tag

LONGEST_KEY = 40
LONGEST_PLACE = 200
SHOWN = (type(None), bool, int, float, bytes)
"""The types of keys that are shown with `repr`. A key of any other type may have an arbitrary `repr`."""

ENDING = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that no handler may catch. A panic of a Rust library is caught, although it is not an `Exception`
either."""


class CodecError(HopmeterError):
    """Raised if an object cannot be encoded, or if frames cannot be decoded.

    Even for corrupted or malicious frames, `decode` raises no other error.
    """

    place = ""
    """The path to the faulty part of the object, such as `["stamp"][3]`. The path is empty if the fault is in the
    object itself."""

    def within(self, step: str) -> CodecError:
        """Prepend a step, such as a container's key, to the path of the faulty part, and return the error."""
        self.place = step + self.place
        return self

    @property
    def message(self) -> str:
        """The description of the fault, the path to the faulty part, and the error code."""
        return tag(self.code, f"{self.what}, at {shorten_place(self.place)}" if self.place else self.what)


def key_step(key: object) -> str:
    """Return the path step for a dict key, such as `["name"]`."""
    shown = repr(key) if type(key) in SHOWN else f"<{type(key).__qualname__}>"
    written = json.dumps(key) if type(key) is str else shown
    return f"[{written if len(written) <= LONGEST_KEY else written[:LONGEST_KEY] + '…'}]"


def shorten_place(place: str) -> str:
    """Return the path to the faulty part as a Python expression that begins with `obj`. The middle of a long path is
    replaced with `…`."""
    half = LONGEST_PLACE // 2
    return f"obj{place}" if len(place) <= LONGEST_PLACE else f"obj{place[:half]}…{place[-half:]}"
